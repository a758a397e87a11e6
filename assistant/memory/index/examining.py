"""Databases read from end to end, after an exit that was not clean.

How long that takes grows with the memory, so no start waits for it where there is much to read:
answers are given meanwhile, of rows that have checksums of their own.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from assistant.errors import StorageError
from assistant.memory.index.sqlite.database import (
    CACHE_VERSION,
    SCHEMA_VERSION,
    CatalogDamaged,
    translated,
    verify,
)

AT_ONCE = 32 << 20
"""Files of so many bytes together are read before the first answer: a tenth of a second."""
POLL_SECONDS = 0.02


OnOpen = Callable[[sqlite3.Connection], None]


class Examination:
    """Reads databases on a thread of its own. Thread-safe."""

    def __init__(self, catalog: Path, cache: Path) -> None:
        self._versions = {catalog: SCHEMA_VERSION, cache: CACHE_VERSION}
        self._closing = False
        self._connection: sqlite3.Connection | None = None
        self.damaged: CatalogDamaged | None = None
        self.passed = False
        """Whether all was read, and is whole."""
        self._thread = threading.Thread(target=self._work, name="examination", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Return when all was read."""
        self._thread.join()

    def close(self) -> None:
        """Leave off wherever it is; then nothing is open any more."""
        self._closing = True
        while self._thread.is_alive():
            if connection := self._connection:
                with contextlib.suppress(sqlite3.ProgrammingError):  # just closed
                    connection.interrupt()
            self._thread.join(POLL_SECONDS)

    def _work(self) -> None:
        try:
            for path, version in self._versions.items():
                _examine(path, version, self._opened)
        except CatalogDamaged as error:
            self.damaged = None if self._closing else error
        except StorageError:
            return  # looked at again after the next start
        else:
            self.passed = True

    def _opened(self, connection: sqlite3.Connection) -> None:
        self._connection = connection


def are_large(*paths: Path) -> bool:
    """Whether reading these files through takes longer than a start may wait."""
    return sum(path.stat().st_size for path in paths if path.exists()) > AT_ONCE


def drop_unless_whole(cache: Path) -> None:
    """Delete cached vectors that are damaged: what is whole need not be embedded again."""
    try:
        _examine(cache, CACHE_VERSION)
    except (CatalogDamaged, StorageError):
        for path in cache.parent.glob(f"{cache.name}*"):
            path.unlink()


def _examine(path: Path, version: int, opened: OnOpen = lambda _: None) -> None:
    """Read a database from end to end, on a connection of its own, which `opened` is given."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    with translated(path):
        db = sqlite3.connect(address, uri=True, check_same_thread=False, timeout=10)
        with contextlib.closing(db):
            opened(db)
            verify(db, version, check=True)
