"""Runs one command in namespaces of its own, under Landlock. Started as a file, by `sandbox.py`.

    python -I -S confine.py '{"writable": […], "hidden": […], "protected": […], "cwd": …}' COMMAND…

The command sees the machine's files read-only, the writable directories as they are, a /tmp, /run
and /dev of its own, no network but loopback, and no other process. It imports nothing of this
program, so that nothing in a workspace can be imported in its place. Exit 125: no confinement.
"""

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any, NoReturn

NOT_CONFINED = 125

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION_3 = 0x20080522
SIOCSIFFLAGS, IFF_UP = 0x8914, 1

SYS_MOUNT_SETATTR = 442
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = -100, 0x8000, 1
SYS_LANDLOCK_CREATE_RULESET, SYS_LANDLOCK_ADD_RULE, SYS_LANDLOCK_RESTRICT_SELF = 444, 445, 446
LANDLOCK_CREATE_RULESET_VERSION, LANDLOCK_RULE_PATH_BENEATH = 1, 1
WRITE_FILE, REFER, TRUNCATE = 1 << 1, 1 << 13, 1 << 14
CHANGE_DIRECTORY = sum(1 << bit for bit in (4, 5, 6, 7, 8, 9, 10, 11, 12))
"""REMOVE_DIR, REMOVE_FILE, MAKE_CHAR … MAKE_SYM of linux/landlock.h."""
SCOPES = 3
"""Abstract Unix sockets and signals stay inside; since version 6 of Landlock."""

SCRATCH = ("/tmp", "/var/tmp", "/run")
"""Replaced by empty ones: other programs keep their sockets here."""
DEVICES = ("null", "zero", "full", "random", "urandom")
LIBC = ctypes.CDLL(None, use_errno=True)


def main() -> NoReturn:
    """Confine this process's child, run the command in it, and exit as the command does."""
    plan = json.loads(sys.argv[1])
    try:
        _new_namespaces()
        child = os.fork()
        if child == 0:
            _check(LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
            _build(plan)
            devices = [f"/dev/{name}" for name in (*DEVICES, "shm")]
            _restrict([*plan["writable"], *SCRATCH, *devices])
            _run(plan["cwd"], sys.argv[2:])
    except OSError as error:
        sys.stderr.write(f"cannot confine: {error}\n")
        os._exit(NOT_CONFINED)
    os._exit(_exit_code(os.waitpid(child, 0)[1]))


def _new_namespaces() -> None:
    """Become alone: users, mounts, processes, network, IPC. The user's own id stays."""
    uid, gid = os.getuid(), os.getgid()
    apart = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
    _check(LIBC.unshare(apart))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loopback:
        fcntl.ioctl(loopback, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def _build(plan: dict[str, Any]) -> None:
    """Arrange the file system: first what covers, then what is bound back, last what protects."""
    sources = {path: os.open(path, os.O_PATH) for path in plan["writable"]}
    devices = {name: os.open(f"/dev/{name}", os.O_PATH) for name in DEVICES}
    null = devices["null"]
    _mount(None, "/", None, MS_REC | MS_PRIVATE)
    for directory in SCRATCH:
        if Path(directory).is_dir() and not Path(directory).is_symlink():
            _mount("tmpfs", directory, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=50%")
    _make_devices(devices)
    for path, source in sources.items():
        Path(path).mkdir(parents=True, exist_ok=True)
        _mount(f"/proc/self/fd/{source}", path, None, MS_BIND | MS_REC)
    for path in plan["hidden"]:
        if Path(path).is_dir():
            _mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0555,size=4k")
        elif Path(path).exists():
            _mount(f"/proc/self/fd/{null}", path, None, MS_BIND)
    for path in plan["protected"]:
        _mount(path, path, None, MS_BIND | MS_REC)
    _read_only("/", True)
    for path in (*plan["writable"], *SCRATCH, "/dev"):
        _read_only(path, False)
    for path in (*plan["hidden"], *plan["protected"]):
        _read_only(path, True)
    _mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    _read_only("/proc", True)


def _make_devices(devices: dict[str, int]) -> None:
    """A /dev of harmless devices: with root's own, a disk could be read around the file system."""
    _mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=50%")
    for name, source in devices.items():
        Path(f"/dev/{name}").touch()
        _mount(f"/proc/self/fd/{source}", f"/dev/{name}", None, MS_BIND)
    Path("/dev/shm").mkdir()
    Path("/dev/fd").symlink_to("/proc/self/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        Path(f"/dev/{name}").symlink_to(f"/proc/self/fd/{number}")


def _restrict(writable: list[str]) -> None:
    """Give up every capability, then allow writing beneath the given paths only, for good."""
    _check(LIBC.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
    for capability in range(64):
        if LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break
    _check(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    version = _check(
        LIBC.syscall(SYS_LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_CREATE_RULESET_VERSION)
    )
    handled = WRITE_FILE | CHANGE_DIRECTORY
    handled |= (REFER if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    scopes = SCOPES if version >= 6 else 0
    attributes = struct.pack("QQQ", handled, 0, scopes)[: 24 if scopes else 8]
    ruleset = _check(LIBC.syscall(SYS_LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0))
    for path in writable:
        if Path(path).exists():
            allowed = handled if Path(path).is_dir() else handled & (WRITE_FILE | TRUNCATE)
            beneath = struct.pack("=Qi", allowed, os.open(path, os.O_PATH))
            _check(
                LIBC.syscall(SYS_LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, beneath, 0)
            )
    _check(LIBC.syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0))
    nothing = struct.pack("IIIIII", 0, 0, 0, 0, 0, 0)
    _check(LIBC.capset(struct.pack("Ii", CAPABILITY_VERSION_3, 0), nothing))


def _run(cwd: str, command: list[str]) -> NoReturn:
    """Run the command as a child, reap whatever it leaves behind, and exit as it does."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.chdir(cwd)
        try:
            os.execv(command[0], command)
        except OSError as error:
            sys.stderr.write(f"{command[0]}: {error.strerror}\n")
            os._exit(127)
    while True:
        ended, status = os.wait()
        if ended == child:
            os._exit(_exit_code(status))


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    encoded = [None if each is None else os.fsencode(each) for each in (source, target, kind)]
    _check(LIBC.mount(*encoded, flags, data.encode() or None), target)


def _read_only(path: str, wanted: bool) -> None:
    """Make the mount at `path` and those below it read-only, or writable again."""
    if not Path(path).exists():
        return
    attributes = struct.pack(
        "QQQQ", MOUNT_ATTR_RDONLY * wanted, MOUNT_ATTR_RDONLY * (not wanted), 0, 0
    )
    _check(
        LIBC.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), AT_RECURSIVE, attributes, 32),
        path,
    )


def _check(result: int, what: str = "") -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


if __name__ == "__main__":
    main()
