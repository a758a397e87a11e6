"""System calls that Python does not offer: swap two files, and keep a file's writers out.

With them no program that has a file open, or saves it in the instant before we replace it, loses
its bytes.
"""

import errno
import fcntl
import functools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

_AT_FDCWD = -100  # linux/fcntl.h
_SWAP = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


@functools.cache
def _swap_call() -> Callable[[bytes, bytes], int] | None:
    import ctypes  # not for clients, who write nothing

    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin" and hasattr(library, "renamex_np"):
        return lambda one, other: int(library.renamex_np(one, other, _SWAP))
    if hasattr(library, "renameat2"):
        return lambda one, other: int(library.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, _SWAP))
    return None


def swap(one: Path, other: Path) -> bool:
    """Let two files trade places at once; False if the system or the disk cannot do that."""
    call = _swap_call()
    if call is None:
        return False
    if call(os.fsencode(one), os.fsencode(other)) == 0:
        return True
    import ctypes

    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(other))


class Guard:
    """Watches that no program has a file open for writing.

    Linux grants a lease on a file that nobody has open for writing, and then keeps whoever wants to
    write to it waiting in `open`. Where none can be had (another system or disk, another's file),
    what `/proc` shows of open files must do.
    """

    def __init__(self, path: Path) -> None:
        """Raises OSError if the file cannot be read."""
        self._path = path
        self._leased = False
        self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def take(self) -> bool:
        """Whether nobody has the file open for writing; if so, nobody gets to until `release`."""
        if sys.platform == "linux":
            try:
                fcntl.fcntl(self.descriptor, fcntl.F_SETSIG, signal.SIGURG)  # SIGIO would kill us
                fcntl.fcntl(self.descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            except BlockingIOError:
                return False
            except OSError:
                return not writers(self._path)
            self._leased = True
        return True

    def undisturbed(self) -> bool:
        """Whether nobody has asked to write since."""
        if self._leased and sys.platform == "linux":
            return fcntl.fcntl(self.descriptor, fcntl.F_GETLEASE) == fcntl.F_RDLCK
        return not writers(self._path)

    def release(self) -> None:
        """Let others write."""
        if self._leased and sys.platform == "linux":
            fcntl.fcntl(self.descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            self._leased = False

    def close(self) -> None:
        """Let others write, and the file go."""
        self.release()
        os.close(self.descriptor)


def writers(path: Path) -> list[str]:
    """The programs that have a file open for writing, with their process ids.

    Only those that `/proc` shows to this user: none where there is no such thing.
    """
    wanted = path.stat()
    return [
        f"{_program(process)} (process {process.name})"
        for process in Path("/proc").glob("[0-9]*")
        if any(_writes(descriptor, wanted) for descriptor in _entries(process / "fd"))
    ]


def _entries(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []  # it has ended, or is another user's


def _writes(descriptor: Path, wanted: os.stat_result) -> bool:
    try:
        if not os.path.samestat(descriptor.stat(), wanted):
            return False
        said = (descriptor.parent.parent / "fdinfo" / descriptor.name).read_text("ascii")
    except OSError:
        return False
    flags = next(line.split()[1] for line in said.splitlines() if line.startswith("flags:"))
    return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY


def _program(process: Path) -> str:
    try:
        return (process / "comm").read_text("utf-8").strip()
    except OSError:
        return "a program"
