"""The one way to lock: a kernel lock on a file of its own, which is dropped when its holder dies.

It keeps other processes and other threads of this program out, never an editor. The file says who
holds it, so that whoever cannot have it can say so.
"""

import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path

from assistant.disk.storage import PRIVATE_FILE, reported
from assistant.errors import StorageError

PATIENCE = 30.0
"""Seconds that a lock is waited for: far longer than any write takes."""
TURNS = 4
"""So many times as long it is waited for while others take turns at it."""
FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.03
"""Between two attempts; the kernel's own queue has no end to its waiting."""


class LockHeld(StorageError):
    """A lock was not let go for as long as it was waited for."""


class Lock:
    """A lock that is held, until `release` or the end of a `with`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor
        self._inode = os.fstat(descriptor).st_ino

    def stands(self) -> bool:
        """False once the file was removed or replaced: another may hold its successor."""
        try:
            return self.path.stat().st_ino == self._inode
        except OSError:
            return False

    def release(self) -> None:
        """Let it go; a second time does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.release()


def lock(path: Path, seconds: float = PATIENCE) -> Lock:
    """The lock, waited for. Raises LockHeld if one holder keeps it for so many seconds, or if
    others take turns at it for `TURNS` times as long; StorageError."""
    began, pause, keeper = time.monotonic(), FIRST_PAUSE, holder(path)
    since = began
    while (held := try_lock(path)) is None:
        now = time.monotonic()
        if (latest := holder(path)) != keeper:
            keeper, since = latest, now
        if now >= since + seconds or now >= began + TURNS * seconds:
            raise LockHeld(
                f"{_named(keeper)} has held {path} for {now - since:.0f} s",
                "Try again when it has finished, or end it if it hangs",
            )
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
    return held


def try_lock(path: Path) -> Lock | None:
    """The lock, or None if another holds it. Raises StorageError if the file cannot be made."""
    with reported("locked", path):
        descriptor = _opened(path)
        held = Lock(path, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            held.release()
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return None
            raise
    if not held.stands():  # removed between the two calls: this lock keeps nobody out
        held.release()
        return try_lock(path)
    with contextlib.suppress(OSError):  # on a full disk nobody learns who holds it
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}".encode(), 0)
    return held


def _opened(path: Path) -> int:
    """The file of a lock; on a read-only disk it may be there already, which is enough."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, PRIVATE_FILE)
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.ENOSPC, errno.EACCES) or not path.exists():
            raise
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)


def holder(path: Path) -> int | None:
    """The process that said last that it holds the lock: for one who cannot have it."""
    try:
        said = path.read_bytes()
    except OSError:
        return None
    return int(said) if said.isdigit() else None


def _named(process: int | None) -> str:
    return f"process {process}" if process else "another process"
