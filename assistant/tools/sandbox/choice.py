"""Where shell commands run: bubblewrap, or namespaces with Landlock, or else unconfined.

A sandbox counts only if a real command, run in it just now, could write where it may and could
not where it may not: an installed `bwrap` can still be forbidden by the kernel.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from secrets import token_hex

from assistant.tools.sandbox import confine

PROBE_SECONDS = 10.0
ONLY_LOOPBACK = 3
"""Lines of /proc/net/dev where there is one device: two of headings, one of it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a command may touch, as real absolute paths that exist.

    All but `writable` is read-only. Inside that, `protected` is read-only too. `hidden` cannot
    even be read. `pinned` are directories that may not be renamed, since they hold such a one.
    """

    writable: tuple[Path, ...]
    protected: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()

    @property
    def pinned(self) -> list[Path]:
        """Directories of the writable ones on the way to something protected or hidden."""
        inside = (*self.writable, *self.protected, *self.hidden)
        return sorted(
            {
                parent
                for path in inside
                for parent in path.parents
                if any(parent != root and parent.is_relative_to(root) for root in self.writable)
            }
            | set(self.writable)
        )


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A way to confine: `wrap` gives the command line that runs another within bounds."""

    name: str
    wrap: Callable[[Sequence[str], Bounds, Path], list[str]]


def bubblewrap(command: Sequence[str], bounds: Bounds, cwd: Path) -> list[str]:
    """The command under bwrap. Later options cover earlier ones."""
    options = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    options += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]
    for directory in confine.SCRATCH:
        if Path(directory).is_dir() and not Path(directory).is_symlink():
            options += ["--tmpfs", directory]
    for path in bounds.pinned:
        options += ["--bind", str(path), str(path)]
    for path in bounds.hidden:
        options += ["--tmpfs", str(path), "--remount-ro", str(path)] if path.is_dir() else []
        options += [] if path.is_dir() else ["--ro-bind", "/dev/null", str(path)]
    for path in bounds.protected:
        options += ["--ro-bind", str(path), str(path)]
    return [shutil.which("bwrap") or "bwrap", *options, "--chdir", str(cwd), "--", *command]


def landlock(command: Sequence[str], bounds: Bounds, cwd: Path) -> list[str]:
    """The command under `confine.py`, in namespaces and under Landlock."""
    plan = {
        "writable": [str(path) for path in bounds.pinned],
        "hidden": [str(path) for path in bounds.hidden],
        "protected": [str(path) for path in bounds.protected],
        "cwd": str(cwd),
    }
    return [sys.executable, "-I", "-S", confine.__file__, json.dumps(plan), *command]


SANDBOXES = (Sandbox("bubblewrap", bubblewrap), Sandbox("landlock", landlock))


@cache
def live() -> Sandbox | None:
    """The first sandbox that works on this machine, tried out once."""
    return next((sandbox for sandbox in SANDBOXES if works(sandbox)), None)


def works(sandbox: Sandbox) -> bool:
    """Whether a command in this sandbox can write inside, not outside, and reach no network."""
    outside = Path.home() / f".assistant-probe-{token_hex(8)}"
    with tempfile.TemporaryDirectory() as name:
        inside = Path(name).resolve()
        script = 'echo in > inside; echo out > "$1"; exit $(wc -l < /proc/net/dev)'
        command = sandbox.wrap(
            ["/bin/sh", "-c", script, "sh", str(outside)], Bounds((inside,)), inside
        )
        try:
            done = subprocess.run(
                command,
                cwd=inside,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        leaked = outside.exists()
        outside.unlink(missing_ok=True)
        return done.returncode == ONLY_LOOPBACK and (inside / "inside").exists() and not leaked
