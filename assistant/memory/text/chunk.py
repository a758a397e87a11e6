"""Markdown text to chunks. Pure.

Parsed pieces are cached, so that an edit costs the parsing of what it changed.
"""

import hashlib
import re
import sys
import threading
import unicodedata
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import PurePosixPath
from zlib import crc32

from assistant.characters import STRETCH, ends_a_line, stretches
from assistant.memory.annotations import matters_for, recorded, searched
from assistant.memory.base import Passage, Status
from assistant.memory.text.blocks import MAX_CHARS, Heading, Unit, parse
from assistant.memory.text.markdown import breaks_in
from assistant.memory.text.times.dates import heading_date, mentions


@dataclass(frozen=True, slots=True)
class Chunk:
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
    """A chunk, the first that says what it says, as one that comes after so many others."""
    if not occurrence:
        return chunk
    return replace(chunk, id=identify(chunk.source, chunk.heading, chunk.text, occurrence))


def placed(chunk: Chunk, ordinal: int, start: int, line: int) -> Chunk:
    """The chunk as it stands in the whole of a text, a stretch of which begins at `start`."""
    return Chunk(  # `replace` takes five times as long, for each chunk of a file at each edit
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
"""Of so many items one starts a piece, on average."""


def cuts(text: str, start: int, items: int = ITEMS) -> Iterator[int]:
    """Where the pieces begin that follow the one at `start`."""
    for first, stop in stretches(text, start):
        for found in _CUT.finditer(text, first, stop):
            whole = found.end() < stop or ends_a_line(text, stop)
            if found.start() > start and whole and _is_cut(found, items):
                yield found.start()


def _is_cut(found: re.Match[str], items: int) -> bool:
    """Whether a line that may start a piece does; a very long one never."""
    if len(found[0]) >= STRETCH:
        return False
    return bool(found[1] or crc32(found[0].encode("utf-8", "surrogatepass")) % items == 0)


REMEMBERED_CHARS = 12_000_000
"""The text whose chunks are remembered: some 150,000 facts."""


TOP = Section()


_SPECIAL_TOKENS = 8
"""More than any model adds to a text."""


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
        items: int = ITEMS,
        room: int = REMEMBERED_CHARS,
    ) -> None:
        """`room`: the characters of text whose chunks are cached."""
        self._fits = _fitting(count_tokens, max_tokens)
        self._max_chars = max_chars
        self._items = items
        self._cached: OrderedDict[tuple[str, Section, str], Piece] = OrderedDict()
        self._room = room
        self._turn = threading.Lock()

    def __call__(self, text: str, source: str) -> Iterator[Chunk]:
        """The chunks of a file's text, in order, as they are parsed."""
        times: Counter[str] = Counter()
        ordinal = line = start = 0
        for piece in self.pieces(text.removeprefix("\ufeff"), source):
            yield from piece.placed(ordinal, start, line, times)
            ordinal += len(piece.chunks)
            line += piece.lines
            start += piece.size

    def pieces(self, text: str, source: str) -> Iterator["Piece"]:
        """The pieces of a text without byte-order mark, in order; those joined again that an open
        fence or the like runs through."""
        start, section = 0, TOP
        ends = chain(cuts(text, start, self._items), [len(text)])
        while start < len(text):
            end, taken = next(ends), 1
            piece = self._piece(text[start:end], source, section)
            while piece.open and end < len(text):
                *_, end = islice(ends, taken)
                taken *= 2
                piece = self._piece(text[start:end], source, section)
            yield piece
            start, section = end, piece.section

    def _piece(self, text: str, source: str, section: Section) -> "Piece":
        """A piece, by one thread at a time: files may be parsed side by side."""
        key = (source, section, text)
        with self._turn:
            if key in self._cached:
                self._cached.move_to_end(key)
                return self._cached[key]
            piece = self._cached[key] = self._parsed(text, source, section)
            self._room -= len(text)
            while self._room < 0:
                (_, _, oldest), _ = self._cached.popitem(last=False)
                self._room += len(oldest)
            return piece

    def _parsed(self, text: str, source: str, section: Section) -> "Piece":
        parsed = parse(text, self._fits, self._max_chars)
        named = heading_date(PurePosixPath(source).stem)
        found: list[Chunk] = []
        for block in parsed.blocks:
            if isinstance(block, Heading):
                section = section.under(block.level, block.title)
            else:
                found.append(_chunk(block, text, source, section, section.date or named))
        return Piece(text, tuple(found), breaks_in(text), section, parsed.open)


@dataclass(eq=False, slots=True)
class Piece:
    """A piece of a file: its chunks as if it were all of it, each as the first that says what it
    says, how many lines it has, and the section that it ends in."""

    text: str
    chunks: tuple[Chunk, ...]
    lines: int
    section: Section
    open: bool
    _latest: tuple[tuple[int, ...], tuple[Chunk, ...]] = ((), ())
    """Where its chunks were placed last, and they as they stood there."""

    @property
    def size(self) -> int:
        """In characters."""
        return len(self.text)

    def placed(self, ordinal: int, start: int, line: int, times: Counter[str]) -> tuple[Chunk, ...]:
        """The chunks as they stand in the whole of a file, in which this piece begins there.

        `times` counts the chunks before by their ids, and is brought up to date. Where a piece
        stands as it stood before, its chunks are those of before: an edit places what follows it.
        """
        occurrences: list[int] = []
        for chunk in self.chunks:
            occurrences.append(times[chunk.id])
            times[chunk.id] += 1
        place, chunks = self._latest
        if place != (ordinal, start, line, *occurrences):
            place = (ordinal, start, line, *occurrences)
            counted = zip(self.chunks, occurrences, strict=True)
            chunks = tuple(
                placed(repeated(chunk, occurrence), number, start, line)
                for number, (chunk, occurrence) in enumerate(counted, start=ordinal)
            )
            self._latest = place, chunks
        return chunks


def _chunk(unit: Unit, text: str, source: str, section: Section, date: str | None) -> Chunk:
    own = text[unit.start : unit.end]
    date = recorded(own) or date
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


_WHOLE = Chunker(len, sys.maxsize, sys.maxsize, room=2_000_000)


def chunks_of(text: str, source: str) -> list[Chunk]:
    """The chunks of a file, none split for the sake of an embedding model."""
    return list(_WHOLE(text, source))
