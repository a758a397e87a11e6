"""Whether a file of a folder can have changed, asked of the kernel with two system calls.

Linux queues an event before the call that made the change returns, so that no event is proof, and
the files need not be looked at one by one before each answer. It is proof only where the kernel
sees every change: on a file system of this machine, of files that have one name and are no links.
"""

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from io import FileIO
from pathlib import Path
from typing import Any

from assistant.disk.mounts import file_system

LOCAL = {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"}
"""File systems that nobody changes but through this kernel."""
LONGEST = 10.0
"""Seconds until all is looked at again: a file may be given another name later, be written through
a map of memory that stays open, or have another disk mounted over it."""
_AT_ONCE = 1 << 16
Folders = dict[str, int]
"""By name, relative to the root: what the kernel calls its watch."""


class Stillness:
    """Of one folder. Its callers take turns."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._queue: FileIO | None = None
        self._watched: Folders = {}
        self._place: tuple[int, int] | None = None
        self._since = 0.0
        self._proven = False

    def lasts(self) -> bool:
        """Whether all is certainly as it was when `prove` was last told so."""
        if not self._proven or time.monotonic() - self._since > LONGEST:
            return False
        self._proven = self._found() == self._place and not self._drained()
        return self._proven

    def begin(self) -> None:
        """From here on count what changes: all is going to be looked at."""
        self._proven, self._since, self._place = False, time.monotonic(), self._found()
        self._drained()

    def prove(self, folders: Sequence[str], *, whole: bool) -> None:
        """All was looked at since `begin`, in these folders; `whole`: each file was as it was known
        to be, for certain."""
        before = self._watched
        self._watched = self._watch(folders)
        self._proven = whole and bool(before) and before == self._watched

    def close(self) -> None:
        """Count no more."""
        if self._queue is not None:
            self._queue.close()
        self._queue, self._watched, self._proven = None, {}, False

    def _found(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._root)  # noqa: PTH116
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _drained(self) -> bool:
        """Whether there was an event; none is left."""
        any_ = False
        while self._queue is not None and self._queue.read(_AT_ONCE):
            any_ = True
        return any_

    def _watch(self, folders: Sequence[str]) -> Folders:
        """Watch these folders and no others; those that are watched then, none if one cannot be."""
        try:
            from watchdog.observers import inotify_c as kernel
        except (ImportError, AttributeError):  # not on Linux
            return {}
        queue = self._opened(kernel.inotify_init) if folders else None
        if queue is None:
            return {}
        found = Folders()
        for name in folders:
            path = f"{self._root}/{name}"
            number = int(kernel.inotify_add_watch(queue.fileno(), os.fsencode(path), _mask(kernel)))
            if number < 0 or not self._is_here(path):
                found = {}
                break
            found[name] = number
        for number in set(self._watched.values()).difference(found.values()):
            kernel.inotify_rm_watch(queue.fileno(), kernel.WatchDescriptor(number))
        return found

    def _opened(self, make: Callable[[], int]) -> FileIO | None:
        """The kernel's queue of events; none where it would not tell all, or has no more."""
        if self._queue is None and file_system(self._root) in LOCAL and (queue := make()) >= 0:
            os.set_inheritable(queue, False)
            os.set_blocking(queue, False)
            self._queue = FileIO(queue)
        return self._queue

    def _is_here(self, path: str) -> bool:
        """Whether a folder lies on the same file system as the root."""
        with contextlib.suppress(OSError):
            return self._place is not None and os.stat(path).st_dev == self._place[0]  # noqa: PTH116
        return False


def _mask(kernel: Any) -> int:
    """All that changes what a folder holds; not what only reads, which we do ourselves."""
    of = kernel.InotifyConstants
    return int(
        of.IN_MODIFY | of.IN_ATTRIB | of.IN_CLOSE_WRITE | of.IN_MOVE | of.IN_CREATE
        | of.IN_DELETE | of.IN_DELETE_SELF | of.IN_MOVE_SELF | of.IN_ONLYDIR | of.IN_DONT_FOLLOW
    )  # fmt: skip
