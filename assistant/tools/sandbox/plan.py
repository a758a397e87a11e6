"""The plan of one command, as `assistant/tools/launch` reads it."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from assistant.tools.sandbox.bounds import Mount


@dataclass(frozen=True, slots=True)
class Limits:
    """What a command and all that it starts may use together; `memory` in bytes."""

    processes: int
    memory: int


def default_memory() -> int:
    """Half of the machine's memory, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


@dataclass(frozen=True, slots=True)
class Launch:
    """A command and what is to hold while it runs.

    `seconds` is its time, None for no limit. With a `view` it runs in namespaces of its own, in
    which only `writable` can be written. `filter` is a seccomp program. `guards` are paths that,
    where they are missing, are held by something empty of a kind (`file`, `directory`); commands
    that share them name the same `record`.
    """

    command: Sequence[str]
    cwd: str
    limits: Limits
    seconds: float | None = None
    view: Sequence[Mount] = ()
    writable: Sequence[str] = ()
    filter: bytes = b""
    guards: Sequence[tuple[str, str]] = ()
    record: str = ""

    def line(self) -> bytes:
        """The plan as one line of JSON."""
        plan = asdict(self) | asdict(self.limits)
        plan["filter"] = self.filter.hex()
        plan["view"] = [(step.kind, step.path, step.target) for step in self.view]
        return json.dumps(plan).encode() + b"\n"
