"""Runs a command in its own namespaces: file system, network, processes and users.

Its file system contains only what the view names. There is no network except loopback, no other
process, no capability. Must be called in a single-threaded process.
"""

import ctypes
import fcntl
import os
import resource
import signal
import socket
import stat
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

LIBC = ctypes.CDLL(None, use_errno=True)
LINUX = sys.platform == "linux"

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 1, 36, 22, 2
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 24, 38, 47, 4
CAPABILITY_VERSION_3 = 0x20080522
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 2, 4, 8, 16384, 1 << 18
MNT_DETACH = 2
SYS_PIVOT_ROOT = {"x86_64": 155}.get(os.uname().machine, 41)
SYS_OPEN_TREE, SYS_MOVE_MOUNT, SYS_MOUNT_SETATTR = 428, 429, 442
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = -100, 0x8000, 1
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC, MOVE_MOUNT_F_EMPTY_PATH = 1, os.O_CLOEXEC, 4
SIOCSIFFLAGS, IFF_UP = 0x8914, 1

DEVICES = ("null", "zero", "full", "random", "urandom")
SCRATCHES = 4
"""A scratch directory (a tmpfs) has the command's memory limit divided by this as its size."""
BASE = "/tmp"
"""Where the new root is assembled, invisible to other processes."""
FIRST_TO_GO = "800"
"""The `oom_score_adj` of a command, of at most 1,000."""


def run(plan: dict[str, Any]) -> NoReturn:
    """Run the plan's command confined, and exit with its code. Raises OSError if that fails."""
    _unshare()
    child = os.fork()
    if child == 0:
        check(prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        _build_file_system(plan["view"], plan["memory"])
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # they would bypass what is hidden
        with suppress(ValueError, OSError):  # effective where the kernel counts per user namespace
            resource.setrlimit(resource.RLIMIT_NPROC, (plan["processes"], plan["processes"]))
        _drop_capabilities()
        _run_as_init(plan)
    os._exit(exit_code(os.waitpid(child, 0)[1]))


def execute(plan: dict[str, Any]) -> NoReturn:
    """Replace this process with the plan's command."""
    command = plan["command"]
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.chdir(plan["cwd"])
        os.execve(command[0], command, plan["environment"])
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(127)


def exit_code(status: int) -> int:
    """Convert a wait status to a shell's exit code: 128 plus the signal for a killed process."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def limit_resources(memory: int) -> None:
    """Limit one process to twice `memory` bytes of data, and disable core dumps.

    The total of all processes is watched from outside; this bounds it between checks.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError, OSError):  # the owner's own limit is lower
        resource.setrlimit(resource.RLIMIT_DATA, (2 * memory, 2 * memory))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(FIRST_TO_GO)


def check(result: int, what: str = "") -> int:
    """Return the result of a call. Raises OSError if it is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def prctl(option: int, *values: int) -> int:
    """Call `prctl`; the caller checks the result."""
    return int(LIBC.prctl(option, *[*values, 0, 0, 0, 0][:4]))


def _unshare() -> None:
    """Leave the machine's namespaces. The user ID stays the same."""
    uid, gid = os.getuid(), os.getgid()
    apart = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
    check(LIBC.unshare(apart))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loopback:
        fcntl.ioctl(loopback, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def _build_file_system(view: list[tuple[str, str, str]], memory: int) -> None:
    """Build the file system step by step, and enter it."""
    _mount("/", None, MS_REC | MS_PRIVATE)
    size = f"size={memory // SCRATCHES}"
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    # each bound path takes a file descriptor
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    copies = [_copy_mounts(kind, path) for kind, path, _ in view]
    devices = {name: _open_tree(f"/dev/{name}") for name in DEVICES}
    _mount(BASE, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=0755,{size}")
    for (kind, path, target), copy in zip(view, copies, strict=True):
        _apply_step(kind, BASE + path, target, copy, size)
    _make_devices(devices, size)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    Path(f"{BASE}/proc").mkdir(exist_ok=True)
    _mount(f"{BASE}/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    _read_only(f"{BASE}/proc")
    if not any(kind == "write" and path == "/" for kind, path, _ in view):
        _read_only(BASE, below=False)
    os.chdir(BASE)
    check(LIBC.syscall(SYS_PIVOT_ROOT, b".", b"."), BASE)
    check(LIBC.umount2(b".", MNT_DETACH), "the old root")
    os.chdir("/")


def _copy_mounts(kind: str, path: str) -> int | None:
    """Return a copy of the path's mounts, or None; taken before anything is covered."""
    if kind not in ("read", "write", "blank"):
        return None
    source = os.devnull if kind == "blank" else path
    return _open_tree(source) if Path(source).exists() else None


def _apply_step(kind: str, path: str, target: str, copy: int | None, size: str) -> None:
    if kind == "link":
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).symlink_to(target)
    elif kind in ("scratch", "closed"):
        Path(path).mkdir(parents=True, exist_ok=True)
        options = f"mode=1777,{size}" if kind == "scratch" else "mode=0555,size=4k"
        _mount(path, "tmpfs", MS_NOSUID | MS_NODEV, options)
    elif copy is not None:
        if stat.S_ISDIR(os.fstat(copy).st_mode):
            Path(path).mkdir(parents=True, exist_ok=True)
        elif not Path(path).exists():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).touch()
        _attach(copy, path)
    if kind in ("closed", "blank") or (kind == "read" and copy is not None):
        _read_only(path)


def _make_devices(devices: dict[str, int], size: str) -> None:
    """Make a /dev of harmless devices: root's own would expose the disks."""
    folder = Path(f"{BASE}/dev")
    folder.mkdir(exist_ok=True)
    _mount(str(folder), "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=64k")
    for name, copy in devices.items():
        (folder / name).touch()
        _attach(copy, str(folder / name))
    (folder / "shm").mkdir()
    _mount(str(folder / "shm"), "tmpfs", MS_NOSUID | MS_NODEV, f"mode=1777,{size}")
    (folder / "fd").symlink_to("/proc/self/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        (folder / name).symlink_to(f"/proc/self/fd/{number}")
    _read_only(str(folder), below=False)


def _mount(path: str, kind: str | None, flags: int, data: str = "") -> None:
    """Mount a file system of this kind. Raises OSError."""
    name = None if kind is None else kind.encode()
    check(LIBC.mount(name, os.fsencode(path), name, flags, data.encode() or None), path)


def _open_tree(path: str) -> int:
    """Return a detached copy of the mounts at and below `path`. Raises OSError."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
    return check(LIBC.syscall(SYS_OPEN_TREE, AT_FDCWD, os.fsencode(path), flags), path)


def _attach(copy: int, path: str) -> None:
    """Attach a detached copy to a file or a directory, and close it. Raises OSError."""
    flags = MOVE_MOUNT_F_EMPTY_PATH
    result = LIBC.syscall(SYS_MOVE_MOUNT, copy, b"", AT_FDCWD, os.fsencode(path), flags)
    os.close(copy)
    check(result, path)


def _read_only(path: str, *, below: bool = True) -> None:
    """Make the mount at `path` read-only, and with `below` those below it. Raises OSError."""
    attributes = struct.pack("QQQQ", MOUNT_ATTR_RDONLY, 0, 0, 0)
    flags = AT_RECURSIVE if below else 0
    check(LIBC.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), flags, attributes, 32), path)


def _drop_capabilities() -> None:
    """Drop all capabilities for good. Raises OSError."""
    check(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL))
    for capability in range(64):
        if prctl(PR_CAPBSET_DROP, capability) < 0:
            break
    check(prctl(PR_SET_NO_NEW_PRIVS, 1))
    nothing = struct.pack("IIIIII", 0, 0, 0, 0, 0, 0)
    check(LIBC.capset(struct.pack("Ii", CAPABILITY_VERSION_3, 0), nothing))


def _filter_calls(program: bytes) -> None:
    """Put this process and its descendants under a seccomp filter. Raises OSError."""
    instructions = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(instructions))
    result = LIBC.prctl(
        PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.create_string_buffer(header), 0, 0
    )
    check(result)


def _run_as_init(plan: dict[str, Any]) -> NoReturn:
    """Run the command as a child, reap orphans, and exit with its code."""
    child = os.fork()
    if child == 0:
        if plan["filter"]:
            _filter_calls(bytes.fromhex(plan["filter"]))
        execute(plan)
    while True:
        pid, status = os.wait()
        if pid == child:
            os._exit(exit_code(status))
