"""Where shell commands run: bubblewrap, or namespaces with Landlock, or else unconfined.

A sandbox counts only if a real command, run in it just now, could write where it may and could
not where it may not: an installed `bwrap` can still be forbidden by the kernel.
"""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from secrets import token_hex

from assistant.tools.sandbox import filter as calls
from assistant.tools.sandbox.bounds import Bounds, Mount, system, view
from assistant.tools.sandbox.plan import Launch, Limits, default_memory
from assistant.tools.sandbox.process import Process

PROBE_SECONDS = 10.0
FILTER = "9"
"""The descriptor that bubblewrap reads its filter from; `launch/supervise.py` puts it there."""
PROBE = """
echo in > inside
echo out > "$1"
cat "$2"
test "$(wc -l < /proc/net/dev)" = 3 && echo alone
"""
"""Three lines of /proc/net/dev: two of headings, and loopback."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A way to confine: `wrap` makes of a command one that runs within bounds."""

    name: str
    wrap: Callable[[Launch, Bounds], Launch]


def bubblewrap(launch: Launch, bounds: Bounds) -> Launch:
    """The command under bwrap."""
    options = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    steps = view(bounds)
    for step in steps:
        options += _options(step)
    options += ["--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]
    if not any(step == Mount("write", "/") for step in steps):
        options += ["--remount-ro", "/"]
    program = calls.program()
    options += ["--seccomp", FILTER] if program else []
    command = [shutil.which("bwrap") or "bwrap", *options, "--chdir", launch.cwd, "--"]
    return replace(launch, command=[*command, *launch.command], cwd="/", filter=program)


def landlock(launch: Launch, bounds: Bounds) -> Launch:
    """The command in namespaces of our own, and under Landlock."""
    steps = view(bounds)
    writable = [step.path for step in steps if step.kind in ("write", "scratch")]
    return replace(launch, view=steps, writable=writable, filter=calls.program())


def _options(step: Mount) -> list[str]:
    path = step.path
    match step.kind:
        case "read":
            return ["--ro-bind-try", path, path]
        case "write":
            return ["--bind", path, path]
        case "scratch":
            return ["--tmpfs", path]
        case "closed":
            return ["--tmpfs", path, "--remount-ro", path]
        case "blank":
            return ["--ro-bind", "/dev/null", path]
        case "link":
            return ["--symlink", step.target, path]


SANDBOXES = (Sandbox("bubblewrap", bubblewrap), Sandbox("landlock", landlock))


@cache
def live() -> Sandbox | None:
    """The first sandbox that works on this machine, tried out once."""
    return next((sandbox for sandbox in SANDBOXES if works(sandbox)), None)


def works(sandbox: Sandbox) -> bool:
    """Whether a command in this sandbox can write inside, and neither write nor read outside, nor
    reach a network."""
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as other:
        inside, beside = Path(name).resolve(), Path(other).resolve() / token_hex(8)
        secret = beside.with_suffix(".secret")
        secret.write_text("outside")
        command = ["/bin/sh", "-c", PROBE, "sh", str(beside), str(secret)]
        launch = Launch(command, str(inside), Limits(64, default_memory()), PROBE_SECONDS)
        bounds = Bounds((inside,), readable=system())
        with Process(sandbox.wrap(launch, bounds)) as process:
            said = b"".join(process.arriving())
        kept = (inside / "inside").exists() and not beside.exists()
        return kept and said.endswith(b"alone\n") and b"outside" not in said
