"""Files that survive a crash: atomic replace and append.

Every durable write of the program goes through here, and every system call that can fail goes
through `DISK`, which the tests replace by one that fails on purpose.
"""

import contextlib
import errno
import glob
import os
import stat
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from assistant.errors import StorageError
from assistant.exchange import await_writers, swap

PRIVATE_DIRECTORY = 0o700
PRIVATE_FILE = 0o600
TEMPORARY = ".assistant-tmp"
"""How the names of temporary files end."""


class Disk:
    """The system calls that can fail: write, flush to the device, rename."""

    def write(self, descriptor: int, data: bytes) -> None:
        """Write all of `data`."""
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]

    def sync(self, descriptor: int) -> None:
        """Return when what was written is on the device."""
        os.fsync(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        """Put `source` in the place of `target` at once."""
        source.replace(target)

    def exchange(self, source: Path, target: Path) -> bool:
        """Let the two trade places at once; False where that cannot be done."""
        return swap(source, target)


DISK = Disk()
_AnyDisk = TypeVar("_AnyDisk", bound=Disk)


@contextlib.contextmanager
def using(disk: _AnyDisk) -> Iterator[_AnyDisk]:
    """Go through another disk for a while: how the tests make writes fail."""
    global DISK
    usual, DISK = DISK, disk
    try:
        yield disk
    finally:
        DISK = usual


@contextlib.contextmanager
def reported(action: str, path: Path) -> Iterator[None]:
    """Translate an OSError into a StorageError that says what failed on which file."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be {action}: {error.strerror}", _cure(error)) from error


def _cure(error: OSError) -> str:
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return "Check who may read and write it"
        case errno.EROFS:
            return "The disk is read-only; use a workspace elsewhere with -w"
        case errno.ENOSPC | errno.EDQUOT:
            return "The disk is full; make room and try again"
        case errno.ENOENT:
            return "Check that the folder is still there"
        case _:
            return "Nothing was changed; try again"


def read(path: Path) -> bytes:
    """The bytes of a file. Raises StorageError; a missing file is FileNotFoundError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}", _cure(error)) from error


def private_directory(path: Path) -> Path:
    """Make `path` with mode 0700 if it is missing; its parents as usual."""
    with reported("made", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
    return path


def replace(path: Path, data: bytes, *, expected: bytes | None = None) -> bool:
    """Put `data` in the place of the file at once, keeping its mode; a symbolic link stays one.

    With `expected`, the file is left alone and False returned if it no longer holds these bytes
    (a missing file counts as empty). A program that saves it in the very instant of the exchange
    wins too, where the system can swap files. After a crash the file holds the old bytes or the
    new, and no temporary file is left by an error. Raises StorageError.
    """
    target = path.resolve()
    with reported("written", path):
        fresh = _beside(target, data)
        try:
            if expected is None:
                DISK.rename(fresh, target)
            elif not _exchanged(fresh, target, data, expected):
                return False
        finally:
            fresh.unlink(missing_ok=True)
        sync_directory(target.parent)
    return True


def _beside(target: Path, data: bytes) -> Path:
    """A temporary file in the same folder, with the same mode, its bytes on the device."""
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else PRIVATE_FILE
    descriptor, name = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.name}.", suffix=TEMPORARY
    )
    try:
        os.fchmod(descriptor, mode)
        DISK.write(descriptor, data)
        DISK.sync(descriptor)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    return Path(name)


def _exchanged(fresh: Path, target: Path, data: bytes, expected: bytes) -> bool:
    """Put `fresh` in the target's place, unless that holds, or is being given, other bytes."""
    if held(target) != expected:
        return False
    if not target.exists() or not DISK.exchange(fresh, target):
        DISK.rename(fresh, target)
        return True
    await_writers(fresh)
    if held(fresh) == expected:
        return True
    while DISK.exchange(fresh, target) and held(fresh) != data:
        pass  # yet another save came in between; the later one goes back
    return False


def sweep(path: Path) -> None:
    """Delete the temporary files that a killed `replace` of this file left beside it."""
    target = path.resolve()
    with reported("swept", path):
        for left in target.parent.glob(f".{glob.escape(target.name)}.*{TEMPORARY}"):
            left.unlink(missing_ok=True)


def held(path: Path) -> bytes:
    """The bytes of a file, none for a missing one. Raises StorageError."""
    try:
        return read(path)
    except FileNotFoundError:
        return b""


def truncate(path: Path, size: int) -> None:
    """Cut a file to its first `size` bytes, and flush it. Raises StorageError."""
    with reported("written", path):
        descriptor = os.open(path, os.O_WRONLY)
        try:
            os.ftruncate(descriptor, size)
            DISK.sync(descriptor)
        finally:
            os.close(descriptor)


def append(path: Path, data: bytes) -> None:
    """Add `data` to the end of a file, made with mode 0600 if it is missing, and flush it.

    On an error the file is cut back to what it held. Raises StorageError.
    """
    with reported("written", path):
        made = not path.exists()
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE_FILE)
        try:
            before = os.fstat(descriptor).st_size
            try:
                DISK.write(descriptor, data)
                DISK.sync(descriptor)
            except OSError:
                os.ftruncate(descriptor, before)
                raise
        finally:
            os.close(descriptor)
        if made:
            sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Flush a directory's entries, so that a rename in it survives a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        DISK.sync(descriptor)
    finally:
        os.close(descriptor)


def checksum(path: Path) -> tuple[int, int]:
    """Size and CRC-32 of a file; 20 ms for 23 MB."""
    crc = size = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            crc = zlib.crc32(block, crc)
            size += len(block)
    return size, crc
