"""The catalog: sources, chunks and their words. It is authoritative for the index.

Each change to a source is one transaction, which also queues Chroma's pending changes in the
outbox; after a crash in between, both converge.
"""

import json
import re
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import chain, count
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from assistant.disk.storage import Stat
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.database import CatalogDamaged, Database
from assistant.memory.index.layout import COLUMNS, NOWHERE, RANGE, Layout, Rows
from assistant.memory.index.vector_cache import VectorCache, matrix, vector_ids, vector_key
from assistant.memory.index.words import (
    InvertedIndex,
    PostingsWriter,
    Tokenizer,
    Vocabulary,
    count_words,
    folded,
)
from assistant.memory.text.chunk import Chunk
from assistant.memory.text.dialogue import is_item, label, number, speaks
from assistant.memory.text.headings import path_words, topic_of
from assistant.memory.text.times.occasions import Occasion, may_speak, occasions

NO_ROW = np.iinfo(np.int64).max
"""A row id that no chunk has."""
Value = TypeVar("Value")
_OCCASIONS = msgspec.json.Decoder(tuple[Occasion, ...])
_HEADING = msgspec.json.Decoder(tuple[str, ...])
_CHUNK = msgspec.json.Decoder(Chunk)
_STORED = "SELECT rowid, id, plain, CAST(data AS BLOB), checksum FROM chunks"


@dataclass(frozen=True, slots=True)
class Source:
    """An indexed file as it was last read. `read_ns` (time.time_ns) and `warning`, its fault, are
    for display only."""

    name: str
    stat: Stat
    sha256: str
    read_ns: int
    chunks: int
    warning: str


@dataclass(frozen=True)
class SourceUpdate:
    """A source as it was read: stat and digest of its bytes, its chunks in order, and its text.

    `warning` is the fault of a file that is readable nevertheless. With `index_days`, the days that
    the chunks mention are stored.
    """

    name: str
    stat: Stat
    digest: str
    chunks: Sequence[Chunk] = ()
    text: str = ""
    warning: str = ""
    index_days: bool = False

    @cached_property
    def content(self) -> NDArray[np.uint64]:
        """A hash of each chunk, independent of its position in the file."""
        ids = bytes.fromhex("".join([chunk.id for chunk in self.chunks]))
        variants = np.array([chunk.variant for chunk in self.chunks], np.uint64)
        return variants ^ np.frombuffer(ids, ">u8").astype(np.uint64)

    def unchanged(self, before: NDArray[Any]) -> Rows:
        """Return each chunk's index in the source's previous columns, `NOWHERE` for a new one."""
        known = {content: index for index, content in enumerate(before["content"].tolist())}
        return np.array([known.get(content, NOWHERE) for content in self.content.tolist()], int)


@dataclass(frozen=True, slots=True)
class Pending:
    """The next changes for Chroma: upserts and deletes, which share no id, and their mark.

    The mark is 0 if there are none.
    """

    ids: Sequence[str]
    vectors: Vectors
    gone: Sequence[str]
    mark: int

    def __len__(self) -> int:
        return len(self.ids) + len(self.gone)


class Outbox:
    """The chunks whose changes Chroma still lacks, written in the transaction of the change."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def size(self) -> int:
        """The number of pending ids."""
        return int(self._database.rows("SELECT count(*) FROM outbox")[0][0])

    def pending(self, limit: int) -> Pending:
        """Return the next changes, with only the latest state of each id."""
        rows = self._database.rows(
            "SELECT o.chunk, v.value, o.seq FROM outbox o LEFT JOIN chunks c ON c.id = o.chunk"
            " LEFT JOIN vectors v ON v.id = c.vector ORDER BY o.seq LIMIT ?",
            limit,
        )
        upserts = [(id_, value) for id_, value, _ in rows if value is not None]
        return Pending(
            [id_ for id_, _ in upserts],
            matrix([value for _, value in upserts]),
            [id_ for id_, value, _ in rows if value is None],
            rows[-1][2] if rows else 0,
        )

    def done(self, mark: int) -> None:
        """Remove the changes up to `mark`, which have been applied."""
        with self._database.transaction() as db:
            db.execute("DELETE FROM outbox WHERE seq <= ?", (mark,))

    def enqueue_all(self) -> None:
        """Queue every chunk, because Chroma's data is gone."""
        with self._database.transaction() as db:
            db.execute("DELETE FROM outbox")
            db.execute("INSERT INTO outbox (chunk) SELECT id FROM chunks")


class Catalog:
    """An open catalog. Thread-safe; one process at a time.

    Every method raises CatalogDamaged if the database is unusable, StorageError if the disk is full
    or read-only.
    """

    def __init__(self, path: Path, cache: Path, *, readonly: bool = False) -> None:
        """Open or create it, with the vectors in `cache`; see `Database`."""
        self.database = Database(path, cache, readonly=readonly)
        self.vectors = VectorCache(self.database)
        self.outbox = Outbox(self.database)
        self.vocabulary = Vocabulary(self.database)
        self.words = InvertedIndex(self.database)
        self._tokenizer = Tokenizer()
        """The tokenizer for writes; queries do not wait for it."""
        self._layout: Layout | None = None

    def close(self) -> None:
        """Close the database."""
        self.database.close()
        self.words.close()
        self._tokenizer.close()

    # The catalog as a whole

    @property
    def generation(self) -> int:
        """A number that grows with every change of the chunks, in the state this thread sees."""
        return self.database.generation

    @property
    def is_latest(self) -> bool:
        """Whether this thread sees the latest state."""
        return self.database.generation == self.database.latest

    def reading(self) -> AbstractContextManager[None]:
        """Give this thread a snapshot of the catalog while others write."""
        return self.database.reading()

    def meta(self, key: str) -> str | None:
        """Return the value stored under a key of the whole catalog."""
        rows = self.database.rows("SELECT value FROM meta WHERE key = ?", key)
        return str(rows[0][0]) if rows else None

    def set_meta(self, key: str, value: str) -> None:
        """Store a value about the whole catalog."""
        self.database.rows("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)

    def count(self) -> int:
        """Return the number of chunks."""
        return int(self.database.rows("SELECT ifnull(sum(chunks), 0) FROM sources")[0][0])

    def sources(self) -> dict[str, Source]:
        """Return the indexed sources, by name."""
        rows = self.database.rows(
            "SELECT name, inode, size, mtime_ns, ctime_ns, sha256, read_ns, chunks, warning"
            " FROM sources ORDER BY name"
        )
        return {row[0]: Source(row[0], Stat(*row[1:5]), *row[5:]) for row in rows}

    def columns(self, source: str) -> NDArray[Any]:
        """Return the columns of a source's chunks, see `layout.COLUMNS`."""
        with self.database.using() as db:
            return _columns(db, source)

    # Changes

    def touch(self, name: str, stat: Stat) -> None:
        """Record that an unchanged file has another stat, or was read again now."""
        self.database.rows(
            "UPDATE sources SET inode = ?, size = ?, mtime_ns = ?, ctime_ns = ?, read_ns = ?"
            " WHERE name = ?",
            *stat, time.time_ns(), name,
        )  # fmt: skip

    def replace_sources(self, updates: Sequence[SourceUpdate], fingerprint: str) -> None:
        """Replace the rows of sources by those of updates, in one transaction.

        The vectors must be cached. A chunk whose id exists already keeps its row.
        """
        with self.database.changing() as db:
            writer = _Writer(db, self._tokenizer, fingerprint)
            for update in updates:
                writer.replace(update)

    def delete_source(self, name: str) -> None:
        """Remove a source and its chunks."""
        with self.database.changing() as db:
            writer = _Writer(db, self._tokenizer, "")
            writer.replace(SourceUpdate(name, Stat(0, 0, 0, 0), ""))
            db.execute("DELETE FROM sources WHERE name = ?", (name,))

    def clear(self) -> None:
        """Remove everything except the cached vectors."""
        tables = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name <> 'meta'"
        with self.database.changing() as db:
            for (table,) in db.execute(tables).fetchall():
                db.execute(f"DELETE FROM main.{table}")

    def scrub(self) -> None:
        """Erase deleted content from free pages and the log."""
        self.vectors.prune(0)
        self.database.vacuum()

    # Reading

    def layout(self) -> Layout:
        """Return the position of every chunk, cached until the next change."""
        with self.database.using() as db:
            kept, generation = self._layout, self.generation
            if kept is not None and kept.generation == generation:
                return kept
            rows = db.execute("SELECT name, layout, checksum FROM sources ORDER BY name").fetchall()
            layout = Layout(generation, [(name, _intact(*row)) for name, *row in rows])
            if kept is None or generation > kept.generation:
                self._layout = layout
            return layout

    def by_row(self, rowids: Sequence[int]) -> dict[int, Chunk]:
        """Return the chunks of these rows, without those that are gone.

        A chunk keeps its row while other parts of its file are edited.
        """
        return self._chunks("rowid IN (SELECT value FROM json_each(?))", json.dumps(list(rowids)))

    def chunks(self, rowids: Sequence[int]) -> list[Chunk]:
        """Return the chunks of these rows, in this order, without those that are gone."""
        chunks = self.by_row(rowids)
        return [chunks[row] for row in rowids if row in chunks]

    def by_id(self, id_: str) -> list[Chunk]:
        """Return the chunk with this id, if it exists."""
        return list(self._chunks("id = ?", id_).values())

    def spelling(self, text: str, most: int) -> list[Chunk]:
        """Return the first current chunks that contain this text of 3 to 300 letters, even within
        words."""
        if not 3 <= len(text) <= 300:
            return []
        anything = re.sub(r"[^a-zA-Z0-9 ]", "_", text)  # LIKE folds the case of ASCII only
        chunks = self._chunks("plain LIKE ? ORDER BY rowid", f"%{anything}%").values()
        current = (chunk for chunk in chunks if chunk.status == "current")
        return [chunk for chunk in current if folded(text) in folded(chunk.plain)][:most]

    def positions(self, layout: Layout, ids: Sequence[str]) -> Rows:
        """Return the layout positions of the chunks with these ids; `NOWHERE` for an unknown id."""
        where = "id IN (SELECT value FROM json_each(?))"
        query = f"SELECT id, rowid FROM chunks WHERE {where}"
        rowids = dict(self.database.rows(query, json.dumps(list(ids))))
        return layout.known(np.array([rowids.get(id_, NO_ROW) for id_ in ids], dtype=np.int64))

    def pending_positions(self, layout: Layout) -> Rows:
        """Return the positions of the chunks that are pending for Chroma."""
        rows = self.database.rows("SELECT c.rowid FROM outbox o JOIN chunks c ON c.id = o.chunk")
        positions = layout.known(np.array([row for (row,) in rows], dtype=np.int64))
        return np.asarray(positions[positions != NOWHERE])

    def marked(self, layout: Layout) -> tuple[Rows, Rows]:
        """Return the positions of the chunks that state what they matter for, and the numbers of
        the vectors of those phrases."""
        query = "SELECT rowid, marked FROM chunks WHERE marked IS NOT NULL"
        rows = np.array(self.database.rows(query), np.int64).reshape(-1, 2)
        positions = layout.known(rows[:, 0])
        return positions[positions != NOWHERE], rows[positions != NOWHERE, 1]

    def at_line(self, source: str, line: int) -> list[Chunk]:
        """Return the chunks of a source on a line, in order."""
        layout = self.layout()
        return self.chunks(layout.rowid[layout.at_line(source, line)].tolist())

    def speaking(self, first: date, last: date) -> list[tuple[Chunk, tuple[Occasion, ...]]]:
        """Return the current chunks that may mention these days, with their occasions, as far as
        these are known without a date of recording."""
        rows = self.database.rows(
            "SELECT rowid, days FROM chunks WHERE first <= ? AND last >= ?",
            last.toordinal(), first.toordinal(),
        )  # fmt: skip
        days = {chunk: _decoded(_OCCASIONS, value) for chunk, value in rows}
        return [(chunk, days[row]) for row, chunk in self.by_row(list(days)).items()]

    def _chunks(self, where: str, *values: Any) -> dict[int, Chunk]:
        """Return the chunks that satisfy a condition, by row."""
        layout = self.layout()
        matches = self.database.rows(f"{_STORED} WHERE {where}", *values)
        positions = layout.known(np.array([row[0] for row in matches], dtype=np.int64)).tolist()
        chunks, ranges = {}, layout.table[RANGE]
        for position, (rowid, *stored) in zip(positions, matches, strict=True):
            if position != NOWHERE:
                ordinal = position - int(layout.begin[layout.source[position]])
                span = dict(zip(RANGE, ranges[position].item(), strict=True))
                chunks[rowid] = replace(_chunk(*stored), ordinal=ordinal, **span)
        return chunks


class _Writer:
    """Rewrites the changed rows of sources within a transaction."""

    def __init__(self, db: sqlite3.Connection, tokenizer: Tokenizer, fingerprint: str) -> None:
        self._db = db
        self._words = PostingsWriter(db, "postings", tokenizer)
        self._headings = PostingsWriter(db, "heading_postings", tokenizer)
        self._fingerprint = fingerprint

    def replace(self, update: SourceUpdate) -> None:
        """Replace the rows of a source by those of an update, whose vectors must be cached."""
        self._db.execute("INSERT OR IGNORE INTO sources (name) VALUES (?)", (update.name,))
        (source,) = self._db.execute(
            "SELECT id FROM sources WHERE name = ?", (update.name,)
        ).fetchone()
        before = _columns(self._db, update.name)
        same = update.unchanged(before)
        kept = same != NOWHERE
        self._delete(np.delete(before["rowid"], same[kept]).tolist())
        table = np.zeros(len(update.chunks), dtype=COLUMNS)
        table[kept] = before[same[kept]]
        self._insert(source, update, np.flatnonzero(~kept).tolist(), table)
        for name in RANGE:
            table[name] = list(map(attrgetter(name), update.chunks))
        self._drop_sections(source, update.name, table["section"])
        packed = table.tobytes()
        self._db.execute(
            "UPDATE sources SET inode = ?, size = ?, mtime_ns = ?, ctime_ns = ?, sha256 = ?,"
            " read_ns = ?, chunks = ?, layout = ?, checksum = ?, warning = ? WHERE id = ?",
            (
                *update.stat,
                update.digest,
                time.time_ns(),
                len(table),
                packed,
                crc32(packed),
                update.warning,
                source,
            ),
        )

    def _sections(
        self, source: int, name: str, wanted: set[tuple[str, ...]]
    ) -> dict[tuple[str, ...], int]:
        """Return the numbers of heading paths of a source; insert new paths.

        A new path gets the vector of its headings if that is cached.
        """
        rows = self._db.execute("SELECT id, heading FROM sections WHERE source = ?", (source,))
        numbers = {_decoded(_HEADING, heading): int(id_) for id_, heading in rows} if wanted else {}
        new = sorted(wanted.difference(numbers))
        above = {heading: topic_of(name, heading) for heading in new}
        keys = {path: vector_key(above[path], self._fingerprint) for path in new if above[path]}
        vectors = vector_ids(self._db, list(keys.values()))
        for heading in new:
            encoded = json.dumps(heading, ensure_ascii=False)
            vector = vectors.get(keys.get(heading, b""))
            (numbers[heading],) = self._db.execute(
                "INSERT INTO sections (source, heading, vector) VALUES (?, ?, ?) RETURNING id",
                (source, encoded, vector),
            ).fetchone()
        self._headings.add(sorted((numbers[path], _heading_text(name, path)) for path in new))
        count_words(self._db, map("\n".join, new), 1)
        return numbers

    def _drop_sections(self, source: int, name: str, used: Rows) -> None:
        rows = self._db.execute(
            "SELECT id, heading FROM sections"
            " WHERE source = ? AND id NOT IN (SELECT value FROM json_each(?))",
            (source, json.dumps(np.unique(used).tolist())),
        ).fetchall()
        gone = [(id_, _decoded(_HEADING, heading)) for id_, heading in rows]
        self._headings.drop((id_, _heading_text(name, path)) for id_, path in gone)
        count_words(self._db, ("\n".join(path) for _, path in gone), -1)
        self._db.executemany("DELETE FROM sections WHERE id = ?", [(id_,) for id_, _ in rows])

    def _delete(self, rowids: Sequence[int]) -> None:
        where = "rowid IN (SELECT value FROM json_each(?))"
        rows = self._db.execute(f"{_STORED} WHERE {where}", (json.dumps(rowids),)).fetchall()
        gone = [(row, _chunk(*stored)) for row, *stored in rows]
        self._words.drop((row, chunk.searched) for row, chunk in gone)
        count_words(self._db, (chunk.searched for _, chunk in gone), -1)
        self._db.executemany("DELETE FROM chunks WHERE rowid = ?", [(row,) for row in rowids])
        self._enqueue(chunk.id for _, chunk in gone)

    def _insert(
        self, source: int, update: SourceUpdate, new: Sequence[int], table: NDArray[Any]
    ) -> None:
        """Insert chunks and fill in their columns. Raises KeyError if a vector is not cached."""
        if not new:
            return
        chunks = [update.chunks[index] for index in new]
        keys = [
            [vector_key(text, self._fingerprint) for text in (chunk.plain, chunk.matters_for)]
            for chunk in chunks
        ]
        vectors = vector_ids(self._db, list(chain.from_iterable(keys)))
        first = 1 + int(self._db.execute("SELECT ifnull(max(rowid), 0) FROM chunks").fetchone()[0])
        sections = self._sections(source, update.name, {chunk.heading for chunk in chunks})
        texts = ((row, c.searched) for row, c in enumerate(chunks, first))
        lengths = self._words.add(texts)
        rows = []
        for row, index, (key, mark), c in zip(count(first), new, keys, chunks, strict=False):
            led, section, vector = number(label(c.plain)), sections[c.heading], vectors[key]
            table[index] = (
                row, update.content[index], section, vector, led, lengths[row], _day(c.date),
                _day(c.until), c.status == "superseded", bool(led) and speaks(c.plain),
                is_item(c.text), 0, 0, 0, 0,
            )  # fmt: skip
            data = msgspec.json.encode(replace(c, id="", plain=""))
            marked = vectors[mark] if c.matters_for else None
            days = _days_of(c) if update.index_days and c.status == "current" else NO_DAYS
            checksum = _checksum(c.id, c.plain, data)
            rows.append((row, c.id, vector, c.plain, data, checksum, marked, *days))
        self._db.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        count_words(self._db, (chunk.searched for chunk in chunks), 1)
        self._enqueue(chunk.id for chunk in chunks)

    def _enqueue(self, ids: Iterable[str]) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO outbox (chunk) VALUES (?)", ((id_,) for id_ in ids)
        )


def _columns(db: sqlite3.Connection, source: str) -> NDArray[Any]:
    query = "SELECT layout, checksum FROM sources WHERE name = ?"
    row = db.execute(query, (source,)).fetchone()
    return np.frombuffer(_intact(*row) if row else b"", dtype=COLUMNS)


def _intact(layout: bytes, checksum: int) -> bytes:
    """Return the packed columns of a source's chunks. Raises CatalogDamaged if they have changed
    since they were written."""
    if crc32(layout) != checksum:
        raise CatalogDamaged("a file's columns in the index have changed since they were written")
    return layout


def _chunk(id_: str, plain: str, data: bytes, checksum: int) -> Chunk:
    """Return a stored chunk, with the position that it had when it was written. Raises
    CatalogDamaged if it has changed since."""
    if checksum != _checksum(id_, plain, data):
        raise CatalogDamaged("a chunk of the index has changed since it was written")
    return replace(_CHUNK.decode(data), id=id_, plain=plain)


def _checksum(id_: str, plain: str, data: bytes) -> int:
    """Return a checksum that detects changes of a stored chunk."""
    return crc32(data, crc32(f"{id_}\0{plain}".encode()))


_Days = tuple[int, int, bytes] | tuple[None, None, None]
NO_DAYS: _Days = None, None, None


def _days_of(chunk: Chunk) -> _Days:
    """Return the first and last day that a chunk may mention, and its occasions."""
    spoken_of = occasions(chunk.plain, chunk.date)
    undated = chunk.date is None and may_speak(chunk.plain)
    if not spoken_of and not undated:
        return NO_DAYS
    endless = undated or any(occasion.rule for occasion in spoken_of)
    first = 0 if undated else min(occasion.start.toordinal() for occasion in spoken_of)
    last = (
        date.max.toordinal() if endless else max(occasion.end.toordinal() for occasion in spoken_of)
    )
    if any(occasion.zone for occasion in spoken_of):
        first, last = first - 1, last + 1  # in the local time zone it may be another day
    return first, last, msgspec.json.encode(spoken_of)


def _day(iso: str | None) -> int:
    return date.fromisoformat(iso).toordinal() if iso else 0


def _decoded(decoder: "msgspec.json.Decoder[Value]", stored: bytes | str) -> Value:
    """Return a stored value. Raises CatalogDamaged."""
    try:
        return decoder.decode(stored)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise CatalogDamaged(f"a value of the index cannot be read: {error}") from error


def _heading_text(name: str, heading: Sequence[str]) -> str:
    """Return the path and headings that a chunk is also indexed by."""
    return "\n".join((*path_words(name), *heading))
