"""System calls that Python lacks: swap two files, and lock out a file's writers.

They ensure that no program loses its bytes if it has a file open, or saves it, while the file is
being replaced.
"""

import errno
import fcntl
import os
import signal
import sys
from pathlib import Path

_AT_FDCWD = -100  # linux/fcntl.h
_SWAP = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


def swap(one: Path, other: Path) -> bool:
    """Swap two files atomically; return False if the system or the file system cannot."""
    import ctypes  # not needed by clients, which write nothing

    library = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(one), os.fsencode(other)
    if hasattr(library, "renamex_np"):  # macOS
        failed = library.renamex_np(first, second, _SWAP)
    elif hasattr(library, "renameat2"):
        failed = library.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _SWAP)
    else:
        return False
    if not failed:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(other))


class Guard:
    """Detects programs that have a file open for writing.

    Linux grants a lease on a file that nobody has open for writing, and then blocks anyone who
    opens it for writing. Where no lease is available (another system or file system, another user's
    file), the open files in `/proc` are checked instead.
    """

    def __init__(self, path: Path) -> None:
        """Open the file. Raises OSError if it cannot be read."""
        self._path = path
        self._leased = False
        self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def take(self) -> bool:
        """Return whether nobody has the file open for writing; if so, block writers until
        `release`."""
        if sys.platform == "linux":
            try:
                # the default SIGIO would kill this process
                fcntl.fcntl(self.descriptor, fcntl.F_SETSIG, signal.SIGURG)
                fcntl.fcntl(self.descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            except BlockingIOError:
                return False
            except OSError:
                return not writers(self._path)
            self._leased = True
        return True

    def undisturbed(self) -> bool:
        """Return whether nobody has tried to write since."""
        if self._leased and sys.platform == "linux":
            return fcntl.fcntl(self.descriptor, fcntl.F_GETLEASE) == fcntl.F_RDLCK
        return not writers(self._path)

    def release(self) -> None:
        """Let others write."""
        if self._leased and sys.platform == "linux":
            fcntl.fcntl(self.descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            self._leased = False

    def close(self) -> None:
        """Release the lease and close the file."""
        self.release()
        os.close(self.descriptor)


def writers(path: Path) -> list[str]:
    """Return the programs that have a file open for writing, with their process IDs.

    Only those that `/proc` shows to this user; none if it is missing.
    """
    target = path.stat()
    return [
        f"{_program(process)} (process {process.name})"
        for process in Path("/proc").glob("[0-9]*")
        if any(_writes(descriptor, target) for descriptor in _entries(process / "fd"))
    ]


def _entries(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []  # ended, or another user's


def _writes(descriptor: Path, target: os.stat_result) -> bool:
    try:
        if not os.path.samestat(descriptor.stat(), target):
            return False
        info = (descriptor.parent.parent / "fdinfo" / descriptor.name).read_text("ascii")
    except OSError:
        return False
    flags = next(line.split()[1] for line in info.splitlines() if line.startswith("flags:"))
    return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY


def _program(process: Path) -> str:
    try:
        return (process / "comm").read_text("utf-8").strip()
    except OSError:
        return "a program"
