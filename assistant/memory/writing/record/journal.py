"""The journal: every write to memory, acknowledged, with its origin and how to reverse it.

`.assistant/journal.jsonl`, one JSON object a line, only ever appended to (a purge rewrites it):

- ``write``: what is about to be done, put down before a file is touched;
- ``done`` / ``void``: those writes are in the files, or are not;
- ``verdict``: what became of a fact that the owner's saves were watched for (`stale_saves.py`);
- ``purge``: facts that are being forgotten for good, until the journal is rewritten without them.

A write without ``done`` was never acknowledged and is not shown. A line that is damaged is passed
over and named, and stays where it is until it is `set_aside`; what it settled is settled anew. What
the lines add up to is in a `Checkpoint`: a long journal costs no start, no write and no memory.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

from assistant.disk import storage
from assistant.errors import StorageError
from assistant.memory.base import JournalEntry
from assistant.memory.writing.record import lines
from assistant.memory.writing.record.checkpoint import (
    DONE,
    OPEN,
    VOID,
    Checkpoint,
    Covered,
    mark,
    titled,
)
from assistant.memory.writing.record.lines import Kept
from assistant.memory.writing.record.writes import Purging, Verdict, Write

SHORT = 1 << 18
"""A journal of fewer bytes has its checkpoint in memory."""
PAGE = 500
"""Writes that are read at once."""
_BLOCK = 1 << 20
_STANDS = (
    f"state = {DONE} AND reversible AND NOT EXISTS (SELECT 1 FROM writes AS other"
    f" WHERE other.undoes = writes.id AND other.state = {DONE})"
)
"""Of a write: it was acknowledged and can be reversed."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A write whose fact stands in its file, as far as is known: enough to look for it there.

    `item` and `heading` are marks of lines that it added, `request` one of the client's request.
    """

    line: int
    id: str
    item: int
    heading: int | None
    request: int | None
    seen: bool


class Journal:
    """The journal of one workspace, kept in step with what other processes append.

    Call `refresh` before reading, which any thread may; append, mend and rewrite only under the
    ledger's lock.
    """

    def __init__(self, path: Path, checkpoint: Path | None = None, short: int = SHORT) -> None:
        """`checkpoint` is the file for that of a journal of `short` bytes or more."""
        self._path = path
        self._short = short
        self._place = checkpoint
        self._checkpoint = Checkpoint(None)
        self._turn = threading.RLock()

    # Keeping in step

    def refresh(self, *, mend: bool = False) -> None:
        """Read the lines added since the last call; with `mend`, cut off a torn last one."""
        with self._turn:
            self._guarded(lambda: self._refresh(mend=mend))

    def _refresh(self, *, mend: bool = False, trusted: bool = False) -> None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            if self._checkpoint.covered.seen != (0, 0, 0):
                with self._checkpoint.changing() as covered:
                    self._checkpoint.start_over()
                    covered.seen = (0, 0, 0)
            return
        seen = (status.st_ino, status.st_size, status.st_mtime_ns)
        covered = self._checkpoint.covered
        if seen == covered.seen and not (mend and covered.bytes < status.st_size):
            return
        if status.st_size >= self._short and self._place and not self._checkpoint.path:
            self._settle_on_disk(self._place)
            trusted = False
        with self._opened() as file:
            self._catch_up(file, seen, trusted=trusted)
        if mend and self._checkpoint.covered.bytes < status.st_size:
            storage.truncate(self._path, self._checkpoint.covered.bytes)
            self._refresh(trusted=True)

    def _catch_up(self, file: BinaryIO, seen: tuple[int, int, int], *, trusted: bool) -> None:
        """Take in what comes after the lines that are covered; all of it if those are others."""
        with self._checkpoint.changing() as covered:
            if covered.seen != seen:
                if not (trusted or _holds(file, covered)):
                    self._checkpoint.start_over()
                file.seek(covered.bytes)
                self._checkpoint.take(line for line in file if line.endswith(b"\n"))
                covered.seen = seen

    def _settle_on_disk(self, place: Path) -> None:
        try:
            storage.private_directory(place.parent)
            on_disk = _opened_or_made(place)
        except (sqlite3.Error, OSError, StorageError):
            self._place = None  # a disk that takes no writes
            return
        self._checkpoint.close()
        self._checkpoint = on_disk

    def _guarded(self, act: Callable[[], None]) -> None:
        """Do it; a checkpoint that fails is given up, and made again in memory."""
        try:
            act()
        except sqlite3.Error as error:
            failed, self._checkpoint = self._checkpoint, Checkpoint(None)
            failed.close()
            if failed.path and _is_damage(error):
                _remove(failed.path)
            self._place = None
            act()

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What the checkpoint says."""
        found: list[tuple[Any, ...]] = []

        def ask() -> None:
            self._refresh()
            found[:] = self._checkpoint.rows(query, *values)

        with self._turn:
            try:
                found = self._checkpoint.rows(query, *values)
            except sqlite3.Error:
                self._guarded(ask)
            return found

    def _row(self, query: str, *values: object) -> tuple[Any, ...] | None:
        return next(iter(self._rows(query, *values)), None)

    # Writing

    def begin(self, *begun: Write | Purging) -> None:
        """Put down what is about to be done."""
        self._append(begun)

    def settle(
        self,
        done: Iterable[str],
        void: Iterable[str] = (),
        verdicts: Mapping[str, Verdict] | None = None,
    ) -> None:
        """Put down which writes are in the files, which are not, and what became of facts."""
        self._append(lines.outcomes(done, void, verdicts or {}))

    def _append(self, kept: Iterable[Kept]) -> None:
        data = b"".join(map(lines.written, kept))
        if not data:
            return
        with self._turn:
            self.refresh()
            storage.append(self._path, data)
            self._guarded(lambda: self._refresh(trusted=True))

    def rewrite(self, reword: Callable[[Write], Write], *, purged: str | None = None) -> None:
        """Replace the whole journal, at once, by one that tells the same writes in other words.

        The purge that is `purged`, those that came to nothing and damaged lines have no place in it
        any more. Each line stays where it was: blanks take the place of what is gone.
        """
        self.refresh()
        with self._turn:
            reworded = [
                (place, other)
                for place, write in self._walk("true")
                if (other := reword(write)) != write
            ]
            gone = self._rows("SELECT line, at, length FROM damaged")
            gone += self._rows(
                "SELECT line, at, length FROM purges WHERE id = ? OR state = ?", purged, VOID
            )
            said = [(place, lines.written(write)[:-1]) for place, write in reworded]
            said += [(place, b"" if place[2] else b" ") for place in gone]
            if not said:
                return
            storage.replace(self._path, _patched(storage.read(self._path), said))
            if all(len(text) <= length for (_, _, length), text in said):
                self._adopt([(place[0], write) for place, write in reworded], gone)
            self.refresh()

    def _adopt(self, reworded: list[tuple[int, Write]], gone: list[tuple[Any, ...]]) -> None:
        """Have the checkpoint follow a journal whose lines were reworded where they stand."""

        def adopt() -> None:
            with self._opened() as file:
                status = os.fstat(file.fileno())
                with self._checkpoint.changing() as covered:
                    self._checkpoint.reword(reworded, [line for line, _, _ in gone])
                    covered.crc = _checksum(file, covered.bytes)
                    covered.seen = (status.st_ino, status.st_size, status.st_mtime_ns)
            self._checkpoint.scrub()

        self._guarded(adopt)

    # What it says

    def damaged(self) -> dict[int, bytes]:
        """The lines that cannot be read, by their number."""
        found = self._rows("SELECT line, at, length FROM damaged ORDER BY line")
        return dict(zip((line for line, _, _ in found), self._texts(found), strict=True))

    def purges(self) -> list[Purging]:
        """The purges that have begun and are not done, oldest first."""
        found = self._rows(
            "SELECT line, at, length FROM purges WHERE state = ? ORDER BY line", OPEN
        )
        return [each for each in map(self._read, self._texts(found)) if isinstance(each, Purging)]

    def made(self, source: str, title: str) -> bool:
        """Whether a heading is one that a write of ours put into a file."""
        query = "SELECT 1 FROM edits JOIN writes USING (line) WHERE edits.heading = ? AND state = ?"
        return bool(self._row(f"{query} LIMIT 1", titled(source, title), DONE))

    def pending(self) -> list[Write]:
        """Writes whose outcome is not known: of a process that died, or that still writes."""
        return self._found(f"state = {OPEN}")

    def acknowledged(self) -> Iterator[Write]:
        """The acknowledged writes, oldest first."""
        return (write for _, write in self._walk("state = ?", DONE))

    def newest(self) -> Iterator[Write]:
        """The acknowledged writes, newest first."""
        return (write for _, write in self._walk("state = ?", DONE, newest_first=True))

    def of_source(self, source: str, *actions: str) -> Iterator[tuple[int, Write]]:
        """The acknowledged writes of a file that can be reversed and did one of this, oldest first,
        with their places in the journal."""
        listed = ", ".join("?" * len(actions))
        found = self._walk(f"source = ? AND action IN ({listed}) AND {_STANDS}", source, *actions)
        return ((line, write) for (line, _, _), write in found)

    def of_request(self, request: str) -> dict[int, Write]:
        """The acknowledged writes of a client's request, by their place in its batch."""
        found = self._found("request = ? AND state = ?", mark(request), DONE)
        return {write.part: write for write in found if write.request == request}

    def write(self, name: str) -> Write | None:
        """A write by its id."""
        return next(iter(self._found("id = ?", name)), None)

    def told(self, watched: Sequence[Watched]) -> Iterator[Write]:
        """The writes that are watched."""
        for at in range(0, len(watched), PAGE):
            page = [each.line for each in watched[at : at + PAGE]]
            yield from self._found(f"line IN ({', '.join('?' * len(page))})", *page)

    def is_done(self, write: Write) -> bool:
        """Whether the write was acknowledged."""
        return self._row("SELECT state FROM writes WHERE id = ?", write.id) == (DONE,)

    def recorded(self, words: str) -> Write | None:
        """The latest write that added a fact with these words."""
        found = self._walk("fact = ? AND state = ?", mark(words), DONE, newest_first=True)
        return next((write for _, write in found if write.text == words), None)

    def saved(self, source: str) -> str | None:
        """The digest of a file as the latest write left it."""
        latest = self._row(
            "SELECT line FROM edits JOIN writes USING (line) WHERE edits.source = ? AND state = ?"
            " ORDER BY line DESC LIMIT 1", source, DONE,
        )  # fmt: skip
        found = self._found("line = ?", *(latest or (None,)))
        edits = [edit for write in found for edit in write.edits if edit.source == source]
        return edits[-1].after if edits else None

    def was(self, source: str, state: str) -> bool:
        """Whether a file's text has had this digest before or after a write."""
        return bool(self._row(
            "SELECT 1 FROM edits JOIN writes USING (line) WHERE edits.source = ?"
            f" AND ? IN (before, after) AND state = {DONE} LIMIT 1", source, mark(state),
        ))  # fmt: skip

    def is_undone(self, write: Write) -> bool:
        """Whether a later write reversed this one."""
        query = "SELECT 1 FROM writes WHERE undoes = ? AND state = ?"
        return bool(self._row(query, write.id, DONE))

    def reversible(self, write: Write) -> bool:
        """Whether the write can still be reversed."""
        can_be = bool(write.edits) and write.action != "undo" and not write.purged
        return can_be and not self.is_undone(write)

    def verdict(self, name: str) -> Verdict | None:
        """What became of a write's fact, if that is known."""
        found = self._row("SELECT verdict FROM writes WHERE id = ?", name)
        verdict: Verdict | None = found[0] if found else None
        return verdict

    def watched(self, source: str) -> list[Watched]:
        """The facts that were written to a file and stand, as far as is known; oldest first."""
        return self._watched("(verdict IS NULL OR verdict = 'seen')", source)

    def gone(self, source: str) -> list[Watched]:
        """The facts of a file that were last seen to be gone, and whose writes can be reversed."""
        return self._watched("verdict IN ('deleted', 'erased', 'dismissed')", source)

    def _watched(self, judged: str, source: str) -> list[Watched]:
        found = self._rows(
            "SELECT line, id, item, heading, request, verdict IS 'seen' FROM writes"
            f" WHERE source = ? AND item IS NOT NULL AND {judged} AND {_STANDS} ORDER BY line",
            source,
        )
        return [
            Watched(line, name, item, heading, request, bool(seen))
            for line, name, item, heading, request, seen in found
        ]

    def erased(self) -> list[Write]:
        """The writes whose facts a stale save took away, and that were not written again since."""
        found = self._walk(f"verdict = 'erased' AND item IS NOT NULL AND {_STANDS}")
        newer = f"fact = ? AND line > ? AND item IS NOT NULL AND {_STANDS}"
        return [
            write
            for (line, _, _), write in found
            if not self._row(f"SELECT 1 FROM writes WHERE {newer}", mark(write.text), line)
        ]

    def entry(self, write: Write) -> JournalEntry:
        """The write as it is shown."""
        return JournalEntry(
            id=write.id,
            time=write.time,
            action=write.action,
            source=write.source,
            text=write.text,
            origin=write.origin,
            undone=self.is_undone(write),
        )

    # Reading the lines

    def _found(self, where: str, *values: object) -> list[Write]:
        return [write for _, write in self._walk(where, *values)]

    def _walk(
        self, where: str, *values: object, newest_first: bool = False
    ) -> Iterator[tuple[tuple[int, int, int], Write]]:
        """The writes for which a condition holds, with their places; read a page at a time."""
        order, beyond = ("DESC", "<") if newest_first else ("ASC", ">")
        query = (
            f"SELECT line, at, length FROM writes WHERE {where} AND line {beyond} ?"
            f" ORDER BY line {order} LIMIT ?"
        )
        last = 1 << 62 if newest_first else -1
        size = 1 if newest_first else PAGE
        while True:
            with self._turn:
                found = self._rows(query, *values, last, size)
                texts = self._texts(found)
            for place, text in zip(found, texts, strict=True):
                kept = self._read(text)
                if isinstance(kept, Write):
                    yield (place[0], place[1], place[2]), kept
            if len(found) < size:
                return
            last, size = found[-1][0], min(size * 8, PAGE)

    def _texts(self, places: list[tuple[Any, ...]]) -> list[bytes]:
        """The lines that stand in the file at these places."""
        if not places:
            return []
        with self._opened() as file:
            return [os.pread(file.fileno(), length, at) for _, at, length in places]

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        with storage.reported("read", self._path), storage.open_file(self._path) as file:
            yield file

    def _read(self, line: bytes) -> Kept:
        try:
            return lines.read(line)
        except (ValueError, RecursionError) as error:
            raise StorageError(f"{self._path} has changed meanwhile", "Try again") from error


def _holds(file: BinaryIO, covered: Covered) -> bool:
    """Whether a file begins with what a checkpoint covers."""
    return _checksum(file, covered.bytes) == covered.crc


def _checksum(file: BinaryIO, size: int) -> int:
    crc = 0
    file.seek(0)
    while size > 0 and (block := file.read(min(size, _BLOCK))):
        crc, size = crc32(block, crc), size - len(block)
    return crc if size == 0 else -1


def _patched(told: bytes, said: Iterable[tuple[tuple[Any, ...], bytes]]) -> bytes:
    """The journal with other texts on some of its lines, filled up with blanks."""
    parts, at = [], 0
    for (_, start, length), text in sorted(said, key=lambda each: each[0][1]):
        parts += [told[at:start], text.ljust(length)]
        at = start + length
    return b"".join([*parts, told[at:]])


def _is_damage(error: BaseException) -> bool:
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(
        error, sqlite3.OperationalError
    )


def _opened_or_made(place: Path) -> Checkpoint:
    try:
        return Checkpoint(place)
    except sqlite3.Error as error:
        if not _is_damage(error):
            raise
        _remove(place)
        return Checkpoint(place)


def _remove(place: Path) -> None:
    for path in (place, *(place.with_name(f"{place.name}{end}") for end in ("-wal", "-shm"))):
        path.unlink(missing_ok=True)
