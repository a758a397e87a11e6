"""A command in namespaces of its own: its file system, network, processes and users.

Its file system is made anew, of nothing but what the view names. There is no network but
loopback, and no other process. Must be called in a process of one thread.
"""

import fcntl
import os
import resource
import signal
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from assistant.tools.launch import kernel, restrict
from assistant.tools.launch.kernel import LIBC, check, mount, read_only

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
DEVICES = ("null", "zero", "full", "random", "urandom")
HARMLESS = kernel.MS_NOSUID | kernel.MS_NODEV
SCRATCHES = 4
"""A scratch directory, which is in memory, may take one part in so many of the command's."""
BASE = "/tmp"
"""Where the new root is put together, out of sight of all others."""


def run(plan: dict[str, Any]) -> NoReturn:
    """Run the plan's command confined, and exit as it does. Raises OSError if that cannot be."""
    _leave()
    child = os.fork()
    if child == 0:
        check(kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL))
        _build(plan["view"], plan["memory"])
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # they lead around what is hidden
        restrict.limit_processes(plan["processes"])
        restrict.give_up_capabilities()
        devices = [f"/dev/{name}" for name in (*DEVICES, "shm")]
        restrict.write_only_below([*plan["writable"], *devices])
        restrict.drop_capabilities()
        _serve(plan)
    os._exit(exit_code(os.waitpid(child, 0)[1]))


def execute(command: list[str], cwd: str) -> NoReturn:
    """Become the command."""
    for each in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)
    try:
        os.chdir(cwd)
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(127)


def exit_code(status: int) -> int:
    """A status of `wait` as a shell's exit code: 128 and the signal for one that was killed."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _leave() -> None:
    """Leave the namespaces of the machine. The user's own id stays."""
    uid, gid = os.getuid(), os.getgid()
    apart = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
    check(LIBC.unshare(apart))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loopback:
        fcntl.ioctl(loopback, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def _build(view: list[tuple[str, str, str]], memory: int) -> None:
    """Put the file system together, step by step, and enter it."""
    mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    with _many_open_files():
        copies = [_copied(kind, path) for kind, path, _ in view]
        devices = {name: kernel.copied(f"/dev/{name}") for name in DEVICES}
        size = f"size={memory // SCRATCHES}"
        mount("tmpfs", BASE, "tmpfs", HARMLESS, f"mode=0755,{size}")
        for (kind, path, target), copy in zip(view, copies, strict=True):
            _make(kind, BASE + path, target, copy, size)
        _make_devices(devices, size)
    Path(f"{BASE}/proc").mkdir(exist_ok=True)
    mount("proc", f"{BASE}/proc", "proc", HARMLESS | kernel.MS_NOEXEC)
    read_only(f"{BASE}/proc")
    if not any(kind == "write" and path == "/" for kind, path, _ in view):
        read_only(BASE, below=False)
    kernel.enter_root(BASE)


def _copied(kind: str, path: str) -> int | None:
    """What is to be brought in, or None; before anything is covered."""
    if kind not in ("read", "write", "blank"):
        return None
    source = os.devnull if kind == "blank" else path
    return kernel.copied(source) if Path(source).exists() else None


def _make(kind: str, place: str, target: str, copy: int | None, size: str) -> None:
    """Take one step of the view."""
    if kind == "link":
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).symlink_to(target)
    elif kind in ("scratch", "closed"):
        Path(place).mkdir(parents=True, exist_ok=True)
        options = f"mode=1777,{size}" if kind == "scratch" else "mode=0555,size=4k"
        mount("tmpfs", place, "tmpfs", HARMLESS, options)
    elif copy is not None:
        _room_for(copy, place)
        kernel.put(copy, place)
    if kind in ("closed", "blank") or (kind == "read" and copy is not None):
        read_only(place)


def _room_for(copy: int, place: str) -> None:
    """Something to put a copy, of a file or a directory, onto."""
    if stat.S_ISDIR(os.fstat(copy).st_mode):
        Path(place).mkdir(parents=True, exist_ok=True)
    elif not Path(place).exists():
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).touch()


@contextmanager
def _many_open_files() -> Iterator[None]:
    """As many open files as are ever allowed: each thing that is brought in is one for a while."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _make_devices(devices: dict[str, int], size: str) -> None:
    """A /dev of harmless devices: with root's own, a disk could be read around the file system."""
    place = Path(f"{BASE}/dev")
    place.mkdir(exist_ok=True)
    flags = kernel.MS_NOSUID | kernel.MS_NOEXEC
    mount("tmpfs", str(place), "tmpfs", flags, f"mode=0755,{size}")
    for name, copy in devices.items():
        (place / name).touch()
        kernel.put(copy, str(place / name))
    (place / "shm").mkdir(mode=0o1777)
    (place / "fd").symlink_to("/proc/self/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        (place / name).symlink_to(f"/proc/self/fd/{number}")


def _serve(plan: dict[str, Any]) -> NoReturn:
    """Run the command as a child, reap whatever it leaves behind, and exit as it does."""
    child = os.fork()
    if child == 0:
        if plan["filter"]:
            kernel.filter_calls(bytes.fromhex(plan["filter"]))
        execute(plan["command"], plan["cwd"])
    while True:
        ended, status = os.wait()
        if ended == child:
            os._exit(exit_code(status))
