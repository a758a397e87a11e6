"""Markdown to chunks. Pure: text in, values out."""

import hashlib
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from markdown_it.token import Token

from assistant.memory.base import Status
from assistant.memory.dates import heading_date, mentions
from assistant.memory.plain import PARSER, Plain, inline_words, shown, struck, words_of
from assistant.memory.plain import fold as fold
from assistant.memory.plain import plain as plain
from assistant.memory.split import LINES, MAX_CHARS, SENTENCES, pieces

MAX_HEADING = 200
"""Characters of a heading that are kept in the path."""
_SPECIAL_TOKENS = 8
"""More than any model adds to a text."""
_MARKER = re.compile(r"(?:[-+*]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")


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
    """The chunks of a markdown file, in order.

    Headings make the path of what stands under them; front matter and comments are left out. A
    unit over `max_tokens` or `max_chars` is split at its nested items, then at sentence ends. A
    chunk under no dated heading has the date of the file's name, if that is one, as in
    `memory/2026-05-08.md`. Time is linear in the text.
    """
    text = text.removeprefix("\ufeff")
    document = _Document(text, _fitting(count_tokens, max_tokens), max_chars)
    identify = _Identifier(source)
    named = heading_date(PurePosixPath(source).stem)
    found: list[Chunk] = []
    for section, unit in _units(document):
        status: Status = "superseded" if unit.words.struck else "current"
        own = text[unit.start : unit.end]
        date = section.date or named
        found.append(
            Chunk(
                id=identify(section, own),
                source=source,
                ordinal=len(found),
                text=own,
                plain=unit.words.text,
                heading=section.path,
                start_line=document.line_at(unit.start),
                end_line=document.line_at(unit.end - 1),
                start_char=unit.start,
                end_char=unit.end,
                date=date,
                mentions=mentions(unit.words.text, date),
                status=status,
                until=unit.words.until,
            )
        )
    return found


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


@dataclass(frozen=True, slots=True)
class _Unit:
    """A range of the file, and its words."""

    start: int
    end: int
    words: Plain


class _Document:
    """A text with its tokens and the offsets of its lines."""

    def __init__(self, text: str, fits: Callable[[str], bool], max_chars: int) -> None:
        self.text = text
        self.fits = fits
        self.max_chars = max_chars
        self.starts = [0, *(found.end() for found in LINES.finditer(text))]
        self.tokens = PARSER.parse(text)

    def line_at(self, character: int) -> int:
        """The 1-based line that a character stands on."""
        return bisect_right(self.starts, character)

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


def _units(document: _Document) -> Iterator[tuple[_Section, _Unit]]:
    """Every unit with the section it stands in."""
    section = _Section()
    tokens = document.tokens
    for first, last in _blocks(tokens, 0, len(tokens)):
        if tokens[first].type == "heading_open":
            title = inline_words(tokens[first + 1].content[: 2 * MAX_HEADING]).text
            section = section.under(int(tokens[first].tag[1]), title[:MAX_HEADING])
            continue
        for unit in _block_units(document, first, last):
            yield section, unit


def _blocks(tokens: Sequence[Token], first: int, last: int) -> Iterator[tuple[int, int]]:
    """The sibling blocks between two tokens, as index ranges with the end exclusive."""
    depth = 0
    start = first
    for index in range(first, last):
        depth += tokens[index].nesting
        if depth == 0:
            yield start, index + 1
            start = index + 1


def _block_units(document: _Document, first: int, last: int) -> Iterator[_Unit]:
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


def _whole(document: _Document, first: int, last: int, lines: tuple[int, int]) -> Iterator[_Unit]:
    """The tokens from `first` to `last` as one unit, or as many as it takes to fit."""
    token = document.tokens[first]
    start, end = document.span(*lines, indented=token.type == "code_block")
    if end - start <= document.max_chars:
        words = words_of(document.tokens[first:last], document.text[start:end])
        if not words.text:
            return
        if document.fits(words.text):
            yield _Unit(start, end, words)
            return
    if lists := _nested_lists(document.tokens, first, last):
        yield from _item_parts(document, first, last, lists)
    elif token.type in {"fence", "code_block"}:
        yield from _code_pieces(document, start, end, token.markup)
    else:
        ends = LINES if token.type == "table_open" else SENTENCES
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
) -> Iterator[_Unit]:
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
) -> Iterator[_Unit]:
    """A long unit in pieces; all of a struck one are superseded."""
    marker = _MARKER.match(document.text, start, end)
    inner = marker.end() if marker else start
    if found := struck(document.text[inner:end]):
        old = document.pieces(inner + found[0], inner + found[1], ends)
        yield from _framed(document, start, end, old, lambda own: _old(own, found[2]))
        return
    for first, last in shown(document.text, start, end):
        for left, right in document.pieces(first, last, ends):
            if words := plain(document.text[left:right]):
                yield _Unit(left, right, Plain(words))


def _old(source: str, until: str | None) -> Plain:
    return Plain(plain(source), struck=True, until=until)


def _code_pieces(document: _Document, start: int, end: int, fence: str) -> Iterator[_Unit]:
    """A long code block in pieces of whole lines, its fences with the first and the last."""
    inner, until = start, end
    if fence:
        lines = LINES.finditer(document.text, start, end)
        inner = next((line.end() for line in lines), end)
        last = document.text.rfind(fence, inner, end)
        if last >= 0 and not document.text[last:end].strip(fence[0]):
            until = last
    found = document.pieces(inner, until, LINES)
    yield from _framed(document, start, end, found, lambda own: Plain(own.strip()))


def _framed(
    document: _Document,
    start: int,
    end: int,
    ranges: Iterable[tuple[int, int]],
    words: Callable[[str], Plain],
) -> Iterator[_Unit]:
    """Units for ranges, the first and the last widened to the frame around them."""
    found = list(ranges)
    for index, (left, right) in enumerate(found):
        said = words(document.text[left:right])
        left = start if index == 0 else left
        right = end if index == len(found) - 1 else right
        if said.text:
            yield _Unit(left, right, said)


class _Identifier:
    """Ids of one file's chunks: 16 hex digits of SHA-256 over source, path, text, occurrence."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._section: _Section | None = None
        self._path = hashlib.sha256()
        self._seen: Counter[bytes] = Counter()

    def __call__(self, section: _Section, text: str) -> str:
        if section is not self._section:
            self._section = section
            parts = (self._source, *section.path)
            framed = "".join(f"{len(part)}:{part}" for part in parts)
            self._path = hashlib.sha256(framed.encode("utf-8", "surrogatepass") + b"\n")
        digest = self._path.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        occurrence = self._seen[digest.digest()]
        self._seen[digest.digest()] += 1
        digest.update(f"\n{occurrence}".encode())
        return digest.hexdigest()[:16]
