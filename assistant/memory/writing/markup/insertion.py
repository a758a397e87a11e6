"""Where in a file a fact goes."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile

from markdown_it.token import Token

from assistant.errors import LedgerError
from assistant.memory.text.markdown import BREAKS, PARSER, blotted, line_starts, newline
from assistant.memory.writing.markup.items import REST, Splice

_BULLET = re.compile(r"[-+*][ \t]+(?![-+* \t\r]*$)\S")
ATX = re.compile(r"^#{1,6}(?:[ \t]|\r?$)", re.MULTILINE)
_SETEXT = re.compile(r"^ {0,3}(?:=+|-+)[ \t\r]*$", re.MULTILINE)


def insertion(text: str, title: str, item: str) -> Splice:
    """The edit that adds `item` (escaped) as the last list item under the heading `## {title}`.

    The heading is made at the end if it is missing. Whatever the text holds (open fences, HTML,
    front matter), the edit adds exactly one list item and changes no other block.
    """
    end = newline(text)
    known = blotted(text)
    if known is None:
        return _careful(text, title, item, end)
    start = _heading_at(known, title)
    if start is None:
        return _new_section(text, len(text), title, item, end)
    stop = ATX.search(known, start + 2)
    section = text[start : stop.start() if stop else len(text)]
    own = known[start : start + len(section)]
    last = own.rstrip().rpartition("\n")[2]
    if _BULLET.match(last) and not _SETEXT.search(own):
        return _after(section, len(section.rstrip()), f"{last[0]} {item}", end).shifted(start)
    return _careful(section, title, item, end).shifted(start)


def _heading_at(text: str, title: str) -> int | None:
    """Where the last heading `## {title}` starts."""
    line = f"## {title}"
    at = text.rfind(line)
    while at >= 0:
        if (at == 0 or text[at - 1] == "\n") and REST.match(text, at + len(line)):
            return at
        at = text.rfind(line, 0, at)
    return None


def _after(text: str, at: int, line: str, end: str) -> Splice:
    """`line` on a line of its own after the line that ends at `at`."""
    found = BREAKS.match(text, at) or BREAKS.search(text, at)
    if found is None:
        return Splice(len(text), "", f"{end}{line}{end}")
    return Splice(found.end(), "", f"{line}{end}")


def _new_section(text: str, at: int, title: str, item: str, end: str, marker: str = "-") -> Splice:
    above = text[:at]
    breaks = len(BREAKS.findall(text, len(above.rstrip()), at)) if above.strip() else 2
    gap = end * max(0, 2 - breaks)
    below = end if text[at:].strip() else ""
    return Splice(at, "", f"{gap}## {title}{end}{end}{marker} {item}{end}{below}")


def _careful(text: str, title: str, item: str, end: str) -> Splice:
    """The first of the places that a parse before and after proves right."""
    before = _outline(PARSER.parse(text))
    for splice in _places(text, title, item, end):
        if _adds_one_item(before, _outline(PARSER.parse(splice.apply(text))), item):
            return splice
    raise LedgerError(
        "the file holds no place where a fact can be added", "Close what is left open in it"
    )


def _places(text: str, title: str, item: str, end: str) -> Iterator[Splice]:
    starts = [*line_starts(text), len(text)]
    tokens = PARSER.parse(text)
    top = [index for index, token in enumerate(tokens) if token.level == 0 and token.map]
    for heading in reversed(top):
        if tokens[heading].tag == "h2" and tokens[heading + 1].content == title:
            section = takewhile(
                lambda n: tokens[n].type != "heading_open", (n for n in top if n > heading)
            )
            lists = [tokens[n] for n in section if tokens[n].type == "bullet_list_open"]
            for found in reversed(lists):
                first, last = found.map or [0, 0]
                stop = len(text[: starts[last]].rstrip())
                indent = re.match(r" {0,3}", text[starts[first] :])
                line = f"{indent[0] if indent else ''}{found.markup} {item}"
                yield _after(text, stop, line, end)
            at = starts[(tokens[heading].map or [0, 0])[1]]
            lead = "" if BREAKS.search(text[at - 1 : at]) else end
            below = end if re.match(r"[ \t]*[^\s]", text[at:]) else ""
            yield Splice(at, "", f"{lead}{end}- {item}{end}{below}")
    yield _new_section(text, len(text), title, item, end)
    for index in dict.fromkeys([*top[-1:], *top[:2]]):
        at = starts[(tokens[index].map or [0])[0]]
        for marker in "-*":  # the other one if a list follows
            yield _new_section(text, at, title, item, end, marker)


_Outline = list[tuple[str, str, int, str]]


def _outline(tokens: list[Token]) -> _Outline:
    return [(token.type, token.tag, token.level, token.content.rstrip()) for token in tokens]


def _adds_one_item(before: _Outline, after: _Outline, item: str) -> bool:
    """Whether `after` is `before` with one list item more, and perhaps its list and heading."""
    same = 0
    for old, new in zip(before, after, strict=False):
        if old != new:
            break
        same += 1
    added = len(after) - len(before)
    if added <= 0 or before[same:] != after[same + added :]:
        return False
    fresh = after[same : same + added]
    kinds = Counter(kind for kind, *_ in fresh)
    paragraph = kinds["list_item_open"] == kinds["paragraph_open"] == 1
    few = kinds["bullet_list_open"] <= 1 and kinds["heading_open"] <= 1
    wanted = {"list_item", "paragraph", "bullet_list", "heading"}
    known = all(kind == "inline" or kind.rpartition("_")[0] in wanted for kind in kinds)
    return paragraph and few and known and any(content == item for *_, content in fresh)
