"""Markdown to chunks: text in, values out.

What a piece of a file says is remembered, so that an edit costs the parsing of what it changed.
"""

import hashlib
import sys
import threading
import unicodedata
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from assistant.memory.base import Passage, Status
from assistant.memory.text.markdown.blocks import Heading, Unit, parse
from assistant.memory.text.markdown.lines import BREAKS
from assistant.memory.text.markdown.overlong import MAX_CHARS
from assistant.memory.text.markdown.segments import cut
from assistant.memory.text.times.dates import heading_date, mentions

REMEMBERED_CHARS = 12_000_000
"""The text whose chunks are remembered: some 150,000 facts."""
_SPECIAL_TOKENS = 8
"""More than any model adds to a text."""


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


class Chunker:
    """Makes the chunks of markdown files.

    Headings make the path of what stands under them; front matter and comments are left out. A
    unit over `max_tokens` or `max_chars` is split at its nested items, then at sentence ends. A
    chunk under no dated heading has the date of the file's name, if that is one, as in
    `memory/2026-05-08.md`. Time is linear in the text; what was met before is not parsed again.
    """

    def __init__(
        self, count_tokens: Callable[[str], int], max_tokens: int, max_chars: int = MAX_CHARS
    ) -> None:
        self._fits = _fitting(count_tokens, max_tokens)
        self._max_chars = max_chars
        self._remembered: OrderedDict[tuple[str, _Section, str], _Piece] = OrderedDict()
        self._room = REMEMBERED_CHARS
        self._turn = threading.Lock()

    def __call__(self, text: str, source: str) -> Iterator[Chunk]:
        """The chunks of a file's text, in order, as they are parsed."""
        times: Counter[str] = Counter()
        count = start = line = 0
        for piece in self._pieces(text.removeprefix("\ufeff"), source):
            for each in piece.chunks:
                yield _placed(each, times[each.id], count, start, line)
                times[each.id] += 1
                count += 1
            start += piece.size
            line += piece.lines

    def _pieces(self, text: str, source: str) -> Iterator["_Piece"]:
        """The pieces of a text, those joined again that an open fence or the like runs through."""
        section = _Section()
        parts = list(cut(text))
        first = 0
        while first < len(parts):
            last = first + 1
            piece = self._once(parts[first], source, section)
            while piece.open and last < len(parts):
                last += last - first
                piece = self._once("".join(parts[first:last]), source, section)
            yield piece
            section = piece.section
            first = last

    def _once(self, text: str, source: str, section: "_Section") -> "_Piece":
        """A piece, by one thread at a time: files may be parsed side by side."""
        with self._turn:
            return self._piece(text, source, section)

    def _piece(self, text: str, source: str, section: "_Section") -> "_Piece":
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

    def _made(self, text: str, source: str, section: "_Section") -> "_Piece":
        parsed = parse(text, self._fits, self._max_chars)
        named = heading_date(PurePosixPath(source).stem)
        found: list[Chunk] = []
        for block in parsed.blocks:
            if isinstance(block, Heading):
                section = section.under(block.level, block.title)
            else:
                found.append(_chunk(block, text, source, section, section.date or named))
        lines = sum(1 for _ in BREAKS.finditer(text))
        return _Piece(tuple(found), len(text), lines, section, parsed.open)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of a file: its chunks as if it were all of it, the section that it ends in."""

    chunks: tuple[Chunk, ...]
    size: int
    lines: int
    section: "_Section"
    open: bool


def _chunk(unit: Unit, text: str, source: str, section: "_Section", date: str | None) -> Chunk:
    own = text[unit.start : unit.end]
    return Chunk(
        id=_identify(source, section.path, own, 0),
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


def _placed(chunk: Chunk, occurrence: int, ordinal: int, start: int, line: int) -> Chunk:
    """The chunk as it stands in the whole file, where its piece begins at `start` and `line`."""
    again = occurrence and _identify(chunk.source, chunk.heading, chunk.text, occurrence)
    return Chunk(
        again or chunk.id,
        chunk.source,
        ordinal,
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


def _identify(source: str, path: tuple[str, ...], text: str, occurrence: int) -> str:
    """16 hex digits of SHA-256 over source, heading path, text, and how often they came before."""
    framed = "".join(f"{len(part)}:{part}" for part in (source, *path))
    named = f"{framed}\n{text}\n{occurrence}"
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]


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


@dataclass(frozen=True, slots=True)
class _Section:
    """The headings above a unit, outermost first, and the date of the nearest dated one."""

    levels: tuple[int, ...] = ()
    path: tuple[str, ...] = ()
    dates: tuple[str | None, ...] = ()

    @property
    def date(self) -> str | None:
        return next((date for date in reversed(self.dates) if date), None)

    def under(self, level: int, title: str) -> "_Section":
        """The section that a heading opens."""
        keep = sum(1 for _ in filter(lambda above: above < level, self.levels))
        return _Section(
            (*self.levels[:keep], level),
            (*self.path[:keep], title),
            (*self.dates[:keep], heading_date(title)),
        )


def chunks_of(text: str, source: str) -> list[Chunk]:
    """The chunks of a file, none split for the sake of an embedding model."""
    whole = sys.maxsize
    return chunk(text, source, count_tokens=len, max_tokens=whole, max_chars=whole)
