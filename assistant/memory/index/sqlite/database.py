"""The index's SQLite: its tables, the connection, and who may use it when.

Two files are one database. What an embedding cost lies apart in the owner's cache, where deleting
the index does not take it; the index is told of it by `ATTACH`.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from secrets import token_hex

from assistant.errors import MemoryFailure, StorageError
from assistant.memory.index.sqlite.snapshots import Snapshots

SCHEMA_VERSION = 15
CACHE_VERSION = 1
APPLICATION_ID = 0x41535354  # "ASST"
TOKENIZER = "porter unicode61 remove_diacritics 2"
_SCHEMA = f"""
CREATE TABLE sources (
  id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, inode INTEGER NOT NULL,
  size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
  sha256 TEXT NOT NULL, read_ns INTEGER NOT NULL, revision INTEGER NOT NULL);
CREATE TABLE parts (
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL, position INTEGER NOT NULL,
  start_char INTEGER NOT NULL, start_line INTEGER NOT NULL, start_chunk INTEGER NOT NULL,
  size INTEGER NOT NULL, lines INTEGER NOT NULL, chunks INTEGER NOT NULL,
  seal BLOB NOT NULL, section TEXT NOT NULL);
CREATE INDEX parts_by_source ON parts (source, position);
CREATE TABLE layouts (part INTEGER PRIMARY KEY, layout BLOB NOT NULL);
CREATE TABLE repeats (id TEXT PRIMARY KEY, first TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX repeats_by_first ON repeats (first);
CREATE TABLE sections (
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL, heading TEXT NOT NULL, vector INTEGER,
  UNIQUE (source, heading));
CREATE INDEX sections_by_vector ON sections (vector);
CREATE TABLE chunks (
  rowid INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, part INTEGER NOT NULL,
  section INTEGER NOT NULL, ordinal INTEGER NOT NULL, text TEXT NOT NULL, plain TEXT NOT NULL,
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
  start_char INTEGER NOT NULL, end_char INTEGER NOT NULL,
  date TEXT, mentions TEXT NOT NULL, status TEXT NOT NULL, until TEXT,
  vector INTEGER NOT NULL, length INTEGER NOT NULL, said INTEGER NOT NULL,
  crc INTEGER NOT NULL);
CREATE INDEX chunks_by_line ON chunks (part, start_line);
CREATE INDEX chunks_by_section ON chunks (section);
CREATE INDEX chunks_by_said ON chunks (said);
CREATE INDEX chunks_by_vector ON chunks (vector);
CREATE TABLE outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, chunk TEXT UNIQUE NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE vocabulary (word TEXT PRIMARY KEY, texts INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE postings (
  block INTEGER NOT NULL, term TEXT NOT NULL, found BLOB NOT NULL,
  PRIMARY KEY (block, term)) WITHOUT ROWID;
CREATE TABLE heading_postings (
  block INTEGER NOT NULL, term TEXT NOT NULL, found BLOB NOT NULL,
  PRIMARY KEY (block, term)) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""
_CACHE_SCHEMA = f"""
CREATE TABLE vectors (id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, value BLOB NOT NULL);
CREATE TABLE token (value TEXT NOT NULL);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {CACHE_VERSION};
"""


class CatalogDamaged(MemoryFailure):
    """The database is not one, is of another version, or contradicts itself."""


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors as StorageError or CatalogDamaged."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.OperationalError as error:
        if "full" in str(error) or "readonly" in str(error) or "unable to open" in str(error):
            raise StorageError(
                f"the index {path} cannot be written: {error}", "Check the disk and who may write"
            ) from error
        raise CatalogDamaged(f"the index {path} failed: {error}") from error
    except sqlite3.DatabaseError as error:
        raise CatalogDamaged(f"the index {path} is damaged: {error}") from error


class Database:
    """An open database, of one process at a time. Its threads take turns, but for those that read
    in a snapshot: they wait for no writer."""

    def __init__(self, path: Path, cache: Path, *, check: bool = False) -> None:
        """Open or make the index at `path` and the vectors' `cache`; `check` reads all of both.

        Raises CatalogDamaged, StorageError.
        """
        self.path = path
        self._lock = threading.RLock()
        self.snapshots = Snapshots(partial(_attached, path, cache), partial(translated, path))
        with translated(cache):
            self.token = _prepare_cache(cache, check)
        with translated(path):
            self._connection = _open(path, cache, check)

    @contextlib.contextmanager
    def using(self) -> Iterator[sqlite3.Connection]:
        """The connection of this thread's snapshot, else the writer's for one thread at a time.

        Raises CatalogDamaged, StorageError.
        """
        snapshot = self.snapshots.current
        with snapshot.lock if snapshot else self._lock, translated(self.path):
            yield snapshot.connection if snapshot else self._connection

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The writer's connection, for changes that are made at once or not at all."""
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

    def verify(self) -> None:
        """Read it from end to end. Raises CatalogDamaged."""
        with self.using() as db:
            _read_through(db)

    def vacuum(self) -> None:
        """Leave no byte of what was deleted, in free pages or in the logs.

        Raises StorageError while another program reads it, since the log cannot be emptied then.
        """
        with self.snapshots.none(), self.using() as db:
            for schema in ("main", "cache"):
                db.execute(f"VACUUM {schema}")
                busy, *_ = db.execute(f"PRAGMA {schema}.wal_checkpoint(TRUNCATE)").fetchone()
                if busy:
                    raise StorageError(
                        f"another program reads {self.path}, and what was deleted stays in its log",
                        "Close that program; it is finished at the next start",
                    )

    def close(self) -> None:
        """Close the database; its log is folded into it."""
        with self.snapshots.none(), self._lock, translated(self.path):
            self._connection.close()


def _prepare_cache(path: Path, check: bool) -> str:
    """Make the cache if it is missing; returns what tells it from another one."""
    with contextlib.closing(_connect(path)) as db:
        if _is_empty(db):
            db.executescript(_CACHE_SCHEMA)
            db.execute("INSERT INTO token VALUES (?)", (token_hex(8),))
        path.chmod(0o600)
        verify(db, CACHE_VERSION, check)
        return str(db.execute("SELECT value FROM token").fetchone()[0])


def open_cache(path: Path) -> sqlite3.Connection:
    """A connection to the cached vectors alone."""
    _prepare_cache(path, False)
    return _connect(path)


def _open(path: Path, cache: Path, check: bool) -> sqlite3.Connection:
    db = _connect(path)
    try:
        if _is_empty(db):
            db.executescript(_SCHEMA)
        path.chmod(0o600)
        verify(db, SCHEMA_VERSION, check)
    finally:
        db.close()
    return _attached(path, cache)


def _attached(path: Path, cache: Path) -> sqlite3.Connection:
    """A connection to both files, which are there."""
    db = _connect(path)
    try:
        db.execute("ATTACH ? AS cache", (str(cache),))
        db.execute("PRAGMA cache.synchronous = NORMAL")
        db.execute("PRAGMA cache.secure_delete = ON")
    except BaseException:
        db.close()
        raise
    return db


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA secure_delete = ON")
        db.execute("PRAGMA cache_size = -8000")
    except BaseException:
        db.close()
        raise
    return db


def _is_empty(db: sqlite3.Connection) -> bool:
    return not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def verify(db: sqlite3.Connection, version: int, check: bool) -> None:
    """See that it is a database of ours, of this version; `check` reads all of it."""
    identity = [
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    ]
    if identity != [APPLICATION_ID, version]:
        raise sqlite3.DatabaseError("it was made by another version")
    if check:
        _read_through(db)


def _read_through(db: sqlite3.Connection) -> None:
    verdict = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise sqlite3.DatabaseError(verdict)
