"""Parses markdown into headings and units: list items, paragraphs, tables, fences. Pure."""

import functools
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from assistant.memory.text.markdown import (
    BREAKS,
    PARSER,
    UNCLOSED,
    Plain,
    inline_words,
    line_starts,
    plain,
    shown,
    struck,
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
"""Maximum number of code points of one visible character, which is never cut."""


def pieces(
    text: str,
    start: int,
    end: int,
    fits: Callable[[str], bool],
    ends: re.Pattern[str],
    max_chars: int = MAX_CHARS,
) -> Iterator[tuple[int, int]]:
    """Yield ranges of `text` between `start` and `end` that fit, trimmed of white space.

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
    """Return the end of the first piece from `start`, of at most `room` characters."""
    while room > 1:
        stop = end if start + room >= end else _cut(text, start, start + room, ends)
        if fits(text[start:stop]):
            return stop
        room = min(room * 3 // 4, stop - start - 1)
    return start + 1


def _cut(text: str, start: int, limit: int, ends: re.Pattern[str]) -> int:
    """Return the last good position to cut at or before `limit`."""
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
"""Maximum length of a heading in the path, in characters."""
_MARKER = re.compile(r"(?:[-+*]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_NEVER_CLOSED = frozenset({"fence", "html_block"})
"""Blocks that continue over headings and list items until they are closed."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading's level, from 1, and its text."""

    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Unit:
    """A range of characters, its lines (from 0, both inclusive), and its plain text."""

    start: int
    end: int
    first_line: int
    last_line: int
    words: Plain


def parse(
    text: str, fits: Callable[[str], bool], max_chars: int
) -> tuple[list[Heading | Unit], bool]:
    """Return the headings and units of a text, and whether its last block is still open.

    A unit that does not fit, or has more than `max_chars`, is split at its nested items, then at
    sentence ends. Time is linear in the text.
    """
    document = _Document(text, fits, max_chars)
    return list(document.blocks()), document.open


class _Document:
    """A text with its tokens and the offsets of its lines."""

    def __init__(self, text: str, fits: Callable[[str], bool], max_chars: int) -> None:
        self._text = text
        self._fits = fits
        self._max_chars = max_chars
        self._starts = [*line_starts(text), len(text)]
        self._env: dict[str, int] = {}
        self._tokens = PARSER.parse(text, self._env)

    @property
    def open(self) -> bool:
        """Whether the last block may continue after the text.

        Unclosed front matter and comments may too: they were parsed as something else.
        """
        if not self._tokens:
            return False
        unclosed = self._text.startswith("---") and self._tokens[0].type != "front_matter"
        return unclosed or UNCLOSED in self._env or self._tokens[-1].type in _NEVER_CLOSED

    def blocks(self) -> Iterator[Heading | Unit]:
        """Yield the headings, and the units of the other blocks."""
        for first, last in self._siblings(0, len(self._tokens)):
            token = self._tokens[first]
            if token.type == "heading_open":
                content = self._tokens[first + 1].content[: 2 * MAX_HEADING]
                yield Heading(int(token.tag[1]), inline_words(content).text[:MAX_HEADING])
            elif token.type.endswith("_list_open"):
                yield from self._items(first, last)
            elif token.type not in ("hr", "front_matter"):
                yield from self._whole(first, last, *self._lines(first))

    def _siblings(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the sibling blocks between two tokens, as index ranges with the end exclusive."""
        depth, start = 0, first
        for index in range(first, last):
            depth += self._tokens[index].nesting
            if depth == 0:
                yield start, index + 1
                start = index + 1

    def _lines(self, index: int) -> tuple[int, int]:
        """Return the lines of a block, 0-based, end exclusive."""
        first, last = self._tokens[index].map or (0, 0)
        return first, last

    def _items(self, first: int, last: int) -> Iterator[Unit]:
        """Yield the items of a list."""
        for opened, closed in self._siblings(first + 1, last - 1):
            yield from self._whole(opened, closed, *self._lines(opened))

    def _whole(self, first: int, last: int, top: int, bottom: int) -> Iterator[Unit]:
        """Yield the tokens from `first` to `last`, on these lines, as one unit, or split to fit."""
        token = self._tokens[first]
        start, end = _trimmed(self._text, self._starts[top], self._starts[bottom])
        if token.type == "code_block":
            start = self._starts[top]
        if end - start <= self._max_chars:
            words = words_of(self._tokens[first:last], self._text[start:end])
            if not words.text:
                return
            if self._fits(words.text):
                yield self._unit(start, end, words)
                return
        if lists := self._nested_lists(first, last):
            yield from self._item_parts(first, last, lists)
        elif token.type in {"fence", "code_block"}:
            yield from self._code_pieces(start, end, token.markup)
        else:
            yield from self._text_pieces(start, end, token.type == "table_open")

    def _nested_lists(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the lists directly inside an item, as index ranges with the end exclusive."""
        if self._tokens[first].type != "list_item_open":
            return []
        inside = self._siblings(first + 1, last - 1)
        return [(one, end) for one, end in inside if "_list_" in self._tokens[one].type]

    def _item_parts(
        self, first: int, last: int, lists: Sequence[tuple[int, int]]
    ) -> Iterator[Unit]:
        """Yield the parts of an over-long item: the text around its nested lists, and their
        items."""
        top, bottom = self._lines(first)
        opening = first
        for opened, closed in lists:
            yield from self._whole(opening, opened, top, self._lines(opened)[0])
            yield from self._items(opened, closed)
            opening, top = closed, self._lines(closed)[0]
        if opening < last - 1:
            yield from self._whole(opening, last - 1, top, bottom)

    def _text_pieces(self, start: int, end: int, is_table: bool) -> Iterator[Unit]:
        """Split a long unit; if it is struck out, all of its pieces are superseded."""
        ends = BREAKS if is_table else SENTENCES
        marker = _MARKER.match(self._text, start, end)
        inner = marker.end() if marker else start
        if span := struck(self._text[inner:end]):
            old = self._pieces(inner + span[0], inner + span[1], ends)
            words = functools.partial(Plain, struck=True, until=span[2])
            yield from self._framed(start, end, old, lambda own: words(plain(own)))
            return
        for first, last in shown(self._text, start, end):
            for left, right in self._pieces(first, last, ends):
                if current := plain(self._text[left:right]):
                    yield self._unit(left, right, Plain(current))

    def _code_pieces(self, start: int, end: int, fence: str) -> Iterator[Unit]:
        """Split a long code block into whole lines; its fences go with the first and last piece."""
        inner, until = start, end
        if fence:
            lines = BREAKS.finditer(self._text, start, end)
            inner = next((line.end() for line in lines), end)
            last = self._text.rfind(fence, inner, end)
            if last >= 0 and not self._text[last:end].strip(fence[0]):
                until = last
        ranges = self._pieces(inner, until, BREAKS)
        yield from self._framed(start, end, ranges, lambda own: Plain(own.strip()))

    def _framed(
        self,
        start: int,
        end: int,
        ranges: Iterable[tuple[int, int]],
        words: Callable[[str], Plain],
    ) -> Iterator[Unit]:
        """Yield units for ranges; the first and the last are extended to `start` and `end`."""
        spans = list(ranges)
        for index, (left, right) in enumerate(spans):
            own = words(self._text[left:right])
            left = start if index == 0 else left
            right = end if index == len(spans) - 1 else right
            if own.text:
                yield self._unit(left, right, own)

    def _pieces(self, start: int, end: int, ends: re.Pattern[str]) -> Iterator[tuple[int, int]]:
        return pieces(self._text, start, end, self._fits, ends, self._max_chars)

    def _unit(self, start: int, end: int, words: Plain) -> Unit:
        """Return a range, not empty, as a unit."""
        first, last = (bisect_right(self._starts, at) - 1 for at in (start, end - 1))
        return Unit(start, end, first, last, words)
