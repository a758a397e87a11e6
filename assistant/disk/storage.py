"""Files that survive a crash: atomic replace and append.

Every durable write of the program goes through here, and every system call that can fail goes
through `DISK`, which the tests replace by one that fails on purpose.
"""

import contextlib
import errno
import glob
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

from assistant.disk.exchange import swap
from assistant.errors import StorageError

PRIVATE_DIRECTORY = 0o700
PRIVATE_FILE = 0o600
PRIVATE = ".assistant"
"""The program's own folder in a workspace."""
LARGEST = 256 << 20
"""Bytes of the largest memory file that is read."""
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
        case errno.EISDIR | errno.EINVAL | errno.EEXIST | errno.ENOTDIR:
            return "Move away what lies there in its place"
        case errno.ENOENT:
            return "Check that the folder is still there"
        case _:
            return "Nothing was changed; try again"


def read(path: Path) -> bytes:
    """The bytes of a file. Raises StorageError; a missing file is FileNotFoundError."""
    try:
        with open_file(path) as file:
            return file.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}", _cure(error)) from error


def open_file(path: Path) -> BinaryIO:
    """A regular file, opened for reading: never a pipe, which would wait for ever, nor a device,
    which may have no end. Raises OSError."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is no file")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # something else has taken its place
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no file")
    return os.fdopen(descriptor, "rb")


def private_directory(path: Path) -> Path:
    """Make `path` with mode 0700 if it is missing; its parents as usual, but for a workspace.

    One that was moved away or deleted is not made again. Raises StorageError.
    """
    with reported("made", path):
        for folder in (path, *path.parents):
            if folder.name == PRIVATE and not folder.parent.is_dir():
                raise FileNotFoundError(errno.ENOENT, "there is no workspace any more")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
    return path


def replace(path: Path, data: bytes) -> None:
    """Put `data` in the place of the file at once; a symbolic link stays one.

    Mode, owner, group and extended attributes stay. After a crash the file holds the old bytes or
    the new, and no temporary file is left by an error. Raises StorageError.
    """
    target = path.resolve()
    with reported("written", path):
        fresh, _ = beside(target, data)
        try:
            DISK.rename(fresh, target)
        finally:
            fresh.unlink(missing_ok=True)
        sync_directory(target.parent)


def beside(target: Path, data: bytes) -> tuple[Path, bool]:
    """A temporary file in the same folder, its bytes on the device; and whether it is like the
    target in mode, owner, group and extended attributes."""
    import tempfile  # and five libraries with it: not for who only reads

    descriptor, name = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.name}.", suffix=TEMPORARY
    )
    try:
        alike = _made_like(descriptor, target)
        DISK.write(descriptor, data)
        DISK.sync(descriptor)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    return Path(name), alike


def _made_like(descriptor: int, target: Path) -> bool:
    """Give a new file what the target has; one that is missing gets the owner of its folder."""
    there = target.exists()
    like = (target if there else target.parent).stat()
    alike = _owned_by(descriptor, like) and (not there or _with_attributes_of(descriptor, target))
    os.fchmod(descriptor, stat.S_IMODE(like.st_mode) if there else PRIVATE_FILE)
    return alike


def _owned_by(descriptor: int, like: os.stat_result) -> bool:
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (like.st_uid, like.st_gid):
        try:
            os.fchown(descriptor, like.st_uid, like.st_gid)
        except PermissionError:
            return False
    return True


def _with_attributes_of(descriptor: int, target: Path) -> bool:
    """Copy extended attributes, access control lists among them; false if one refuses."""
    if sys.platform != "linux":
        return True
    try:
        wanted = {name: os.getxattr(target, name) for name in os.listxattr(target)}
        for name in set(os.listxattr(descriptor)) - wanted.keys():
            os.removexattr(descriptor, name)
        for name, value in wanted.items():
            if name not in os.listxattr(descriptor) or os.getxattr(descriptor, name) != value:
                os.setxattr(descriptor, name, value)
    except OSError as error:
        return error.errno == errno.ENOTSUP  # a disk that has none
    return True


def leftovers(path: Path) -> list[Path]:
    """The temporary files that a killed `replace` of this file left beside it."""
    target = path.resolve()
    return list(target.parent.glob(f".{glob.escape(target.name)}.*{TEMPORARY}"))


def sweep(path: Path) -> None:
    """Delete the temporary files that a killed `replace` of this file left beside it."""
    with reported("swept", path):
        for left in leftovers(path):
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


def overwrite(path: Path, data: bytes, old: bytes) -> None:
    """Write `data` into the file itself, which holds `old`: for one that has other names.

    Not at once: after a crash it may hold the head of the one and the tail of the other. Raises
    OSError, then with the old bytes in it again if the disk lets.
    """
    descriptor = os.open(path, os.O_WRONLY)
    try:
        try:
            _fill(descriptor, data)
        except OSError:
            _fill(descriptor, old)
            raise
    finally:
        os.close(descriptor)


def _fill(descriptor: int, data: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    DISK.write(descriptor, data)
    os.ftruncate(descriptor, len(data))
    DISK.sync(descriptor)


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


def give_to_owner(directory: Path) -> None:
    """Give what root made below a directory to whom the folder around it belongs: after `sudo`.

    Files with other names, and what links lead to, are left alone. Raises OSError.
    """
    if os.geteuid() != 0 or not directory.is_dir():
        return
    owner = directory.parent.stat()
    if owner.st_uid == 0:
        return
    for _, _, names, folder in os.fwalk(directory):
        _give(folder, owner)
        for name in names:
            with contextlib.suppress(OSError):  # a link, a pipe, or gone
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                descriptor = os.open(name, flags, dir_fd=folder)
                try:
                    _give(descriptor, owner)
                finally:
                    os.close(descriptor)


def _give(descriptor: int, owner: os.stat_result) -> None:
    status = os.fstat(descriptor)
    alone = stat.S_ISDIR(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink == 1)
    if status.st_uid == 0 and alone:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
