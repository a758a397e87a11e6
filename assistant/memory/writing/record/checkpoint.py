"""A checkpoint of the journal: what its lines add up to, so that nobody reads them again.

A SQLite file beside the index, derived and without an owner's words: of each write where its line
is, what became of it, and digests by which it is found. A short journal has its checkpoint in
memory. How far it goes stands in it, with the checksum of what it covers; it is brought up in
transactions, so that a crash leaves an earlier one.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zlib import crc32

from assistant.disk import storage
from assistant.memory.text.markdown import LINES
from assistant.memory.writing.markup.items import item_of
from assistant.memory.writing.record import lines
from assistant.memory.writing.record.lines import Outcome, Saved
from assistant.memory.writing.record.writes import ADDING, Edit, Purging, Verdict, Write

VERSION = 3
OPEN, DONE, VOID = 0, 1, 2
"""What became of a write, or of a purge."""
GONE = "verdict IN ('deleted', 'erased', 'dismissed')"
"""Of a write: its fact was last seen to be gone."""
HEADING = "## "
_PATIENCE = 10.0
_AT_ONCE = 4096
_SCHEMA = f"""
CREATE TABLE covered (
  bytes INTEGER, lines INTEGER, crc INTEGER, inode INTEGER, size INTEGER, mtime_ns INTEGER);
INSERT INTO covered VALUES (0, 0, 0, 0, 0, 0);
CREATE TABLE writes (
  line INTEGER PRIMARY KEY, at INTEGER, length INTEGER, id TEXT, state INTEGER, verdict TEXT,
  action TEXT, source TEXT, fact INTEGER, request INTEGER, undoes TEXT, reversible INTEGER,
  item INTEGER, heading INTEGER);
CREATE UNIQUE INDEX writes_by_id ON writes (id);
CREATE INDEX writes_by_fact ON writes (fact) WHERE fact IS NOT NULL;
CREATE INDEX writes_by_request ON writes (request) WHERE request IS NOT NULL;
CREATE INDEX writes_by_undone ON writes (undoes) WHERE undoes IS NOT NULL;
CREATE INDEX writes_by_source ON writes (source, line);
CREATE INDEX writes_open ON writes (state) WHERE state = {OPEN};
CREATE INDEX writes_gone ON writes (source, item) WHERE {GONE};
CREATE INDEX writes_by_verdict ON writes (verdict) WHERE verdict IS NOT NULL;
CREATE TABLE edits (
  source TEXT, line INTEGER, part INTEGER, before INTEGER, after INTEGER, heading INTEGER,
  PRIMARY KEY (source, line, part)) WITHOUT ROWID;
CREATE INDEX edits_by_heading ON edits (heading) WHERE heading IS NOT NULL;
CREATE TABLE purges (id TEXT PRIMARY KEY, line INTEGER, at INTEGER, length INTEGER, state INTEGER);
CREATE TABLE saved (source TEXT, state INTEGER, PRIMARY KEY (source, state)) WITHOUT ROWID;
CREATE TABLE damaged (line INTEGER PRIMARY KEY, at INTEGER, length INTEGER);
PRAGMA user_version = {VERSION};
"""


@dataclass(slots=True)
class Covered:
    """How far a checkpoint goes: so many bytes and lines of a file, their checksum, and what the
    file was like when it was last looked at."""

    bytes: int = 0
    lines: int = 0
    crc: int = 0
    seen: tuple[int, int, int] = (0, 0, 0)


class Checkpoint:
    """An open checkpoint. Raises sqlite3.Error; several processes may have it open at once."""

    def __init__(self, path: Path | None) -> None:
        """Open or make the one at `path`; None for one in memory. One of another version goes."""
        self.path = path
        self.covered = Covered()
        self._db = sqlite3.connect(
            path or ":memory:", isolation_level=None, check_same_thread=False, timeout=_PATIENCE
        )
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "secure_delete = ON"):
            self._db.execute(f"PRAGMA {pragma}")
        if self.path:
            self.path.chmod(storage.PRIVATE_FILE)
        with self._transaction():
            (version,) = self.row("PRAGMA user_version") or (0,)
            if version != VERSION:
                for (name,) in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'"):
                    self._db.execute(f"DROP TABLE {name}")
                for statement in _SCHEMA.split(";"):
                    self._db.execute(statement)

    def close(self) -> None:
        """Let go of it."""
        self._db.close()

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What a query finds."""
        return self._db.execute(query, values).fetchall()

    def row(self, query: str, *values: object) -> tuple[Any, ...] | None:
        """The first of what a query finds."""
        found: tuple[Any, ...] | None = self._db.execute(query, values).fetchone()
        return found

    @contextlib.contextmanager
    def changing(self) -> Iterator[Covered]:
        """Bring it up in one transaction: how far it goes, to be changed in the block."""
        with self._transaction():
            bytes, lines, crc, *seen = self.row("SELECT * FROM covered") or (0,) * 6
            self.covered = Covered(bytes, lines, crc, (seen[0], seen[1], seen[2]))
            yield self.covered
            row = astuple(self.covered)
            self._db.execute(
                "UPDATE covered SET bytes = ?, lines = ?, crc = ?, inode = ?, size = ?,"
                " mtime_ns = ?",
                (*row[:3], *row[3]),
            )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise

    def start_over(self) -> None:
        """Cover nothing; in `changing`."""
        for table in ("writes", "edits", "purges", "saved", "damaged"):
            self._db.execute(f"DELETE FROM {table}")
        covered = self.covered
        covered.bytes = covered.lines = covered.crc = 0

    def take(self, following: Iterable[bytes]) -> None:
        """Go on with lines, their ends included; in `changing`."""
        covered, batch = self.covered, _Batch()
        for line in following:
            covered.lines += 1
            batch.add(line, covered.lines, covered.bytes)
            covered.crc = crc32(line, covered.crc)
            covered.bytes += len(line)
            if covered.lines % _AT_ONCE == 0:
                self._take_in(batch)
                batch = _Batch()
        self._take_in(batch)

    def _take_in(self, batch: "_Batch") -> None:
        for statement, each in batch.statements():
            if each:
                self._db.executemany(statement, each)

    def reword(self, reworded: Sequence[tuple[int, Write]], blotted: Sequence[int]) -> None:
        """Tell of the writes on these lines in other words, and forget lines that are blank now; in
        `changing`. The lines are where they were."""
        batch = _Batch()
        for line, write in reworded:
            place = self.row("SELECT at, length, state, verdict FROM writes WHERE line = ?", line)
            if place:
                self._db.execute("DELETE FROM edits WHERE line = ?", (line,))
                at, length, state, verdict = place
                batch.put(write, (line, at, length), state, verdict)
        self._take_in(batch)
        for table in ("purges", "damaged"):
            self._db.executemany(f"DELETE FROM {table} WHERE line = ?", [(n,) for n in blotted])

    def scrub(self) -> None:
        """Leave no byte of what was deleted in its log."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@dataclass(slots=True)
class _Batch:
    """What lines add to a checkpoint."""

    writes: list[tuple[object, ...]] = field(default_factory=list)
    edits: list[tuple[object, ...]] = field(default_factory=list)
    purges: list[tuple[object, ...]] = field(default_factory=list)
    saved: list[tuple[object, ...]] = field(default_factory=list)
    damaged: list[tuple[object, ...]] = field(default_factory=list)
    states: list[tuple[int, str]] = field(default_factory=list)
    verdicts: list[tuple[Verdict | None, str]] = field(default_factory=list)

    def statements(self) -> Iterator[tuple[str, Sequence[tuple[object, ...]]]]:
        """How to take them in, in this order."""
        yield f"INSERT OR REPLACE INTO writes VALUES ({', '.join('?' * 14)})", self.writes
        yield "INSERT OR REPLACE INTO edits VALUES (?, ?, ?, ?, ?, ?)", self.edits
        yield "INSERT OR REPLACE INTO purges VALUES (?, ?, ?, ?, ?)", self.purges
        yield "INSERT OR IGNORE INTO saved VALUES (?, ?)", self.saved
        yield "INSERT INTO damaged VALUES (?, ?, ?)", self.damaged
        yield "UPDATE writes SET state = ? WHERE id = ?", self.states
        yield "UPDATE purges SET state = ? WHERE id = ?", self.states
        yield "UPDATE writes SET verdict = ? WHERE id = ?", self.verdicts

    def add(self, line: bytes, number: int, at: int) -> None:
        place = (number, at, len(line) - 1)
        try:
            entry = lines.read(line)
        except (ValueError, RecursionError):
            if not line[:-1].isspace():  # blanks stand where something was taken out
                self.damaged.append(place)
            return
        match entry:
            case Write():
                self.put(entry, place, OPEN, None)
            case Purging():
                self.purges.append((entry.id, *place, OPEN))
            case Saved():
                self.saved.append((entry.source, mark(entry.state)))
            case Outcome(type="verdict"):
                self.verdicts += [(entry.verdict, name) for name in entry.ids]
            case Outcome():
                state = DONE if entry.type == "done" else VOID
                self.states += [(state, name) for name in entry.ids]

    def put(
        self, write: Write, place: tuple[int, int, int], state: int, verdict: Verdict | None
    ) -> None:
        """Add a write, whose outcome is known."""
        added = write.added
        self.writes.append((
            *place, write.id, state, verdict, write.action, write.source,
            mark(write.text) if write.text and write.action in ADDING else None,
            None if write.request is None else mark(write.request), write.undoes,
            bool(write.edits) and write.action != "undo" and not write.purged,
            mark(item_of(added.inserted)) if added else None, _heading(added),
        ))  # fmt: skip
        self.edits += [
            (edit.source, place[0], part, mark(edit.before), mark(edit.after), _title(edit))
            for part, edit in enumerate(write.edits)
        ]


def mark(text: str) -> int:
    """A number that tells a text from any other."""
    found = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(found, signed=True)


def titled(source: str, title: str) -> int:
    """The mark of a heading in a file."""
    return mark(f"{source}\n{title}")


def _title(edit: Edit) -> int | None:
    """The mark of the heading that an edit put into its file."""
    if HEADING not in edit.inserted:
        return None
    found = (line.strip() for line in LINES.findall(edit.inserted))
    title = next((line.removeprefix(HEADING) for line in found if line.startswith(HEADING)), None)
    return None if title is None else titled(edit.source, title)


def _heading(added: Edit | None) -> int | None:
    """The mark of the line of a heading that the fact came with."""
    if added is None or HEADING not in added.inserted:
        return None
    first = str(LINES.findall(added.inserted)[0]).strip()
    return mark(first) if first.startswith(HEADING) else None
