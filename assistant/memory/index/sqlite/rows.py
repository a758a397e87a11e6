"""The rows of one source's chunks, written as far as it changed; `stored` reads them back.

It belongs inside a transaction of the catalog's.
"""

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from assistant.memory.embedding.embedder import FingerprintOf
from assistant.memory.index.sqlite import vocabulary
from assistant.memory.index.sqlite.columns import pack
from assistant.memory.index.sqlite.parts import KnownPart, Update, known_parts, replace_parts
from assistant.memory.index.sqlite.postings import PostingsWriter, Tokenizer, searchable
from assistant.memory.index.sqlite.stored import crc, said
from assistant.memory.index.sqlite.vector_cache import vector_ids, vector_key
from assistant.memory.precedence import QUESTIONS
from assistant.memory.text.chunk import Chunk
from assistant.memory.text.standing import path_words, standing


class Stat(NamedTuple):
    """What tells a file from its earlier self without reading it."""

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True, slots=True)
class SourceUpdate:
    """What becomes of a source, and of which bytes that was made."""

    name: str
    stat: Stat
    digest: str
    update: Update


PLACE = ("part", "section", "ordinal", "start_line", "end_line", "start_char", "end_char", "date",
         "status", "until")  # fmt: skip
"""What changes of a chunk when others come and go around it."""
COLUMNS = ("rowid", "id", "text", "plain", "mentions", "vector", "length", "said", "crc", *PLACE)
_placed = attrgetter(*PLACE[2:])

Known = dict[str, tuple[int, str, tuple[Any, ...]]]
"""By chunk id: the row, the embedded text, and where the chunk stands."""
Places = dict[str, tuple[Any, ...]]
"""By chunk id: the values of `PLACE`."""
Sections = dict[tuple[str, ...], int]
"""The numbers of heading paths."""


class SourceWriter:
    """Rewrites the rows of a source."""

    def __init__(self, db: sqlite3.Connection, revision: int, tokenizer: Tokenizer) -> None:
        """`revision` names the state of the catalog that this makes."""
        self._db = db
        self._revision = revision
        self._words = PostingsWriter(db, "postings", tokenizer)
        self._headings = PostingsWriter(db, "heading_postings", tokenizer)

    def replace(self, source_update: SourceUpdate, fingerprint_of: FingerprintOf) -> None:
        """Make the rows of a source those of an update, whose vectors must be cached."""
        name, update = source_update.name, source_update.update
        source, chunks = self._source_id(name), update.chunks
        sections = self._sections(source, name, {each.heading for each in chunks}, fingerprint_of)
        known = self._known(update.replaced)
        numbers = replace_parts(self._db, source, update)
        wanted = {chunk.id: chunk.plain for chunk in chunks if chunk.id in known}
        gone = [
            (row, id_, plain) for id_, (row, plain, _) in known.items() if wanted.get(id_) != plain
        ]
        self._delete_chunks(gone)
        kept = known.keys() - {id_ for _, id_, _ in gone}
        for number, part in zip(numbers, QUESTIONS.between(update.parts), strict=True):
            places = {
                chunk.id: (number, sections[chunk.heading], *_placed(chunk))
                for chunk in part.chunks
            }
            new = [each for each in part.chunks if each.id not in kept]
            self._insert_chunks(new, places, fingerprint_of)
            self._move_chunks([each for each in part.chunks if each.id in kept], known, places)
        said = (each.plain for each in chunks if each.id not in kept)
        vocabulary.add(self._db, QUESTIONS.between(said))
        self._note_repeats(update)
        left = {place[1] for _, _, place in known.values()}
        self._drop_sections(name, left - set(sections.values()))
        self._lay_out(numbers, update.replaced)
        self._db.execute(
            "UPDATE sources SET inode = ?, size = ?, mtime_ns = ?, ctime_ns = ?,"
            " sha256 = ?, read_ns = ?, revision = ? WHERE id = ?",
            (*source_update.stat, source_update.digest, time.time_ns(), self._revision, source),
        )

    def delete(self, name: str) -> None:
        """Remove a source and all its rows."""
        source = self._source_id(name)
        parts = known_parts(self._db, source)
        known = self._known(parts)
        self._delete_chunks([(row, id_, plain) for id_, (row, plain, _) in known.items()])
        self._drop_sections(name, {place[1] for _, _, place in known.values()})
        replace_parts(self._db, source, Update((), parts))
        self._lay_out((), parts)
        self._db.execute("DELETE FROM sources WHERE id = ?", (source,))

    def _source_id(self, name: str) -> int:
        self._db.execute(
            "INSERT OR IGNORE INTO sources (name, inode, size, mtime_ns, ctime_ns, sha256,"
            " read_ns, revision) VALUES (?, 0, 0, 0, 0, '', 0, 0)",
            (name,),
        )
        found = self._db.execute("SELECT id FROM sources WHERE name = ?", (name,)).fetchone()
        return int(found[0])

    def _known(self, parts: Sequence[KnownPart]) -> Known:
        known: Known = {}
        for part in QUESTIONS.between(parts):
            rows = self._db.execute(
                f"SELECT id, rowid, plain, {', '.join(PLACE)} FROM chunks WHERE part = ?",
                (part.id,),
            )
            known |= {id_: (row, plain, tuple(place)) for id_, row, plain, *place in rows}
        return known

    def _sections(
        self, source: int, name: str, wanted: set[tuple[str, ...]], fingerprint_of: FingerprintOf
    ) -> Sections:
        named = {json.dumps(heading, ensure_ascii=False): heading for heading in wanted}
        found = {
            named[heading]: int(id_)
            for id_, heading in self._db.execute(
                "SELECT id, heading FROM sections"
                " WHERE source = ? AND heading IN (SELECT value FROM json_each(?))",
                (source, json.dumps(list(named))),
            )
        }
        return found | self._add_sections(source, name, sorted(wanted - set(found)), fingerprint_of)

    def _add_sections(
        self,
        source: int,
        name: str,
        headings: Sequence[tuple[str, ...]],
        fingerprint_of: FingerprintOf,
    ) -> Sections:
        """New sections, each with the vector of what its headings say, if that is cached."""
        told = {heading: said for heading in headings if (said := standing(name, heading))}
        keys = {heading: vector_key(said, fingerprint_of) for heading, said in told.items()}
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
        self._headings.add((row, _heading_text(name, path)) for path, row in made.items())
        vocabulary.add(self._db, ("\n".join(heading) for heading in made))
        return made

    def _drop_sections(self, name: str, left: set[int]) -> None:
        """Drop those of the sections that chunks have left in which no chunk is any more."""
        rows = self._db.execute(
            "SELECT id, heading FROM sections WHERE id IN (SELECT value FROM json_each(?))"
            " AND NOT EXISTS (SELECT 1 FROM chunks WHERE section = sections.id)",
            (json.dumps(list(left)),),
        )
        gone = [(id_, json.loads(heading)) for id_, heading in rows]
        self._headings.drop((id_, _heading_text(name, heading)) for id_, heading in gone)
        self._db.executemany("DELETE FROM sections WHERE id = ?", [(id_,) for id_, _ in gone])
        vocabulary.drop(self._db, ("\n".join(heading) for _, heading in gone))

    def _delete_chunks(self, gone: Sequence[tuple[int, str, str]]) -> None:
        self._words.drop((row, searchable(plain)) for row, _, plain in QUESTIONS.between(gone))
        self._db.executemany("DELETE FROM chunks WHERE rowid = ?", [(row,) for row, _, _ in gone])
        self._db.executemany("DELETE FROM repeats WHERE id = ?", [(id_,) for _, id_, _ in gone])
        vocabulary.drop(self._db, (plain for _, _, plain in QUESTIONS.between(gone)))
        self._tell_chroma([id_ for _, id_, _ in gone])

    def _insert_chunks(
        self, chunks: Sequence[Chunk], places: Places, fingerprint_of: FingerprintOf
    ) -> None:
        keys = [vector_key(chunk.plain, fingerprint_of) for chunk in chunks]
        vectors = vector_ids(self._db, keys)
        first = 1 + int(self._db.execute("SELECT ifnull(max(rowid), 0) FROM chunks").fetchone()[0])
        lengths = self._words.add(
            (first + n, searchable(c.plain)) for n, c in enumerate(QUESTIONS.between(chunks))
        )
        marks = ", ".join("?" * len(COLUMNS))
        self._db.executemany(
            f"INSERT INTO chunks ({', '.join(COLUMNS)}) VALUES ({marks})",
            (
                (row, c.id, c.text, c.plain, json.dumps(c.mentions), vectors[key],
                 lengths[row], said(c.plain), crc(c), *places[c.id])
                for row, (c, key) in enumerate(zip(chunks, keys, strict=True), start=first)
            ),
        )  # fmt: skip
        self._tell_chroma([chunk.id for chunk in chunks])

    def _move_chunks(self, chunks: Sequence[Chunk], known: Known, places: Places) -> None:
        moved = []
        for c in chunks:
            row, _, place = known[c.id]
            if places[c.id] != place:
                moved.append((*places[c.id], crc(c), row))
        changes = ", ".join(f"{column} = ?" for column in PLACE)
        self._db.executemany(f"UPDATE chunks SET {changes}, crc = ? WHERE rowid = ?", moved)

    def _note_repeats(self, update: Update) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO repeats (id, first) VALUES (?, ?)", update.repeats.items()
        )

    def _tell_chroma(self, ids: Sequence[str]) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO outbox (chunk) VALUES (?)", ((id_,) for id_ in ids)
        )

    def _lay_out(self, parts: Sequence[int], before: Sequence[KnownPart]) -> None:
        """Write the packed layout of these parts, which take the place of those before."""
        self._db.executemany("DELETE FROM layouts WHERE part = ?", [(part.id,) for part in before])
        for part in QUESTIONS.between(parts):
            rows = self._db.execute(
                "SELECT rowid, section, vector, plain, length, status, date, until"
                " FROM chunks WHERE part = ? ORDER BY ordinal",
                (part,),
            ).fetchall()
            self._db.execute("INSERT INTO layouts (part, layout) VALUES (?, ?)", (part, pack(rows)))


def _heading_text(name: str, heading: Sequence[str]) -> str:
    """What is found by the words of where it stands."""
    return searchable("\n".join((*path_words(name), *heading)))
