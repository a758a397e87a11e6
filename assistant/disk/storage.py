"""Crash-safe files: atomic replace and append.

Every durable write of the program uses this module, and every system call that can fail goes
through `DISK`, which tests replace with one that fails on purpose.
"""

import contextlib
import errno
import glob
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, NamedTuple

from assistant.disk.exchange import swap
from assistant.errors import StorageError

PRIVATE_DIRECTORY = 0o700
PRIVATE_FILE = 0o600
PRIVATE = ".assistant"
"""The program's own folder in a workspace."""
LARGEST = 256 << 20
"""Maximum size of a memory file, in bytes."""
TEMPORARY = ".assistant-tmp"
"""The suffix of temporary files."""
TOOL_FOLDERS: set[Path] = set()
"""Folders in which this process's tools may write: no program is run from below them."""


class Disk:
    """The system calls that can fail: write, flush to the device, rename."""

    def write(self, descriptor: int, data: bytes) -> None:
        """Write all of `data`."""
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]

    def sync(self, descriptor: int) -> None:
        """Flush written data to the device."""
        os.fsync(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        """Replace `target` with `source` atomically."""
        source.replace(target)

    def exchange(self, source: Path, target: Path) -> bool:
        """Swap the two atomically; return False if that is not possible."""
        return swap(source, target)


DISK = Disk()


def expanded(path: str | Path) -> Path:
    """Return the path with `~` expanded; unchanged if its user is unknown."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  # pathlib raises for an unknown user


@contextlib.contextmanager
def reported(action: str, path: Path) -> Iterator[None]:
    """Translate an OSError into a StorageError with the failed action and the file."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be {action}: {error.strerror}", _cure(error)) from error


def _cure(error: OSError) -> str:
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return "Check its permissions"
        case errno.EROFS:
            return "The disk is read-only; use a workspace elsewhere with -w"
        case errno.ENOSPC | errno.EDQUOT:
            return "The disk is full; make room and try again"
        case errno.EISDIR | errno.EINVAL | errno.EEXIST | errno.ENOTDIR:
            return "Move what is there out of the way"
        case errno.ENOENT:
            return "Check that the folder is still there"
        case errno.EFBIG:
            return "Split it"
        case _:
            return "Nothing was changed; try again"


def read(path: Path) -> bytes:
    """Return the bytes of a file. Raises StorageError; a missing file is FileNotFoundError."""
    try:
        with open_file(path) as file:
            return file.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}", _cure(error)) from error


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading: never a pipe, which would block, nor a device, which may be
    endless. Raises OSError."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a file")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # replaced meanwhile
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a file")
    return os.fdopen(descriptor, "rb")


def text_fault(data: bytes) -> str:
    """Return where bytes are not text: `a zero byte at 3`, `byte 7`; "" if they are UTF-8."""
    if (zero := data.find(b"\0")) >= 0:
        return f"a zero byte at {zero}"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"byte {error.start}"
    return ""


class Stat(NamedTuple):
    """The status that shows, without reading a file, whether it has changed."""

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


def stat_of(path: str | Path) -> Stat:
    """Return a file's stat. Raises OSError."""
    return _stat(os.stat(path))  # noqa: PTH116


def stat_or_none(path: str | Path) -> Stat | None:
    """Return a file's stat; None if there is none."""
    try:
        return stat_of(path)
    except OSError:
        return None


def inode(path: Path) -> int | None:
    """Return a file's inode; None if there is none."""
    stat = stat_or_none(path)
    return stat and stat.inode


def read_with_stat(path: Path) -> tuple[bytes, Stat]:
    """Return the bytes of a memory file, and its stat from before the read. Raises OSError."""
    with open_file(path) as file:
        status = os.fstat(file.fileno())
        if status.st_size > LARGEST:
            raise OSError(errno.EFBIG, f"it is larger than {LARGEST >> 20} MB")
        # files in /proc have no size, and may be endless
        data = file.read() if status.st_size else b""
        return data, _stat(status)


def _stat(status: os.stat_result) -> Stat:
    return Stat(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


# By name in an open directory, so that no link in the path is followed

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Non-blocking: opening a FIFO must not wait for its writer."""
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
NEW_MODE = 0o666
"""The mode of a new file, before the owner's umask."""


def status_in(directory: int, name: str) -> os.stat_result | None:
    """Return the status of a name, without following a link; None if it is missing."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def replace_in(
    directory: int,
    name: str,
    data: bytes,
    mode: int | None = None,
    check: Callable[[], object] = lambda: None,
) -> None:
    """Replace or create a file atomically. `check` is called last, and may refuse by raising an
    error.

    Raises OSError.
    """
    temporary = f".{token_hex(8)}.tmp"
    descriptor = os.open(temporary, NEW_FILE, NEW_MODE, dir_fd=directory)
    try:
        try:
            if mode is not None:
                os.fchmod(descriptor, mode)
            DISK.write(descriptor, data)
            DISK.sync(descriptor)
        finally:
            os.close(descriptor)
        check()
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        os.unlink(temporary, dir_fd=directory)
        raise


def private_directory(path: Path) -> Path:
    """Create `path` with mode 0700 if it is missing, and its parents, except a workspace.

    A workspace that was moved away or deleted is not created again. Raises StorageError.
    """
    with reported("made", path):
        for folder in (path, *path.parents):
            if folder.name == PRIVATE and not folder.parent.is_dir():
                raise FileNotFoundError(errno.ENOENT, "there is no workspace any more")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
    return path


def replace(path: Path, data: bytes) -> None:
    """Replace the file's content with `data` atomically; a symbolic link stays one.

    Mode, owner, group and extended attributes are kept. After a crash the file has either the old
    or the new bytes, and errors leave no temporary file. Raises StorageError.
    """
    target = path.resolve()
    with reported("written", path), temporary(target, data) as (new, _):
        DISK.rename(new, target)
        sync_directory(target.parent)


@contextlib.contextmanager
def temporary(target: Path, data: bytes) -> Iterator[tuple[Path, bool]]:
    """Write a temporary file in the same folder, flushed to the device; yield it, and whether it
    matches the target in mode, owner, group and extended attributes. Delete it afterwards, unless
    it was renamed."""
    import tempfile  # imports five more modules, which readers do not need

    descriptor, name = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.name}.", suffix=TEMPORARY
    )
    try:
        try:
            copied = _copy_metadata(descriptor, target)
            DISK.write(descriptor, data)
            DISK.sync(descriptor)
        finally:
            os.close(descriptor)
        yield Path(name), copied
    finally:
        Path(name).unlink(missing_ok=True)


def _copy_metadata(descriptor: int, target: Path) -> bool:
    """Copy the target's metadata to a new file; without a target, the folder's owner."""
    exists = target.exists()
    reference = (target if exists else target.parent).stat()
    copied = _copy_owner(descriptor, reference) and (
        not exists or _copy_attributes(descriptor, target)
    )
    os.fchmod(descriptor, stat.S_IMODE(reference.st_mode) if exists else PRIVATE_FILE)
    return copied


def _copy_owner(descriptor: int, reference: os.stat_result) -> bool:
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) != (reference.st_uid, reference.st_gid):
        try:
            os.fchown(descriptor, reference.st_uid, reference.st_gid)
        except PermissionError:
            return False
    return True


def _copy_attributes(descriptor: int, target: Path) -> bool:
    """Copy extended attributes, including access control lists; return False if one is refused."""
    if sys.platform != "linux":
        return True
    try:
        attributes = {name: os.getxattr(target, name) for name in os.listxattr(target)}
        for name in set(os.listxattr(descriptor)) - attributes.keys():
            os.removexattr(descriptor, name)
        for name, value in attributes.items():
            if name not in os.listxattr(descriptor) or os.getxattr(descriptor, name) != value:
                os.setxattr(descriptor, name, value)
    except OSError as error:
        return error.errno == errno.ENOTSUP  # the file system supports none
    return True


def leftovers(path: Path) -> list[Path]:
    """Return the temporary files that a killed `replace` of this file left."""
    target = path.resolve()
    return list(target.parent.glob(f".{glob.escape(target.name)}.*{TEMPORARY}"))


def sweep(path: Path) -> None:
    """Delete the temporary files that a killed `replace` of this file left."""
    with reported("swept", path):
        for leftover in leftovers(path):
            leftover.unlink(missing_ok=True)


def read_or_empty(path: Path) -> bytes:
    """Return the bytes of a file, empty for a missing one. Raises StorageError."""
    try:
        return read(path)
    except FileNotFoundError:
        return b""


def overwrite(path: Path, data: bytes, old: bytes) -> None:
    """Overwrite a file that contains `old` in place: for files with hard links.

    Not atomic: after a crash it may contain the start of one and the end of the other. Raises
    OSError, after restoring the old bytes if the disk allows.
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
    """Append `data` to a file, created with mode 0600 if it is missing, and flush it.

    On an error the file is unchanged. Raises StorageError.
    """
    with reported("written", path):
        is_new = not path.exists()
        descriptor = os.open(path, APPENDING, PRIVATE_FILE)
        try:
            old_size = os.fstat(descriptor).st_size
            try:
                DISK.write(descriptor, data)
                DISK.sync(descriptor)
            except OSError:
                os.ftruncate(descriptor, old_size)
                if is_new:
                    path.unlink()
                raise
        finally:
            os.close(descriptor)
        if is_new:
            sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Flush a directory's entries, so that a rename in it survives a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        DISK.sync(descriptor)
    finally:
        os.close(descriptor)


def checksum(path: Path) -> tuple[int, int]:
    """Return the size and CRC-32 of a file; 20 ms for 23 MB."""
    crc = size = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            crc = zlib.crc32(block, crc)
            size += len(block)
    return size, crc


def give_to_owner(directory: Path) -> None:
    """Give files that root created below a directory, as with `sudo`, to the owner of its parent.

    Hard-linked files and the targets of links are left alone. Raises OSError.
    """
    if os.geteuid() != 0 or not directory.is_dir():
        return
    owner = directory.parent.stat()
    if owner.st_uid == 0:
        return
    for _, _, names, folder in os.fwalk(directory):
        _change_owner(folder, owner)
        for name in names:
            with contextlib.suppress(OSError):  # a link, a pipe, or gone
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                descriptor = os.open(name, flags, dir_fd=folder)
                try:
                    _change_owner(descriptor, owner)
                finally:
                    os.close(descriptor)


def _change_owner(descriptor: int, owner: os.stat_result) -> None:
    status = os.fstat(descriptor)
    is_safe = stat.S_ISDIR(status.st_mode) or (
        stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    )
    if status.st_uid == 0 and is_safe:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
