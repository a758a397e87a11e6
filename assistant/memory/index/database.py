"""The index's SQLite database: connections for one writer and concurrent readers.

It consists of two files. The vectors are in the owner's cache, so deleting the index does not
delete them; `ATTACH` adds them to the index.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

from assistant.errors import MemoryFailure, StorageError

SCHEMA_VERSION = 35
PATIENCE = 10
"""Seconds to wait for another program that uses the file."""
_SCHEMA = Path(__file__).with_name("index.sql").read_text(encoding="utf-8")
_CACHE_SCHEMA = Path(__file__).with_name("cache.sql").read_text(encoding="utf-8")


class CatalogDamaged(MemoryFailure):
    """The file is not a database, has another version, or is inconsistent."""


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Translate SQLite's errors to StorageError or CatalogDamaged."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.OperationalError as error:
        if any(sign in str(error) for sign in ("full", "readonly", "unable to open")):
            raise StorageError(
                f"the index {path} cannot be written: {error}", "Check the disk and its permissions"
            ) from error
        raise CatalogDamaged(f"the index {path} failed: {error}") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a message quotes the data
        raise CatalogDamaged(f"the index {path} is damaged: {error}") from error


class Database:
    """An open database, for one process at a time. Threads take turns, except while `reading`,
    which waits for no writer."""

    def __init__(self, path: Path, cache: Path, *, readonly: bool = False) -> None:
        """Open or create the index at `path` and the vectors' `cache`. With `readonly`, for a
        read-only disk, existing files are read and nothing is created.

        Raises CatalogDamaged, StorageError.
        """
        self.path = path
        self._cache = cache
        self._readonly = readonly
        self._lock = threading.RLock()
        self._mine = threading.local()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        if not readonly:
            for file, schema in ((cache, _CACHE_SCHEMA), (path, _SCHEMA)):
                with translated(file):
                    _make(file, schema)
        with translated(path):
            self._connection = self._connect()
            row = self._connection.execute("SELECT value FROM token").fetchone()
            self.token = str(row[0])
            self.latest = self._generation_of(self._connection)
        """Incremented by every change of the chunks."""

    @property
    def generation(self) -> int:
        """The generation that this thread sees: the one it is `reading`, or the latest."""
        snapshot = self._snapshot
        return snapshot[1] if snapshot else self.latest

    @contextlib.contextmanager
    def using(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection of a thread that is `reading`, else the writer's, one at a time.

        Raises CatalogDamaged, StorageError.
        """
        snapshot = self._snapshot
        with contextlib.nullcontext() if snapshot else self._lock, translated(self.path):
            yield snapshot[0] if snapshot else self._connection

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Return the rows of a statement, on the connection of `using`."""
        with self.using() as db:
            return db.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Give this thread a snapshot of the database while others write."""
        if self._snapshot is not None:
            yield
            return
        with translated(self.path):
            connection = self._idle.pop() if self._idle else self._connect()
            connection.execute("BEGIN")
            self._mine.snapshot = connection, self._generation_of(connection)
        try:
            yield
        finally:
            self._mine.snapshot = None
            with translated(self.path):
                connection.execute("ROLLBACK")
            self._idle.append(connection)
            if self._closed:
                self._close_idle()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the writer's connection, in a transaction."""
        with self._lock, translated(self.path):
            db = self._connection
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction that changes the chunks."""
        with self.transaction() as db:
            yield db
            new = self.latest + 1
            db.execute("INSERT OR REPLACE INTO meta VALUES ('generation', ?)", (new,))
        self.latest = new

    def check(self) -> None:
        """Verify both files completely, including their indexes. Raises CatalogDamaged."""
        with translated(self.path):
            if (verdict := self.rows("PRAGMA integrity_check(1)")[0][0]) != "ok":
                raise sqlite3.DatabaseError(verdict)

    def vacuum(self) -> None:
        """Erase deleted content from free pages and the logs.

        Raises StorageError while another program reads the database, as its log cannot be emptied.
        """
        with self._lock, translated(self.path):
            self._close_idle()
            for schema in ("main", "cache"):
                self._connection.execute(f"VACUUM {schema}")
                checkpoint = self._connection.execute(f"PRAGMA {schema}.wal_checkpoint(TRUNCATE)")
                if checkpoint.fetchone()[0]:
                    raise StorageError(
                        f"another program reads {self.path}, and what was deleted stays in its log",
                        "Close that program; the next start finishes the cleaning",
                    )

    def empty_log(self) -> None:
        """Remove deleted content from the log, unless a reader still needs the old state or the
        disk is full."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA busy_timeout = 0")
            try:
                self._connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)")
            finally:
                self._connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000}")

    def close(self) -> None:
        """Close the database; its log is merged once the last reader has finished."""
        with self._lock, translated(self.path):
            self._closed = True
            self._close_idle()
            self._connection.close()

    @property
    def _snapshot(self) -> tuple[sqlite3.Connection, int] | None:
        """The connection of a thread that is `reading`, and the generation it sees."""
        return getattr(self._mine, "snapshot", None)

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _connect(self) -> sqlite3.Connection:
        db = connect(self.path, readonly=self._readonly)
        try:
            db.execute("ATTACH ? AS cache", (_address(self._cache, readonly=self._readonly),))
            db.execute("PRAGMA cache.synchronous = NORMAL")
            db.execute("PRAGMA cache.secure_delete = ON")
        except BaseException:
            db.close()
            raise
        return db

    def _generation_of(self, db: sqlite3.Connection) -> int:
        row = db.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
        return int(row[0]) if row else 0


def is_intact_cache(path: Path) -> bool:
    """Return whether cached vectors, if any, can be read completely."""
    try:
        with translated(path), contextlib.closing(open_cache(path)) as db:
            return bool(db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except (CatalogDamaged, StorageError):
        return False


def open_cache(path: Path) -> sqlite3.Connection:
    """Open the cached vectors alone; create their file if it is missing."""
    _make(path, _CACHE_SCHEMA)
    return connect(path)


def connect(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    """Open a database for use by any thread."""
    db = sqlite3.connect(
        _address(path, readonly=readonly),
        isolation_level=None,
        check_same_thread=False,
        timeout=PATIENCE,
        uri=True,
    )
    try:
        if not readonly:
            db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA secure_delete = ON")
        db.execute("PRAGMA cache_size = -8000")
    except BaseException:
        db.close()
        raise
    return db


def _address(path: Path, *, readonly: bool) -> str:
    return f"{path.absolute().as_uri()}{'?immutable=1' if readonly else ''}"


def _make(path: Path, schema: str) -> None:
    """Create a database if it does not exist."""
    with contextlib.closing(connect(path)) as db:
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            db.executescript(schema)
            if "TABLE token" in schema:
                db.execute("INSERT INTO token VALUES (?)", (token_hex(8),))
    path.chmod(0o600)
