"""Readers beside one writer: each sees one state of the database, and waits for no transaction."""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager


class Snapshot:
    """One state of the database, for whatever reads in it; `generation` names that state."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.lock = threading.RLock()
        self.generation = 0

    def begin(self) -> None:
        """See the database as it is now, until `end`."""
        self.connection.execute("BEGIN")
        self.generation = _generation_of(self.connection)

    def end(self) -> None:
        """Look no longer."""
        with self.lock:
            self.connection.execute("ROLLBACK")


class Snapshots:
    """The snapshots that threads read in, over connections that are used again. Thread-safe."""

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        translated: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """SQLite's errors at the beginning and end of a snapshot are `translated`."""
        self._connect = connect
        self._translated = translated
        self._mine = threading.local()
        self._idle: list[Snapshot] = []
        self._reading = 0
        self._turn = threading.Condition()

    @property
    def current(self) -> Snapshot | None:
        """What this thread reads in."""
        snapshot: Snapshot | None = getattr(self._mine, "snapshot", None)
        return snapshot

    @contextlib.contextmanager
    def reading(self, shared: Snapshot | None = None) -> Iterator[None]:
        """Let this thread read one state of the database, that of another thread if it is `shared`.

        Within another block of this thread it changes nothing.
        """
        if self.current is not None:
            yield
            return
        snapshot = shared or self._taken()
        self._mine.snapshot = snapshot
        try:
            yield
        finally:
            self._mine.snapshot = None
            if shared is None:
                self._returned(snapshot)

    @contextlib.contextmanager
    def none(self) -> Iterator[None]:
        """Once nobody reads in a snapshot, and until the end of the block nobody can."""
        with self._turn:
            self._turn.wait_for(lambda: self._reading <= 0)
            self._reading = -1
        try:
            while self._idle:
                self._idle.pop().connection.close()
            yield
        finally:
            with self._turn:
                self._reading = 0
                self._turn.notify_all()

    def _taken(self) -> Snapshot:
        with self._turn:
            self._turn.wait_for(lambda: self._reading >= 0)
            self._reading += 1
            snapshot = self._idle.pop() if self._idle else None
        try:
            with self._translated():
                snapshot = snapshot or Snapshot(self._connect())
                snapshot.begin()
            return snapshot
        except BaseException:
            self._left()
            raise

    def _returned(self, snapshot: Snapshot) -> None:
        try:
            with self._translated():
                snapshot.end()
            self._idle.append(snapshot)
        finally:
            self._left()

    def _left(self) -> None:
        with self._turn:
            self._reading -= 1
            self._turn.notify_all()


def _generation_of(db: sqlite3.Connection) -> int:
    """The number of the state that a connection sees; it grows with every change of the chunks."""
    row = db.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
    return int(row[0]) if row else 0
