"""A command under its supervisor, in the sandbox or, with the owner's yes, outside of it.

In the sandbox it reads by a list: the workspace, the added directories, and the system. Whatever is
on no list is not there at all. The sandbox counts only if a real command, run in it just now, could
write where it may and neither write nor read where it may not: a kernel can forbid namespaces.
"""

import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Literal

from assistant.disk import programs
from assistant.errors import ToolError
from assistant.tools.launch import starting
from assistant.tools.places import SYSTEM, TOOLCHAINS
from assistant.tools.sandbox import seccomp

Step = tuple[Literal["read", "write", "scratch", "closed", "blank", "link"], str, str]
"""One step in making a command's file system: its kind, a path, and a link's target.

`read` and `write` bring a path in as it is; `scratch` is an empty directory that may be written;
`closed` and `blank` cover a directory or a file; a `link` leads to its target.
"""
SCRATCH = ("/tmp", "/var/tmp", "/run")
"""A command has empty ones of its own: other programs keep their sockets here."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a command may touch, as real absolute paths.

    All but `writable` is read-only. Inside that, `protected` is read-only too, and `hidden`
    cannot even be read. `readable` are paths that may be symbolic links themselves.
    """

    writable: tuple[Path, ...]
    protected: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()

    @property
    def pinned(self) -> list[Path]:
        """The writable directories, and those in them that may not be renamed: something
        protected or hidden is in there."""
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


def view(bounds: Bounds) -> list[Step]:
    """A command's file system, step by step: a later step covers an earlier one."""
    home = Path.home()
    scratch = (*map(Path, SCRATCH), *([home] if home != Path("/") else []))
    base: list[Step] = [("write", str(path), "") for path in bounds.pinned]
    base += [("scratch", path, "") for path in _apart(scratch, bounds.writable)]
    for path in _apart(bounds.readable, bounds.writable):
        linked = Path(path).is_symlink()
        base.append(("link", path, str(Path(path).readlink())) if linked else ("read", path, ""))
    base.sort(key=lambda step: step[1].rstrip("/").count("/"))
    base += [("read", str(path), "") for path in bounds.protected]
    for place in bounds.hidden:
        if not any(parent in bounds.hidden for parent in place.parents):  # gone with that one
            base.append(("closed" if place.is_dir() else "blank", str(place), ""))
    return base


def system() -> tuple[Path, ...]:
    """What there is of the system, of the toolchains in the owner's home, and our own Python."""
    toolchains = (Path.home() / name for name in TOOLCHAINS)
    own = (Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve())
    places = (*map(Path, SYSTEM), *toolchains, *own)
    return tuple(path for path in places if os.path.lexists(path))


def _apart(paths: Iterable[Path], writable: Iterable[Path]) -> list[str]:
    """Those of the paths that are not in a writable directory anyway, each once."""
    roots = list(writable)
    return list(
        dict.fromkeys(
            str(path) for path in paths if not any(path.is_relative_to(root) for root in roots)
        )
    )


TICK = 0.1
"""Seconds between two looks at whether the owner interrupted."""
PATIENCE = 10.0
"""Seconds that a supervisor is given to end what it watches, before it is killed itself."""
PROBE_SECONDS = 10.0
PROBE = """
echo in > inside
echo out > "$1"
cat "$2"
test "$(wc -l < /proc/net/dev)" = 3 && echo alone
"""
"""Three lines of /proc/net/dev: two of headings, and loopback."""


def default_memory() -> int:
    """Half of the machine's memory, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


@dataclass(frozen=True, slots=True)
class Launch:
    """A command and what is to hold while it runs; `assistant/tools/launch` reads it as JSON.

    It and all that it starts may be so many `processes` and use so much `memory` together, in
    bytes. `seconds` is its time, None for no limit. With a `view` it runs in namespaces of its own,
    under `filter`, a seccomp program in hex. `guards` are paths that, where they are missing, are
    held by something empty of a kind (`file`, `directory`); commands that share them name the same
    `record`.
    """

    command: Sequence[str]
    cwd: str
    processes: int
    memory: int
    environment: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    view: Sequence[Step] = ()
    filter: str = ""
    guards: Sequence[tuple[str, str]] = ()
    record: str = ""


def confined(launch: Launch, bounds: Bounds) -> Launch:
    """The command in the sandbox, within these bounds."""
    return replace(launch, view=view(bounds), filter=seccomp.program().hex())


@cache
def available() -> bool:
    """Whether the sandbox works on this machine, tried out once."""
    return works()


def works(confine: Callable[[Launch, Bounds], Launch] = confined) -> bool:
    """Whether a command so confined can write inside, and neither write nor read outside, nor
    reach a network."""
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as other:
        inside, beside = Path(name).resolve(), Path(other).resolve() / token_hex(8)
        secret = beside.with_suffix(".secret")
        secret.write_text("outside")
        command = ["/bin/sh", "-c", PROBE, "sh", str(beside), str(secret)]
        launch = Launch(command, str(inside), 64, default_memory(), seconds=PROBE_SECONDS)
        with Process(confine(launch, Bounds((inside,), readable=system()))) as process:
            printed = b"".join(process.arriving())
        kept = (inside / "inside").exists() and not beside.exists()
        return kept and printed.endswith(b"alone\n") and b"outside" not in printed


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended: its exit code, None if it had none; and what ended it, if not itself.

    `cause` is `time`, `memory` or `processes` for a limit, `stopped` for the assistant.
    """

    code: int | None
    cause: str = ""


class Process:
    """A running command. It ends with this process at the latest, however that ends.

    Raises ToolError if it cannot be started.
    """

    def __init__(self, launch: Launch) -> None:
        self._ending: Ending | None = None
        self._process = subprocess.Popen(
            starting("run_command"),
            cwd="/",
            env=programs.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._lifeline = self._process.stdin
        self._output, self._report = self._process.stdout, self._process.stderr
        try:
            self._lifeline.write(json.dumps(asdict(launch)).encode() + b"\n")
            self._lifeline.flush()
        except BrokenPipeError as error:
            cause = self.close().cause
            raise ToolError("the command could not be started", cause) from error

    def arriving(self) -> Iterator[bytes]:
        """The output as it arrives, and nothing at least every `TICK`; ends with the command."""
        os.set_blocking(self._output.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            while True:
                if not selector.select(TICK):
                    yield b""
                    continue
                data = self._output.read(65536)
                if not data:
                    break
                yield data
        while not self._ends_within(TICK):  # though it says no more
            yield b""

    def stop(self) -> None:
        """Let the command be ended, with all that it started; that takes a second or two."""
        with suppress(BrokenPipeError):
            self._lifeline.close()

    def close(self) -> Ending:
        """End the command if it still runs; how it ended."""
        if self._ending is None:
            self.stop()
            if not self._ends_within(PATIENCE):
                self._process.kill()
                self._process.wait()
            self._output.close()
            with self._report:
                self._ending = _read(self._report.read())
        return self._ending

    def _ends_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _read(report: bytes) -> Ending:
    try:
        told = json.loads(report)
        return Ending(told["code"], told["ended"])
    except (ValueError, KeyError, TypeError):  # the supervisor was killed, or failed
        return Ending(None, report.decode("utf-8", "replace").strip()[-300:] or "killed")
