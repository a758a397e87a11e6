"""What a chunk is, by what it is known again, and where in its file it stands."""

import hashlib
from dataclasses import dataclass, replace

from assistant.memory.base import Passage, Status


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
