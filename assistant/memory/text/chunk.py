"""Splits markdown into chunks. Pure.

Parsed pieces are cached, so an edit costs only the parsing of what it changed.
"""

import dataclasses
import hashlib
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import PurePosixPath
from zlib import crc32

import msgspec
from msgspec.structs import replace

from assistant.characters import STRETCH, ends_a_line, stretches
from assistant.memory.annotations import matters_for, recorded, searched
from assistant.memory.base import Passage, Status
from assistant.memory.text.blocks import MAX_CHARS, Heading, Unit, parse
from assistant.memory.text.headings import TOP, Section
from assistant.memory.text.markdown import breaks_in
from assistant.memory.text.times.dates import heading_date, mentions


class Chunk(msgspec.Struct, frozen=True):
    """The unit of recall: a list item with its nested blocks, a paragraph, table, fence, quote.

    `id` is a hash of source, heading path, text and occurrence: changes elsewhere in the file do
    not affect it. `text` is the file's own between `start_char` and `end_char`; `plain` is the text
    that is embedded and matched: without markup, heading or struck-out text. Lines are 1-based,
    inclusive; characters are code points after any byte-order mark, end exclusive. `ordinal` counts
    the chunks of the file from 0.

    A chunk that is entirely struck out is superseded: its `plain` is the struck-out text, and
    `until` the date (ISO) it stopped being true, if the file gives it.
    """

    id: str
    source: str
    ordinal: int
    text: str
    plain: str
    heading: tuple[str, ...]
    start_line: int
    end_line: int
    start_char: int
    end_char: int
    date: str | None = None
    mentions: tuple[str, ...] = ()
    status: Status = "current"
    until: str | None = None
    variant: int = 0
    """Distinguishes chunks with the same id but other text, see `reworded`; 0 as parsed."""

    @property
    def matters_for(self) -> str:
        """The occasions in its `for:` comment; "" without one."""
        return ", ".join(matters_for(self.text, self.plain))

    @property
    def searched(self) -> str:
        """The text it is indexed by: `plain`, and what it matters for."""
        return searched(self.plain, self.text)


def passage(chunk: Chunk, score: float = 0.0, shares: dict[str, float] | None = None) -> Passage:
    """Return a chunk as a passage."""
    result = msgspec.convert(chunk, Passage, from_attributes=True)
    return dataclasses.replace(result, score=round(score, 4), signals=shares or {})


def reworded(chunk: Chunk, text: str, plain: str, heading: tuple[str, ...]) -> Chunk:
    """Return a chunk with the same id but another text than in its file."""
    words = "\0".join((text, plain, *heading, chunk.date or "")).encode("utf-8", "surrogatepass")
    return replace(chunk, text=text, plain=plain, heading=heading, variant=crc32(words))


def positioned(chunk: Chunk, ordinal: int, start: int, line: int, occurrence: int = 0) -> Chunk:
    """Return the chunk with positions in the whole text; its piece begins at `start`, and its text
    is the `occurrence`th repetition in the file; 0 is the first."""
    named = chunk.source, chunk.heading, chunk.text
    return replace(
        chunk,
        id=identify(*named, occurrence) if occurrence else chunk.id,
        ordinal=chunk.ordinal + ordinal,
        start_line=chunk.start_line + line,
        end_line=chunk.end_line + line,
        start_char=chunk.start_char + start,
        end_char=chunk.end_char + start,
    )


def identify(source: str, path: tuple[str, ...], text: str, occurrence: int) -> str:
    """Return 16 hex digits of SHA-256 over source, heading path, text, and occurrence."""
    framed = "".join(f"{len(part)}:{part}" for part in (source, *path))
    named = f"{framed}\n{text}\n{occurrence}"
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]


_CUT = re.compile(r"(?:\A|(?<=[\r\n]))(?:(#{1,6} )|[-*+] (?=\w))[^|\r\n]*(?=[\r\n]|\Z)")
"""A line with a bar may be the header of a table, but a list item cannot be part of one."""


ITEMS = 16
"""One item in this many starts a piece, on average."""


def cuts(text: str, items: int = ITEMS) -> Iterator[int]:
    """Yield the positions at which the pieces of a text begin, except the first."""
    for first, stop in stretches(text):
        for line in _CUT.finditer(text, first, stop):
            if not line.start() or len(line[0]) >= STRETCH:
                continue
            whole = line.end() < stop or ends_a_line(text, stop)
            if whole and (line[1] or crc32(line[0].encode("utf-8", "surrogatepass")) % items == 0):
                yield line.start()


CACHED = 4096
"""The number of pieces whose chunks are cached: some 65,000 facts."""
LONG = 1 << 14
"""The length in characters from which a piece is not cached."""


_SPECIAL_TOKENS = 8
"""More than any model adds to a text."""


class Chunker:
    """Splits markdown files into chunks.

    The headings above a chunk form its path; front matter and comments are left out. A unit over
    `max_tokens` or `max_chars` is split at its nested items, then at sentence ends. A chunk under
    no dated heading gets the date of the file name, if it is one, as in `memory/2026-05-08.md`.
    Time is linear in the text; cached pieces are not parsed again.
    """

    def __init__(
        self,
        count_tokens: Callable[[str], int],
        max_tokens: int,
        max_chars: int = MAX_CHARS,
        *,
        items: int = ITEMS,
        cached: int = CACHED,
    ) -> None:
        """`items`: list items per piece, on average; `cached`: the number of cached pieces."""
        self._fits = _fitting(count_tokens, max_tokens)
        self._max_chars = max_chars
        self._items = items
        self._cached = lru_cache(cached)(self._parsed)

    def __call__(self, text: str, source: str) -> Iterator[Chunk]:
        """Yield the chunks of a file's text, in order, as they are parsed."""
        return chain.from_iterable(self.batches(text, source))

    def batches(self, text: str, source: str) -> Iterator[Sequence[Chunk]]:
        """Yield the chunks of a file's text, in order, in batches."""
        counts: dict[str, int] = {}
        ordinal = line = start = 0
        for length, piece in self._pieces(text.removeprefix("\ufeff"), source):
            chunks = []
            for chunk in piece.chunks:
                before = counts.get(chunk.id, 0)
                chunks.append(positioned(chunk, ordinal, start, line, before))
                counts[chunk.id] = before + 1
            yield chunks
            ordinal += len(chunks)
            line += piece.lines
            start += length

    def _pieces(self, text: str, source: str) -> "Iterator[tuple[int, Piece]]":
        """Yield the pieces of a text, in order, with their lengths."""
        start, section = 0, TOP
        ends = chain(cuts(text, self._items), [len(text)])
        while start < len(text):
            end, joined = next(ends), 1
            while True:  # its last block may be open; then parse twice as much
                parsed = self._cached if end - start < LONG else self._parsed
                piece = parsed(text[start:end], section, source)
                if not piece.open or end == len(text):
                    break
                *_, end = islice(ends, joined)
                joined *= 2
            yield end - start, piece
            start, section = end, piece.section

    def _parsed(self, text: str, above: Section, source: str) -> "Piece":
        blocks, is_open = parse(text, self._fits, self._max_chars)
        file_date = heading_date(PurePosixPath(source).stem)
        section = above
        chunks: list[Chunk] = []
        for block in blocks:
            if isinstance(block, Heading):
                section = section.under(block.level, block.title)
            else:
                date = section.date or file_date
                chunks.append(_chunk(block, len(chunks), text, source, section, date))
        return Piece(chunks, breaks_in(text), section, is_open)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a file, between two lines that start a heading or a list item.

    Its chunks have positions as if it were the whole file, and count as the first with their text.
    `section` is its last one. `open`: its last block may continue after it.
    """

    chunks: Sequence[Chunk]
    lines: int
    section: Section
    open: bool


def _chunk(
    unit: Unit, ordinal: int, text: str, source: str, section: Section, date: str | None
) -> Chunk:
    own = text[unit.start : unit.end]
    date = recorded(own) or date
    return Chunk(
        id=identify(source, section.path, own, 0),
        source=source,
        ordinal=ordinal,
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
    """Return a check whether a text is within the model's limit; clearly short texts are not
    counted.

    A token takes at least one byte of the decomposed text.
    """

    def fits(words: str) -> bool:
        most = len(words)
        if not words.isascii():
            most = len(unicodedata.normalize("NFKD", words).encode("utf-8", "surrogatepass"))
        return most + _SPECIAL_TOKENS <= max_tokens or count_tokens(words) <= max_tokens

    return fits


_WHOLE = Chunker(len, sys.maxsize, sys.maxsize)


def chunks_of(text: str, source: str) -> list[Chunk]:
    """Return the chunks of a file, not split for an embedding model."""
    return list(_WHOLE(text, source))
