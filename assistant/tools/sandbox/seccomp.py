"""What a sandboxed command may not ask of the kernel, as a seccomp filter.

The namespaces decide what a command sees; the filter takes away what nothing in a sandbox needs
and what faults in kernels are reached by: new namespaces and mounts, other processes' memory,
keyrings, eBPF, io_uring, modules, clocks, and sockets of any family but Unix, IP and routing. It
is a list of what is closed, as Docker's and Flatpak's are, so that ordinary programs do not meet
it. Numbers are Linux's own (`asm/unistd_64.h`, `asm-generic/unistd.h`); on other machines than
these there is no filter, and the rest of the sandbox holds.
"""

import errno
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass

CLOSED = {  # name: number on x86-64, number on the machines with the generic table
    "lookup_dcookie": (212, 18),
    "umount2": (166, 39),
    "mount": (165, 40),
    "pivot_root": (155, 41),
    "nfsservctl": (180, 42),
    "chroot": (161, 51),
    "vhangup": (153, 58),
    "quotactl": (179, 60),
    "acct": (163, 89),
    "unshare": (272, 97),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "clock_settime": (227, 112),
    "syslog": (103, 116),
    "ptrace": (101, 117),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "adjtimex": (159, 171),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "perf_event_open": (298, 241),
    "fanotify_init": (300, 262),
    "open_by_handle_at": (304, 265),
    "clock_adjtime": (305, 266),
    "setns": (308, 268),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "finit_module": (313, 273),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "kexec_file_load": (320, 294),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "mount_setattr": (442, 442),
    "quotactl_fd": (443, 443),
    "open_tree_attr": (467, 467),
}
ONLY_X86 = {"uselib": 134, "modify_ldt": 154, "iopl": 172, "ioperm": 173}
LOOKED_AT = {
    "ioctl": (16, 29),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "clone": (56, 220),
    "personality": (135, 92),
    "clone3": (435, 435),
}
"""Closed for some arguments. `clone3` hides its arguments: programs fall back on `clone`."""

NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID and NET."""
TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which type into a terminal."""
FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6."""
NETLINK, ROUTING = 16, 0
PLAIN = (0, 0xFFFFFFFF)
"""Personalities: an ordinary one, and the question for the present one."""
X32 = 0x40000000
"""Set in the numbers of x86-64's second set of calls."""

LOAD, RETURN = 0x20, 0x06
EQUAL, AT_LEAST, ANY_BIT = 0x15, 0x35, 0x45
ALLOW, ERROR = 0x7FFF0000, 0x00050000
NUMBER, MACHINE, ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`. An argument has 8 bytes; the lower half is looked at."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What tells machines apart: the kernel's name of it, and the column of the tables."""

    audit: int
    column: int


MACHINES = {
    "x86_64": Machine(0xC000003E, 0),
    "aarch64": Machine(0xC00000B7, 1),
    "riscv64": Machine(0xC00000F3, 1),
    "loongarch64": Machine(0xC0000102, 1),
}

Instruction = tuple[int, int, int, int]
"""Code, how far to jump if true, how far if false, operand: `struct sock_filter`."""


def program(machine: str = os.uname().machine) -> bytes:
    """The filter for a machine, as an array of `struct sock_filter`; empty for an unknown one."""
    known = MACHINES.get(machine)
    if known is None:
        return b""
    steps = list(_steps(known))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _steps(machine: Machine) -> Iterable[Instruction]:
    yield (LOAD, 0, 0, MACHINE)
    yield (EQUAL, 1, 0, machine.audit)
    yield _refuse(errno.ENOSYS)
    yield (LOAD, 0, 0, NUMBER)
    if machine.column == 0:
        yield from _on((AT_LEAST, X32), [_refuse(errno.ENOSYS)])
        for number in ONLY_X86.values():
            yield from _on((EQUAL, number), [_refuse(errno.EPERM)])
    for numbers in CLOSED.values():
        yield from _on((EQUAL, numbers[machine.column]), [_refuse(errno.EPERM)])
    for name, steps in _conditional().items():
        yield from _on((EQUAL, LOOKED_AT[name][machine.column]), steps)
    yield (RETURN, 0, 0, ALLOW)


def _conditional() -> dict[str, list[Instruction]]:
    """What is done about the calls whose arguments count; each list ends in a return."""
    allow: Instruction = (RETURN, 0, 0, ALLOW)
    family = [_argument(0), *_allowing(FAMILIES), *_on((EQUAL, NETLINK), _routing())]
    return {
        "clone3": [_refuse(errno.ENOSYS)],
        "clone": [_argument(0), (ANY_BIT, 0, 1, NEW_NAMESPACES), _refuse(errno.EPERM), allow],
        "ioctl": [_argument(1), *_refusing(TERMINAL_INPUT), allow],
        "socket": [*family, _refuse(errno.EAFNOSUPPORT)],
        "socketpair": [_argument(0), *_allowing(FAMILIES), _refuse(errno.EAFNOSUPPORT)],
        "personality": [_argument(0), *_allowing(PLAIN), _refuse(errno.EPERM)],
    }


def _routing() -> list[Instruction]:
    return [_argument(2), *_allowing((ROUTING,)), _refuse(errno.EAFNOSUPPORT)]


def _allowing(values: Iterable[int]) -> list[Instruction]:
    return [step for value in values for step in _on((EQUAL, value), [(RETURN, 0, 0, ALLOW)])]


def _refusing(values: Iterable[int]) -> list[Instruction]:
    return [step for value in values for step in _on((EQUAL, value), [_refuse(errno.EPERM)])]


def _on(condition: tuple[int, int], steps: list[Instruction]) -> list[Instruction]:
    """The steps, jumped over unless the condition holds."""
    code, operand = condition
    return [(code, 0, len(steps), operand), *steps]


def _argument(index: int) -> Instruction:
    return (LOAD, 0, 0, ARGUMENTS + 8 * index)


def _refuse(number: int) -> Instruction:
    return (RETURN, 0, 0, ERROR | number)
