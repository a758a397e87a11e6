"""A journal's file and its checkpoint, kept in step with what this and other processes append."""

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

from assistant.disk import storage
from assistant.errors import StorageError
from assistant.memory.writing.record import lines
from assistant.memory.writing.record.checkpoint import Checkpoint, Covered
from assistant.memory.writing.record.lines import Entry
from assistant.memory.writing.record.writes import Write

SHORT = 1 << 18
"""A journal of fewer bytes has its checkpoint in memory."""
PAGE = 500
"""Writes that are read at once."""
_BLOCK = 1 << 20
Place = tuple[int, int, int]
"""Where a line is: its number, its first byte, its length."""


class Following:
    """The lines of one file. Thread-safe; several processes may follow it at once."""

    def __init__(self, path: Path, checkpoint: Path | None, short: int) -> None:
        self._path = path
        self._short = short
        self._place = checkpoint
        self._checkpoint = Checkpoint(None)
        self._turn = threading.RLock()

    def refresh(self, *, mend: bool = False, trusted: bool = False) -> None:
        """Take in the lines added since the last call; with `mend`, cut off a torn last one.

        `trusted`: what was taken in before is there still.
        """
        with self._turn:
            try:
                self._refresh(mend, trusted)
            except sqlite3.Error as error:
                self._give_up(error)
                self._refresh(mend, False)

    def _refresh(self, mend: bool, trusted: bool) -> None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            self._forget()
            return
        seen = (status.st_ino, status.st_size, status.st_mtime_ns)
        covered = self._checkpoint.covered
        if seen == covered.seen and not (mend and covered.bytes < status.st_size):
            return
        if status.st_size >= self._short and self._place and not self._checkpoint.path:
            self._settle_on_disk(self._place)
            trusted = False
        with self._opened() as file:
            self._catch_up(file, seen, trusted)
        if mend and self._checkpoint.covered.bytes < status.st_size:
            storage.truncate(self._path, self._checkpoint.covered.bytes)
            self._refresh(False, True)

    def _catch_up(self, file: BinaryIO, seen: tuple[int, int, int], trusted: bool) -> None:
        """Take in what comes after the lines that are covered; all of it if those are others."""
        with self._checkpoint.changing() as covered:
            if covered.seen != seen:
                if not (trusted or _checksum(file, covered.bytes) == covered.crc):
                    self._checkpoint.start_over()
                file.seek(covered.bytes)
                self._checkpoint.take(line for line in file if line.endswith(b"\n"))
                covered.seen = seen

    def _forget(self) -> None:
        """There is no file any more."""
        if self._checkpoint.covered != Covered():
            with self._checkpoint.changing() as covered:
                self._checkpoint.start_over()
                covered.seen = Covered().seen

    def _settle_on_disk(self, place: Path) -> None:
        try:
            storage.private_directory(place.parent)
            on_disk = _opened_or_made(place)
        except (sqlite3.Error, OSError, StorageError):
            self._place = None  # a disk that takes no writes
            return
        self._checkpoint.close()
        self._checkpoint = on_disk

    def _give_up(self, error: sqlite3.Error) -> None:
        """Go on in memory, without a checkpoint that fails."""
        failed, self._checkpoint, self._place = self._checkpoint, Checkpoint(None), None
        failed.close()
        if failed.path and _is_damage(error):
            _remove(failed.path)

    def append(self, entries: Iterable[Entry]) -> None:
        """Add lines to the file, and flush it. Raises StorageError."""
        if data := b"".join(map(lines.written, entries)):
            with self._turn:
                self.refresh()
                storage.append(self._path, data)
                self.refresh(trusted=True)

    def reword(self, reworded: Sequence[tuple[Place, Write]], gone: Sequence[Place]) -> None:
        """Replace the file, at once, by one in which some lines are others and some are blank.

        Each line stays where it was, filled up with blanks, if there is room. Raises StorageError.
        """
        said = [(place, lines.written(write)[:-1]) for place, write in reworded]
        said += [(place, b"" if place[2] else b" ") for place in gone]
        if not said:
            return
        with self._turn:
            storage.replace(self._path, _patched(storage.read(self._path), said))
            try:
                if all(len(text) <= length for (_, _, length), text in said):
                    self._adopt(reworded, gone)
                self._checkpoint.scrub()
            except sqlite3.Error as error:
                self._give_up(error)
            self.refresh()

    def _adopt(self, reworded: Sequence[tuple[Place, Write]], gone: Sequence[Place]) -> None:
        """Have the checkpoint follow a file whose lines stand where they stood."""
        with self._opened() as file, self._checkpoint.changing() as covered:
            status = os.fstat(file.fileno())
            self._checkpoint.reword(
                [(line, write) for (line, _, _), write in reworded], [line for line, _, _ in gone]
            )
            covered.crc = _checksum(file, covered.bytes)
            covered.seen = (status.st_ino, status.st_size, status.st_mtime_ns)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What the checkpoint says."""
        with self._turn:
            try:
                return self._checkpoint.rows(query, *values)
            except sqlite3.Error as error:
                self._give_up(error)
                self._refresh(False, False)
                return self._checkpoint.rows(query, *values)

    def first(self, query: str, *values: object) -> tuple[Any, ...] | None:
        """The first of the rows, if there is one."""
        return next(iter(self.rows(query, *values)), None)

    def walk(
        self, where: str, *values: object, newest_first: bool = False
    ) -> Iterator[tuple[Place, Write]]:
        """The writes for which a condition holds, with their places; read a page at a time."""
        order, beyond = ("DESC", "<") if newest_first else ("ASC", ">")
        query = (
            f"SELECT line, at, length FROM writes WHERE ({where}) AND line {beyond} ?"
            f" ORDER BY line {order} LIMIT ?"
        )
        last, size = (1 << 62, 1) if newest_first else (-1, PAGE)
        while True:
            with self._turn:
                found = [(row[0], row[1], row[2]) for row in self.rows(query, *values, last, size)]
                told = self.read(found)
            yield from ((each, entry) for each, entry in told if isinstance(entry, Write))
            if len(found) < size:
                return
            last, size = found[-1][0], min(size * 8, PAGE)

    def read(self, places: Sequence[Place]) -> list[tuple[Place, Entry]]:
        """What the lines at these places say. Raises StorageError."""
        try:
            return [(place, lines.read(text)) for place, text in self.texts(places)]
        except (ValueError, RecursionError) as error:
            raise StorageError(f"{self._path} has changed meanwhile", "Try again") from error

    def texts(self, places: Sequence[Place]) -> list[tuple[Place, bytes]]:
        """The lines at these places as they stand. Raises StorageError."""
        if not places:
            return []
        with self._opened() as file:
            return [(each, os.pread(file.fileno(), each[2], each[1])) for each in places]

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        with storage.reported("read", self._path), storage.open_file(self._path) as file:
            yield file


def _checksum(file: BinaryIO, size: int) -> int:
    """That of the first bytes of a file; below 0 if there are fewer."""
    crc = 0
    file.seek(0)
    while size > 0 and (block := file.read(min(size, _BLOCK))):
        crc, size = crc32(block, crc), size - len(block)
    return crc if size == 0 else -1


def _patched(told: bytes, said: Iterable[tuple[Place, bytes]]) -> bytes:
    """A file with other texts on some of its lines, filled up with blanks."""
    parts, at = [], 0
    for (_, start, length), text in sorted(said):
        parts += [told[at:start], text.ljust(length)]
        at = start + length
    return b"".join([*parts, told[at:]])


def _is_damage(error: sqlite3.Error) -> bool:
    return not isinstance(error, sqlite3.OperationalError)


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
