"""SQLite: what is indexed. Sources, chunks, an inverted index, cached vectors, Chroma's to-do list.

The catalog alone is authoritative for the index. A change to a source is one transaction, which
also notes in the *outbox* what Chroma still has to be told; a crash between the two converges.
"""

import contextlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.columns import Layout as Layout
from assistant.memory.index.columns import Rows as Rows
from assistant.memory.index.columns import packed_chunks, unpack
from assistant.memory.index.database import SCHEMA_VERSION as SCHEMA_VERSION
from assistant.memory.index.database import CatalogDamaged as CatalogDamaged
from assistant.memory.index.database import open_database, translated
from assistant.memory.index.postings import InvertedIndex
from assistant.memory.index.postings import Postings as Postings
from assistant.memory.index.postings import Term as Term
from assistant.memory.index.rows import SourceWriter, vector_ids
from assistant.memory.index.rows import Stat as Stat
from assistant.memory.index.rows import vector_key as vector_key
from assistant.memory.index.stored import StoredChunk as StoredChunk
from assistant.memory.index.stored import read_chunks
from assistant.memory.text.chunks import Chunk

BATCH = 1000
"""Vectors read at once, where all are: a hundred thousand as Python's objects take 100 MB more."""


@dataclass(frozen=True, slots=True)
class Source:
    """An indexed file as it was when it was last read, at `read_ns` (time.time_ns)."""

    name: str
    stat: Stat
    sha256: str
    read_ns: int
    chunks: int


P = ParamSpec("P")
R = TypeVar("R")


def _guarded(
    method: Callable[Concatenate["Catalog", P], R],
) -> Callable[Concatenate["Catalog", P], R]:
    """One thread at a time, and SQLite's errors as our own."""

    @wraps(method)
    def call(self: "Catalog", /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock, translated(self.path):
            return method(self, *args, **kwargs)

    return call


class Catalog:
    """An open catalog. Thread-safe; one process at a time.

    Every method raises CatalogDamaged when the database proves unusable, StorageError when the
    disk is full or read-only.
    """

    def __init__(self, path: Path, *, check: bool = False) -> None:
        """Open or make it; `check` reads all of it first, after an exit that was not clean."""
        self.path = path
        self._lock = threading.RLock()
        self._layout: Layout | None = None
        with translated(path):
            self._db = open_database(path, check)
        self._words = InvertedIndex(self._db)
        self._generation = int(self.meta("generation") or 0)
        self._outbox_size = self._count("outbox")

    @_guarded
    def close(self) -> None:
        """Close the database; its log is folded into it."""
        self._db.close()
        self._words.close()

    # Facts about the whole

    @_guarded
    def meta(self, key: str) -> str | None:
        """A value kept for another module."""
        found = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(found[0]) if found else None

    @_guarded
    def set_meta(self, key: str, value: str) -> None:
        """Keep a value."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @property
    def generation(self) -> int:
        """Grows with every change of the chunks."""
        return self._generation

    @property
    def embedded_total(self) -> int:
        """The document texts embedded since the catalog was made."""
        return int(self.meta("embedded_total") or 0)

    @_guarded
    def count(self) -> int:
        """The number of chunks."""
        return self._count("chunks")

    @_guarded
    def sources(self) -> dict[str, Source]:
        """What is indexed, by name."""
        rows = self._db.execute(
            "SELECT name, inode, size, mtime_ns, ctime_ns, sha256, read_ns, length(layout)"
            " FROM sources ORDER BY name"
        )
        return {
            name: Source(name, Stat(*stat), digest, read_ns, packed_chunks(size))
            for name, *stat, digest, read_ns, size in rows
        }

    # Changes

    @_guarded
    def touch(self, name: str, stat: Stat, read_ns: int) -> None:
        """Note that a file whose content is the same has another stat, or was read again."""
        self._db.execute(
            "UPDATE sources SET inode = ?, size = ?, mtime_ns = ?, ctime_ns = ?, read_ns = ?"
            " WHERE name = ?",
            (stat.inode, stat.size, stat.mtime_ns, stat.ctime_ns, read_ns, name),
        )

    @_guarded
    def missing_vectors(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of the keys whose vector is not cached."""
        return set(keys) - set(vector_ids(self._db, keys))

    @_guarded
    def put_vectors(self, keys: Sequence[bytes], vectors: Vectors, embedded: int) -> None:
        """Cache vectors, as float16, and count `embedded` texts, at once."""
        half = vectors.astype(np.float16)
        with self._transaction():
            self._db.executemany(
                "INSERT OR IGNORE INTO vectors (key, value) VALUES (?, ?)",
                ((key, row.tobytes()) for key, row in zip(keys, half, strict=True)),
            )
            self.set_meta("embedded_total", str(self.embedded_total + embedded))

    @_guarded
    def replace_source(
        self, name: str, stat: Stat, digest: str, chunks: Sequence[Chunk], fingerprint: str
    ) -> None:
        """Make the rows of a source these chunks, whose vectors must be cached, at once.

        A chunk whose id is there already keeps its row; only where it stands is written.
        """
        with self._transaction():
            SourceWriter(self._db).replace(name, stat, digest, chunks, fingerprint)
            self._changed()

    @_guarded
    def delete_source(self, name: str) -> None:
        """Remove a source and its chunks."""
        with self._transaction():
            SourceWriter(self._db).delete(name)
            self._changed()

    @_guarded
    def clear(self) -> None:
        """Remove everything but the cached vectors."""
        with self._transaction():
            for table in ("sources", "sections", "chunks", "outbox"):
                self._db.execute(f"DELETE FROM {table}")
            for table in ("words", "headings"):
                self._db.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
            self._changed()

    @_guarded
    def prune_vectors(self, keep: int) -> int:
        """Drop cached vectors that no chunk has, all but the newest `keep`; returns how many."""
        done = self._db.execute(
            "DELETE FROM vectors WHERE id IN (SELECT v.id FROM vectors v LEFT JOIN chunks c"
            " ON c.vector = v.id WHERE c.vector IS NULL ORDER BY v.id DESC LIMIT -1 OFFSET ?)",
            (keep,),
        )
        return done.rowcount

    @_guarded
    def purge(self) -> None:
        """Leave no byte of what was deleted: in free pages, in the log, in the inverted index."""
        self.prune_vectors(0)
        for table in ("words", "headings"):
            self._db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        self._db.execute("VACUUM")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # Chroma's to-do list

    @_guarded
    def outbox(self, limit: int) -> tuple[tuple[list[str], Vectors], list[str], int]:
        """What Chroma must be told next: ids and vectors to upsert, ids to delete, and a mark.

        Of one id only the last state counts, so upserts and deletes share none. The mark is 0
        when there is nothing.
        """
        rows = self._db.execute(
            "SELECT o.chunk, v.value, o.seq FROM outbox o LEFT JOIN chunks c ON c.id = o.chunk"
            " LEFT JOIN vectors v ON v.id = c.vector ORDER BY o.seq LIMIT ?",
            (limit,),
        ).fetchall()
        there = [(id_, value) for id_, value, _ in rows if value is not None]
        upserts = [id_ for id_, _ in there], _matrix([value for _, value in there])
        gone = [id_ for id_, value, _ in rows if value is None]
        return upserts, gone, rows[-1][2] if rows else 0

    @_guarded
    def outbox_done(self, mark: int) -> None:
        """Forget what was told up to `mark`."""
        with self._transaction():
            self._db.execute("DELETE FROM outbox WHERE seq <= ?", (mark,))

    @property
    def outbox_size(self) -> int:
        """How many ids Chroma must still be told of; waits for nobody."""
        return self._outbox_size

    @_guarded
    def outbox_all(self) -> None:
        """Have every chunk told again: Chroma's data is gone."""
        with self._transaction():
            self._db.execute("DELETE FROM outbox")
            self._db.execute("INSERT INTO outbox (chunk) SELECT id FROM chunks")

    # Reading

    @_guarded
    def layout(self) -> Layout:
        """Where every chunk stands; kept until the next change. 3 ms at 100,000 after one."""
        if self._layout is None or self._layout.generation != self._generation:
            rows = self._db.execute("SELECT name, layout FROM sources ORDER BY name").fetchall()
            self._layout = unpack(self._generation, rows)
        return self._layout

    @_guarded
    def headings(self) -> dict[int, tuple[str, ...]]:
        """The heading path of every section."""
        rows = self._db.execute("SELECT id, heading FROM sections")
        return {id_: tuple(json.loads(heading)) for id_, heading in rows}

    @_guarded
    def terms(self, query: str) -> list[Term]:
        """The distinct stemmed words of any text, in order, as the index has them.

        FTS5 itself tokenizes the query, as a document; no text reaches its query language.
        """
        return self._words.terms(query)

    @_guarded
    def postings(self, terms: Iterable[Term]) -> dict[str, Postings]:
        """Where each term stands: row ids of chunks, and how often. Kept until the next change."""
        return {term.text: self._words.in_chunks(term.text) for term in terms}

    @_guarded
    def heading_postings(self, terms: Iterable[Term]) -> dict[str, Postings]:
        """Where each term stands in headings: numbers of sections, and how often."""
        return {term.text: self._words.in_headings(term.text) for term in terms}

    @_guarded
    def chunks(self, rowids: Sequence[int]) -> list[StoredChunk]:
        """The chunks of these rows, in this order; a row that is gone is left out."""
        found = {stored.rowid: stored for stored in self._select("c.rowid", list(rowids))}
        return [found[int(row)] for row in rowids if int(row) in found]

    @_guarded
    def by_id(self, ids: Sequence[str]) -> list[StoredChunk]:
        """The chunks of these ids, in this order; an id that is gone is left out."""
        found = {stored.chunk.id: stored for stored in self._select("c.id", list(ids))}
        return [found[id_] for id_ in ids if id_ in found]

    @_guarded
    def rowids(self, ids: Sequence[str]) -> dict[str, int]:
        """The rows of chunk ids; an id that is gone is left out."""
        rows = self._db.execute(
            "SELECT id, rowid FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return dict(rows.fetchall())

    @_guarded
    def at_line(self, source: str, line: int) -> list[StoredChunk]:
        """The chunks of a source that stand on a line, in order."""
        return read_chunks(
            self._db, "s.name = ? AND c.start_line <= ? AND c.end_line >= ?", (source, line, line)
        )

    @_guarded
    def of_source(self, source: str) -> list[StoredChunk]:
        """The chunks of a source, in order."""
        return read_chunks(self._db, "s.name = ?", (source,))

    @_guarded
    def vectors(self, numbers: Sequence[int]) -> Vectors:
        """The vectors that the layout names by number, in this order; each must be there."""
        rows = self._db.execute(
            "SELECT id, value FROM vectors WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(numbers)),),
        )
        found = dict(rows.fetchall())
        if not found.keys() >= set(numbers):
            raise sqlite3.DatabaseError("vectors are missing")
        return _matrix([found[number] for number in numbers])

    @_guarded
    def sample_vectors(self, count: int) -> Vectors:
        """The vectors of about so many chunks from all over the memory."""
        step = max(1, self.count() // count)
        query = (
            "SELECT v.value FROM chunks c JOIN vectors v ON v.id = c.vector"
            " WHERE c.rowid % ? = 0 LIMIT ?"
        )
        return _matrix([value for (value,) in self._db.execute(query, (step, count))])

    @_guarded
    def all_vectors(self) -> tuple[Rows, Vectors]:
        """Every row's vector, in the layout's order, for an exact scan."""
        layout = self.layout()
        found = self._db.execute(
            "SELECT c.rowid, v.value FROM chunks c JOIN vectors v ON v.id = c.vector"
        )
        vectors = np.empty((0, 0), dtype=np.float32)
        while part := found.fetchmany(BATCH):
            rows, values = zip(*part, strict=True)
            block = _matrix(values)
            if not len(vectors):
                vectors = np.zeros((len(layout), block.shape[1]), dtype=np.float32)
            vectors[layout.positions(np.array(rows))] = block
        return layout.rowid, vectors

    # Parts

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            self._generation = int(self.meta("generation") or 0)
            raise
        self._outbox_size = self._count("outbox")

    @_guarded
    def _count(self, table: str) -> int:
        return int(self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    def _changed(self) -> None:
        self._generation += 1
        self._words.clear()
        self.set_meta("generation", str(self._generation))

    def _select(self, column: str, values: Sequence[Any]) -> list[StoredChunk]:
        plain = [value if isinstance(value, str) else int(value) for value in values]
        chosen = f"{column} IN (SELECT value FROM json_each(?))"
        return read_chunks(self._db, chosen, (json.dumps(plain),))


def _matrix(values: Sequence[bytes]) -> Vectors:
    """Cached vectors as rows; rounding to float16 left them a hair off length 1."""
    if not values:
        return np.empty((0, 0), dtype=np.float32)
    half = np.frombuffer(b"".join(values), dtype=np.float16)
    return half.reshape(len(values), -1).astype(np.float32)
