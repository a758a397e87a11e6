"""`shell`: one command, in the sandbox that works here or, with the owner's approval, outside."""

import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Annotated

from pydantic import Field

from assistant.display import counted, exactly
from assistant.errors import ToolError
from assistant.secrets.redactor import Redactor
from assistant.secrets.stand_ins import stand_ins
from assistant.tools.base import Danger, Plan, Tool, ToolResult
from assistant.tools.files.roots import Roots
from assistant.tools.sandbox import choice
from assistant.tools.sandbox.choice import Bounds, Sandbox
from assistant.tools.schema import tool

TIMEOUT = 120
MAX_TIMEOUT = 900
GRACE = 1.0
"""Seconds between asking a command to end and killing it."""
TICK = 0.1
"""Seconds between two looks at whether the owner interrupted."""
HEAD, TAIL = 24_000, 12_000
"""Bytes kept of the start and the end of a command's output."""

PASSED = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TERM|COLORTERM|NO_COLOR|TZ|LANG|LANGUAGE|LC_\w+|PWD|EDITOR|PAGER"
    r"|CI|XDG_\w+_HOME|VIRTUAL_ENV|CONDA_PREFIX|PYENV_ROOT|PYENV_VERSION|PYTHONPATH|PYTHONHOME"
    r"|JAVA_HOME|GOPATH|GOROOT|GOFLAGS|CARGO_HOME|RUSTUP_HOME|NVM_DIR|NVM_BIN|NODE_PATH"
    r"|LD_LIBRARY_PATH|PKG_CONFIG_PATH|CC|CXX|CFLAGS|CXXFLAGS|LDFLAGS|MAKEFLAGS"
)
"""The environment of a command. Keys are under other names."""


class Shell:
    """Runs commands. `interrupt` stops the one that runs.

    `confinement` gives the sandbox, or None if none works; it is first asked when a command is.
    """

    def __init__(
        self,
        roots: Roots,
        redactor: Redactor,
        interrupt: threading.Event,
        confinement: Callable[[], Sandbox | None] = choice.live,
    ) -> None:
        self._roots = roots
        self._redactor = redactor
        self._interrupt = interrupt
        self._confinement = confinement

    def shell(
        self,
        command: Annotated[str, Field(min_length=1, description="For bash, in the workspace.")],
        timeout: Annotated[
            int, Field(ge=1, le=MAX_TIMEOUT, description="Seconds until it is stopped.")
        ] = TIMEOUT,
        outside: Annotated[
            bool, Field(description="Outside the sandbox, with network; the owner is asked.")
        ] = False,
    ) -> Plan:
        """Run a shell command in a sandbox: the workspace can be written, all else only read.

        There is no network, and the files that steer or remember are read-only.
        """
        if unknown := stand_ins(command):
            raise ToolError(f"{', '.join(sorted(unknown))} is not known here")
        confinement = None if outside else self._confinement()
        unsafe = self._why_unsafe(outside, confinement)
        run = partial(self._run, command, timeout, None if unsafe else confinement)
        danger = Danger.DANGEROUS if unsafe else Danger.MODERATE
        detail = f"{unsafe}, in {self._roots.workspace.root}:\n{_shown(command)}"
        return Plan(run, danger, (command,), lambda: detail)

    def _why_unsafe(self, outside: bool, confinement: Sandbox | None) -> str:
        if outside:
            return "Outside the sandbox"
        if confinement is None:
            return "No sandbox works on this machine"
        linked = [guard for guard in self._roots.guards() if guard.resolve() != guard]
        if linked:
            return f"The sandbox cannot protect {linked[0]}, which is behind a symbolic link"
        return ""

    def _run(self, command: str, timeout: int, confinement: Sandbox | None) -> ToolResult:
        argv = [shutil.which("bash") or "/bin/sh", "-c", command]
        with ExitStack() as held:
            if confinement is not None:
                bounds = held.enter_context(_bounds(self._roots))
                argv = confinement.wrap(argv, bounds, self._roots.workspace.root)
            process = subprocess.Popen(
                argv,
                cwd=self._roots.workspace.root,
                env=environment(os.environ, self._redactor),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                output, ending = self._follow(process, timeout)
            finally:
                _kill(process)
        text = "\n".join(part for part in (output.text().rstrip("\n"), ending) if part)
        lines = output.text().count("\n")
        return ToolResult(
            text or "(no output)",
            error=bool(ending),
            compact=ending.strip("[]") or counted(lines, "line"),
        )

    def _follow(self, process: "subprocess.Popen[bytes]", timeout: int) -> tuple["_Output", str]:
        """Gather output until the command ends, is interrupted or out of time; how it ended."""
        assert process.stdout is not None
        output = _Output()
        deadline = time.monotonic() + timeout
        for data in _arriving(process.stdout, process):
            output.add(data)
            if self._interrupt.is_set():
                return output, "[interrupted by the owner]"
            if time.monotonic() > deadline:
                return output, f"[stopped after {timeout} s; give a longer timeout if it needs one]"
        code = process.wait()
        return output, "" if code == 0 else f"[exit {code}]"


def shell_tool(
    roots: Roots,
    redactor: Redactor,
    interrupt: threading.Event,
    confinement: Callable[[], Sandbox | None] = choice.live,
) -> Tool:
    """`shell` below these roots, in the sandbox that works here."""
    return tool(Shell(roots, redactor, interrupt, confinement).shell, writes=True)


def environment(variables: Mapping[str, str], redactor: Redactor) -> dict[str, str]:
    """What of the environment a command is given: nothing that is, or could be, a key."""
    return {
        name: value
        for name, value in variables.items()
        if PASSED.fullmatch(name) and redactor.redact(value) == value
    }


class _Output:
    """The head and the tail of a stream of bytes, however long it is."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0

    def add(self, data: bytes) -> None:
        self._size += len(data)
        room = HEAD - len(self._head)
        self._head += data[:room]
        self._tail = (self._tail + data[room:])[-TAIL:] if len(data) > room else self._tail

    def text(self) -> str:
        left_out = self._size - len(self._head) - len(self._tail)
        middle = f"\n[… {left_out:,} bytes left out …]\n".encode() if left_out else b""
        return (self._head + middle + self._tail).decode("utf-8", "replace")


def _arriving(stream: IO[bytes], process: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    """What arrives, at least every `TICK`; ends with the stream, or with a process gone quiet."""
    os.set_blocking(stream.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if not selector.select(TICK):
                if process.poll() is not None:
                    return
                yield b""
                continue
            data = stream.read(65536)
            if not data:
                return
            yield data


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End the process and its whole group: first asking, then not."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def _bounds(roots: Roots) -> Iterator[Bounds]:
    """The bounds of a command. What is guarded but not there is held by an empty stand-in."""
    made = [guard for guard in roots.guards() if guard.parent.is_dir() and _stand_in(guard)]
    try:
        yield Bounds(
            roots.directories,
            tuple(path for path in (*roots.guards(), *_own_code(roots)) if path.exists()),
            tuple(path for path in _hidden(roots) if path.exists()),
        )
    finally:
        for guard in reversed(made):
            _take_away(guard)


def _stand_in(guard: Path) -> bool:
    """Put something empty where a guarded path is missing; whether that was needed."""
    try:
        if guard.suffix or guard.name == "config":
            guard.touch(exist_ok=False)
        else:
            guard.mkdir()
    except FileExistsError:
        return False
    return True


def _take_away(guard: Path) -> None:
    """Remove a stand-in, unless the owner has put something in it or in its place."""
    with suppress(OSError):
        if guard.is_dir():
            guard.rmdir()
        elif guard.stat().st_size == 0:
            guard.unlink()


def _own_code(roots: Roots) -> list[Path]:
    """This program and its Python, where they stand inside a root."""
    own = (Path(__file__).resolve().parents[2], Path(sys.prefix).resolve())
    return [path for path in own if any(path.is_relative_to(root) for root in roots.directories)]


def _hidden(roots: Roots) -> list[Path]:
    """Keys and the program's own files, unless the owner gave that very place as a root."""
    places = [*roots.private, Path(os.environ.get("XDG_RUNTIME_DIR", "/run")).resolve()]
    return [
        place
        for place in places
        if not any(root.is_relative_to(place) for root in roots.directories)
    ]


def _shown(command: str) -> str:
    return exactly(command, kept="\n")
