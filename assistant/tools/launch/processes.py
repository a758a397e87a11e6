"""The processes that a process has started, directly or not, as far as /proc tells."""

import os
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")
PROC = Path("/proc")


def below(ancestor: int) -> dict[int, int]:
    """Each process under `ancestor`, and the bytes of memory that are its own."""
    children: dict[int, list[int]] = {}
    for entry in _listed():
        parent = _parent(entry)
        if parent:
            children.setdefault(parent, []).append(int(entry))
    found: dict[int, int] = {}
    waiting = [ancestor]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found[child] = _memory(child)
                waiting.append(child)
    return found


def _listed() -> list[str]:
    try:
        return [entry.name for entry in PROC.iterdir() if entry.name.isdigit()]
    except OSError:  # not a Linux
        return []


def _parent(pid: str) -> int:
    try:
        status = (PROC / pid / "stat").read_bytes()
    except OSError:  # it has just ended
        return 0
    return int(status.rpartition(b")")[2].split()[1])


def _memory(pid: int) -> int:
    try:
        _, resident, shared, *_ = (PROC / str(pid) / "statm").read_bytes().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * PAGE
