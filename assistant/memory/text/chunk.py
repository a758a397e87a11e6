"""Markdown text to chunks. Pure.

Parsed pieces are cached, so that an edit costs the parsing of what it changed.
"""

import hashlib
import json
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

from assistant.characters.stretches import STRETCH, ends_a_line, stretches
from assistant.memory.base import Passage, Status
from assistant.memory.precedence import QUESTIONS
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
    return Chunk(
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

    def written(self) -> str:
        """The section as a line of text, equal for equal ones."""
        return json.dumps([self.levels, self.path, self.dates])


def section_of(written: str) -> Section:
    """The section that was written so."""
    return Section(*map(tuple, json.loads(written)))


_CUT = re.compile(r"(?:\A|(?<=[\r\n]))(?:(#{1,6} )|[-*+] (?=\w))[^|\r\n]*(?=[\r\n]|\Z)")
"""A line with a bar may be a table's head, which an item within a list is not."""


@dataclass(frozen=True, slots=True)
class Grain:
    """Of so many items one starts a piece, and of so many pieces one starts a part, on average."""

    items: int = 16
    pieces: int = 32


GRAIN = Grain()


def cuts(text: str, start: int, grain: Grain = GRAIN) -> Iterator[int]:
    """Where the pieces begin that follow the one at `start`."""
    for first, stop in stretches(text, start):
        for found in _CUT.finditer(text, first, stop):
            whole = found.end() < stop or ends_a_line(text, stop)
            if found.start() > start and whole and _is_cut(found, grain):
                yield found.start()


def starts_part(text: str, piece: int, grain: Grain = GRAIN) -> bool:
    """Whether a part of the text begins with a piece, by the words of its first line."""
    found = _CUT.match(text, piece)
    return found is not None and _sum(found[0]) // grain.items % grain.pieces == 0


def _is_cut(found: re.Match[str], grain: Grain) -> bool:
    """Whether a line that may start a piece does; a very long one never."""
    short = len(found[0]) < STRETCH
    return short and bool(found[1] or _sum(found[0]) % grain.items == 0)


def _sum(line: str) -> int:
    return crc32(line.encode("utf-8", "surrogatepass"))


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
