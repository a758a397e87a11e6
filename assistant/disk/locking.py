"""Kernel locks on dedicated files, released automatically when their holder dies.

A lock excludes other processes and other threads of this program, never an editor. The file names
its holder, so that a process that cannot get the lock can report it.
"""

import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path

from assistant.disk.storage import PRIVATE_FILE, read, reported
from assistant.errors import StorageError

PATIENCE = 30.0
"""Seconds to wait for a lock: far longer than any write takes."""
TURNS = 4
"""Factor by which the wait is longer while others take turns with the lock."""
FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.03
"""Seconds between attempts; waiting in the kernel has no timeout."""


class LockHeld(StorageError):
    """A lock was not released in time."""


class Lock:
    """An acquired lock, until `release` or the end of a `with`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor
        self._inode = os.fstat(descriptor).st_ino

    def is_current(self) -> bool:
        """Return False if the file was removed or replaced: another may hold its successor."""
        try:
            return self.path.stat().st_ino == self._inode
        except OSError:
            return False

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.release()


def lock(path: Path, seconds: float = PATIENCE) -> Lock:
    """Wait for the lock.

    Raises LockHeld if one holder keeps it for `seconds`, or if others take turns with it for
    `TURNS` times as long; StorageError.
    """
    start, pause, owner = time.monotonic(), FIRST_PAUSE, holder(path)
    since = start
    while (acquired := try_lock(path)) is None:
        now = time.monotonic()
        if (latest := holder(path)) != owner:
            owner, since = latest, now
        if now >= since + seconds or now >= start + TURNS * seconds:
            process = f"process {owner}" if owner else "another process"
            raise LockHeld(
                f"{process} has held {path} for {now - since:.0f} s",
                "Try again when it has finished, or end it if it hangs",
            )
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
    return acquired


def try_lock(path: Path) -> Lock | None:
    """Return the lock, or None if another holds it. Raises StorageError if the file cannot be
    created."""
    with reported("locked", path):
        descriptor = _open_lock_file(path)
        acquired = Lock(path, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            acquired.release()
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return None
            raise
    if not acquired.is_current():  # removed between the two calls: this lock excludes nobody
        acquired.release()
        return try_lock(path)
    with contextlib.suppress(OSError):  # on a full disk the holder remains unknown
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}".encode(), 0)
    return acquired


def _open_lock_file(path: Path) -> int:
    """Open a lock's file; on a read-only disk an existing one will do."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, PRIVATE_FILE)
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.ENOSPC, errno.EACCES) or not path.exists():
            raise
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)


def holder(path: Path) -> int | None:
    """Return the process that last recorded that it holds the lock."""
    try:
        content = read(path)
    except (FileNotFoundError, StorageError):
        return None
    return int(content) if content.isdigit() else None
