"""The seccomp filter of sandboxed commands.

Namespaces decide what a command sees; the filter blocks system calls that nothing in a sandbox
needs and that kernel exploits rely on: new namespaces and mounts, other processes' memory,
keyrings, eBPF, io_uring, modules, clocks, and sockets of any family except Unix, IP and routing.
Like Docker's and Flatpak's, it is a denylist that ordinary programs never meet. The numbers are
Linux's (`asm/unistd_64.h`, `asm-generic/unistd.h`); on other architectures there is no filter, and
the rest of the sandbox still applies.
"""

import errno
import os
import struct
from collections.abc import Iterable
from pathlib import Path

_lines = Path(__file__).with_name("closed.txt").read_text("utf-8").splitlines()
CLOSED = {name: numbers for name, *numbers in map(str.split, _lines) if name != "#"}
"""The blocked calls, with their numbers on x86-64 and in the generic table."""

NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID and NET."""
TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which type into a terminal."""
FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6."""
NETLINK, ROUTING = 16, 0
PLAIN = (0, 0xFFFFFFFF)
"""Allowed personalities: the default, and the query for the current one."""
X32 = 0x40000000
"""The bit that marks x32 calls on x86-64."""

LOAD, RETURN = 0x20, 0x06
EQUAL, AT_LEAST, ANY_BIT = 0x15, 0x35, 0x45
ALLOW, ERROR = 0x7FFF0000, 0x00050000
NUMBER, MACHINE, ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`. An argument has 8 bytes; the lower half is compared."""


MACHINES = {
    "x86_64": (0xC000003E, 0),
    "aarch64": (0xC00000B7, 1),
    "riscv64": (0xC00000F3, 1),
    "loongarch64": (0xC0000102, 1),
}
"""The kernel's audit number of an architecture, and its column in the tables."""

Instruction = tuple[int, int, int, int]
"""`struct sock_filter`: code, jump if true, jump if false, operand."""


def program(machine: str = os.uname().machine) -> bytes:
    """Return the filter for an architecture, as an array of `struct sock_filter`; empty if
    unknown."""
    if machine not in MACHINES:
        return b""
    return b"".join(struct.pack("=HBBI", *step) for step in _steps(*MACHINES[machine]))


def _steps(audit: int, column: int) -> Iterable[Instruction]:
    yield (LOAD, 0, 0, MACHINE)
    yield (EQUAL, 1, 0, audit)
    yield _refuse(errno.ENOSYS)
    yield (LOAD, 0, 0, NUMBER)
    if column == 0:
        yield from _if((AT_LEAST, X32), [_refuse(errno.ENOSYS)])
    conditional = _conditional()
    for name, numbers in CLOSED.items():
        if (number := numbers[column]) != "-":
            steps = conditional.get(name, [_refuse(errno.EPERM)])
            yield from _if((EQUAL, int(number)), steps)
    yield (RETURN, 0, 0, ALLOW)


def _conditional() -> dict[str, list[Instruction]]:
    """Return the instructions for calls blocked only for some arguments; each list ends in a
    return.

    `clone3` hides its arguments from a filter: programs fall back on `clone`.
    """
    allow: Instruction = (RETURN, 0, 0, ALLOW)
    no_family, no_permission = _refuse(errno.EAFNOSUPPORT), _refuse(errno.EPERM)
    families = [_argument(0), *_if_any(FAMILIES, allow)]
    routing = [_argument(2), *_if_any((ROUTING,), allow), no_family]
    return {
        "clone3": [_refuse(errno.ENOSYS)],
        "clone": [_argument(0), (ANY_BIT, 0, 1, NEW_NAMESPACES), no_permission, allow],
        "ioctl": [_argument(1), *_if_any(TERMINAL_INPUT, no_permission), allow],
        "socket": [*families, *_if((EQUAL, NETLINK), routing), no_family],
        "socketpair": [*families, no_family],
        "personality": [_argument(0), *_if_any(PLAIN, allow), no_permission],
    }


def _if_any(values: Iterable[int], step: Instruction) -> list[Instruction]:
    """Apply the step if the loaded value is one of these."""
    return [instruction for value in values for instruction in _if((EQUAL, value), [step])]


def _if(condition: tuple[int, int], steps: list[Instruction]) -> list[Instruction]:
    """Apply the steps only if the condition holds."""
    code, operand = condition
    return [(code, 0, len(steps), operand), *steps]


def _argument(index: int) -> Instruction:
    return (LOAD, 0, 0, ARGUMENTS + 8 * index)


def _refuse(number: int) -> Instruction:
    return (RETURN, 0, 0, ERROR | number)
