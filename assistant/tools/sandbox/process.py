"""A command under its supervisor, in the sandbox or, with the owner's yes, outside of it.

The sandbox counts only if a real command, run in it just now, could write where it may and
neither write nor read where it may not: a kernel can forbid namespaces.
"""

import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from secrets import token_hex

from assistant.disk import programs
from assistant.errors import ToolError
from assistant.tools.sandbox import seccomp
from assistant.tools.sandbox.bounds import Bounds, Mount, system, view

START = [sys.executable, "-I", "-S", str(Path(__file__).resolve().parents[1] / "launch/start.py")]
"""How a supervisor is started."""
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
    """A command and what is to hold while it runs; `assistant/tools/launch` reads it as JSON.

    `seconds` is its time, None for no limit. With a `view` it runs in namespaces of its own, under
    `filter`, a seccomp program. `guards` are paths that, where they are missing, are held by
    something empty of a kind (`file`, `directory`); commands that share them name the same
    `record`.
    """

    command: Sequence[str]
    cwd: str
    limits: Limits
    environment: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    view: Sequence[Mount] = ()
    filter: bytes = b""
    guards: Sequence[tuple[str, str]] = ()
    record: str = ""

    def line(self) -> bytes:
        """The plan as one line of JSON."""
        plan = asdict(self) | asdict(self.limits)
        plan["filter"] = self.filter.hex()
        plan["view"] = [(step.kind, step.path, step.target) for step in self.view]
        return json.dumps(plan).encode() + b"\n"


def confined(launch: Launch, bounds: Bounds) -> Launch:
    """The command in the sandbox, within these bounds."""
    return replace(launch, view=view(bounds), filter=seccomp.program())


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
        limits = Limits(64, default_memory())
        launch = Launch(command, str(inside), limits, seconds=PROBE_SECONDS)
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
            START,
            cwd="/",
            env=programs.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(launch.line())
            self._process.stdin.flush()
        except BrokenPipeError as error:
            said = self.close()
            raise ToolError("the command could not be started", said.cause) from error

    def arriving(self) -> Iterator[bytes]:
        """The output as it arrives, and nothing at least every `TICK`; ends with the command."""
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(TICK):
                    yield b""
                    continue
                data = self._process.stdout.read(65536)
                if not data:
                    break
                yield data
        while self._running():
            yield b""

    def _running(self) -> bool:
        """Whether it still runs, though it says no more; takes up to a `TICK`."""
        try:
            self._process.wait(TICK)
        except subprocess.TimeoutExpired:
            return True
        return False

    def stop(self) -> None:
        """Let the command be ended, with all that it started; that takes a second or two."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def close(self) -> Ending:
        """End the command if it still runs; how it ended."""
        if self._ending is None:
            self._ending = self._ended()
        return self._ending

    def _ended(self) -> Ending:
        self.stop()
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._process.stdout.close()
        with self._process.stderr as report:
            return _read(report.read())

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
