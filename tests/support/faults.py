"""A disk that fails on purpose."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from assistant.disk import storage
from assistant.disk.storage import Disk

_AnyDisk = TypeVar("_AnyDisk", bound=Disk)


@contextlib.contextmanager
def using(disk: _AnyDisk) -> Iterator[_AnyDisk]:
    """Let every write go through this disk for a while."""
    previous, storage.DISK = storage.DISK, disk
    try:
        yield disk
    finally:
        storage.DISK = previous


class FailingDisk(Disk):
    """Fails its `nth` call (from 1) with an errno, and every one after it if `for_good`.

    A failing write puts half of its bytes down first, as a full disk does.
    """

    def __init__(self, nth: int, code: int = errno.EIO, *, for_good: bool = False) -> None:
        self.nth = nth
        self.calls = 0
        self._code = code
        self._for_good = for_good

    def write(self, descriptor: int, data: bytes) -> None:
        if self._fails():
            os.write(descriptor, data[: len(data) // 2])
            raise OSError(self._code, os.strerror(self._code))
        super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        self._check()
        super().sync(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        self._check()
        super().rename(source, target)

    def exchange(self, source: Path, target: Path) -> bool:
        self._check()
        return super().exchange(source, target)

    def _check(self) -> None:
        if self._fails():
            raise OSError(self._code, os.strerror(self._code))

    def _fails(self) -> bool:
        self.calls += 1
        return self.calls == self.nth or (self._for_good and self.calls > self.nth)
