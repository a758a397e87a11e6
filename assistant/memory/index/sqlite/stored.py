"""Chunks read back from the catalog, by what names them."""

import json
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from assistant.memory.index.sqlite.database import Database
from assistant.memory.index.sqlite.memo import Memo
from assistant.memory.text.chunk import Chunk
from assistant.memory.text.identity import fact_key

_CHUNK = """c.id, s.name, c.ordinal, c.text, c.plain, h.heading, c.start_line, c.end_line,
    c.start_char, c.end_char, c.date, c.mentions, c.status, c.until"""
"""The fields of a chunk, in order."""
LISTS = 1024
"""Lists of texts that stay decoded."""
CHUNKS, ROWS = 4096, 10_000
"""Chunks that stay decoded, and ids whose rows stay known, until the next change."""


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
        f"SELECT c.rowid, c.crc, p.start_chunk, p.start_char, p.start_line, {_CHUNK}"
        " FROM chunks c JOIN parts p ON p.id = c.part"
        " JOIN sources s ON s.id = p.source JOIN sections h ON h.id = c.section"
        f" WHERE {where} ORDER BY s.name, p.position, c.ordinal",
        values,
    )
    return [_stored(*row) for row in rows]


def _stored(
    rowid: int, written: int, before: int, character: int, line: int, *columns: Any
) -> StoredChunk:
    id_, source, ordinal, text, plain, heading, start, end, first, last, *rest = columns
    day, mentions, status, until = rest
    if _sum(id_, text, plain, start, first, status) != written:
        raise sqlite3.DatabaseError(f"row {rowid} of chunks is not what was written")
    own = id_, source, before + ordinal, text, plain, _listed(heading)
    place = line + start, line + end, character + first, character + last
    return StoredChunk(rowid, Chunk(*own, *place, day, _listed(mentions), status, until))


@lru_cache(LISTS)
def _listed(encoded: str) -> tuple[str, ...]:
    """A list of texts; many chunks have the same."""
    return tuple(json.loads(encoded))


def said(plain: str) -> int:
    """What chunks that state the same fact have in common, and next to no others."""
    key = fact_key(plain).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(key, digest_size=8).digest(), signed=True)


def crc(chunk: Chunk) -> int:
    """Tells a damaged row."""
    seen = (chunk.id, chunk.text, chunk.plain, chunk.start_line, chunk.start_char, chunk.status)
    return _sum(*seen)


def _sum(*seen: str | int) -> int:
    return zlib.crc32(repr(seen).encode("utf-8", "surrogatepass"))


class ChunkReader:
    """Finds the chunks of a database. Thread-safe; every method raises CatalogDamaged."""

    def __init__(self, database: Database, generation: Callable[[], int]) -> None:
        """`generation` names the state that the calling thread sees."""
        self.database = database
        self._chunks: Memo[int, StoredChunk] = Memo(generation, CHUNKS)
        self._rows: Memo[str, int] = Memo(generation, ROWS)

    def chunks(self, rowids: Sequence[int]) -> list[StoredChunk]:
        """The chunks of these rows, in this order; a row that is gone is left out."""
        with self.database.using():
            there = self._chunks.of(rowids)
            if missing := [row for row in rowids if row not in there]:
                read = {stored.rowid: stored for stored in self._among("c.rowid", missing)}
                there |= self._chunks.put(read)
        return [there[row] for row in rowids if row in there]

    def by_id(self, ids: Sequence[str]) -> list[StoredChunk]:
        """The chunks of these ids, in this order; an id that is gone is left out."""
        there = {stored.chunk.id: stored for stored in self._among("c.id", ids)}
        return [there[id_] for id_ in ids if id_ in there]

    def rowids(self, ids: Sequence[str]) -> dict[str, int]:
        """The rows of chunk ids; an id that is gone is left out."""
        with self.database.using() as db:
            there = self._rows.of(ids)
            if missing := [id_ for id_ in ids if id_ not in there]:
                rows = db.execute(
                    "SELECT id, rowid FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
                    (json.dumps(missing),),
                )
                there |= self._rows.put(dict(rows.fetchall()))
            return there

    def at_line(self, source: str, line: int) -> list[StoredChunk]:
        """The chunks of a source that stand on a line, in order."""
        return self._read(
            "s.name = ? AND p.start_line < ? AND p.start_line + p.lines + 1 >= ?"
            " AND p.start_line + c.start_line <= ? AND p.start_line + c.end_line >= ?",
            source,
            *[line] * 4,
        )

    def stating(self, fact: str) -> list[StoredChunk]:
        """The current chunks that say a fact and nothing else."""
        return self._read("c.said = ? AND c.status = 'current'", said(fact))

    def current(self, test: Callable[[str], bool]) -> list[StoredChunk]:
        """The chunks that are current and whose words a test holds for, or that name days."""
        with self.database.using() as db:
            db.create_function("holds", 1, test, deterministic=True)
            where = "c.status = 'current' AND (c.mentions != '[]' OR holds(c.plain))"
            return read_chunks(db, where, ())

    def _among(self, column: str, values: Sequence[Any]) -> list[StoredChunk]:
        return self._read(f"{column} IN (SELECT value FROM json_each(?))", json.dumps(list(values)))

    def _read(self, where: str, *values: Any) -> list[StoredChunk]:
        with self.database.using() as db:
            return read_chunks(db, where, values)
