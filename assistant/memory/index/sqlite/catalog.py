"""What is indexed: sources, chunks and their words; the truth about the index.

A change to a source is one transaction, which also notes in the outbox what Chroma still has to
be told; a crash between the two converges.
"""

import contextlib
import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from assistant.memory.embedding.embedder import FingerprintOf
from assistant.memory.index.sqlite.columns import Layout, layout_of, unpack
from assistant.memory.index.sqlite.database import Database
from assistant.memory.index.sqlite.outbox import Outbox
from assistant.memory.index.sqlite.packed import Packed
from assistant.memory.index.sqlite.parts import KnownPart, known_parts
from assistant.memory.index.sqlite.postings import InvertedIndex, Tokenizer
from assistant.memory.index.sqlite.rows import SourceUpdate, SourceWriter, Stat
from assistant.memory.index.sqlite.stored import ChunkReader
from assistant.memory.index.sqlite.vector_cache import VectorCache
from assistant.memory.index.sqlite.vocabulary import Vocabulary

_TABLES = (
    "sources", "parts", "layouts", "repeats", "sections", "chunks", "outbox", "vocabulary",
    "postings", "heading_postings",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """An indexed file as it was when it was last read, at `read_ns` (time.time_ns)."""

    name: str
    stat: Stat
    sha256: str
    read_ns: int
    chunks: int


class Catalog(ChunkReader):
    """An open catalog. Thread-safe; one process at a time.

    Every method raises CatalogDamaged when the database proves unusable, StorageError when the
    disk is full or read-only.
    """

    def __init__(self, path: Path, cache: Path, *, check: bool = False) -> None:
        """Open or make it, with the vectors in `cache`; `check` reads all of both first."""
        super().__init__(Database(path, cache, check=check), lambda: self.generation)
        self.vectors = VectorCache(self.database)
        self.outbox = Outbox(self.database)
        self._layouts: dict[int, Layout] = {}
        self._packed = Packed("layout", unpack)
        self.vocabulary = Vocabulary(self.database)
        self._tokenizer = Tokenizer()
        """Of what is written: a question waits for none of it."""
        self._generation = int(self.fact("generation") or 0)
        self.words = InvertedIndex(self.database, lambda: self.generation)

    def close(self) -> None:
        """Close the database."""
        self.database.close()
        self.words.close()
        self._tokenizer.close()

    # Facts about the whole

    @property
    def generation(self) -> int:
        """Grows with every change of the chunks; in a snapshot, of what it shows."""
        snapshot = self.database.snapshots.current
        return snapshot.generation if snapshot else self._generation

    @property
    def is_latest(self) -> bool:
        """Whether what this thread sees is the latest there is."""
        return self.generation == self._generation

    def reading(self) -> AbstractContextManager[None]:
        """Let this thread see one state of the catalog, beside whoever writes."""
        return self.database.snapshots.reading()

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
            return int(db.execute("SELECT ifnull(sum(chunks), 0) FROM parts").fetchone()[0])

    def sources(self) -> dict[str, Source]:
        """What is indexed, by name."""
        with self.database.using() as db:
            rows = db.execute(
                "SELECT s.name, s.inode, s.size, s.mtime_ns, s.ctime_ns, s.sha256, s.read_ns,"
                " ifnull(sum(p.chunks), 0) FROM sources s LEFT JOIN parts p ON p.source = s.id"
                " GROUP BY s.id ORDER BY s.name"
            ).fetchall()
        return {
            name: Source(name, Stat(*stat), digest, read_ns, chunks)
            for name, *stat, digest, read_ns, chunks in rows
        }

    def parts(self, source: str) -> list[KnownPart]:
        """The parts of a source, in order."""
        with self.database.using() as db:
            row = db.execute("SELECT id FROM sources WHERE name = ?", (source,)).fetchone()
            return known_parts(db, int(row[0])) if row else []

    def identified(self, parts: Sequence[KnownPart]) -> list[tuple[str, str]]:
        """Of each chunk of these parts, in order: its id, and that of the first in its file which
        says the same."""
        with self.database.using() as db:
            found: list[tuple[str, str]] = []
            for part in parts:
                found += db.execute(
                    "SELECT c.id, ifnull(r.first, c.id) FROM chunks c"
                    " LEFT JOIN repeats r ON r.id = c.id WHERE c.part = ? ORDER BY c.ordinal",
                    (part.id,),
                )
            return found

    def saying(self, firsts: Collection[str]) -> set[str]:
        """The ids of all chunks that say what chunks of these ids are the first to say."""
        with self.database.using() as db:
            named = json.dumps(list(firsts))
            rows = db.execute(
                "SELECT id FROM chunks WHERE id IN (SELECT value FROM json_each(?1)) UNION"
                " SELECT id FROM repeats WHERE first IN (SELECT value FROM json_each(?1))",
                (named,),
            )
            return {id_ for (id_,) in rows}

    # Changes

    def touch(self, name: str, stat: Stat, read_ns: int) -> None:
        """Note that a file whose content is the same has another stat, or was read again."""
        with self.database.using() as db:
            db.execute(
                "UPDATE sources SET inode = ?, size = ?, mtime_ns = ?, ctime_ns = ?, read_ns = ?"
                " WHERE name = ?",
                (*stat, read_ns, name),
            )

    def replace_sources(
        self, updates: Sequence[SourceUpdate], fingerprint_of: FingerprintOf
    ) -> list[str]:
        """Make the rows of sources those of updates, whose vectors must be cached, at once.

        A chunk whose id is there already keeps its row; only where it stands is written. Returns
        the sources of which nothing is written: they have other parts by now than the update knew.
        """
        with self.database.using():
            stale = [u.name for u in updates if self.parts(u.name) != list(u.update.before)]
            if len(stale) < len(updates):
                with self._changing() as db:
                    writer = SourceWriter(db, self._generation + 1, self._tokenizer)
                    for each in updates:
                        if each.name not in stale:
                            writer.replace(each, fingerprint_of)
            return stale

    def delete_source(self, name: str) -> None:
        """Remove a source and its chunks."""
        with self._changing() as db:
            SourceWriter(db, self._generation + 1, self._tokenizer).delete(name)

    def clear(self) -> None:
        """Remove everything but the cached vectors."""
        with self._changing() as db:
            for table in _TABLES:
                db.execute(f"DELETE FROM {table}")

    def scrub(self) -> None:
        """Leave no byte of what was deleted, in free pages or in the log."""
        self.vectors.prune(0)
        self.database.vacuum()

    # Reading

    def layout(self) -> Layout:
        """Where every chunk stands; kept until the next change, after which only the parts of the
        sources that changed are read."""
        with self.database.using() as db:
            generation = self.generation
            layout = self._layouts.get(generation)
            if layout is None:
                layout = layout_of(generation, *self._packed.read(db))
                latest = {
                    number: each for number, each in self._layouts.items() if number > generation
                }
                self._layouts = {generation: layout, **latest}
            return layout

    # Parts

    @contextlib.contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """A transaction after which the chunks are others."""
        with self.database.transaction() as db:
            yield db
            db.execute(
                "INSERT OR REPLACE INTO meta VALUES ('generation', ?)", (self._generation + 1,)
            )
        self._generation += 1
        self.outbox.recount()
