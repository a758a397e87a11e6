"""A session's transcript: an append-only file of JSON lines, or a list off the record.

The file is created with the first entry, not by `create`. An open transcript is locked by a lock
file next to it; `read` takes no lock. If a crash tore the last line, it is cut off with a notice;
any other unreadable line is an error that names it, and is never skipped.
"""

import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import InitVar, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from assistant.disk import locking, storage
from assistant.disk.locking import Lock
from assistant.errors import SessionError
from assistant.events import Notice
from assistant.session import entries as entry_types
from assistant.session import history as turns
from assistant.session.entries import Entry, decode, encode
from assistant.workspace.folder import APPENDING

E = TypeVar("E", bound=Entry)
SUFFIX = ".jsonl"
READING = ".reading.lock"
"""The suffix of the lock of the process that reads a session for facts."""
READER_SECONDS = 5.0
"""The maximum wait for another process that reads it: a chat that compacts stands still."""
SUBTASK = "."
"""Separates the id of a session from the number of its subtask."""
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
"""The characters of the random end of a session id; none of them look alike."""


@dataclass(eq=False)
class Transcript:
    """The entries of one session, in order. `path` is None off the record: nothing is written.

    `data` are the bytes that the file has; none of a new session. `notices` report what had to be
    repaired, when opening the file and since. One that is `borrowed` may be open elsewhere.
    `origin` is the other program in which the conversation took place, empty for this one, `parent`
    the session that started it, if it is a subtask. One that was `imported` is not read for facts.
    """

    session: str
    path: Path | None = None
    data: InitVar[bytes] = b""
    notices: list[str] = field(default_factory=list)
    lock: Lock | None = None
    borrowed: InitVar[bool] = False
    origin: str = ""
    parent: str = ""
    imported: bool = False

    def __post_init__(self, data: bytes, borrowed: bool) -> None:
        self.unwritten: dict[str, bytes] = {}
        """The pictures of a session off the record, by name."""
        self._entries = _parse(self.path, data) if self.path else []
        self._in_effect = turns.in_effect(self._entries)
        self._size = len(data)
        self._borrowed = data if borrowed else None
        """What was read or written of a borrowed session."""
        if self._entries and isinstance(header := self._entries[0], entry_types.HeaderEntry):
            self.origin = header.origin

    @property
    def entries(self) -> Sequence[Entry]:
        """The entries that count, without rewound ones; the header, if any, is the first."""
        return self._in_effect

    @property
    def all_entries(self) -> Sequence[Entry]:
        """All entries, including rewound ones."""
        return self._entries

    @property
    def off_the_record(self) -> bool:
        """Whether nothing of this session may be written anywhere."""
        return self.path is None

    def append(self, entry: E) -> E:
        """Write an entry; return it with its id, and with a time if it had none.

        Raises StorageError, or SessionError if the file was changed from outside, as a purge does.
        """
        (stamped,) = self.extend([entry])
        return stamped

    def extend(self, entries: Sequence[E]) -> list[E]:
        """Write several entries at once, as `append` does."""
        with self._alone():
            self._catch_up()
            new: list[Entry] = []
            if not self._entries and entries:
                self._claim()
                version = ".".join(map(str, entry_types.FORMAT))
                begun = version, self.session, self.origin, self.parent, self.imported
                header = entry_types.HeaderEntry(*begun, time=entries[0].time)
                new.append(_stamped(header, 0))
            first = len(self._entries) + len(new)
            stamped = [_stamped(entry, first + offset) for offset, entry in enumerate(entries)]
            self._write([*new, *stamped])
        return stamped

    def check(self) -> None:
        """Raise SessionError if the file was changed from outside."""
        with self._alone():
            self._catch_up()

    def reading(self) -> AbstractContextManager[object]:
        """Return a lock that keeps other processes from reading the session for facts. Raises
        LockHeld."""
        if self.path is None:
            return nullcontext()
        return locking.lock(self.path.with_suffix(READING), READER_SECONDS)

    def settle(self, reason: str) -> None:
        """End an unfinished turn for this `reason`; its open calls get results."""
        self.check()
        for result in list(turns.lost_results(self.entries, turns.STOPPED)):
            self.append(result)
        turn = turns.last_turn(self.entries)
        if turn and not turn.finished:
            self.append(entry_types.InterruptedEntry(reason))

    def close(self) -> None:
        """Release the session for others."""
        if self.lock is not None:
            self.lock.release()
            self.lock = None

    def _claim(self) -> None:
        """Lock a new session, under another id if its own has been taken in the meantime."""
        while self.path is not None and self.lock is None and self._borrowed is None:
            directory = storage.private_directory(self.path.parent)
            lock = locking.try_lock(directory / f"{self.session}.lock")
            if lock is not None and not self.path.exists():
                self.lock = lock
                return
            if lock is not None:
                lock.release()
            self.session = new()
            self.path = directory / f"{self.session}{SUFFIX}"

    def _alone(self) -> AbstractContextManager[object]:
        """Return a lock that keeps other processes from appending meanwhile."""
        if self.path is None:
            return nullcontext()
        return locking.lock(storage.private_directory(self.path.parent) / APPENDING)

    def _write(self, entries: Sequence[Entry]) -> None:
        if self.path is not None:
            if self.lock is None and self._borrowed is None:
                self.lock = locked(storage.private_directory(self.path.parent), self.session)
            data = b"".join(map(encode, entries))
            storage.append(self.path, data)
            self._size += len(data)
            if self._borrowed is not None:
                self._borrowed += data
        self._take(entries)

    def _take(self, entries: Sequence[Entry]) -> None:
        self._entries.extend(entries)
        if any(isinstance(entry, entry_types.RewindEntry) for entry in entries):
            self._in_effect = turns.in_effect(self._entries)
        else:
            self._in_effect.extend(entries)

    def _catch_up(self) -> None:
        """Read what other writers have appended since, and cut off a half-written line.

        Raises SessionError if the file was changed in any other way.
        """
        if self.path is None or not self._size:
            return
        size = self.path.stat().st_size if self.path.exists() else 0
        if size == self._size and self._borrowed is None:
            return
        data = storage.read(self.path) if size else b""
        if size < self._size or not data.startswith(self._borrowed or b""):
            raise SessionError(
                f"session {self.session} was purged, changed or removed while it was open",
                "Start a new session",
            )
        missed, length, _ = _decoded(data[self._size :])
        end = self._size + length
        if end < size:
            storage.replace(self.path, data[:end])
            if b"\n" in data[end:].lstrip():  # more than half a line
                self.notices.append(
                    f"{size - end:,} bytes that are not entries were written to session "
                    f"{self.session} while it was open; they are cut off"
                )
        ids = {entry.id for entry in self._entries}
        self._take([entry for entry in missed if entry.id not in ids])
        self._size = end
        if self._borrowed is not None:
            self._borrowed = data[:end]


def notice(transcript: Transcript, text: str) -> Notice:
    """Record a notice to the owner; return the event that shows it."""
    transcript.append(entry_types.NoticeEntry(text))
    return Notice(text)


def _stamped(entry: E, number: int) -> E:
    time = entry.time or datetime.now(UTC).isoformat(timespec="milliseconds")
    return replace(entry, id=f"e{number}", time=time)


def create(directory: Path, origin: str = "") -> Transcript:
    """Create a new session; its file in `directory` is created with the first entry.

    `origin` says what began the session if it was not the owner in a chat.
    """
    session = new()
    return Transcript(session, directory / f"{session}{SUFFIX}", origin=origin)


def subtask(directory: Path, session: str) -> Transcript:
    """Open the session of a subtask, `PARENT.NUMBER`, new or again. Raises SessionError."""
    path = directory / f"{session}{SUFFIX}"
    if path.exists() and path.stat().st_size:
        return reopen(directory, session)
    return Transcript(session, path, parent=session.rpartition(SUBTASK)[0])


def off_the_record() -> Transcript:
    """Create a session that is kept in memory only."""
    return Transcript("off-the-record")


def reopen(directory: Path, name: str) -> Transcript:
    """Open a session to continue it; a torn last line is cut off.

    `name` is its id, or the beginning or end of it. Raises SessionError if the session is open
    elsewhere, missing, ambiguous, damaged, or of a later format.
    """
    session = find(directory, name)
    path = directory / f"{session}{SUFFIX}"
    lock = locked(directory, session)
    try:
        data = storage.read(path)
        whole, torn = whole_lines(data)
        notices = []
        if whole != data:
            storage.replace(path, whole)
        if torn:
            notices.append(
                f"The last line of session {session} was cut short by a crash and is lost"
            )
        transcript = Transcript(session, path, whole, notices, lock)
        if not turns.resumable(transcript.entries):
            for result in list(turns.lost_results(transcript.entries)):
                transcript.append(result)
        return transcript
    except BaseException:
        lock.release()
        raise


def borrow(directory: Path, session: str) -> Transcript:
    """Open a session to append to it even if it is open elsewhere; nothing is repaired.

    Raises SessionError, StorageError.
    """
    path = directory / f"{session}{SUFFIX}"
    data = whole_lines(storage.read(path))[0]
    return Transcript(session, path, data, borrowed=True)


def read(directory: Path, name: str) -> tuple[Entry, ...]:
    """Read the entries of a session, even if it is open elsewhere. Raises SessionError."""
    return entries_of(directory / f"{find(directory, name)}{SUFFIX}")


def read_all(directory: Path, name: str) -> list[Entry]:
    """Read the entries of a session as `read` does, with those rewound. Raises SessionError."""
    path = directory / f"{find(directory, name)}{SUFFIX}"
    return _parse(path, whole_lines(storage.read(path))[0])


def entries_of(path: Path) -> tuple[Entry, ...]:
    """Read the entries of a session's file that count. Raises SessionError."""
    return tuple(turns.in_effect(_parse(path, whole_lines(storage.read(path))[0])))


def whole_lines(data: bytes) -> tuple[bytes, bool]:
    """Return the whole lines without trailing blank ones, and whether part of a line follows."""
    end = data.rfind(b"\n") + 1
    whole = data[:end].rstrip()
    stop = data.find(b"\n", len(whole)) + 1 if whole else 0
    return data[:stop], bool(data[end:].strip())


def _decoded(data: bytes) -> tuple[list[Entry], int, Exception | None]:
    """Return the entries before the first bad or incomplete line, its offset, and the error."""
    entries: list[Entry] = []
    end = 0
    for line in data.split(b"\n")[:-1]:
        try:
            entries.append(decode(line))
        except (ValueError, RecursionError) as error:
            return entries, end, error
        end += len(line) + 1
    return entries, end, None


def _parse(path: Path, data: bytes) -> list[Entry]:
    """Decode whole lines. Raises SessionError that names the first bad line."""
    entries, _, error = _decoded(data)
    if entries:
        _check_header(path, entries[0])
    if error is not None:
        raise SessionError(
            f"line {len(entries) + 1} of {path} cannot be read: {error}",
            "Correct that line, or remove it",
        ) from error
    return entries


def _check_header(path: Path, first: Entry) -> None:
    if not isinstance(first, entry_types.HeaderEntry):
        raise SessionError(
            f"line 1 of {path} is not a header", "Restore it, or start a new session"
        )
    major = first.version.partition(".")[0]
    if not major.isdigit() or int(major) > entry_types.FORMAT[0]:
        raise SessionError(
            f"{path} is of format {first.version}, which this version cannot read",
            "Update the assistant",
        )


# Finding sessions


def new() -> str:
    """Return a new id, which begins with the time in UTC."""
    now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{now}-{''.join(secrets.choice(ALPHABET) for _ in range(3))}"


def find(directory: Path, name: str) -> str:
    """Return the id of the only session that begins or ends with `name`. Raises SessionError."""
    ids = session_ids(directory) if SUBTASK not in name else subtask_ids(directory)
    if name in ids:
        return name
    matches = [id_ for id_ in ids if name and (id_.startswith(name) or id_.endswith(name))]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise SessionError(
            f"{len(matches)} sessions match {name!r}: {', '.join(matches[:5])}",
            "Type more of its id",
        )
    raise SessionError(f"there is no session {name!r}", "`assistant sessions list` lists them")


def session_ids(directory: Path) -> list[str]:
    """Return the ids of all sessions, oldest first, without those of subtasks."""
    return sorted(path.stem for path in directory.glob(f"*{SUFFIX}") if SUBTASK not in path.stem)


def subtask_ids(directory: Path, session: str = "*") -> list[str]:
    """Return the ids of the subtasks of one session, or of all sessions."""
    return sorted(path.stem for path in directory.glob(f"{session}{SUBTASK}*{SUFFIX}"))


def is_open(directory: Path, session: str) -> bool:
    """Return whether a chat has the session open."""
    if not (directory / f"{session}.lock").exists():
        return False
    lock = locking.try_lock(directory / f"{session}.lock")
    if lock is not None:
        lock.release()
    return lock is None


def locked(directory: Path, session: str) -> Lock:
    """Acquire the session's lock. Raises SessionError if the session is open."""
    path = directory / f"{session}.lock"
    lock = locking.try_lock(path)
    if lock is None:
        raise SessionError(
            f"session {session} is open in another chat (process {locking.holder(path) or '?'})",
            "Close it there, or start a new one",
        )
    return lock
