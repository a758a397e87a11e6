"""Two system calls that Python does not offer: swap two files, and wait for a file's writers.

With them a save by an editor in the instant before we replace a file is noticed and put back.
"""

import contextlib
import errno
import fcntl
import functools
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

WRITERS_MAY_TAKE = 0.5
"""Seconds that a program which has a file open for writing is waited for."""
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


def await_writers(path: Path) -> None:
    """Return when no program has the file open for writing, or after a while.

    Only Linux can tell, by granting a read lease; elsewhere this returns at once.
    """
    if sys.platform != "linux":
        return
    descriptor = os.open(path, os.O_RDONLY)
    # On another user's file, or a disk without leases, there is nothing to learn.
    with contextlib.suppress(OSError), contextlib.closing(os.fdopen(descriptor)):
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # the usual SIGIO would kill us
        deadline = time.monotonic() + WRITERS_MAY_TAKE
        while time.monotonic() < deadline:
            try:
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            except BlockingIOError:
                time.sleep(0.001)
            else:
                break
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
