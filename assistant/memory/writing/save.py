"""Put files in place that their owner's programs may have open, or save in the same instant.

A file that another program has open for writing is never replaced: what that still writes would be
lost. It is waited for, with a word, then refused. A file saved since it was read is left alone.
"""

import os
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from assistant.disk import storage
from assistant.disk.exchange import Guard, writers
from assistant.errors import StorageError

PATIENCE = 5.0
"""Seconds that a program which has a file open for writing is waited for."""
FIRST_WORD = 0.5
"""Seconds after which whoever waits is told why: most saves take less."""
PAUSE = 0.01

Tell = Callable[[str], None]
"""Called with what is waited for."""


def no_word(what: str) -> None:
    """Tell nobody."""


Sign = tuple[int, int, int, int]
"""Inode, size and times: what tells a file from its other selves, if not for certain."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it was read; `sign` is None if there was none."""

    path: Path
    data: bytes
    sign: Sign | None


def look(path: Path) -> Seen:
    """Read a file, or see that there is none. Raises StorageError."""
    with storage.reported("read", path):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return Seen(path, b"", None)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise StorageError(f"{path} is no ordinary file", "Put a file in its place")
            if found.st_size > storage.LARGEST:
                raise StorageError(f"{path} is larger than {storage.LARGEST >> 20} MB", "Split it")
            return Seen(path, file.read(), _sign(found))


def put(
    changes: Sequence[tuple[Seen, bytes]], tell: Tell = no_word, patience: float = PATIENCE
) -> bool:
    """Give each file its new bytes, in order. False at one that was saved since it was seen.

    Mode, owner, group, extended attributes and links stay. None is touched while another program
    has one of them open for writing: then StorageError is raised after `patience` seconds.
    """
    with ExitStack() as held:
        saves = [_Save(seen, data) for seen, data in changes]
        for save in saves:
            held.enter_context(closing(save))
            with storage.reported("written", save.seen.path):
                save.prepare(tell, patience)
        for save in saves:
            with storage.reported("written", save.seen.path):
                if not save.carry_out():
                    return False
    return True


class _Save:
    """One file on its way to its new bytes, which are in a file beside it."""

    def __init__(self, seen: Seen, data: bytes) -> None:
        self.seen = seen
        self._data = data
        self._target = seen.path.resolve()
        self._fresh: Path | None = None
        self._guard: Guard | None = None
        self._in_place = False

    def prepare(self, tell: Tell, patience: float) -> None:
        """Write the new bytes beside it, and keep writers out."""
        self._fresh, alike = storage.beside(self._target, self._data)
        if self.seen.sign is not None:
            self._guard = _kept_still(self._target, tell, patience)
            self._in_place = not alike or self._target.stat().st_nlink > 1

    def carry_out(self) -> bool:
        """Let the new bytes be the file's; False if it has been saved since it was seen."""
        assert self._fresh is not None
        if self._guard is None:
            done = self._made(self._fresh)
        elif sign_of(self._target) != self.seen.sign:
            return False
        elif self._in_place:
            done = self._overwritten(self._guard)
        else:
            done = self._exchanged(self._fresh, self._guard)
        storage.sync_directory(self._target.parent)
        return done

    def close(self) -> None:
        """Let writers in again; no temporary file stays."""
        if self._guard is not None:
            self._guard.close()
        if self._fresh is not None:
            self._fresh.unlink(missing_ok=True)

    def _made(self, fresh: Path) -> bool:
        """Put a file where there was none; false if there is one by now."""
        if self._target.exists():
            return False
        storage.DISK.rename(fresh, self._target)
        return True

    def _exchanged(self, fresh: Path, guard: Guard) -> bool:
        """Swap the two, and swap them back if the old one is not as it was seen, or gets written.

        Where files cannot be swapped, the old one is looked at before it is replaced.
        """
        if not storage.DISK.exchange(fresh, self._target):
            if not self._as_seen(guard):
                return False
            storage.DISK.rename(fresh, self._target)
            return True
        if os.path.samestat(fresh.stat(), os.fstat(guard.descriptor)) and self._as_seen(guard):
            guard.release()
            if guard.take():  # nobody slipped in
                return True
        while storage.DISK.exchange(fresh, self._target) and fresh.read_bytes() != self._data:
            pass  # yet another save came in between; the later one goes back
        return False

    def _overwritten(self, guard: Guard) -> bool:
        """Write into the file itself: it has other names, or its like cannot be made."""
        if not self._as_seen(guard):
            return False
        guard.release()
        storage.overwrite(self._target, self._data, self.seen.data)
        return True

    def _as_seen(self, guard: Guard) -> bool:
        """Whether the guarded file holds what it held, and nobody is about to write it."""
        os.lseek(guard.descriptor, 0, os.SEEK_SET)
        with os.fdopen(guard.descriptor, "rb", closefd=False) as file:
            return file.read() == self.seen.data and guard.undisturbed()


def _kept_still(target: Path, tell: Tell, patience: float) -> Guard:
    """A file that nobody has open for writing. Raises StorageError if somebody keeps it open."""
    guard = Guard(target)
    began = time.monotonic()
    told = False
    while not guard.take():
        waited = time.monotonic() - began
        if waited >= patience:
            guard.close()
            raise StorageError(
                f"{target.name} is open for writing in {_who(target)}; nothing was changed",
                "Close it there and try again",
            )
        if waited >= FIRST_WORD and not told:
            tell(f"Waiting for {_who(target)}, which writes {target.name}")
            told = True
        time.sleep(PAUSE)
    return guard


def _who(target: Path) -> str:
    return " and ".join(writers(target)) or "another program"


def sign_of(path: str | Path) -> Sign | None:
    """Of a file as it is now; None if there is none. Raises OSError."""
    try:
        return _sign(os.stat(path))  # noqa: PTH116
    except FileNotFoundError:
        return None


def _sign(found: os.stat_result) -> Sign:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
