"""A fact as one list item of a markdown file: escaping, inserting and removing it.

Pure: text in, edits out. Texts are decoded, without a byte-order mark.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import takewhile

from markdown_it.token import Token

from assistant.characters import UNSEEN
from assistant.errors import LedgerError
from assistant.memory.text.headings import OwnersHeading
from assistant.memory.text.identity import without_bullet
from assistant.memory.text.markdown import (
    BREAKS,
    MARKERS,
    PARSER,
    blotted,
    breaks_in,
    line_digest,
    line_start,
    line_starts,
    lines_above,
    lines_below,
    newline,
)
from assistant.secrets.stand_ins import STAND_IN

_REST = re.compile(r"[ \t]*(?=[\r\n]|$)")
_EMOJI = "\ufe0f"
"""Selects the emoji form of the symbol before it."""
_JOINED = re.compile(
    r"(?<=[^\x00-\u02ff\u2000-\u206f])[\u200c\u200d](?=[^\x00-\u02ff\u2000-\u206f])"
)
"""Joiners that shape letters of a script, or join emoji."""
_INLINE = re.compile(
    rf"(?P<stand_in>{STAND_IN.pattern})"  # unchanged, so it is recognised again
    r"|\\(?=[!-/:-@\[-`{-~])"  # a backslash that would escape what follows
    r"|&(?=#\d{1,7};|#[xX][0-9a-fA-F]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)"
    r"|[`\[\]]"
    r"|\*(?!\s)|(?<=\S)\*"  # emphasis, not a lone star between spaces
    r"|(?<![^\W_])_|_(?![^\W_])"  # emphasis, not snake_case
    r"|<(?=[A-Za-z/!?])|(?<=<)!"
    r"|~(?=~)|(?<=~)~"
)
_OPENING = re.compile(r"#{1,6}(?:\s|$)|>|[-+*](?:\s|$)|--")
_ORDERED = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
_BULLET = re.compile(r"[-+*][ \t]+(?![-+* \t\r]*$)\S")
_ATX = re.compile(r"#(?<=^#)#{0,5}(?:[ \t]|\r?$)", re.MULTILINE)
"""A pattern that begins with a character is searched for ten times as fast as one with `^`."""
_SETEXT = re.compile(r"\n {0,3}(?:=+|-+)[ \t\r]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Splice:
    """A change of a text: at the character offset `at`, `inserted` replaces `removed`."""

    at: int
    removed: str
    inserted: str

    def apply(self, text: str) -> str:
        """Return the text after the change."""
        return text[: self.at] + self.inserted + text[self.at + len(self.removed) :]

    def reverse(self, text: str) -> str:
        """Return the text before the change, given the text after it."""
        return text[: self.at] + self.removed + text[self.at + len(self.inserted) :]

    def shifted(self, offset: int) -> "Splice":
        """Return the same change in a text that contains this one's text at `offset`."""
        return Splice(self.at + offset, self.removed, self.inserted)


def common(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the length of the common prefix."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def clean(text: str) -> str:
    """Return one line of visible text: line breaks become spaces, invisible characters are dropped.

    Those are control, format (bidi, zero-width, tags), surrogate and blank-looking characters and
    all variation selectors except the emoji one; a joiner stays if it shapes letters or emoji.
    """
    joined = {match.start() for match in _JOINED.finditer(text)}
    visible = (
        character if at in joined else _visible(character) for at, character in enumerate(text)
    )
    return " ".join("".join(visible).split())


def fact_words(text: str) -> str:
    """Return a fact as clean text on one line, without a leading bullet from another list."""
    return without_bullet(clean(text))


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    is_unseen = character in UNSEEN and character != _EMOJI
    return "" if is_unseen or unicodedata.category(character) in {"Cc", "Cf", "Cs"} else character


def escape(text: str) -> str:
    """Escape one line of clean text as markdown."""
    escaped = _INLINE.sub(lambda match: match["stand_in"] or "\\" + match[0], text)
    if _OPENING.match(escaped):
        return "\\" + escaped
    number = _ORDERED.match(escaped)
    return f"{number[1]}\\{escaped[number.end(1) :]}" if number else escaped


def dated(section: str, day: date) -> str:
    """Return the title of a section's heading for a day, as markdown."""
    name = escape(clean(section).strip("# ")) or "Remembered"
    return f"{name} -- {day.isoformat()}"


def item_of(inserted: str) -> str:
    """Return the line of the list item in an insertion."""
    return BREAKS.split(inserted.strip())[-1].strip()


def line_of(text: str, line: str, heading: str = "") -> int:
    """Return the 1-based number of the last line with this text, if possible before the heading
    that follows the last line `heading`; 0 if there is none."""
    start = _last_line(text, heading) if heading else -1
    stop = _ATX.search(text, start + len(heading)) if start >= 0 else None
    at = _last_line(text[: stop.start()], line) if stop else -1
    at = at if at > start else _last_line(text, line)
    return breaks_in(text[:at]) + 1 if at >= 0 else 0


def _last_line(text: str, line: str) -> int:
    """Return the offset of the last line with this text, ignoring white space; -1 if none."""
    at = text.rfind(line)
    while at >= 0:
        if not text[line_start(text, at) : at].strip() and _REST.match(text, at + len(line)):
            break
        at = text.rfind(line, 0, at)
    return at


Neighbours = tuple[tuple[str, ...], tuple[str, ...]]
"""The digests of the lines above and below a passage, nearest first."""


def neighbours(text: str, start: int, end: int) -> Neighbours:
    """Return the digests of the nearest non-blank lines around a passage."""
    above, below = lines_above(text, start), lines_below(text, end)
    return tuple(map(line_digest, above)), tuple(map(line_digest, below))


def insertion(text: str, line: str, item: str) -> Splice:
    """Return the edit that adds `item` (escaped) as the last list item under the heading `line`.

    A missing heading is added at the end. Whatever the text contains (open fences, HTML, front
    matter), the edit adds exactly one list item and changes no other block.
    """
    blocks = blotted(text)
    if blocks is None:
        return _verified(text, line, item, newline(text))
    start = _last_line(blocks, line)
    if start < 0:
        return _new_section(text, len(text), line, item, newline(text))
    return insertion_below(text, OwnersHeading(line, start), item)


def insertion_below(text: str, heading: OwnersHeading, item: str) -> Splice:
    """Return the edit that adds `item` (escaped) as the last list item below a heading, before the
    next heading of any level."""
    start, end = heading.start, newline(text)
    blocks = blotted(text)
    assert blocks is not None, "a heading was found in it"
    stop = _ATX.search(blocks, start + len(heading.line))
    section = text[start : stop.start() if stop else len(text)]
    own_blocks = blocks[start : start + len(section)]
    last = own_blocks.rstrip().rpartition("\n")[2]
    if _BULLET.match(last) and not _SETEXT.search(own_blocks):
        return _after(section, len(section.rstrip()), f"{last[0]} {item}", end).shifted(start)
    return _verified(section, heading.line, item, end).shifted(start)


def _after(text: str, at: int, line: str, end: str) -> Splice:
    """Insert `line` on a separate line after the line that ends at `at`."""
    line_end = BREAKS.match(text, at) or BREAKS.search(text, at)
    if line_end is None:
        return Splice(len(text), "", f"{end}{line}{end}")
    return Splice(line_end.end(), "", f"{line}{end}")


def _new_section(text: str, at: int, line: str, item: str, end: str, marker: str = "-") -> Splice:
    above = text[:at]
    breaks = len(BREAKS.findall(text, len(above.rstrip()), at)) if above.strip() else 2
    gap = end * max(0, 2 - breaks)
    below = end if text[at:].strip() else ""
    return Splice(at, "", f"{gap}{line}{end}{end}{marker} {item}{end}{below}")


def _verified(text: str, line: str, item: str, end: str) -> Splice:
    """Return the first candidate that adds just one list item, by parsing before and after."""
    before = _outline(PARSER.parse(text))
    for splice in _candidates(text, line, item, end):
        if _adds_one_item(before, _outline(PARSER.parse(splice.apply(text))), item):
            return splice
    raise LedgerError(
        "no fact can be added to the file", "Close the block that is still open in it"
    )


def _candidates(text: str, line: str, item: str, end: str) -> Iterator[Splice]:
    mark, _, title = line.partition(" ")
    tag, title = f"h{len(mark)}", title.strip()
    starts = [*line_starts(text), len(text)]
    tokens = PARSER.parse(text)
    top = [index for index, token in enumerate(tokens) if token.level == 0 and token.map]
    for heading in reversed(top):
        if tokens[heading].tag == tag and tokens[heading + 1].content == title:
            section = takewhile(
                lambda n: tokens[n].type != "heading_open", (n for n in top if n > heading)
            )
            lists = [tokens[n] for n in section if tokens[n].type == "bullet_list_open"]
            for bullets in reversed(lists):
                first, last = bullets.map or [0, 0]
                stop = len(text[: starts[last]].rstrip())
                indent = re.match(r" {0,3}", text[starts[first] :])
                bullet = f"{indent[0] if indent else ''}{bullets.markup} {item}"
                yield _after(text, stop, bullet, end)
            at = starts[(tokens[heading].map or [0, 0])[1]]
            lead = "" if BREAKS.search(text[at - 1 : at]) else end
            below = end if re.match(r"[ \t]*[^\s]", text[at:]) else ""
            yield Splice(at, "", f"{lead}{end}- {item}{end}{below}")
    yield _new_section(text, len(text), line, item, end)
    for index in dict.fromkeys([*top[-1:], *top[:2]]):
        at = starts[(tokens[index].map or [0])[0]]
        for marker in "-*":  # the other one if a list follows
            yield _new_section(text, at, line, item, end, marker)


_Outline = list[tuple[str, str, int, str]]


def _outline(tokens: list[Token]) -> _Outline:
    return [(token.type, token.tag, token.level, token.content.rstrip()) for token in tokens]


def _adds_one_item(before: _Outline, after: _Outline, item: str) -> bool:
    """Return whether `after` is `before` plus one list item, and perhaps its list and heading."""
    same = common(before, after)
    added = len(after) - len(before)
    if added <= 0 or before[same:] != after[same + added :]:
        return False
    fresh = after[same : same + added]
    kinds = Counter(kind for kind, *_ in fresh)
    paragraph = kinds["list_item_open"] == kinds["paragraph_open"] == 1
    few = kinds["bullet_list_open"] <= 1 and kinds["heading_open"] <= 1
    allowed = {"list_item", "paragraph", "bullet_list", "heading"}
    is_list = all(kind == "inline" or kind.rpartition("_")[0] in allowed for kind in kinds)
    return paragraph and few and is_list and any(content == item for *_, content in fresh)


def removal(text: str, start: int, end: int) -> Splice:
    """Return the edit that removes a passage: its whole lines, or only its characters if it shares
    a line with others."""
    first = line_start(text, start)
    broken = BREAKS.search(text, end)
    last = broken.end() if broken else len(text)
    lead = text[first:start]
    if MARKERS.fullmatch(lead) and not text[end:last].strip():
        return Splice(first, text[first:last], "")
    spaces = len(text[end:last]) - len(text[end:last].lstrip(" \t"))
    return Splice(start, text[start : end + spaces], "")


def with_emptied_heading(text: str, cut: Splice, title: str) -> Splice:
    """Return the cut, extended to the heading `## {title}` above if nothing else is under it."""
    above = text[: cut.at].rstrip()
    below = text[cut.at + len(cut.removed) :]
    line = re.compile(rf"(?:\A|(?<=[\r\n]))## {re.escape(title)}[ \t]*\Z")
    heading = line.search(above)
    if heading is None or not (below.strip() == "" or _ATX.match(below.lstrip())):
        return cut
    start = heading.start()
    kept = text[:start].rstrip()
    blank = BREAKS.match(text, len(kept)) if kept else None
    start = blank.end() if blank else start
    stop = len(text) if not below.strip() else cut.at + len(cut.removed)
    return Splice(start, text[start:stop], "")
