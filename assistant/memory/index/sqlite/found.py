"""Chunks read back from the catalog, by what names them."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from assistant.memory.index.sqlite.database import Database
from assistant.memory.index.sqlite.kept import Kept
from assistant.memory.index.sqlite.rows import StoredChunk, read_chunks, said

KEPT_CHUNKS = 4096
"""Chunks that stay decoded until the next change."""
KEPT_ROWS = 10_000


class Found:
    """Finds the chunks of a database. Thread-safe; every method raises CatalogDamaged."""

    def __init__(self, database: Database, generation: Callable[[], int]) -> None:
        """`generation` names the state that the calling thread sees."""
        self.database = database
        self._chunks: Kept[int, StoredChunk] = Kept(generation, KEPT_CHUNKS)
        self._rows: Kept[str, int] = Kept(generation, KEPT_ROWS)

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

    def standing(self, test: Callable[[str], bool]) -> list[StoredChunk]:
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
