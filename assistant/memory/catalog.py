"""SQLite: what is indexed. Sources, chunks, an inverted index, cached vectors, Chroma's to-do list.

The catalog alone is authoritative for the index. A change to a source is one transaction, which
also notes in the *outbox* what Chroma still has to be told; a crash between the two converges.

Postings come from an FTS5 table (without content: the text is in `chunks`) through `fts5vocab`,
a term's as one string of numbers, which numpy parses: 0.3 µs a posting, where a row of SQLite's
costs 0.5 and BM25 inside FTS5 could be rolled up to one grain only.
"""

import contextlib
import json
import re
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import wraps
from hashlib import sha256
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from assistant.errors import MemoryFailure, StorageError
from assistant.memory.chunks import Chunk
from assistant.memory.embedder import Vectors
from assistant.memory.traits import turns

SCHEMA_VERSION = 2
APPLICATION_ID = 0x41535354  # "ASST"
MAX_QUERY_TERMS = 512
"""Distinct terms of a query that are looked at, in order."""
_TOKENIZER = "porter unicode61 remove_diacritics 2"
_SCHEMA = f"""
CREATE TABLE sources (
  id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, inode INTEGER NOT NULL,
  size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
  sha256 TEXT NOT NULL, read_ns INTEGER NOT NULL, layout BLOB NOT NULL);
CREATE TABLE sections (
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL, heading TEXT NOT NULL, UNIQUE (source, heading));
CREATE TABLE chunks (
  rowid INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, source INTEGER NOT NULL,
  section INTEGER NOT NULL, ordinal INTEGER NOT NULL, text TEXT NOT NULL, plain TEXT NOT NULL,
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
  start_char INTEGER NOT NULL, end_char INTEGER NOT NULL,
  date TEXT, mentions TEXT NOT NULL, status TEXT NOT NULL, until TEXT,
  vector INTEGER NOT NULL, length INTEGER NOT NULL, crc INTEGER NOT NULL);
CREATE INDEX chunks_by_line ON chunks (source, start_line);
CREATE INDEX chunks_by_vector ON chunks (vector);
CREATE TABLE vectors (id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, value BLOB NOT NULL);
CREATE TABLE outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, chunk TEXT UNIQUE NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(plain, content='', tokenize='{_TOKENIZER}');
CREATE VIRTUAL TABLE words_at USING fts5vocab(words, 'instance');
CREATE VIRTUAL TABLE words_in USING fts5vocab(words, 'row');
CREATE VIRTUAL TABLE headings USING fts5(plain, content='', tokenize='{_TOKENIZER}');
CREATE VIRTUAL TABLE headings_at USING fts5vocab(headings, 'instance');
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""
_CJK = re.compile(
    r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff])"
)

Rows = NDArray[np.int64]
Postings = tuple[Rows, NDArray[np.int64]]
"""Row ids, ascending, and how often the term stands in each."""


class CatalogDamaged(MemoryFailure):
    """The database is not one, is of another version, or contradicts itself."""


@dataclass(frozen=True, slots=True)
class Stat:
    """What tells a file from its earlier self without reading it."""

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True, slots=True)
class Source:
    """An indexed file as it was when it was last read, at `read_ns` (time.time_ns)."""

    name: str
    stat: Stat
    sha256: str
    read_ns: int
    chunks: int


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk and its number in the catalog, which outlives edits elsewhere in its file."""

    rowid: int
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class Term:
    """A stemmed word of a query, and how many chunks it stands in."""

    text: str
    document_frequency: int


_LAYOUT = np.dtype(
    [
        ("rowid", "<i8"),
        ("section", "<i8"),
        ("length", "<i4"),
        ("superseded", "?"),
        ("turn", "?"),
        ("date", "<i4"),
        ("until", "<i4"),
    ]
)


@dataclass(frozen=True, slots=True)
class Layout:
    """All chunks in document order: by source's name, then position. One entry a chunk.

    `section` is the catalog's number of the heading path in its source. `length` is in FTS tokens.
    `turn` tells what is said in a conversation (`traits.turns`) from what stands alone.
    `date` and `until` are proleptic Gregorian ordinals (`datetime.date.toordinal`), 0 for none.
    `by_rowid` sorts `rowid`: see `positions`.
    """

    generation: int
    sources: tuple[str, ...]
    rowid: Rows
    source: NDArray[np.int32]
    section: Rows
    ordinal: NDArray[np.int32]
    length: NDArray[np.int32]
    superseded: NDArray[np.bool_]
    turn: NDArray[np.bool_]
    date: NDArray[np.int32]
    until: NDArray[np.int32]
    by_rowid: Rows

    def __len__(self) -> int:
        return len(self.rowid)

    def positions(self, rowids: Rows) -> Rows:
        """Where in the arrays these rows stand; each must be there."""
        found: Rows = self.by_rowid[np.searchsorted(self.rowid, rowids, sorter=self.by_rowid)]
        return found


def vector_key(plain: str, fingerprint: str) -> bytes:
    """The name of a cached vector: the embedded text and the model."""
    return sha256(f"{fingerprint}\0{plain}".encode("utf-8", "surrogatepass")).digest()[:16]


def searchable(text: str) -> str:
    """Text as FTS5 shall see it: scripts written without spaces are matched by character."""
    return _CJK.sub(r" \1 ", text)


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


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors as StorageError or CatalogDamaged."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.OperationalError as error:
        if "full" in str(error) or "readonly" in str(error) or "unable to open" in str(error):
            raise StorageError(
                f"the index {path} cannot be written: {error}", "Check the disk and who may write"
            ) from error
        raise CatalogDamaged(f"the index {path} failed: {error}") from error
    except sqlite3.DatabaseError as error:
        raise CatalogDamaged(f"the index {path} is damaged: {error}") from error


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
        self._postings: dict[str, Postings] = {}
        with translated(path):
            self._db = _open(path, check)
            self._tokenizing = _tokenizing()
        self._generation = int(self.meta("generation") or 0)

    @_guarded
    def close(self) -> None:
        """Close the database; its log is folded into it."""
        self._db.close()
        self._tokenizing.close()

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
        return int(self._db.execute("SELECT count(*) FROM chunks").fetchone()[0])

    @_guarded
    def sources(self) -> dict[str, Source]:
        """What is indexed, by name."""
        rows = self._db.execute(
            "SELECT name, inode, size, mtime_ns, ctime_ns, sha256, read_ns, length(layout)"
            " FROM sources ORDER BY name"
        )
        return {
            name: Source(name, Stat(*stat), digest, read_ns, size // _LAYOUT.itemsize)
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
        return set(keys) - set(self._vector_ids(keys))

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
        read_ns = time.time_ns()
        with self._transaction():
            source = self._source_id(name)
            sections = self._sections(source, chunks)
            known = self._known(source)
            wanted = {chunk.id: chunk for chunk in chunks}
            gone = [
                (row, id_, plain)
                for id_, (row, plain, _) in known.items()
                if id_ not in wanted or wanted[id_].plain != plain
            ]
            self._delete_chunks(gone)
            for _, id_, _ in gone:
                del known[id_]
            self._insert_chunks(
                source, sections, [c for c in chunks if c.id not in known], fingerprint
            )
            self._move_chunks([c for c in chunks if c.id in known], known, sections)
            self._drop_sections(source, set(sections.values()))
            self._db.execute(
                "UPDATE sources SET inode = ?, size = ?, mtime_ns = ?, ctime_ns = ?,"
                " sha256 = ?, read_ns = ?, layout = ? WHERE id = ?",
                (stat.inode, stat.size, stat.mtime_ns, stat.ctime_ns, digest, read_ns,
                 self._source_layout(source), source),
            )  # fmt: skip
            self._changed()

    @_guarded
    def delete_source(self, name: str) -> None:
        """Remove a source and its chunks."""
        with self._transaction():
            source = self._source_id(name)
            known = self._known(source)
            self._delete_chunks([(row, id_, plain) for id_, (row, plain, _) in known.items()])
            self._drop_sections(source, set())
            self._db.execute("DELETE FROM sources WHERE id = ?", (source,))
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
        self._db.execute("DELETE FROM outbox WHERE seq <= ?", (mark,))

    @_guarded
    def outbox_size(self) -> int:
        """How many ids Chroma must still be told of."""
        return int(self._db.execute("SELECT count(*) FROM outbox").fetchone()[0])

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
            self._layout = self._read_layout()
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
        db = self._tokenizing
        db.execute("INSERT INTO words (rowid, plain) VALUES (1, ?)", (searchable(query),))
        rows = db.execute("SELECT term FROM words_at ORDER BY offset").fetchall()
        db.execute("INSERT INTO words (words) VALUES ('delete-all')")
        found = list(dict.fromkeys(term for (term,) in rows))[:MAX_QUERY_TERMS]
        return [Term(term, self._frequency(term)) for term in found]

    @_guarded
    def postings(self, terms: Iterable[Term]) -> dict[str, Postings]:
        """Where each term stands: row ids of chunks, and how often. Kept until the next change."""
        return {term.text: self._chunk_postings(term.text) for term in terms}

    @_guarded
    def heading_postings(self, terms: Iterable[Term]) -> dict[str, Postings]:
        """Where each term stands in headings: numbers of sections, and how often."""
        return {term.text: self._read_postings("headings_at", term.text) for term in terms}

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
        return self._read_chunks(
            "s.name = ? AND c.start_line <= ? AND c.end_line >= ?", (source, line, line)
        )

    @_guarded
    def of_source(self, source: str) -> list[StoredChunk]:
        """The chunks of a source, in order."""
        return self._read_chunks("s.name = ?", (source,))

    @_guarded
    def vectors(self, rowids: Sequence[int]) -> Vectors:
        """The vectors of these rows, in this order; every row must be there."""
        rows = self._db.execute(
            "SELECT c.rowid, v.value FROM chunks c JOIN vectors v ON v.id = c.vector"
            " WHERE c.rowid IN (SELECT value FROM json_each(?))",
            (json.dumps([int(row) for row in rowids]),),
        )
        found = dict(rows.fetchall())
        return _matrix([found[int(row)] for row in rowids])

    @_guarded
    def all_vectors(self) -> tuple[Rows, Vectors]:
        """Every row's vector, in the layout's order, for an exact scan."""
        rows = dict(
            self._db.execute(
                "SELECT c.rowid, v.value FROM chunks c JOIN vectors v ON v.id = c.vector"
            ).fetchall()
        )
        order = self.layout().rowid
        return order, _matrix([rows[row] for row in order.tolist()])

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

    def _changed(self) -> None:
        self._generation += 1
        self._postings.clear()
        self.set_meta("generation", str(self._generation))

    def _source_id(self, name: str) -> int:
        self._db.execute(
            "INSERT OR IGNORE INTO sources (name, inode, size, mtime_ns, ctime_ns, sha256,"
            " read_ns, layout) VALUES (?, 0, 0, 0, 0, '', 0, x'')",
            (name,),
        )
        found = self._db.execute("SELECT id FROM sources WHERE name = ?", (name,)).fetchone()
        return int(found[0])

    def _known(self, source: int) -> dict[str, tuple[int, str, tuple[Any, ...]]]:
        rows = self._db.execute(
            "SELECT id, rowid, plain, section, ordinal, start_line, end_line, start_char,"
            " end_char, date, status, until FROM chunks WHERE source = ?",
            (source,),
        )
        return {id_: (row, plain, tuple(place)) for id_, row, plain, *place in rows}

    def _sections(self, source: int, chunks: Sequence[Chunk]) -> dict[tuple[str, ...], int]:
        found = {
            tuple(json.loads(heading)): int(id_)
            for id_, heading in self._db.execute(
                "SELECT id, heading FROM sections WHERE source = ?", (source,)
            )
        }
        wanted = {chunk.heading for chunk in chunks}
        for heading in sorted(wanted - set(found)):
            made = self._db.execute(
                "INSERT INTO sections (source, heading) VALUES (?, ?)",
                (source, json.dumps(heading, ensure_ascii=False)),
            ).lastrowid
            assert made is not None
            self._db.execute(
                "INSERT INTO headings (rowid, plain) VALUES (?, ?)", (made, _heading_text(heading))
            )
            found[heading] = made
        return {heading: id_ for heading, id_ in found.items() if heading in wanted}

    def _drop_sections(self, source: int, keep: set[int]) -> None:
        rows = self._db.execute("SELECT id, heading FROM sections WHERE source = ?", (source,))
        gone = [(id_, json.loads(heading)) for id_, heading in rows if id_ not in keep]
        self._db.executemany(
            "INSERT INTO headings (headings, rowid, plain) VALUES ('delete', ?, ?)",
            [(id_, _heading_text(heading)) for id_, heading in gone],
        )
        self._db.executemany("DELETE FROM sections WHERE id = ?", [(id_,) for id_, _ in gone])

    def _delete_chunks(self, gone: Sequence[tuple[int, str, str]]) -> None:
        self._db.executemany(
            "INSERT INTO words (words, rowid, plain) VALUES ('delete', ?, ?)",
            [(row, searchable(plain)) for row, _, plain in gone],
        )
        self._db.executemany("DELETE FROM chunks WHERE rowid = ?", [(row,) for row, _, _ in gone])
        self._tell_chroma([id_ for _, id_, _ in gone])

    def _insert_chunks(
        self,
        source: int,
        sections: dict[tuple[str, ...], int],
        chunks: Sequence[Chunk],
        fingerprint: str,
    ) -> None:
        keys = [vector_key(chunk.plain, fingerprint) for chunk in chunks]
        vectors = self._vector_ids(keys)
        first = 1 + int(self._db.execute("SELECT ifnull(max(rowid), 0) FROM chunks").fetchone()[0])
        self._db.executemany(
            "INSERT INTO words (rowid, plain) VALUES (?, ?)",
            ((first + n, searchable(chunk.plain)) for n, chunk in enumerate(chunks)),
        )
        lengths = self._lengths(first)
        self._db.executemany(
            "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (first + n, c.id, source, sections[c.heading], c.ordinal, c.text, c.plain,
                 c.start_line, c.end_line, c.start_char, c.end_char, c.date,
                 json.dumps(c.mentions), c.status, c.until, vectors[keys[n]],
                 lengths[first + n], _crc(c))
                for n, c in enumerate(chunks)
            ),
        )  # fmt: skip
        self._tell_chroma([chunk.id for chunk in chunks])

    def _move_chunks(
        self,
        chunks: Sequence[Chunk],
        known: dict[str, tuple[int, str, tuple[Any, ...]]],
        sections: dict[tuple[str, ...], int],
    ) -> None:
        moved = []
        for c in chunks:
            row, _, place = known[c.id]
            now = (sections[c.heading], c.ordinal, c.start_line, c.end_line, c.start_char,
                   c.end_char, c.date, c.status, c.until)  # fmt: skip
            if now != place:
                moved.append((*now, _crc(c), row))
        self._db.executemany(
            "UPDATE chunks SET section = ?, ordinal = ?, start_line = ?, end_line = ?,"
            " start_char = ?, end_char = ?, date = ?, status = ?, until = ?, crc = ?"
            " WHERE rowid = ?",
            moved,
        )

    def _tell_chroma(self, ids: Sequence[str]) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO outbox (chunk) VALUES (?)", ((id_,) for id_ in ids)
        )

    def _vector_ids(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        found: dict[bytes, int] = {}
        for start in range(0, len(keys), 500):
            part = list(keys[start : start + 500])
            marks = ",".join("?" * len(part))
            query = f"SELECT key, id FROM vectors WHERE key IN ({marks})"
            found.update(self._db.execute(query, part).fetchall())
        return found

    def _lengths(self, first: int) -> dict[int, int]:
        rows = self._db.execute("SELECT id, sz FROM words_docsize WHERE id >= ?", (first,))
        return {row: _varint(size) for row, size in rows}

    def _source_layout(self, source: int) -> bytes:
        rows = self._db.execute(
            "SELECT rowid, section, plain, length, status, date, until FROM chunks"
            " WHERE source = ? ORDER BY ordinal",
            (source,),
        ).fetchall()
        said = turns([(section, plain) for _, section, plain, *_ in rows])
        packed = [
            (row, section, length, status == "superseded", turn, _day(recorded), _day(until))
            for (row, section, _, length, status, recorded, until), turn in zip(
                rows, said, strict=True
            )
        ]
        return np.array(packed, dtype=_LAYOUT).tobytes()

    def _read_layout(self) -> Layout:
        rows = self._db.execute("SELECT name, layout FROM sources ORDER BY name").fetchall()
        parts = [np.frombuffer(blob, dtype=_LAYOUT) for _, blob in rows]
        sizes = [len(part) for part in parts]
        table = np.concatenate(parts) if parts else np.empty(0, dtype=_LAYOUT)
        ordinals = [np.arange(size, dtype=np.int32) for size in sizes]
        return Layout(
            generation=self._generation,
            sources=tuple(name for name, _ in rows),
            rowid=np.ascontiguousarray(table["rowid"]),
            source=np.repeat(np.arange(len(rows), dtype=np.int32), sizes),
            section=np.ascontiguousarray(table["section"]),
            ordinal=np.concatenate(ordinals) if parts else np.empty(0, dtype=np.int32),
            length=np.ascontiguousarray(table["length"]),
            superseded=np.ascontiguousarray(table["superseded"]),
            turn=np.ascontiguousarray(table["turn"]),
            date=np.ascontiguousarray(table["date"]),
            until=np.ascontiguousarray(table["until"]),
            by_rowid=np.argsort(table["rowid"]),
        )

    def _frequency(self, term: str) -> int:
        if term in self._postings:
            return len(self._postings[term][0])
        found = self._db.execute("SELECT doc FROM words_in WHERE term = ?", (term,)).fetchone()
        return int(found[0]) if found else 0

    def _chunk_postings(self, term: str) -> Postings:
        if term not in self._postings:
            self._postings[term] = self._read_postings("words_at", term)
            while len(self._postings) > MAX_QUERY_TERMS:
                del self._postings[next(iter(self._postings))]
        return self._postings[term]

    def _read_postings(self, table: str, term: str) -> Postings:
        query = f"SELECT group_concat(doc) FROM {table} WHERE term = ?"
        joined = self._db.execute(query, (term,)).fetchone()[0]
        occurrences = np.fromstring(joined or "", dtype=np.int64, sep=",")
        rows, counts = np.unique(occurrences, return_counts=True)
        return rows, counts

    def _select(self, column: str, values: Sequence[Any]) -> list[StoredChunk]:
        plain = [value if isinstance(value, str) else int(value) for value in values]
        chosen = f"{column} IN (SELECT value FROM json_each(?))"
        return self._read_chunks(chosen, (json.dumps(plain),))

    def _read_chunks(self, where: str, values: tuple[Any, ...]) -> list[StoredChunk]:
        rows = self._db.execute(
            "SELECT c.rowid, c.crc, h.heading, c.mentions, c.id, s.name, c.ordinal, c.text,"
            " c.plain, c.start_line, c.end_line, c.start_char, c.end_char, c.date, c.status,"
            " c.until FROM chunks c JOIN sources s ON s.id = c.source"
            f" JOIN sections h ON h.id = c.section WHERE {where} ORDER BY s.name, c.ordinal",
            values,
        )
        return [_stored(*row) for row in rows]


def _open(path: Path, check: bool) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA secure_delete = ON")
        db.execute("PRAGMA cache_size = -8000")
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            db.executescript(_SCHEMA)
        path.chmod(0o600)
        _verify(db, check)
    except BaseException:
        db.close()
        raise
    return db


def _verify(db: sqlite3.Connection, check: bool) -> None:
    identity = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in _IDENTITY]
    if identity != list(_IDENTITY.values()):
        raise sqlite3.DatabaseError("it was made by another version")
    if check:
        found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(found)


_FIELDS = (
    "id", "source", "ordinal", "text", "plain", "start_line", "end_line", "start_char",
    "end_char", "date", "status", "until",
)  # fmt: skip
_IDENTITY = {"application_id": APPLICATION_ID, "user_version": SCHEMA_VERSION}


def _tokenizing() -> sqlite3.Connection:
    """A database in memory whose FTS5 table splits queries as the index splits chunks."""
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    db.execute(f"CREATE VIRTUAL TABLE words USING fts5(plain, content='', tokenize='{_TOKENIZER}')")
    db.execute("CREATE VIRTUAL TABLE words_at USING fts5vocab(words, 'instance')")
    return db


def _stored(rowid: int, crc: int, heading: str, mentions: str, *fields: Any) -> StoredChunk:
    values = dict(zip(_FIELDS, fields, strict=True))
    chunk = Chunk(
        heading=tuple(json.loads(heading)), mentions=tuple(json.loads(mentions)), **values
    )
    if _crc(chunk) != crc:
        raise sqlite3.DatabaseError(f"row {rowid} of chunks is not what was written")
    return StoredChunk(rowid, chunk)


def _crc(chunk: Chunk) -> int:
    seen = (chunk.id, chunk.text, chunk.plain, chunk.start_line, chunk.start_char, chunk.status)
    return zlib.crc32(repr(seen).encode("utf-8", "surrogatepass"))


def _heading_text(heading: Sequence[str]) -> str:
    return searchable("\n".join(heading))


def _day(iso: str | None) -> int:
    return date.fromisoformat(iso).toordinal() if iso else 0


def _varint(data: bytes) -> int:
    """SQLite's variable-length integer."""
    value = 0
    for byte in data:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            break
    return value


def _matrix(values: Sequence[bytes]) -> Vectors:
    """Cached vectors as rows; rounding to float16 left them a hair off length 1."""
    if not values:
        return np.empty((0, 0), dtype=np.float32)
    half = np.frombuffer(b"".join(values), dtype=np.float16)
    return half.reshape(len(values), -1).astype(np.float32)
