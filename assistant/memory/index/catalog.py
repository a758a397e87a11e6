"""What is indexed: sources, chunks and their words; the truth about the index.

A change to a source is one transaction, which also notes in the outbox what Chroma still has to
be told; a crash between the two converges.
"""

import json
import sqlite3
import time
import zlib
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index import vocabulary
from assistant.memory.index.database import CatalogDamaged, Database
from assistant.memory.index.layout import NOWHERE, PLACES, Chunks, Layout, Rows, rows_of
from assistant.memory.index.postings import InvertedIndex, PostingsWriter, Tokenizer, searchable
from assistant.memory.index.vector_cache import VectorCache, matrix, vector_ids, vector_key
from assistant.memory.index.vocabulary import Vocabulary
from assistant.memory.text.chunk import Chunk, checksum
from assistant.memory.text.dialogue import label, number, speaks
from assistant.memory.text.identity import fact_key
from assistant.memory.text.standing import path_words, standing
from assistant.memory.text.times.occasions import Occasion, may_speak, occasions

BATCH = 1000
"""Chunks that are verified at once."""
BEYOND = np.iinfo(np.int64).max
"""A row id that no chunk has."""
LISTS = 1024
"""Lists of texts that stay decoded."""
_TABLES = (
    "sources", "sections", "chunks", "occasions", "outbox", "vocabulary", "postings",
    "heading_postings",
)  # fmt: skip
_DECODER = msgspec.json.Decoder(tuple[Occasion, ...])
_ROW = """c.rowid, c.crc, c.id, c.text, c.plain, h.heading, c.date, c.mentions, c.status, c.until
    FROM chunks c LEFT JOIN sections h ON h.id = c.section"""


class Stat(NamedTuple):
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
class SourceUpdate:
    """What a source says now, in order, and of which bytes that was made."""

    name: str
    stat: Stat
    digest: str
    chunks: Chunks


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk and its number in the catalog, which outlives edits elsewhere in its file."""

    rowid: int
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class Pending:
    """What Chroma must be told next: upserts and deletes, which share no id, and a mark for them.

    The mark is 0 when there is nothing.
    """

    ids: Sequence[str]
    vectors: Vectors
    gone: Sequence[str]
    mark: int

    def __len__(self) -> int:
        return len(self.ids) + len(self.gone)


class Outbox:
    """Chroma's to-do list: which chunks it must still be told of. Written with what it is about."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.size = 0
        """How many ids Chroma must still be told of; waits for nobody."""
        self.recount()

    def recount(self) -> None:
        """Look at the size again: a source was written."""
        with self._database.using() as db:
            self.size = int(db.execute("SELECT count(*) FROM outbox").fetchone()[0])

    def pending(self, limit: int) -> Pending:
        """The next to tell, of one id only the last state."""
        with self._database.using() as db:
            rows = db.execute(
                "SELECT o.chunk, v.value, o.seq FROM outbox o LEFT JOIN chunks c ON c.id = o.chunk"
                " LEFT JOIN vectors v ON v.id = c.vector ORDER BY o.seq LIMIT ?",
                (limit,),
            ).fetchall()
        there = [(id_, value) for id_, value, _ in rows if value is not None]
        return Pending(
            [id_ for id_, _ in there],
            matrix([value for _, value in there]),
            [id_ for id_, value, _ in rows if value is None],
            rows[-1][2] if rows else 0,
        )

    def names_all(self) -> bool:
        """Whether Chroma must still be told of every chunk."""
        with self._database.using() as db:
            told = "SELECT EXISTS (SELECT 1 FROM chunks WHERE id NOT IN (SELECT chunk FROM outbox))"
            return not db.execute(told).fetchone()[0]

    def done(self, mark: int) -> None:
        """Forget what was told up to `mark`."""
        with self._database.transaction() as db:
            self.size -= db.execute("DELETE FROM outbox WHERE seq <= ?", (mark,)).rowcount

    def tell_all(self) -> None:
        """Have every chunk told again: Chroma's data is gone."""
        with self._database.transaction() as db:
            db.execute("DELETE FROM outbox")
            db.execute("INSERT INTO outbox (chunk) SELECT id FROM chunks")
        self.recount()


class Catalog:
    """An open catalog. Thread-safe; one process at a time.

    Every method raises CatalogDamaged when the database proves unusable, StorageError when the
    disk is full or read-only.
    """

    def __init__(
        self, path: Path, cache: Path, *, readonly: bool = False, diary: bool = False
    ) -> None:
        """Open or make it, with the vectors in `cache`; see `Database`. `diary`: the days that
        chunks speak of are kept."""
        self.database = Database(path, cache, readonly=readonly)
        self._diary = diary
        self.vectors = VectorCache(self.database)
        self.outbox = Outbox(self.database)
        self.vocabulary = Vocabulary(self.database)
        self.words = InvertedIndex(self.database)
        self._tokenizer = Tokenizer()
        """Of what is written: a question waits for none of it."""
        self._layout: Layout | None = None
        self._columns: dict[tuple[str, int], bytes] = {}
        """The packed columns of each source, by its name and their checksum."""

    def close(self) -> None:
        """Close the database."""
        self.database.close()
        self.words.close()
        self._tokenizer.close()

    # Facts about the whole

    @property
    def generation(self) -> int:
        """Grows with every change of the chunks; of what a thread that is `reading` sees."""
        return self.database.generation

    @property
    def is_latest(self) -> bool:
        """Whether what this thread sees is the latest there is."""
        return self.database.generation == self.database.latest

    def reading(self) -> AbstractContextManager[None]:
        """Let this thread see one state of the catalog, beside whoever writes."""
        return self.database.reading()

    def fact(self, key: str) -> str | None:
        """What was kept of the whole under a name."""
        with self.database.using() as db:
            row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else None

    def keep_fact(self, key: str, value: str) -> None:
        """Keep something of the whole."""
        with self.database.using() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def count(self) -> int:
        """The number of chunks."""
        with self.database.using() as db:
            return int(db.execute("SELECT ifnull(sum(chunks), 0) FROM sources").fetchone()[0])

    def sources(self) -> dict[str, Source]:
        """What is indexed, by name."""
        with self.database.using() as db:
            rows = db.execute(
                "SELECT name, inode, size, mtime_ns, ctime_ns, sha256, read_ns, chunks"
                " FROM sources ORDER BY name"
            ).fetchall()
        return {
            name: Source(name, Stat(*stat), digest, read_ns, chunks)
            for name, *stat, digest, read_ns, chunks in rows
        }

    def packed(self, source: str) -> bytes:
        """The columns of a source's chunks, as they are kept; see `layout.Chunks`."""
        with self.database.using() as db:
            row = db.execute("SELECT layout FROM sources WHERE name = ?", (source,)).fetchone()
            return bytes(row[0]) if row else b""

    # Changes

    def touch(self, name: str, stat: Stat, read_ns: int) -> None:
        """Note that a file whose content is the same has another stat, or was read again."""
        with self.database.using() as db:
            db.execute(
                "UPDATE sources SET inode = ?, size = ?, mtime_ns = ?, ctime_ns = ?, read_ns = ?"
                " WHERE name = ?",
                (*stat, read_ns, name),
            )

    def replace_sources(self, updates: Sequence[SourceUpdate], fingerprint: str) -> None:
        """Make the rows of sources those of updates, whose vectors must be cached, at once.

        A chunk whose id is there already keeps its row.
        """
        with self.database.changing() as db:
            writer = _Writer(db, self._tokenizer, fingerprint, diary=self._diary)
            for update in updates:
                writer.replace(update)
        self.outbox.recount()

    def delete_source(self, name: str) -> None:
        """Remove a source and its chunks."""
        with self.database.changing() as db:
            writer = _Writer(db, self._tokenizer, "")
            writer.replace(SourceUpdate(name, Stat(0, 0, 0, 0), "", Chunks.of(())))
            db.execute("DELETE FROM sources WHERE name = ?", (name,))
        self.outbox.recount()

    def clear(self) -> None:
        """Remove everything but the cached vectors."""
        with self.database.changing() as db:
            for table in _TABLES:
                db.execute(f"DELETE FROM {table}")
        self.outbox.recount()

    def scrub(self) -> None:
        """Leave no byte of what was deleted, in free pages or in the log."""
        self.vectors.prune(0)
        self.database.vacuum()

    def verify(self) -> None:
        """See from end to end that it says what was written. Raises CatalogDamaged."""
        self.database.check()
        self._layout = None
        self._columns = {}
        layout = self.layout()
        with self.database.using() as db:
            rows = db.execute("SELECT rowid, vector, said, plain FROM chunks").fetchall()
            found = {row: vector for row, vector, kept, plain in rows if said(plain) == kept}
            if found != dict(zip(layout.rowid.tolist(), layout.vector.tolist(), strict=True)):
                raise CatalogDamaged("the index does not hold the chunks that it says")
        for start in range(0, len(layout), BATCH):
            rowids = layout.rowid[start : start + BATCH].tolist()
            if len(self.chunks(rowids)) != len(rowids):
                raise CatalogDamaged("the index names chunks that are not there")
        with self.database.using() as db:
            for row in db.execute("SELECT * FROM occasions"):
                _sound(row)
        self.words.verify()

    # Reading

    def layout(self) -> Layout:
        """Where every chunk stands; kept until the next change."""
        with self.database.using() as db:
            kept, generation = self._layout, self.generation
            if kept is not None and kept.generation == generation:
                return kept
            rows = db.execute("SELECT name, chunks, crc FROM sources ORDER BY name").fetchall()
            known, columns = self._columns, {}
            for name, _, crc in rows:
                columns[name, crc] = known.get((name, crc)) or _columns(db, name, crc)
            self._columns = columns
            sources = [(name, count, columns[name, crc]) for name, count, crc in rows]
            layout = Layout(generation, sources)
            if kept is None or generation > kept.generation:
                self._layout = layout
            return layout

    def chunks(self, rowids: Sequence[int]) -> list[StoredChunk]:
        """The chunks of these rows, in this order; a row that is gone is left out."""
        there = self._stored(self._rows("c.rowid IN (SELECT value FROM json_each(?))", rowids))
        return [there[row] for row in rowids if row in there]

    def by_id(self, ids: Sequence[str]) -> list[StoredChunk]:
        """The chunks of these ids, in this order; an id that is gone is left out."""
        stored = self._stored(self._rows("c.id IN (SELECT value FROM json_each(?))", ids))
        there = {each.chunk.id: each for each in stored.values()}
        return [there[id_] for id_ in ids if id_ in there]

    def positions(self, layout: Layout, ids: Sequence[str]) -> Rows:
        """Where in a layout the chunks of these ids stand, `NOWHERE` for one that is not there."""
        with self.database.using() as db:
            rows = db.execute(
                "SELECT id, rowid FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(list(ids)),),
            )
            there = dict(rows.fetchall())
        return layout.known(np.array([there.get(id_, BEYOND) for id_ in ids], dtype=np.int64))

    def untold(self, layout: Layout) -> Rows:
        """The positions of the chunks that Chroma must still be told of."""
        with self.database.using() as db:
            rows = db.execute("SELECT c.rowid FROM outbox o JOIN chunks c ON c.id = o.chunk")
            found = layout.known(np.array([row for (row,) in rows], dtype=np.int64))
        return np.asarray(found[found != NOWHERE])

    def at_line(self, source: str, line: int) -> list[StoredChunk]:
        """The chunks of a source that stand on a line, in order."""
        layout = self.layout()
        return self.chunks(layout.rowid[layout.at_line(source, line)].tolist())

    def stating(self, fact: str) -> list[StoredChunk]:
        """The current chunks that say a fact and nothing else."""
        where = "c.status = 'current' AND c.said IN (SELECT value FROM json_each(?))"
        return list(self._stored(self._rows(where, [said(fact)])).values())

    def speaking(self, first: date, last: date) -> list[tuple[StoredChunk, tuple[Occasion, ...]]]:
        """The current chunks that may speak of these days, and what of: as far as can be told of
        one under no date."""
        with self.database.using() as db:
            rows = db.execute(
                "SELECT * FROM occasions WHERE first <= ? AND last >= ?",
                (last.toordinal(), first.toordinal()),
            ).fetchall()
            found = {row[0]: _DECODER.decode(_sound(row)) for row in rows}
        return [(each, found[each.rowid]) for each in self.chunks(list(found))]

    def _rows(self, where: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self.database.using() as db:
            return db.execute(
                f"SELECT {_ROW} WHERE {where}", (json.dumps(list(values)),)
            ).fetchall()

    def _stored(self, rows: Sequence[tuple[Any, ...]]) -> dict[int, StoredChunk]:
        """The chunks that rows hold, in document order."""
        layout = self.layout()
        own = {row[0]: row for row in rows}
        at = layout.known(np.fromiter(own, dtype=np.int64, count=len(own)))
        at = np.sort(at[at != NOWHERE])
        source = np.searchsorted(layout.begin, at, side="right") - 1
        places = np.stack([layout.table[name][at] for name in PLACES], axis=1).tolist()
        stored = {}
        with self.database.using():
            for rowid, number, ordinal, (first, last, start, end) in zip(
                layout.table["rowid"][at].tolist(),
                source.tolist(),
                (at - layout.begin[source]).tolist(),
                places,
                strict=True,
            ):
                _, crc, id_, text, plain, heading, day, mentions, status, until = own[rowid]
                chunk = Chunk(
                    id_, layout.sources[number], ordinal, text, plain, _listed(heading),
                    first, last, start, end, day, _listed(mentions), status, until,
                )  # fmt: skip
                if checksum(chunk) != crc:
                    raise sqlite3.DatabaseError(f"row {rowid} of chunks is not what was written")
                stored[rowid] = StoredChunk(rowid, chunk)
        return stored


class _Writer:
    """Rewrites the rows of sources, as far as they changed, within a transaction."""

    def __init__(
        self,
        db: sqlite3.Connection,
        tokenizer: Tokenizer,
        fingerprint: str,
        *,
        diary: bool = False,
    ) -> None:
        self._db = db
        self._diary = diary
        self._words = PostingsWriter(db, "postings", tokenizer)
        self._headings = PostingsWriter(db, "heading_postings", tokenizer)
        self._fingerprint = fingerprint

    def replace(self, update: SourceUpdate) -> None:
        """Make the rows of a source those of an update, whose vectors must be cached."""
        self._db.execute(
            "INSERT OR IGNORE INTO sources (name, inode, size, mtime_ns, ctime_ns, sha256, read_ns,"
            " chunks, layout, crc) VALUES (?, 0, 0, 0, 0, '', 0, 0, x'', 0)",
            (update.name,),
        )
        (source,) = self._db.execute(
            "SELECT id FROM sources WHERE name = ?", (update.name,)
        ).fetchone()
        (packed,) = self._db.execute(
            "SELECT layout FROM sources WHERE id = ?", (source,)
        ).fetchone()
        known = update.chunks.among(packed)
        gone = np.ones(len(rows_of(packed)[0]), dtype=np.bool_)
        gone[known[known != NOWHERE]] = False
        self._delete(rows_of(packed, np.flatnonzero(gone))[0])
        new = {n: update.chunks.at(n) for n in np.flatnonzero(known == NOWHERE).tolist()}
        sections = self._sections(source, update.name, {chunk.heading for chunk in new.values()})
        written = self._insert(source, new, sections)
        packed = update.chunks.pack(packed, known, written)
        self._drop_sections(source, update.name, rows_of(packed)[1])
        self._db.execute(
            "UPDATE sources SET inode = ?, size = ?, mtime_ns = ?, ctime_ns = ?, sha256 = ?,"
            " read_ns = ?, chunks = ?, layout = ?, crc = ? WHERE id = ?",
            (*update.stat, update.digest, time.time_ns(), len(update.chunks), packed,
             zlib.crc32(packed), source),
        )  # fmt: skip

    def _sections(
        self, source: int, name: str, wanted: set[tuple[str, ...]]
    ) -> dict[tuple[str, ...], int]:
        """The numbers of heading paths of a source; those that are new are made.

        Of a new one the vector of what its headings say is noted, if that is cached.
        """
        rows = self._db.execute("SELECT id, heading FROM sections WHERE source = ?", (source,))
        found = {_listed(heading): int(id_) for id_, heading in rows} if wanted else {}
        new = sorted(wanted.difference(found))
        above = {heading: standing(name, heading) for heading in new}
        keys = {path: vector_key(above[path], self._fingerprint) for path in new if above[path]}
        vectors = vector_ids(self._db, list(keys.values()))
        for heading in new:
            encoded = json.dumps(heading, ensure_ascii=False)
            vector = vectors.get(keys.get(heading, b""))
            (found[heading],) = self._db.execute(
                "INSERT INTO sections (source, heading, vector) VALUES (?, ?, ?) RETURNING id",
                (source, encoded, vector),
            ).fetchone()
        self._headings.add(sorted((found[path], _heading_text(name, path)) for path in new))
        vocabulary.add(self._db, map("\n".join, new))
        return found

    def _drop_sections(self, source: int, name: str, used: set[int]) -> None:
        rows = self._db.execute("SELECT id, heading FROM sections WHERE source = ?", (source,))
        idle = {int(id_): _listed(heading) for id_, heading in rows if id_ not in used}
        self._headings.drop((id_, _heading_text(name, path)) for id_, path in idle.items())
        self._db.executemany("DELETE FROM sections WHERE id = ?", [(id_,) for id_ in idle])
        vocabulary.drop(self._db, map("\n".join, idle.values()))

    def _delete(self, rowids: Sequence[int]) -> None:
        gone = self._db.execute(
            "SELECT rowid, id, plain FROM chunks WHERE rowid IN (SELECT value FROM json_each(?))",
            (json.dumps(rowids),),
        ).fetchall()
        if len(gone) != len(rowids):
            raise sqlite3.DatabaseError("chunks are missing")
        self._words.drop((row, searchable(plain)) for row, _, plain in gone)
        self._db.executemany("DELETE FROM chunks WHERE rowid = ?", [(row,) for row in rowids])
        self._db.executemany("DELETE FROM occasions WHERE chunk = ?", [(row,) for row in rowids])
        vocabulary.drop(self._db, (plain for _, _, plain in gone))
        self._tell_chroma(id_ for _, id_, _ in gone)

    def _insert(
        self, source: int, new: dict[int, Chunk], sections: dict[tuple[str, ...], int]
    ) -> dict[int, tuple[Any, ...]]:
        """Insert chunks; of each what `Chunks.pack` takes. Raises KeyError if a vector is not
        cached."""
        if not new:
            return {}
        keys = [vector_key(chunk.plain, self._fingerprint) for chunk in new.values()]
        vectors = vector_ids(self._db, keys)
        first = 1 + int(self._db.execute("SELECT ifnull(max(rowid), 0) FROM chunks").fetchone()[0])
        lengths = self._words.add(
            (first + n, searchable(chunk.plain)) for n, chunk in enumerate(new.values())
        )
        written: dict[int, tuple[Any, ...]] = {}
        for row, (place, chunk), key in zip(count(first), new.items(), keys, strict=False):
            led = number(label(chunk.plain))
            spoken = bool(led) and speaks(chunk.plain)
            section = sections[chunk.heading]
            written[place] = (row, section, vectors[key], led, lengths[row], spoken)
        self._db.executemany(
            "INSERT INTO chunks (rowid, section, vector, id, source, said, crc, date, status,"
            " until, mentions, plain, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (*written[place][:3], c.id, source, said(c.plain), checksum(c), c.date, c.status,
                 c.until, json.dumps(c.mentions), c.plain, c.text)
                for place, c in new.items()
            ),
        )  # fmt: skip
        if self._diary:
            self._db.executemany(
                "INSERT INTO occasions VALUES (?, ?, ?, ?, ?)",
                (
                    (written[place][0], *spoken_of)
                    for place, c in new.items()
                    if c.status == "current" and (spoken_of := _spoken_of(c))
                ),
            )
        vocabulary.add(self._db, (chunk.plain for chunk in new.values()))
        self._tell_chroma(chunk.id for chunk in new.values())
        return written

    def _tell_chroma(self, ids: Iterable[str]) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO outbox (chunk) VALUES (?)", ((id_,) for id_ in ids)
        )


def _columns(db: sqlite3.Connection, name: str, crc: int) -> bytes:
    """The packed columns of a source. Raises sqlite3.DatabaseError if they are not what was
    written."""
    (packed,) = db.execute("SELECT layout FROM sources WHERE name = ?", (name,)).fetchone()
    if zlib.crc32(packed) != crc:
        raise sqlite3.DatabaseError(f"where {name} stands is not what was written")
    return bytes(packed)


def _spoken_of(chunk: Chunk) -> tuple[int, int, bytes, int] | None:
    """The first and last day that a chunk may speak of, what of, and a checksum; None for none."""
    found = occasions(chunk.plain, chunk.date)
    undated = chunk.date is None and may_speak(chunk.plain)
    if not found and not undated:
        return None
    endless = undated or any(each.rule for each in found)
    first = 0 if undated else min(each.start.toordinal() for each in found)
    last = date.max.toordinal() if endless else max(each.end.toordinal() for each in found)
    value = msgspec.json.encode(found)
    return first, last, value, zlib.crc32(repr((first, last, value)).encode())


def _sound(row: tuple[Any, ...]) -> bytes:
    """What a chunk speaks of. Raises sqlite3.DatabaseError if it is not what was written."""
    chunk, first, last, value, crc = row
    if zlib.crc32(repr((first, last, value)).encode()) != crc:
        raise sqlite3.DatabaseError(f"what row {chunk} speaks of is not what was written")
    return bytes(value)


def said(plain: str) -> int:
    """What chunks that state the same fact have in common, and next to no others."""
    key = fact_key(plain).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(key, digest_size=8).digest(), signed=True)


@lru_cache(LISTS)
def _listed(encoded: str) -> tuple[str, ...]:
    """A list of texts; many chunks have the same. Raises CatalogDamaged."""
    try:
        return tuple(json.loads(encoded))
    except ValueError as error:
        raise CatalogDamaged(f"a chunk's list cannot be read: {error}") from error


def _heading_text(name: str, heading: Sequence[str]) -> str:
    """What is found by the words of where it stands."""
    return searchable("\n".join((*path_words(name), *heading)))
