"""Chroma's to-do list: which chunks it must still be told of. Written with what it is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.sqlite.database import Database
from assistant.memory.index.sqlite.vector_cache import matrix

COUNTED = 2000
"""A longer list is as long as its numbers reach; of one told twice the first is counted, too."""


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


NOTHING: Final = Pending((), np.empty((0, 0), np.float32), (), 0)


class Outbox:
    """The to-do list of a catalog. Raises CatalogDamaged and StorageError."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._size = 0
        self.recount()

    @property
    def size(self) -> int:
        """How many ids Chroma must still be told of; waits for nobody."""
        return self._size

    def recount(self) -> None:
        """Look at the size again: a source was written. A long list is not counted but measured."""
        with self._database.using() as db:
            counted = "SELECT count(*) FROM (SELECT 1 FROM outbox LIMIT ?)"
            self._size = int(db.execute(counted, (COUNTED,)).fetchone()[0])
            if self._size == COUNTED:
                first, last = db.execute("SELECT min(seq), max(seq) FROM outbox").fetchone()
                self._size = int(last - first + 1)

    def pending(self, limit: int) -> Pending:
        """The next to tell, of one id only the last state; at once nothing if the list is empty."""
        if not self._size:
            return NOTHING
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

    def done(self, mark: int) -> None:
        """Forget what was told up to `mark`."""
        with self._database.transaction() as db:
            db.execute("DELETE FROM outbox WHERE seq <= ?", (mark,))
        self.recount()

    def forget(self) -> None:
        """Forget all of it: Chroma is not used."""
        if self._size:
            with self._database.transaction() as db:
                db.execute("DELETE FROM outbox")
            self.recount()

    def tell_all(self) -> None:
        """Have every chunk told again: Chroma's data is gone."""
        with self._database.transaction() as db:
            db.execute("DELETE FROM outbox")
            db.execute("INSERT INTO outbox (chunk) SELECT id FROM chunks")
        self.recount()
