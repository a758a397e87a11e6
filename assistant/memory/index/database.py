"""The index's SQLite: its tables, and connections for one writer with readers beside it.

Two files are one database. What an embedding cost lies apart in the owner's cache, where deleting
the index does not take it; the index is told of it by `ATTACH`.
"""

import contextlib
import functools
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

from assistant.errors import MemoryFailure, StorageError

SCHEMA_VERSION = 17
_SCHEMA = """
CREATE TABLE sources (
  id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, inode INTEGER NOT NULL,
  size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
  sha256 TEXT NOT NULL, read_ns INTEGER NOT NULL, chunks INTEGER NOT NULL,
  layout BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE sections (
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL, heading TEXT NOT NULL, vector INTEGER,
  UNIQUE (source, heading));
CREATE TABLE chunks (
  rowid INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, source INTEGER NOT NULL,
  section INTEGER NOT NULL, vector INTEGER NOT NULL, said INTEGER NOT NULL, crc INTEGER NOT NULL,
  date TEXT, status TEXT NOT NULL, until TEXT, mentions TEXT NOT NULL,
  plain TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX chunks_by_said ON chunks (said);
CREATE TABLE occasions (
  chunk INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL, value BLOB NOT NULL,
  crc INTEGER NOT NULL);
CREATE TABLE outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, chunk TEXT UNIQUE NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE vocabulary (word TEXT PRIMARY KEY, texts INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE postings (
  block INTEGER NOT NULL, term TEXT NOT NULL, found BLOB NOT NULL, total INTEGER NOT NULL,
  PRIMARY KEY (block, term)) WITHOUT ROWID;
CREATE TABLE heading_postings (
  block INTEGER NOT NULL, term TEXT NOT NULL, found BLOB NOT NULL, total INTEGER NOT NULL,
  PRIMARY KEY (block, term)) WITHOUT ROWID;
"""
_CACHE_SCHEMA = """
CREATE TABLE vectors (id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, value BLOB NOT NULL);
CREATE TABLE token (value TEXT NOT NULL);
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
        if any(sign in str(error) for sign in ("full", "readonly", "unable to open")):
            raise StorageError(
                f"the index {path} cannot be written: {error}", "Check the disk and who may write"
            ) from error
        raise CatalogDamaged(f"the index {path} failed: {error}") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a message quotes what it read
        raise CatalogDamaged(f"the index {path} is damaged: {error}") from error


class _Reader:
    """A connection on which one thread at a time reads one state of the database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.generation = 0


class Database:
    """An open database, of one process at a time. Its threads take turns, but for those that are
    `reading`: they wait for no writer."""

    def __init__(self, path: Path, cache: Path, *, readonly: bool = False) -> None:
        """Open or make the index at `path` and the vectors' `cache`. `readonly`: on a disk that
        takes no writes, what is there is read and nothing is made.

        Raises CatalogDamaged, StorageError.
        """
        self.path = path
        self._cache = cache
        self._readonly = readonly
        self._lock = threading.RLock()
        self._mine = threading.local()
        self._idle: list[_Reader] = []
        self._closed = False
        if not readonly:
            for each, schema in ((cache, _CACHE_SCHEMA), (path, _SCHEMA)):
                with translated(each):
                    _make(each, schema)
        with translated(path):
            self._connection = self._connect()
            row = self._connection.execute("SELECT value FROM token").fetchone()
            self.token = str(row[0])
            self.latest = self._generation_of(self._connection)
        """Grows with every change of the chunks."""

    @property
    def generation(self) -> int:
        """Of the state that this thread sees: the latest, or that which it is `reading`."""
        reader = self._reader
        return reader.generation if reader else self.latest

    @contextlib.contextmanager
    def using(self) -> Iterator[sqlite3.Connection]:
        """The connection of a thread that is `reading`, else the writer's, for one at a time.

        Raises CatalogDamaged, StorageError.
        """
        if reader := self._reader:
            with translated(self.path):
                yield reader.connection
        else:
            with self._lock, translated(self.path):
                yield self._connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Let this thread see one state of the database, whatever is written meanwhile."""
        if self._reader is not None:
            yield
            return
        with translated(self.path):
            reader = self._idle.pop() if self._idle else _Reader(self._connect())
            reader.connection.execute("BEGIN")
            reader.generation = self._generation_of(reader.connection)
        self._mine.reader = reader
        try:
            yield
        finally:
            self._mine.reader = None
            with translated(self.path):
                reader.connection.execute("ROLLBACK")
            self._idle.append(reader)
            if self._closed:
                self._close_idle()

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

    @contextlib.contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """A transaction after which the chunks are others."""
        with self.transaction() as db:
            yield db
            new = self.latest + 1
            db.execute("INSERT OR REPLACE INTO meta VALUES ('generation', ?)", (new,))
        self.latest = new

    def check(self) -> None:
        """Read both files from end to end, indexes too. Raises CatalogDamaged."""
        with self.using() as db:
            verdict = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if verdict != "ok":
                raise sqlite3.DatabaseError(verdict)

    def vacuum(self) -> None:
        """Leave no byte of what was deleted, in free pages or in the logs.

        Raises StorageError while another program reads it, since the log cannot be emptied then.
        """
        with self._lock, translated(self.path):
            self._close_idle()
            for schema in ("main", "cache"):
                self._connection.execute(f"VACUUM {schema}")
                done = self._connection.execute(f"PRAGMA {schema}.wal_checkpoint(TRUNCATE)")
                if done.fetchone()[0]:
                    raise StorageError(
                        f"another program reads {self.path}, and what was deleted stays in its log",
                        "Close that program; it is finished at the next start",
                    )

    def close(self) -> None:
        """Close the database; its log is folded into it once nobody reads any more."""
        with self._lock, translated(self.path):
            self._closed = True
            self._close_idle()
            self._connection.close()

    @property
    def _reader(self) -> _Reader | None:
        return getattr(self._mine, "reader", None)

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().connection.close()

    def _connect(self) -> sqlite3.Connection:
        db = connect(self.path, readonly=self._readonly)
        try:
            db.execute("ATTACH ? AS cache", (_address(self._cache, readonly=self._readonly),))
            db.execute("PRAGMA cache.synchronous = NORMAL")
            db.execute("PRAGMA cache.secure_delete = ON")
            check_tables(db, "main", _SCHEMA)
            check_tables(db, "cache", _CACHE_SCHEMA)
        except BaseException:
            db.close()
            raise
        return db

    def _generation_of(self, db: sqlite3.Connection) -> int:
        row = db.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
        return int(row[0]) if row else 0


def is_whole_cache(path: Path) -> bool:
    """Whether cached vectors, if there are any, can be read from end to end."""
    try:
        with translated(path), contextlib.closing(open_cache(path)) as db:
            check_tables(db, "main", _CACHE_SCHEMA)
            return bool(db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except (CatalogDamaged, StorageError):
        return False


def check_tables(db: sqlite3.Connection, name: str, schema: str) -> None:
    """Raise sqlite3.DatabaseError if a database does not have the tables of its schema, to the
    letter: each connection reads there how rows are to be read."""
    if _tables(db, name) != _tables_of(schema):
        raise sqlite3.DatabaseError("it was made by another version")


def _tables(db: sqlite3.Connection, name: str) -> list[tuple[str, str]]:
    return db.execute(f"SELECT name, sql FROM {name}.sqlite_master ORDER BY name").fetchall()


@functools.cache
def _tables_of(schema: str) -> list[tuple[str, str]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.executescript(schema)
        return _tables(db, "main")


def open_cache(path: Path) -> sqlite3.Connection:
    """A connection to the cached vectors alone, which are made if there are none."""
    _make(path, _CACHE_SCHEMA)
    return connect(path)


def connect(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    """A connection to a database that any thread may use."""
    db = sqlite3.connect(
        _address(path, readonly=readonly),
        isolation_level=None,
        check_same_thread=False,
        timeout=10,
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
    """Make a database, unless it is there."""
    with contextlib.closing(connect(path)) as db:
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            db.executescript(schema)
            if "TABLE token" in schema:
                db.execute("INSERT INTO token VALUES (?)", (token_hex(8),))
    path.chmod(0o600)
