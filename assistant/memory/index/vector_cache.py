"""The vector cache: vectors by text and model, in a separate file.

It is in the owner's cache and outlives the index, so a deleted index is rebuilt without the model.
The index refers to a vector by its number. `forget --purge` covers it, and it is pruned.
"""

import os
import sqlite3
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistant import config
from assistant.disk import storage
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.database import Database
from assistant.memory.index.layout import Rows
from assistant.memory.text.chunk import Chunk
from assistant.memory.text.headings import topic_of
from assistant.workspace import machine

BATCH = 1000
"""Vectors read at once; a hundred thousand as Python objects would take 100 MB more."""


def cache_path(root: Path) -> Path:
    """Return the file of a workspace's vectors; create its private directory.

    A file next to it names the workspace. Raises StorageError.
    """
    directory = storage.private_directory(machine.own(config.cache_dir(), "vectors", root))
    if not (directory / "workspace").exists():
        storage.replace(directory / "workspace", os.fsencode(root))
    return directory / "vectors.db"


class VectorCache:
    """The cached vectors of a workspace. Raises CatalogDamaged and StorageError.

    `embedded` counts the document texts whose vectors were added since it was opened.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.embedded = 0

    @property
    def embedded_total(self) -> int:
        """The number of document texts embedded since the index was created."""
        rows = self._database.rows("SELECT value FROM meta WHERE key = 'embedded_total'")
        return int(rows[0][0]) if rows else 0

    def missing(self, keys: Sequence[bytes]) -> set[bytes]:
        """Return the keys whose vectors are not cached."""
        with self._database.using() as db:
            return set(keys) - set(vector_ids(db, keys))

    def put(self, keys: Sequence[bytes], vectors: Vectors, embedded: int) -> None:
        """Cache vectors as float16, and count `embedded` texts, in one transaction."""
        with self._database.transaction() as db:
            add_vectors(db, keys, vectors)
            db.execute(
                "INSERT INTO meta VALUES ('embedded_total', ?) ON CONFLICT DO UPDATE"
                " SET value = value + excluded.value",
                (embedded,),
            )
        self.embedded += embedded

    def read(self, numbers: Sequence[int]) -> Vectors:
        """Return the vectors of these numbers, in this order; each must exist."""
        with self._database.using() as db:
            parts = [
                _read(db, numbers[start : start + BATCH]) for start in range(0, len(numbers), BATCH)
            ]
        return np.concatenate(parts) if len(parts) > 1 else parts[0] if parts else matrix([])

    def cosines(self, numbers: Rows, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine similarity of the vectors of these numbers to a unit vector."""
        if not len(numbers):
            return np.empty(0, np.float32)
        similarity: NDArray[np.float32] = self.read(numbers.tolist()) @ vector
        return similarity

    def heading_cosines(
        self, numbers: Sequence[int], vector: NDArray[np.float32]
    ) -> dict[int, float]:
        """Return the cosine similarity to a unit vector of the headings of these sections, as far
        as they have a vector."""
        rows = self._database.rows(
            "SELECT id, vector FROM sections"
            " WHERE vector IS NOT NULL AND id IN (SELECT value FROM json_each(?))",
            str(list(numbers)),
        )
        cosines = self.cosines(np.array([number for _, number in rows], np.int64), vector)
        return dict(zip((section for section, _ in rows), cosines.tolist(), strict=True))

    def prune(self, keep: int) -> int:
        """Drop unused vectors except the newest `keep`; return how many were dropped."""
        with self._database.using() as db:
            deleted = db.execute(
                "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors WHERE id NOT IN"
                " (SELECT vector FROM chunks UNION ALL"
                " SELECT marked FROM chunks WHERE marked IS NOT NULL UNION ALL"
                " SELECT vector FROM sections WHERE vector IS NOT NULL)"
                " ORDER BY id DESC LIMIT -1 OFFSET ?)",
                (keep,),
            )
            return deleted.rowcount


def vector_key(plain: str, fingerprint: str) -> bytes:
    """Return the key of a cached vector: a hash of the embedded text and the model."""
    return sha256(f"{fingerprint}\0{plain}".encode("utf-8", "surrogatepass")).digest()[:16]


def embedded_texts(chunk: Chunk) -> list[str]:
    """Return the texts of a chunk that have vectors: its own first, then occasions and headings."""
    others = (chunk.matters_for, topic_of(chunk.source, chunk.heading))
    return [chunk.plain, *filter(None, others)]


def add_vectors(db: sqlite3.Connection, keys: Sequence[bytes], vectors: Vectors) -> None:
    """Add vectors to the cache, as float16, within a transaction."""
    rows = (row.tobytes() for row in vectors.astype(np.float16))
    db.executemany(
        "INSERT OR IGNORE INTO vectors (key, value) VALUES (?, ?)", zip(keys, rows, strict=True)
    )


def vector_ids(db: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, int]:
    """Return the numbers of the cached vectors among these keys."""
    rows = ((key, db.execute("SELECT id FROM vectors WHERE key = ?", (key,))) for key in keys)
    return {key: row[0] for key, cursor in rows if (row := cursor.fetchone())}


def _read(db: sqlite3.Connection, numbers: Sequence[int]) -> Vectors:
    """Read vectors as one row: between two rows, another thread may take Python's lock."""
    joined, count = db.execute(
        "SELECT CAST(group_concat(v.value, '') AS BLOB), count(*) FROM json_each(?) AS n"
        " CROSS JOIN vectors v ON v.id = n.value",
        (str(list(numbers)),),
    ).fetchone()
    if count != len(numbers):
        raise sqlite3.DatabaseError("vectors are missing")
    return _rows(joined or b"", count)


def matrix(values: Sequence[bytes]) -> Vectors:
    """Return cached vectors as rows."""
    return _rows(b"".join(values), len(values))


def _rows(joined: bytes, count: int) -> Vectors:
    """Return concatenated vectors as rows; because of the rounding to float16, their length is only
    about 1.

    Components are clipped to ±1, in case a bit was flipped on disk.
    """
    if not count:
        return np.empty((0, 0), dtype=np.float32)
    halves = np.frombuffer(joined, dtype=np.float16).reshape(count, -1)
    return np.clip(np.nan_to_num(halves.astype(np.float32), copy=False), -1.0, 1.0)
