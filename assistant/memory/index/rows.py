"""Writing one source's rows into the catalog: what changed, and nothing else.

Belongs inside a transaction of the catalog's.
"""

import json
import sqlite3
import time
import zlib
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from assistant.memory.index.columns import pack
from assistant.memory.index.database import searchable
from assistant.memory.text.chunks import Chunk


class Stat(NamedTuple):
    """What tells a file from its earlier self without reading it."""

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


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
        sections = self._sections(source, chunks)
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
        self._drop_sections(source, set(sections.values()))
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
        self._drop_sections(source, set())
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
            "SELECT id, rowid, plain, section, ordinal, start_line, end_line, start_char,"
            " end_char, date, status, until FROM chunks WHERE source = ?",
            (source,),
        )
        return {id_: (row, plain, tuple(place)) for id_, row, plain, *place in rows}

    def _sections(self, source: int, chunks: Sequence[Chunk]) -> Sections:
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
        lengths = self._lengths(first)
        self._db.executemany(
            "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (first + n, c.id, source, sections[c.heading], c.ordinal, c.text, c.plain,
                 c.start_line, c.end_line, c.start_char, c.end_char, c.date,
                 json.dumps(c.mentions), c.status, c.until, vectors[keys[n]],
                 lengths[first + n], crc(c))
                for n, c in enumerate(chunks)
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
            now = (sections[c.heading], c.ordinal, c.start_line, c.end_line, c.start_char,
                   c.end_char, c.date, c.status, c.until)  # fmt: skip
            if now != place:
                moved.append((*now, crc(c), row))
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


def vector_key(plain: str, fingerprint: str) -> bytes:
    """The name of a cached vector: the embedded text and the model."""
    return sha256(f"{fingerprint}\0{plain}".encode("utf-8", "surrogatepass")).digest()[:16]


def vector_ids(db: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, int]:
    """The numbers of those of the vectors that are cached."""
    found: dict[bytes, int] = {}
    for start in range(0, len(keys), 500):
        part = list(keys[start : start + 500])
        marks = ",".join("?" * len(part))
        query = f"SELECT key, id FROM vectors WHERE key IN ({marks})"
        found.update(db.execute(query, part).fetchall())
    return found


def crc(chunk: Chunk) -> int:
    """Tells a damaged row."""
    seen = (chunk.id, chunk.text, chunk.plain, chunk.start_line, chunk.start_char, chunk.status)
    return zlib.crc32(repr(seen).encode("utf-8", "surrogatepass"))


def _heading_text(heading: Sequence[str]) -> str:
    return searchable("\n".join(heading))


def _varint(data: bytes) -> int:
    """SQLite's variable-length integer."""
    value = 0
    for byte in data:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            break
    return value
