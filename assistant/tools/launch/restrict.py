"""What a process gives up before it becomes a command: capabilities, writing, calls, resources."""

import os
import resource
import struct
from contextlib import suppress
from pathlib import Path

from assistant.tools.launch import kernel
from assistant.tools.launch.kernel import LIBC, check, prctl

SYS_LANDLOCK_CREATE_RULESET, SYS_LANDLOCK_ADD_RULE, SYS_LANDLOCK_RESTRICT_SELF = 444, 445, 446
LANDLOCK_CREATE_RULESET_VERSION, LANDLOCK_RULE_PATH_BENEATH = 1, 1
WRITE_FILE, REFER, TRUNCATE = 1 << 1, 1 << 13, 1 << 14
CHANGE_DIRECTORY = sum(1 << bit for bit in (4, 5, 6, 7, 8, 9, 10, 11, 12))
"""REMOVE_DIR, REMOVE_FILE, MAKE_CHAR … MAKE_SYM of linux/landlock.h."""
SCOPES = 3
"""Abstract Unix sockets and signals stay inside; since version 6 of Landlock."""
FIRST_TO_GO = "800"
"""How readily the kernel ends a command when memory is short, of 1,000."""


def limit_resources(memory: int) -> None:
    """Limit what one process may ask for: twice `memory` bytes, and no file of its crash.

    What all of them use together is watched from outside; this holds in between.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError, OSError):  # an owner's own limit is lower
        resource.setrlimit(resource.RLIMIT_DATA, (2 * memory, 2 * memory))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(FIRST_TO_GO)


def limit_processes(count: int) -> None:
    """Limit how many processes this user namespace may have, where the kernel counts them so."""
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NPROC, (count, count))


def give_up_capabilities() -> None:
    """No capability is left, nor can one be gained. Raises OSError."""
    check(prctl(kernel.PR_CAP_AMBIENT, kernel.PR_CAP_AMBIENT_CLEAR_ALL))
    for capability in range(64):
        if prctl(kernel.PR_CAPBSET_DROP, capability) < 0:
            break
    check(prctl(kernel.PR_SET_NO_NEW_PRIVS, 1))


def drop_capabilities() -> None:
    """Let go of the capabilities that this process holds. Raises OSError."""
    nothing = struct.pack("IIIIII", 0, 0, 0, 0, 0, 0)
    check(LIBC.capset(struct.pack("Ii", kernel.CAPABILITY_VERSION_3, 0), nothing))


def write_only_below(paths: list[str]) -> None:
    """Allow writing beneath these paths only, for good, by Landlock. Raises OSError."""
    version = check(
        LIBC.syscall(SYS_LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_CREATE_RULESET_VERSION)
    )
    handled = WRITE_FILE | CHANGE_DIRECTORY
    handled |= (REFER if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    scopes = SCOPES if version >= 6 else 0
    attributes = struct.pack("QQQ", handled, 0, scopes)[: 24 if scopes else 8]
    ruleset = check(LIBC.syscall(SYS_LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0))
    for path in filter(os.path.exists, paths):
        allowed = handled if Path(path).is_dir() else handled & (WRITE_FILE | TRUNCATE)
        beneath = struct.pack("=Qi", allowed, os.open(path, os.O_PATH))
        check(LIBC.syscall(SYS_LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, beneath, 0))
    check(LIBC.syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0))
