"""Markdown to chunks: text in, values out.

What a piece of a file says is remembered, so that an edit costs the parsing of what it changed.
"""

import sys
import threading
import unicodedata
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import PurePosixPath

from assistant.memory.precedence import QUESTIONS
from assistant.memory.text.chunks import Chunk, identify, placed, repeated
from assistant.memory.text.markdown.blocks import Heading, Unit, parse
from assistant.memory.text.markdown.lines import breaks_in
from assistant.memory.text.markdown.overlong import MAX_CHARS
from assistant.memory.text.markdown.segments import GRAIN, Grain, cuts, starts_part
from assistant.memory.text.section import Section
from assistant.memory.text.times.dates import heading_date, mentions

REMEMBERED_CHARS = 12_000_000
"""The text whose chunks are remembered: some 150,000 facts."""


LARGEST_PART = 96 << 10
"""Characters from which on a part ends with the next piece."""


TOP = Section()


_SPECIAL_TOKENS = 8
"""More than any model adds to a text."""


def _never(place: int, section: Section) -> bool:
    return False


def chunk(
    text: str,
    source: str,
    *,
    count_tokens: Callable[[str], int],
    max_tokens: int,
    max_chars: int = MAX_CHARS,
) -> list[Chunk]:
    """The chunks of a markdown file, in order; see `Chunker`."""
    return list(Chunker(count_tokens, max_tokens, max_chars)(text, source))


class Chunker:
    """Makes the chunks of markdown files.

    Headings make the path of what stands under them; front matter and comments are left out. A
    unit over `max_tokens` or `max_chars` is split at its nested items, then at sentence ends. A
    chunk under no dated heading has the date of the file's name, if that is one, as in
    `memory/2026-05-08.md`. Time is linear in the text; what was met before is not parsed again.
    """

    def __init__(
        self,
        count_tokens: Callable[[str], int],
        max_tokens: int,
        max_chars: int = MAX_CHARS,
        *,
        grain: Grain = GRAIN,
        room: int = REMEMBERED_CHARS,
    ) -> None:
        """`room`: the characters of text whose chunks are remembered."""
        self._fits = _fitting(count_tokens, max_tokens)
        self._max_chars = max_chars
        self._grain = grain
        self._remembered: OrderedDict[tuple[str, Section, str], _Piece] = OrderedDict()
        self._room = room
        self._turn = threading.Lock()

    def __call__(self, text: str, source: str) -> Iterator[Chunk]:
        """The chunks of a file's text, in order, as they are parsed."""
        times: Counter[str] = Counter()
        ordinal = line = 0
        for part in self.parts(text.removeprefix("\ufeff"), source):
            for each in part.chunks:
                yield placed(repeated(each, times[each.id]), ordinal, part.start, line)
                times[each.id] += 1
            ordinal += len(part.chunks)
            line += part.lines

    def parts(
        self,
        text: str,
        source: str,
        start: int = 0,
        section: Section = TOP,
        is_known: Callable[[int, Section], bool] = _never,
    ) -> Iterator["Part"]:
        """The parts of a text without byte-order mark, from the one that begins at `start` under a
        section, up to where one is known that would begin."""
        above, chunks, size, lines = section, list[Chunk](), 0, 0
        for piece in self._pieces(text, source, start, section):
            if size and (size >= LARGEST_PART or starts_part(text, start + size, self._grain)):
                yield Part(start, size, lines, above, tuple(chunks))
                start += size
                above, chunks, size, lines = section, [], 0, 0
                if is_known(start, section):
                    return
            for each in piece.chunks:
                chunks.append(placed(each, len(chunks), size, lines))
            size += piece.size
            lines += piece.lines
            section = piece.section
        if size:
            yield Part(start, size, lines, above, tuple(chunks))

    def _pieces(self, text: str, source: str, start: int, section: Section) -> Iterator["_Piece"]:
        """The pieces of a text, those joined again that an open fence or the like runs through."""
        ends = chain(cuts(text, start, self._grain), [len(text)])
        while start < len(text):
            end, taken = next(ends), 1
            piece = self._once(text[start:end], source, section)
            while piece.open and end < len(text):
                *_, end = islice(ends, taken)
                taken *= 2
                piece = self._once(text[start:end], source, section)
            yield piece
            start, section = end, piece.section
            QUESTIONS.give_way()

    def _once(self, text: str, source: str, section: Section) -> "_Piece":
        """A piece, by one thread at a time: files may be parsed side by side."""
        with self._turn:
            return self._piece(text, source, section)

    def _piece(self, text: str, source: str, section: Section) -> "_Piece":
        key = (source, section, text)
        if key in self._remembered:
            self._remembered.move_to_end(key)
            return self._remembered[key]
        piece = self._remembered[key] = self._made(text, source, section)
        self._room -= len(text)
        while self._room < 0:
            (_, _, oldest), _ = self._remembered.popitem(last=False)
            self._room += len(oldest)
        return piece

    def _made(self, text: str, source: str, section: Section) -> "_Piece":
        parsed = parse(text, self._fits, self._max_chars)
        named = heading_date(PurePosixPath(source).stem)
        found: list[Chunk] = []
        for block in parsed.blocks:
            if isinstance(block, Heading):
                section = section.under(block.level, block.title)
            else:
                found.append(_chunk(block, text, source, section, section.date or named))
        lines = breaks_in(text)
        return _Piece(tuple(found), len(text), lines, section, parsed.open)


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a file that is understood from itself and the section above it.

    Its chunks stand in it as if it were all of the file, each as the first that says what it says.
    Where a part ends is told by its own words and the line below it.
    """

    start: int
    size: int
    lines: int
    section: Section
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of a file: its chunks as if it were all of it, the section that it ends in."""

    chunks: tuple[Chunk, ...]
    size: int
    lines: int
    section: Section
    open: bool


def _chunk(unit: Unit, text: str, source: str, section: Section, date: str | None) -> Chunk:
    own = text[unit.start : unit.end]
    return Chunk(
        id=identify(source, section.path, own, 0),
        source=source,
        ordinal=0,
        text=own,
        plain=unit.words.text,
        heading=section.path,
        start_line=unit.first_line + 1,
        end_line=unit.last_line + 1,
        start_char=unit.start,
        end_char=unit.end,
        date=date,
        mentions=mentions(unit.words.text, date),
        status="superseded" if unit.words.struck else "current",
        until=unit.words.until,
    )


def _fitting(count_tokens: Callable[[str], int], max_tokens: int) -> Callable[[str], bool]:
    """Whether a text is within the model's limit; texts that are plainly short are not counted.

    A token stands for at least one byte of the decomposed text.
    """

    def fits(words: str) -> bool:
        most = len(words)
        if not words.isascii():
            most = len(unicodedata.normalize("NFKD", words).encode("utf-8", "surrogatepass"))
        return most + _SPECIAL_TOKENS <= max_tokens or count_tokens(words) <= max_tokens

    return fits


def chunks_of(text: str, source: str) -> list[Chunk]:
    """The chunks of a file, none split for the sake of an embedding model."""
    whole = sys.maxsize
    return chunk(text, source, count_tokens=len, max_tokens=whole, max_chars=whole)
