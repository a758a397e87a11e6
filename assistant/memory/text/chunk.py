"""Markdown text to chunks. Pure.

Parsed pieces are cached, so that an edit costs the parsing of what it changed.
"""

import hashlib
import re
import sys
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import PurePosixPath
from zlib import crc32

import msgspec
from msgspec.structs import replace

from assistant.characters import STRETCH, ends_a_line, stretches
from assistant.memory.annotations import matters_for, recorded, searched
from assistant.memory.base import Passage, Status
from assistant.memory.text.blocks import MAX_CHARS, Heading, Unit, parse
from assistant.memory.text.markdown import breaks_in
from assistant.memory.text.times.dates import heading_date, mentions


class Chunk(msgspec.Struct, frozen=True):
    """The unit of recall: a list item with what is nested in it, a paragraph, table, fence, quote.

    `id` is a hash of source, heading path, text and occurrence: it survives anything that happens
    elsewhere in the file. `text` is the file's own between `start_char` and `end_char`;
    `plain` is what is embedded and matched: without markup, heading or struck-out words.
    Lines are 1-based, inclusive; characters are code points after any byte-order mark, end
    exclusive. `ordinal` counts the chunks of the file from 0.

    A chunk that is struck out as a whole is superseded: its `plain` is what it used to say, and
    `until` the date (ISO) it stopped being true, if the file tells.
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
    """Tells chunks of one id apart whose words differ, see `reworded`; 0 as parsed."""

    @property
    def matters_for(self) -> str:
        """What a comment says that it matters for; "" if none does."""
        return ", ".join(matters_for(self.text, self.plain))

    @property
    def searched(self) -> str:
        """The words that it is found by: `plain`, and what it matters for."""
        return searched(self.plain, self.text)


def passage(chunk: Chunk, score: float = 0.0, shares: dict[str, float] | None = None) -> Passage:
    """What is returned of a chunk."""
    return Passage(
        id=chunk.id,
        text=chunk.text,
        plain=chunk.plain,
        source=chunk.source,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        start_char=chunk.start_char,
        end_char=chunk.end_char,
        heading=chunk.heading,
        date=chunk.date,
        mentions=chunk.mentions,
        score=round(score, 4),
        status=chunk.status,
        signals=shares or {},
    )


def repeated(chunk: Chunk, occurrence: int) -> Chunk:
    """The chunk as the `occurrence`th repetition of the same text in its file; 0 is the first."""
    if not occurrence:
        return chunk
    return replace(chunk, id=identify(chunk.source, chunk.heading, chunk.text, occurrence))


def reworded(chunk: Chunk, text: str, plain: str, heading: tuple[str, ...]) -> Chunk:
    """Return a chunk under its id with other words than its file's."""
    words = "\0".join((text, plain, *heading, chunk.date or "")).encode("utf-8", "surrogatepass")
    return replace(chunk, text=text, plain=plain, heading=heading, variant=crc32(words))


def placed(chunk: Chunk, ordinal: int, start: int, line: int) -> Chunk:
    """The chunk with positions in the whole text, given that its stretch begins at `start`."""
    return Chunk(  # `replace` takes five times as long, for each chunk behind an edit
        chunk.id,
        chunk.source,
        chunk.ordinal + ordinal,
        chunk.text,
        chunk.plain,
        chunk.heading,
        chunk.start_line + line,
        chunk.end_line + line,
        chunk.start_char + start,
        chunk.end_char + start,
        chunk.date,
        chunk.mentions,
        chunk.status,
        chunk.until,
        chunk.variant,
    )


def identify(source: str, path: tuple[str, ...], text: str, occurrence: int) -> str:
    """16 hex digits of SHA-256 over source, heading path, text, and how often they came before."""
    framed = "".join(f"{len(part)}:{part}" for part in (source, *path))
    named = f"{framed}\n{text}\n{occurrence}"
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Section:
    """The headings above a unit, outermost first, and the date of the nearest dated one."""

    levels: tuple[int, ...] = ()
    path: tuple[str, ...] = ()
    dates: tuple[str | None, ...] = ()

    @property
    def date(self) -> str | None:
        return next((date for date in reversed(self.dates) if date), None)

    def under(self, level: int, title: str) -> "Section":
        """The section that a heading opens."""
        keep = sum(1 for _ in filter(lambda above: above < level, self.levels))
        return Section(
            (*self.levels[:keep], level),
            (*self.path[:keep], title),
            (*self.dates[:keep], heading_date(title)),
        )


_CUT = re.compile(r"(?:\A|(?<=[\r\n]))(?:(#{1,6} )|[-*+] (?=\w))[^|\r\n]*(?=[\r\n]|\Z)")
"""A line with a bar may be a table's head, which an item within a list is not."""


ITEMS = 16
"""One item in this many starts a piece, on average."""


def cuts(text: str, start: int, items: int = ITEMS) -> Iterator[int]:
    """Where the pieces begin that follow the one at `start`."""
    for first, stop in stretches(text, start):
        for line in _CUT.finditer(text, first, stop):
            whole = line.end() < stop or ends_a_line(text, stop)
            if line.start() > start and whole and _is_cut(line, items):
                yield line.start()


def _is_cut(line: re.Match[str], items: int) -> bool:
    """Whether a line that may start a piece does; a very long one never."""
    if len(line[0]) >= STRETCH:
        return False
    return bool(line[1] or crc32(line[0].encode("utf-8", "surrogatepass")) % items == 0)


CACHED_CHARS = 12_000_000
"""The text whose chunks are cached: some 150,000 facts."""


TOP = Section()


_SPECIAL_TOKENS = 8
"""More than any model adds to a text."""


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
        items: int = ITEMS,
        cached_chars: int = CACHED_CHARS,
    ) -> None:
        """`items`: list items per piece, on average; `cached_chars`: how much text is cached."""
        self._fits = _fitting(count_tokens, max_tokens)
        self._max_chars = max_chars
        self._items = items
        self._cached: OrderedDict[str, list[Piece]] = OrderedDict()
        """The pieces of each source's previous text, the least recently parsed source first."""
        self._free_chars = cached_chars
        self._lock = threading.Lock()

    def __call__(self, text: str, source: str) -> Iterator[Chunk]:
        """Yield the chunks of a file's text, in order, as they are parsed."""
        return chain.from_iterable(self.batches(text, source))

    def batches(self, text: str, source: str) -> Iterator[Sequence[Chunk]]:
        """Yield the chunks of a file's text, in order, some together."""
        counts: dict[str, int] = {}
        ordinal = line = start = 0
        for piece in self.pieces(text.removeprefix("\ufeff"), source):
            yield piece.placed(ordinal, start, line, counts)
            ordinal += len(piece.chunks)
            line += piece.lines
            start += len(piece.text)

    def pieces(self, text: str, source: str) -> Iterator["Piece"]:
        """Yield the pieces of a text without byte-order mark, in order.

        Pieces of the source's previous text are reused; as they follow in the same order before
        and after an edit, only the text around the edit is cut again.
        """
        with self._lock:
            cached = self._cached.get(source, [])
        indexes = {piece.text: index for index, piece in enumerate(cached)}

        def parsed(part: str) -> Piece:
            if part in indexes and (piece := cached[indexes[part]]).above == section:
                return piece
            return self._parsed(part, source, section)

        pieces: list[Piece] = []
        index = start = 0
        section, ends = TOP, None
        try:
            while start < len(text):
                if _continues(text, start, section, cached, index):
                    piece, ends = cached[index], None
                    index += 1
                else:
                    ends = ends or chain(cuts(text, start, self._items), [len(text)])
                    piece = _joined(text, start, ends, parsed)
                    index = indexes.get(piece.text, index - 1) + 1
                start, section = start + len(piece.text), piece.section
                pieces.append(piece)
                yield piece
        finally:  # a caller that stops early goes on with these the next time
            self._cache(source, pieces if start >= len(text) else pieces + cached[max(index, 1) :])

    def _cache(self, source: str, pieces: "list[Piece]") -> None:
        """Cache the pieces of a source; the sources parsed longest ago make room."""
        with self._lock:
            self._free_chars += _size(self._cached.pop(source, []))
            self._cached[source] = pieces
            self._free_chars -= _size(pieces)
            while self._free_chars < 0:
                self._free_chars += _size(self._cached.popitem(last=False)[1])

    def _parsed(self, text: str, source: str, above: Section) -> "Piece":
        parsed = parse(text, self._fits, self._max_chars)
        file_date = heading_date(PurePosixPath(source).stem)
        section = above
        chunks: list[Chunk] = []
        for block in parsed.blocks:
            if isinstance(block, Heading):
                section = section.under(block.level, block.title)
            else:
                date = section.date or file_date
                chunks.append(_chunk(block, len(chunks), text, source, section, date))
        once = dict.fromkeys((chunk.id for chunk in chunks), 1)
        return Piece(text, above, tuple(chunks), breaks_in(text), section, parsed.open, once)


def _continues(
    text: str, start: int, section: Section, cached: "Sequence[Piece]", index: int
) -> bool:
    """Return whether a text goes on with the cached piece at `index`, and ends it there.

    A piece ends where a line starts the next one, so the next must follow too, with its whole
    first line: the last piece of a text may end in the middle of one.
    """
    if index + 2 >= len(cached):
        return False
    piece = cached[index]
    return (
        (piece.above is section or piece.above == section)
        and text.startswith(piece.text, start)
        and text.startswith(cached[index + 1].text, start + len(piece.text))
    )


def _joined(
    text: str, start: int, ends: Iterator[int], parsed: Callable[[str], "Piece"]
) -> "Piece":
    """Parse the piece up to the next end, or as many more as its last block stays open for."""
    end, joined = next(ends), 1
    piece = parsed(text[start:end])
    while piece.open and end < len(text):
        *_, end = islice(ends, joined)
        joined *= 2
        piece = parsed(text[start:end])
    return piece


def _size(pieces: "Iterable[Piece]") -> int:
    return sum(len(piece.text) for piece in pieces)


@dataclass(eq=False, slots=True)
class Piece:
    """A piece of a file, between two lines that start a heading or a list item.

    Its chunks are positioned as if it were the whole file, each as the first of its text.
    `section` is the one it ends in. `open`: its last block may go on after it.
    """

    text: str
    above: Section
    chunks: tuple[Chunk, ...]
    lines: int
    section: Section
    open: bool
    once: dict[str, int]
    """The ids of its chunks, each counted once."""
    _placed: tuple[tuple[int, ...], Sequence[Chunk]] = ((), ())
    """Its last position, and the chunks there."""

    def placed(
        self, ordinal: int, start: int, line: int, counts: dict[str, int]
    ) -> Sequence[Chunk]:
        """Return the chunks as positioned in a file in which this piece starts here.

        `counts` are the chunks before by id, and is updated. The same position as the last one
        returns the same chunks.
        """
        if len(self.once) == len(self.chunks) and counts.keys().isdisjoint(self.once):
            counts |= self.once
            repeats: list[int] = []
        else:
            repeats = _count(self.chunks, counts)
        position = (ordinal, start, line, *repeats)
        last, chunks = self._placed  # read once: another thread may place the piece elsewhere
        if last != position:
            own = map(repeated, self.chunks, repeats) if repeats else self.chunks
            chunks = [placed(chunk, ordinal, start, line) for chunk in own]
            self._placed = position, chunks
        return chunks


def _count(chunks: Iterable[Chunk], counts: dict[str, int]) -> list[int]:
    """Return how often each chunk is counted already, and count it."""
    repeats = []
    for chunk in chunks:
        repeats.append(counts.get(chunk.id, 0))
        counts[chunk.id] = repeats[-1] + 1
    return repeats


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
    """Whether a text is within the model's limit; texts that are plainly short are not counted.

    A token stands for at least one byte of the decomposed text.
    """

    def fits(words: str) -> bool:
        most = len(words)
        if not words.isascii():
            most = len(unicodedata.normalize("NFKD", words).encode("utf-8", "surrogatepass"))
        return most + _SPECIAL_TOKENS <= max_tokens or count_tokens(words) <= max_tokens

    return fits


_WHOLE = Chunker(len, sys.maxsize, sys.maxsize, cached_chars=2_000_000)


def chunks_of(text: str, source: str) -> list[Chunk]:
    """The chunks of a file, none split for the sake of an embedding model."""
    return list(_WHOLE(text, source))
