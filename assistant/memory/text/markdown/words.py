"""What a piece of markdown says: its words without the markup, and when two facts are the same."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from assistant.memory.text.markdown.parser import MAX_NESTING, PARSER
from assistant.memory.text.markdown.superseding import struck, without_notes

_SPECIAL = re.compile(r"[\\`*_<]|~~|\]\(|&#?\w{1,32};")
_TAG = re.compile(
    r"</?(?:a|abbr|b|big|br|center|cite|code|dd|del|details|div|dl|dt|em|font|h[1-6]|hr|i|img|ins"
    r"|kbd|li|mark|ol|p|pre|q|s|small|span|strike|strong|sub|summary|sup|table|tbody|td|th|thead"
    r"|tr|tt|u|ul|var)\b[^<>]*>",
    re.IGNORECASE,
)
_CHECKBOX = re.compile(r"\A\[[ xX]\](?:\s+|$)")
_MARKERS = re.compile(r"^[ \t>*+-]+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Plain:
    """The words of a unit. `struck`: all of it is struck out; `until` is the date it gives."""

    text: str
    struck: bool = False
    until: str | None = None


def plain(text: str) -> str:
    """The words of a piece of markdown: no emphasis, link targets, ticks, markers or comments."""
    return words_of(PARSER.parse(text), text).text


def is_struck(text: str) -> bool:
    """Whether a piece of markdown is a fact that was struck out as a whole."""
    return words_of(PARSER.parse(text), text).struck


def words_of(tokens: Sequence[Token], text: str) -> Plain:
    """The words of block tokens; `text` is their source, taken where nesting is too deep."""
    if any(token.level >= MAX_NESTING - 1 for token in tokens):
        return Plain(_squeeze(_MARKERS.sub("", text)))
    parts = list(_parts(tokens))
    struck = bool(parts) and all(part.struck for part in parts)
    said = [part.text for part in parts if struck or not part.struck]
    until = next((part.until for part in parts if part.until), None)
    return Plain("\n".join(filter(None, said)), struck, until if struck else None)


def _parts(tokens: Iterable[Token]) -> Iterable[Plain]:
    """Each block's words; a table's row is one line, its cells parted by commas."""
    row: list[str] | None = None
    in_item = False
    number = ""
    for token in tokens:
        match token.type:
            case "list_item_open":
                in_item = True
                number = f"{token.info}. " if len(token.info) > 2 else ""  # 4711. is no ordinal
            case "tr_open":
                row = []
            case "tr_close":
                yield Plain(", ".join(filter(None, row or ())))
                row = None
            case "inline":
                content = token.content
                if in_item:
                    content = number + _CHECKBOX.sub("", content, count=1)
                in_item = False
                if row is None:
                    if content.strip():
                        yield inline_words(content)
                else:
                    row.append(inline_words(content).text)
            case "fence" | "code_block":
                in_item = False
                yield Plain(token.content.strip())
            case "html_block":
                if words := html_words(token.content):
                    yield Plain(words)


def html_words(source: str) -> str:
    """The words of an HTML block, without comments and tags."""
    return _squeeze(_TAG.sub(" ", without_comments(source)))


def without_comments(source: str) -> str:
    """The text without `<!-- … -->`; one that is never closed is text."""
    return "".join(source[start:end] for start, end in shown(source, 0, len(source)))


def shown(source: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The ranges between `start` and `end` that are no comment."""
    while (opened := source.find("<!--", start, end)) >= 0:
        closed = source.find("-->", opened + 4, end)
        if closed < 0:
            break
        yield start, opened
        start = closed + 3
    yield start, end


def inline_words(content: str) -> Plain:
    """The words of one paragraph's source, and whether it is a fact that was struck out.

    `~~old~~ (superseded DATE: successor)` says the old words, struck; words struck out inside a
    longer paragraph are left out of it.
    """
    content = content.strip()
    if not _SPECIAL.search(content):
        return Plain(_squeeze(content))
    if found := struck(content):
        start, end, until = found
        return Plain(" ".join(filter(None, _visible(content[start:end]))), True, until)
    standing, gone = _visible(without_notes(content))
    if standing or gone:
        return Plain(standing or gone, struck=not standing)
    return Plain(_squeeze(without_comments(content)))


def _visible(content: str) -> tuple[str, str]:
    """The words that stand, and those that are struck out."""
    tokens: list[Token] = []
    PARSER.inline.parse(content, PARSER, {}, tokens)
    standing: list[str] = []
    gone: list[str] = []
    said = standing
    marks: list[str] = []
    for token in tokens:
        match token.type:
            case "em_open" | "strong_open":
                inside_word = bool(said) and said[-1][-1:].isalnum()
                marks.append(token.markup if inside_word else "")  # 2*3*4 is not 234
                said.append(marks[-1])
            case "em_close" | "strong_close":
                said.append(marks.pop())
            case "s_open":
                said = gone
                said.append(" ")
            case "s_close":
                said = standing
            case "softbreak" | "hardbreak":
                said.append(" ")
            case "html_inline":
                said.append(_shown_tag(token.content))
            case _:
                said.append(token.content)
    return _squeeze("".join(standing)), _squeeze("".join(gone))


def _shown_tag(tag: str) -> str:
    """Nothing for a comment or a tag of HTML; `List<int>` keeps its own."""
    if tag.startswith("<!--"):
        return ""
    return _TAG.sub(" " if tag.lower().startswith("<br") else "", tag)


def _squeeze(text: str) -> str:
    return " ".join(text.split())
