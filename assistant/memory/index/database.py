"""The catalog's tables, and opening a database that has them."""

import contextlib
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from assistant.errors import MemoryFailure, StorageError

SCHEMA_VERSION = 3
APPLICATION_ID = 0x41535354  # "ASST"
_TOKENIZER = "porter unicode61 remove_diacritics 2"
_SCHEMA = f"""
CREATE TABLE sources (
  id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, inode INTEGER NOT NULL,
  size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
  sha256 TEXT NOT NULL, read_ns INTEGER NOT NULL, layout BLOB NOT NULL);
CREATE TABLE sections (
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL, heading TEXT NOT NULL, UNIQUE (source, heading));
CREATE TABLE chunks (
  rowid INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, source INTEGER NOT NULL,
  section INTEGER NOT NULL, ordinal INTEGER NOT NULL, text TEXT NOT NULL, plain TEXT NOT NULL,
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
  start_char INTEGER NOT NULL, end_char INTEGER NOT NULL,
  date TEXT, mentions TEXT NOT NULL, status TEXT NOT NULL, until TEXT,
  vector INTEGER NOT NULL, length INTEGER NOT NULL, crc INTEGER NOT NULL);
CREATE INDEX chunks_by_line ON chunks (source, start_line);
CREATE INDEX chunks_by_vector ON chunks (vector);
CREATE TABLE vectors (id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, value BLOB NOT NULL);
CREATE TABLE outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, chunk TEXT UNIQUE NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(plain, content='', tokenize='{_TOKENIZER}');
CREATE VIRTUAL TABLE words_at USING fts5vocab(words, 'instance');
CREATE VIRTUAL TABLE words_in USING fts5vocab(words, 'row');
CREATE VIRTUAL TABLE headings USING fts5(plain, content='', tokenize='{_TOKENIZER}');
CREATE VIRTUAL TABLE headings_at USING fts5vocab(headings, 'instance');
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""
_CJK = re.compile(
    r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff])"
)


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


def open_database(path: Path, check: bool) -> sqlite3.Connection:
    """Open or make it; `check` reads all of it. Raises sqlite3.DatabaseError."""
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA secure_delete = ON")
        db.execute("PRAGMA cache_size = -8000")
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            db.executescript(_SCHEMA)
        path.chmod(0o600)
        _verify(db, check)
    except BaseException:
        db.close()
        raise
    return db


def _verify(db: sqlite3.Connection, check: bool) -> None:
    identity = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in _IDENTITY]
    if identity != list(_IDENTITY.values()):
        raise sqlite3.DatabaseError("it was made by another version")
    if check:
        found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(found)


_IDENTITY = {"application_id": APPLICATION_ID, "user_version": SCHEMA_VERSION}


def tokenizing_database() -> sqlite3.Connection:
    """A database in memory whose FTS5 table splits queries as the index splits chunks."""
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    db.execute(f"CREATE VIRTUAL TABLE words USING fts5(plain, content='', tokenize='{_TOKENIZER}')")
    db.execute("CREATE VIRTUAL TABLE words_at USING fts5vocab(words, 'instance')")
    return db


def searchable(text: str) -> str:
    """Text as FTS5 shall see it: scripts written without spaces are matched by character."""
    return _CJK.sub(r" \1 ", text)
