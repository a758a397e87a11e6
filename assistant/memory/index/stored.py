"""Rows of the catalog read back as chunks; a damaged one is found by its checksum."""

import json
import sqlite3
from dataclasses import dataclass
from typing import Any

from assistant.memory.index.rows import crc
from assistant.memory.text.chunks import Chunk

_FIELDS = (
    "id", "source", "ordinal", "text", "plain", "start_line", "end_line", "start_char",
    "end_char", "date", "status", "until",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk and its number in the catalog, which outlives edits elsewhere in its file."""

    rowid: int
    chunk: Chunk


def read_chunks(db: sqlite3.Connection, where: str, values: tuple[Any, ...]) -> list[StoredChunk]:
    """The chunks that a condition holds for, in the order of sources and places.

    Raises sqlite3.DatabaseError if a row is not what was written.
    """
    rows = db.execute(
        "SELECT c.rowid, c.crc, h.heading, c.mentions, c.id, s.name, c.ordinal, c.text,"
        " c.plain, c.start_line, c.end_line, c.start_char, c.end_char, c.date, c.status,"
        " c.until FROM chunks c JOIN sources s ON s.id = c.source"
        f" JOIN sections h ON h.id = c.section WHERE {where} ORDER BY s.name, c.ordinal",
        values,
    )
    return [_stored(*row) for row in rows]


def _stored(rowid: int, written: int, heading: str, mentions: str, *fields: Any) -> StoredChunk:
    values = dict(zip(_FIELDS, fields, strict=True))
    chunk = Chunk(
        heading=tuple(json.loads(heading)), mentions=tuple(json.loads(mentions)), **values
    )
    if crc(chunk) != written:
        raise sqlite3.DatabaseError(f"row {rowid} of chunks is not what was written")
    return StoredChunk(rowid, chunk)
