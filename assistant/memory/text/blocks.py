"""Markdown text to headings and units: list items, paragraphs, tables, fences. Pure."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from assistant.memory.text.markdown import (
    BREAKS,
    PARSER,
    Plain,
    inline_words,
    line_starts,
    plain,
    shown,
    struck,
    unclosed_comment,
    words_of,
)

MAX_CHARS = 2_000
"""Maximum length of a chunk for any model: half of recall's default budget."""

SENTENCES = re.compile(
    r"(?:[.!?…]['\"”’»)\]]*(?=\s)|[。！？]['\"”’»」』）]*|(?:\r\n|\r|\n)[ \t]*(?=[\r\n]))\s*"
)
_SPACE = re.compile(r"\s+")
_JOINERS = "\u200d\ufe0e\ufe0f"
_LONGEST_CHARACTER = 16
"""Code points that may belong to one visible character; it is not cut in two."""


def pieces(
    text: str,
    start: int,
    end: int,
    fits: Callable[[str], bool],
    ends: re.Pattern[str],
    max_chars: int = MAX_CHARS,
) -> Iterator[tuple[int, int]]:
    """Ranges of `text` between `start` and `end` that fit, without white space at their borders.

    Cuts after a match of `ends`, else at white space, else between characters. The time is linear
    in the text.
    """
    while True:
        start, end = _trimmed(text, start, end)
        if start >= end:
            return
        room = min(end - start, max_chars)
        stop = _stop(text, start, end, room, fits, ends)
        yield _trimmed(text, start, stop)
        start = stop


def _stop(
    text: str, start: int, end: int, room: int, fits: Callable[[str], bool], ends: re.Pattern[str]
) -> int:
    """Where the first piece from `start` ends, at most `room` characters on."""
    while room > 1:
        stop = end if start + room >= end else _cut(text, start, start + room, ends)
        if fits(text[start:stop]):
            return stop
        room = min(room * 3 // 4, stop - start - 1)
    return start + 1


def _cut(text: str, start: int, limit: int, ends: re.Pattern[str]) -> int:
    """The last good place to cut at or before `limit`."""
    for pattern in (ends, _SPACE):
        ends_found = [match.end() for match in pattern.finditer(text, start, limit)]
        if ends_found and ends_found[-1] > start:
            return ends_found[-1]
    for stop in range(limit, max(start, limit - _LONGEST_CHARACTER), -1):
        if text[stop] not in _JOINERS and not unicodedata.combining(text[stop]):
            return stop
    return limit


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


MAX_HEADING = 200
"""Characters of a heading that are kept in the path."""
_MARKER = re.compile(r"(?:[-+*]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_NEVER_CLOSED = frozenset({"fence", "html_block"})
"""Blocks that go on over a heading and a list item, until their own end comes."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading's level, from 1, and its words."""

    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Unit:
    """A range of characters, the lines it stands on (from 0, both inclusive), and its words."""

    start: int
    end: int
    first_line: int
    last_line: int
    words: Plain


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a text holds, in order. `open`: its last block may go on in what follows it."""

    blocks: tuple[Heading | Unit, ...]
    open: bool


def parse(text: str, fits: Callable[[str], bool], max_chars: int) -> Parsed:
    """The headings and units of a text.

    A unit that does not fit, or has more than `max_chars`, is split at its nested items, then at
    sentence ends. Time is linear in the text.
    """
    document = _Document(text, fits, max_chars)
    return Parsed(tuple(_parsed(document)), document.open)


class _Document:
    """A text with its tokens and the offsets of its lines."""

    def __init__(self, text: str, fits: Callable[[str], bool], max_chars: int) -> None:
        self.text = text
        self.fits = fits
        self.max_chars = max_chars
        self.starts = line_starts(text)
        self.tokens = PARSER.parse(text)

    @property
    def open(self) -> bool:
        """Whether the last block may go on in what follows the text.

        So may front matter and a comment whose end is not there: they were read as something else.
        """
        if not self.tokens:
            return False
        unclosed = self.text.startswith("---") and self.tokens[0].type != "front_matter"
        unclosed |= unclosed_comment(self.text, self.tokens) is not None
        return unclosed or self.tokens[-1].type in _NEVER_CLOSED

    def unit(self, start: int, end: int, words: Plain) -> Unit:
        """A range, not empty, as a unit."""
        return Unit(start, end, self._line_at(start), self._line_at(end - 1), words)

    def _line_at(self, character: int) -> int:
        return bisect_right(self.starts, character) - 1

    def span(self, first: int, last: int, *, indented: bool = False) -> tuple[int, int]:
        """The characters of lines `first` (0-based) to `last` (exclusive), blank ends left out."""
        start = self.starts[first]
        end = self.starts[last] if last < len(self.starts) else len(self.text)
        own = self.text[start:end]
        if not indented:
            start += len(own) - len(own.lstrip())
        return start, end - (len(own) - len(own.rstrip()))

    def pieces(self, start: int, end: int, ends: re.Pattern[str]) -> Iterator[tuple[int, int]]:
        """Ranges between two characters that fit."""
        return pieces(self.text, start, end, self.fits, ends, self.max_chars)


def _parsed(document: _Document) -> Iterator[Heading | Unit]:
    tokens = document.tokens
    for first, last in _blocks(tokens, 0, len(tokens)):
        if tokens[first].type == "heading_open":
            content = tokens[first + 1].content[: 2 * MAX_HEADING]
            yield Heading(int(tokens[first].tag[1]), inline_words(content).text[:MAX_HEADING])
        else:
            yield from _block_units(document, first, last)


def _blocks(tokens: Sequence[Token], first: int, last: int) -> Iterator[tuple[int, int]]:
    """The sibling blocks between two tokens, as index ranges with the end exclusive."""
    depth = 0
    start = first
    for index in range(first, last):
        depth += tokens[index].nesting
        if depth == 0:
            yield start, index + 1
            start = index + 1


def _block_units(document: _Document, first: int, last: int) -> Iterator[Unit]:
    """The units of one block: the items of a list, any other block whole."""
    token = document.tokens[first]
    match token.type:
        case "bullet_list_open" | "ordered_list_open":
            for item_first, item_last in _blocks(document.tokens, first + 1, last - 1):
                yield from _whole(document, item_first, item_last, _lines(document, item_first))
        case "hr" | "front_matter":
            return
        case _:
            yield from _whole(document, first, last, _lines(document, first))


def _lines(document: _Document, index: int) -> tuple[int, int]:
    """The lines of a block, 0-based, end exclusive."""
    first, last = document.tokens[index].map or (0, 0)
    return first, last


def _whole(document: _Document, first: int, last: int, lines: tuple[int, int]) -> Iterator[Unit]:
    """The tokens from `first` to `last` as one unit, or as many as it takes to fit."""
    token = document.tokens[first]
    start, end = document.span(*lines, indented=token.type == "code_block")
    if end - start <= document.max_chars:
        words = words_of(document.tokens[first:last], document.text[start:end])
        if not words.text:
            return
        if document.fits(words.text):
            yield document.unit(start, end, words)
            return
    if lists := _nested_lists(document.tokens, first, last):
        yield from _item_parts(document, first, last, lists)
    elif token.type in {"fence", "code_block"}:
        yield from _code_pieces(document, start, end, token.markup)
    else:
        ends = BREAKS if token.type == "table_open" else SENTENCES
        yield from _text_pieces(document, start, end, ends)


def _nested_lists(tokens: Sequence[Token], first: int, last: int) -> list[tuple[int, int]]:
    """The lists right inside an item, as index ranges with the end exclusive."""
    if tokens[first].type != "list_item_open":
        return []
    level = tokens[first].level + 1
    edges = [
        index
        for index in range(first + 1, last)
        if tokens[index].level == level and "_list_" in tokens[index].type
    ]
    return [(opened, closed + 1) for opened, closed in zip(edges[::2], edges[1::2], strict=True)]


def _item_parts(
    document: _Document, first: int, last: int, lists: list[tuple[int, int]]
) -> Iterator[Unit]:
    """An over-long item: what stands around its nested lists, and the items of these."""
    top, bottom = _lines(document, first)
    opening = first
    for opened, closed in lists:
        until = _lines(document, opened)[0]
        yield from _whole(document, opening, opened, (top, until))
        yield from _block_units(document, opened, closed)
        opening = closed
        top = _lines(document, closed)[0]
    if opening < last - 1:
        yield from _whole(document, opening, last - 1, (top, bottom))


def _text_pieces(
    document: _Document, start: int, end: int, ends: re.Pattern[str]
) -> Iterator[Unit]:
    """A long unit in pieces; all of a struck one are superseded."""
    marker = _MARKER.match(document.text, start, end)
    inner = marker.end() if marker else start
    if span := struck(document.text[inner:end]):
        old = document.pieces(inner + span[0], inner + span[1], ends)
        yield from _framed(document, start, end, old, lambda own: _old(own, span[2]))
        return
    for first, last in shown(document.text, start, end):
        for left, right in document.pieces(first, last, ends):
            if words := plain(document.text[left:right]):
                yield document.unit(left, right, Plain(words))


def _old(source: str, until: str | None) -> Plain:
    return Plain(plain(source), struck=True, until=until)


def _code_pieces(document: _Document, start: int, end: int, fence: str) -> Iterator[Unit]:
    """A long code block in pieces of whole lines, its fences with the first and the last."""
    inner, until = start, end
    if fence:
        lines = BREAKS.finditer(document.text, start, end)
        inner = next((line.end() for line in lines), end)
        last = document.text.rfind(fence, inner, end)
        if last >= 0 and not document.text[last:end].strip(fence[0]):
            until = last
    ranges = document.pieces(inner, until, BREAKS)
    yield from _framed(document, start, end, ranges, lambda own: Plain(own.strip()))


def _framed(
    document: _Document,
    start: int,
    end: int,
    ranges: Iterable[tuple[int, int]],
    words: Callable[[str], Plain],
) -> Iterator[Unit]:
    """Units for ranges, the first and the last widened to the frame around them."""
    spans = list(ranges)
    for index, (left, right) in enumerate(spans):
        plain_words = words(document.text[left:right])
        left = start if index == 0 else left
        right = end if index == len(spans) - 1 else right
        if plain_words.text:
            yield document.unit(left, right, plain_words)
