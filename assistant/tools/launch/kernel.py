"""The kernel's calls that Python has no name for."""

import ctypes
import os
import struct
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
LINUX = sys.platform == "linux"

PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER = 1, 24, 22, 36
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
SECCOMP_MODE_FILTER = 2
CAPABILITY_VERSION_3 = 0x20080522

MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 2, 4, 8, 16384, 1 << 18
MNT_DETACH = 2
SYS_PIVOT_ROOT = {"x86_64": 155}.get(os.uname().machine, 41)
SYS_OPEN_TREE, SYS_MOVE_MOUNT, SYS_MOUNT_SETATTR = 428, 429, 442
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = -100, 0x8000, 1
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC, MOVE_MOUNT_F_EMPTY_PATH = 1, os.O_CLOEXEC, 4


def check(result: int, what: str = "") -> int:
    """The result of a call. Raises OSError if it is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def prctl(option: int, *values: int) -> int:
    """`prctl`; whoever wants to know checks the result."""
    return int(LIBC.prctl(option, *[*values, 0, 0, 0, 0][:4]))


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """`mount`. Raises OSError."""
    encoded = [None if each is None else os.fsencode(each) for each in (source, target, kind)]
    check(LIBC.mount(*encoded, flags, data.encode() or None), target)


def copied(path: str) -> int:
    """A copy of the mounts at and below `path`, not yet put anywhere. Raises OSError."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
    return check(LIBC.syscall(SYS_OPEN_TREE, AT_FDCWD, os.fsencode(path), flags), path)


def put(copy: int, place: str) -> None:
    """Put such a copy, which is closed then, onto a file or a directory. Raises OSError."""
    flags = MOVE_MOUNT_F_EMPTY_PATH
    done = LIBC.syscall(SYS_MOVE_MOUNT, copy, b"", AT_FDCWD, os.fsencode(place), flags)
    os.close(copy)
    check(done, place)


def read_only(path: str, *, below: bool = True) -> None:
    """Make the mount at `path` read-only, and with `below` those below it. Raises OSError."""
    attributes = struct.pack("QQQQ", MOUNT_ATTR_RDONLY, 0, 0, 0)
    flags = AT_RECURSIVE if below else 0
    check(LIBC.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), flags, attributes, 32), path)


def enter_root(path: str) -> None:
    """Make the mount at `path` the root, and let go of the old one. Raises OSError."""
    os.chdir(path)
    check(LIBC.syscall(SYS_PIVOT_ROOT, b".", b"."), path)
    check(LIBC.umount2(b".", MNT_DETACH), "the old root")
    os.chdir("/")


def filter_calls(program: bytes) -> None:
    """Put this process and all it starts under a seccomp filter. Raises OSError."""
    instructions = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(instructions))
    check(
        LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.create_string_buffer(header), 0, 0)
    )
