"""What an embedding cost: vectors by the text and the model, in a file of their own.

It lies in the owner's cache and outlives the index, so that a deleted index comes back without the
model. A vector's number names it in the index; it is reached by `forget --purge`, and kept small.
"""

import sqlite3
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from assistant import config
from assistant.disk import storage
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.database import Database
from assistant.memory.index.layout import Rows

BATCH = 1000
"""Vectors read at once: a hundred thousand as Python's objects take 100 MB more."""
_MARKS = 500
"""Parameters of one statement; SQLite's builds allow 999 at least."""


def cache_path(root: Path) -> Path:
    """Where the vectors of a workspace lie; its private directory is made.

    Beside them stands which workspace they are of. Raises StorageError.
    """
    directory = storage.private_directory(cache_place(root).parent)
    of = directory / "workspace"
    if not of.exists():
        storage.replace(of, str(root).encode("utf-8", "surrogateescape"))
    return cache_place(root)


def cache_place(root: Path) -> Path:
    """The file of a workspace's vectors; nothing is made."""
    name = sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return config.cache_dir() / "vectors" / name / "vectors.db"


class VectorCache:
    """The cached vectors of a workspace. Raises CatalogDamaged and StorageError.

    `embedded` counts the document texts whose vectors were put into it since it was opened.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.embedded = 0

    @property
    def embedded_total(self) -> int:
        """The document texts embedded since the index was made."""
        with self._database.using() as db:
            row = db.execute("SELECT value FROM meta WHERE key = 'embedded_total'").fetchone()
        return int(row[0]) if row else 0

    def missing(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of the keys whose vector is not cached."""
        with self._database.using() as db:
            return set(keys) - set(vector_ids(db, keys))

    def put(self, keys: Sequence[bytes], vectors: Vectors, embedded: int) -> None:
        """Cache vectors, as float16, and count `embedded` texts, at once."""
        half = vectors.astype(np.float16)
        with self._database.transaction() as db:
            db.executemany(
                "INSERT OR IGNORE INTO vectors (key, value) VALUES (?, ?)",
                ((key, row.tobytes()) for key, row in zip(keys, half, strict=True)),
            )
            db.execute(
                "INSERT INTO meta VALUES ('embedded_total', ?) ON CONFLICT DO UPDATE"
                " SET value = value + excluded.value",
                (embedded,),
            )
        self.embedded += embedded

    def read(self, numbers: Sequence[int]) -> Vectors:
        """The vectors of these numbers, in this order; each must be there."""
        with self._database.using() as db:
            parts = [
                _read(db, numbers[start : start + BATCH]) for start in range(0, len(numbers), BATCH)
            ]
        return np.concatenate(parts) if len(parts) > 1 else parts[0] if parts else matrix([])

    def of_sections(self, numbers: Sequence[int]) -> tuple[Rows, Vectors]:
        """Those of these sections that have a vector, and their vectors."""
        with self._database.using() as db:
            rows = db.execute(
                "SELECT s.id, v.value FROM sections s JOIN vectors v ON v.id = s.vector"
                " WHERE s.id IN (SELECT value FROM json_each(?))",
                (str(list(numbers)),),
            ).fetchall()
        return np.array([row for row, _ in rows], dtype=np.int64), matrix([v for _, v in rows])

    def prune(self, keep: int) -> int:
        """Drop vectors that nothing has, all but the newest `keep`; returns how many."""
        with self._database.using() as db:
            done = db.execute(
                "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors WHERE id NOT IN"
                " (SELECT vector FROM chunks UNION ALL SELECT vector FROM marks UNION ALL"
                " SELECT vector FROM sections WHERE vector IS NOT NULL)"
                " ORDER BY id DESC LIMIT -1 OFFSET ?)",
                (keep,),
            )
            return done.rowcount


def vector_key(plain: str, fingerprint: str) -> bytes:
    """The name of a cached vector: the embedded text and the model that reads it."""
    return sha256(f"{fingerprint}\0{plain}".encode("utf-8", "surrogatepass")).digest()[:16]


def vector_ids(db: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, int]:
    """The numbers of those of the vectors that are cached."""
    numbers: dict[bytes, int] = {}
    for start in range(0, len(keys), _MARKS):
        part = list(keys[start : start + _MARKS])
        marks = ",".join("?" * len(part))
        query = f"SELECT key, id FROM vectors WHERE key IN ({marks})"
        numbers.update(db.execute(query, part).fetchall())
    return numbers


def _read(db: sqlite3.Connection, numbers: Sequence[int]) -> Vectors:
    """As one row: between two of them Python's lock is let go of, which another thread may take."""
    joined, count = db.execute(
        "SELECT CAST(group_concat(v.value, '') AS BLOB), count(*) FROM json_each(?) AS n"
        " CROSS JOIN vectors v ON v.id = n.value",
        (str(list(numbers)),),
    ).fetchone()
    if count != len(numbers):
        raise sqlite3.DatabaseError("vectors are missing")
    return _rows(joined or b"", count)


def matrix(values: Sequence[bytes]) -> Vectors:
    """Cached vectors as rows."""
    return _rows(b"".join(values), len(values))


def _rows(joined: bytes, count: int) -> Vectors:
    """Vectors end to end as rows; rounding to float16 left them a hair off length 1.

    No component of one is larger than 1: a bit that was flipped on the disk makes no other.
    """
    if not count:
        return np.empty((0, 0), dtype=np.float32)
    halves = np.frombuffer(joined, dtype=np.float16).reshape(count, -1)
    return np.clip(np.nan_to_num(halves.astype(np.float32), copy=False), -1.0, 1.0)
