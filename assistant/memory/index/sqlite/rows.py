"""The rows of chunks: one source's written, as far as it changed, and any read back.

Writing belongs inside a transaction of the catalog's. The order of the columns is kept here alone.
"""

import json
import sqlite3
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from assistant.memory.index.sqlite import vocabulary
from assistant.memory.index.sqlite.columns import pack
from assistant.memory.index.sqlite.database import searchable
from assistant.memory.index.sqlite.vector_cache import vector_ids, vector_key
from assistant.memory.text.chunks import Chunk
from assistant.memory.text.standing import path_words, standing


class Stat(NamedTuple):
    """What tells a file from its earlier self without reading it."""

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


PLACE = ("section", "ordinal", "start_line", "end_line", "start_char", "end_char", "date", "status",
         "until")  # fmt: skip
"""What changes of a chunk when others come and go around it."""
COLUMNS = ("rowid", "id", "source", "text", "plain", "mentions", "vector", "length", "crc", *PLACE)
_placed = attrgetter(*PLACE[1:])
_OWN = ("id", "text", "plain", *PLACE[1:])
"""The columns that a chunk takes as they are."""

Known = dict[str, tuple[int, str, tuple[Any, ...]]]
"""By chunk id: the row, the embedded text, and where the chunk stands."""
Sections = dict[tuple[str, ...], int]
"""The numbers of heading paths."""


class SourceWriter:
    """Rewrites the rows of a source."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def replace(
        self, name: str, stat: Stat, digest: str, chunks: Sequence[Chunk], fingerprint: str
    ) -> None:
        """Make the rows of a source these chunks, whose vectors must be cached."""
        source = self._source_id(name)
        sections = self._sections(source, name, chunks, fingerprint)
        known = self._known(source)
        wanted = {chunk.id: chunk.plain for chunk in chunks}
        gone = [
            (row, id_, plain) for id_, (row, plain, _) in known.items() if wanted.get(id_) != plain
        ]
        self._delete_chunks(gone)
        kept = known.keys() - {id_ for _, id_, _ in gone}
        new = [chunk for chunk in chunks if chunk.id not in kept]
        self._insert_chunks(source, sections, new, fingerprint)
        self._move_chunks([chunk for chunk in chunks if chunk.id in kept], known, sections)
        self._drop_sections(source, name, set(sections.values()))
        self._db.execute(
            "UPDATE sources SET inode = ?, size = ?, mtime_ns = ?, ctime_ns = ?,"
            " sha256 = ?, read_ns = ?, layout = ? WHERE id = ?",
            (stat.inode, stat.size, stat.mtime_ns, stat.ctime_ns, digest, time.time_ns(),
             self._layout(source), source),
        )  # fmt: skip

    def delete(self, name: str) -> None:
        """Remove a source and all its rows."""
        source = self._source_id(name)
        known = self._known(source)
        self._delete_chunks([(row, id_, plain) for id_, (row, plain, _) in known.items()])
        self._drop_sections(source, name, set())
        self._db.execute("DELETE FROM sources WHERE id = ?", (source,))

    def _source_id(self, name: str) -> int:
        self._db.execute(
            "INSERT OR IGNORE INTO sources (name, inode, size, mtime_ns, ctime_ns, sha256,"
            " read_ns, layout) VALUES (?, 0, 0, 0, 0, '', 0, x'')",
            (name,),
        )
        found = self._db.execute("SELECT id FROM sources WHERE name = ?", (name,)).fetchone()
        return int(found[0])

    def _known(self, source: int) -> Known:
        rows = self._db.execute(
            f"SELECT id, rowid, plain, {', '.join(PLACE)} FROM chunks WHERE source = ?",
            (source,),
        )
        return {id_: (row, plain, tuple(place)) for id_, row, plain, *place in rows}

    def _sections(
        self, source: int, name: str, chunks: Sequence[Chunk], fingerprint: str
    ) -> Sections:
        found = {
            tuple(json.loads(heading)): int(id_)
            for id_, heading in self._db.execute(
                "SELECT id, heading FROM sections WHERE source = ?", (source,)
            )
        }
        wanted = {chunk.heading for chunk in chunks}
        found |= self._add_sections(source, name, sorted(wanted - set(found)), fingerprint)
        return {heading: id_ for heading, id_ in found.items() if heading in wanted}

    def _add_sections(
        self, source: int, name: str, headings: Sequence[tuple[str, ...]], fingerprint: str
    ) -> Sections:
        """New sections, each with the vector of what its headings say, if that is cached."""
        told = {heading: said for heading in headings if (said := standing(name, heading))}
        keys = {heading: vector_key(said, fingerprint) for heading, said in told.items()}
        vectors = vector_ids(self._db, list(keys.values()))
        made = {}
        for heading in headings:
            vector = vectors.get(keys.get(heading, b""))
            row = self._db.execute(
                "INSERT INTO sections (source, heading, vector) VALUES (?, ?, ?)",
                (source, json.dumps(heading, ensure_ascii=False), vector),
            ).lastrowid
            assert row is not None
            made[heading] = row
        self._db.executemany(
            "INSERT INTO headings (rowid, plain) VALUES (?, ?)",
            [(row, _heading_text(name, heading)) for heading, row in made.items()],
        )
        vocabulary.add(self._db, ("\n".join(heading) for heading in made))
        return made

    def _drop_sections(self, source: int, name: str, keep: set[int]) -> None:
        rows = self._db.execute("SELECT id, heading FROM sections WHERE source = ?", (source,))
        gone = [(id_, json.loads(heading)) for id_, heading in rows if id_ not in keep]
        self._db.executemany(
            "INSERT INTO headings (headings, rowid, plain) VALUES ('delete', ?, ?)",
            [(id_, _heading_text(name, heading)) for id_, heading in gone],
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
        sections: Sections,
        chunks: Sequence[Chunk],
        fingerprint: str,
    ) -> None:
        keys = [vector_key(chunk.plain, fingerprint) for chunk in chunks]
        vectors = vector_ids(self._db, keys)
        first = 1 + int(self._db.execute("SELECT ifnull(max(rowid), 0) FROM chunks").fetchone()[0])
        self._db.executemany(
            "INSERT INTO words (rowid, plain) VALUES (?, ?)",
            ((first + n, searchable(chunk.plain)) for n, chunk in enumerate(chunks)),
        )
        vocabulary.add(self._db, (chunk.plain for chunk in chunks))
        lengths = self._lengths(first)
        marks = ", ".join("?" * len(COLUMNS))
        self._db.executemany(
            f"INSERT INTO chunks ({', '.join(COLUMNS)}) VALUES ({marks})",
            (
                (row, c.id, source, c.text, c.plain, json.dumps(c.mentions), vectors[key],
                 lengths[row], crc(c), *_place(c, sections))
                for row, (c, key) in enumerate(zip(chunks, keys, strict=True), start=first)
            ),
        )  # fmt: skip
        self._tell_chroma([chunk.id for chunk in chunks])

    def _move_chunks(
        self,
        chunks: Sequence[Chunk],
        known: Known,
        sections: Sections,
    ) -> None:
        moved = []
        for c in chunks:
            row, _, place = known[c.id]
            now = _place(c, sections)
            if now != place:
                moved.append((*now, crc(c), row))
        changes = ", ".join(f"{column} = ?" for column in PLACE)
        self._db.executemany(f"UPDATE chunks SET {changes}, crc = ? WHERE rowid = ?", moved)

    def _tell_chroma(self, ids: Sequence[str]) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO outbox (chunk) VALUES (?)", ((id_,) for id_ in ids)
        )

    def _lengths(self, first: int) -> dict[int, int]:
        rows = self._db.execute("SELECT id, sz FROM words_docsize WHERE id >= ?", (first,))
        return {row: _varint(size) for row, size in rows}

    def _layout(self, source: int) -> bytes:
        """The source's packed part of the layout."""
        rows = self._db.execute(
            "SELECT rowid, section, vector, plain, length, status, date, until FROM chunks"
            " WHERE source = ? ORDER BY ordinal",
            (source,),
        )
        return pack(rows.fetchall())


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk and its number in the catalog, which outlives edits elsewhere in its file."""

    rowid: int
    chunk: Chunk


def read_chunks(db: sqlite3.Connection, where: str, values: tuple[Any, ...]) -> list[StoredChunk]:
    """The chunks that a condition holds for, in the order of sources and places.

    Raises sqlite3.DatabaseError if a row is not what was written.
    """
    own = ", ".join(f"c.{column}" for column in _OWN)
    rows = db.execute(
        f"SELECT c.rowid, c.crc, s.name, h.heading, c.mentions, {own} FROM chunks c"
        " JOIN sources s ON s.id = c.source JOIN sections h ON h.id = c.section"
        f" WHERE {where} ORDER BY s.name, c.ordinal",
        values,
    )
    return [_stored(*row) for row in rows]


def _stored(
    rowid: int, written: int, source: str, heading: str, mentions: str, *own: Any
) -> StoredChunk:
    chunk = Chunk(
        source=source,
        heading=tuple(json.loads(heading)),
        mentions=tuple(json.loads(mentions)),
        **dict(zip(_OWN, own, strict=True)),
    )
    if crc(chunk) != written:
        raise sqlite3.DatabaseError(f"row {rowid} of chunks is not what was written")
    return StoredChunk(rowid, chunk)


def _place(chunk: Chunk, sections: Sections) -> tuple[Any, ...]:
    """The values of `PLACE`."""
    return (sections[chunk.heading], *_placed(chunk))


def crc(chunk: Chunk) -> int:
    """Tells a damaged row."""
    seen = (chunk.id, chunk.text, chunk.plain, chunk.start_line, chunk.start_char, chunk.status)
    return zlib.crc32(repr(seen).encode("utf-8", "surrogatepass"))


def _heading_text(name: str, heading: Sequence[str]) -> str:
    """What is found by the words of where it stands."""
    return searchable("\n".join((*path_words(name), *heading)))


def _varint(data: bytes) -> int:
    """SQLite's variable-length integer."""
    value = 0
    for byte in data:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            break
    return value
