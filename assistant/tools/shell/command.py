"""`shell` and `execute_code`: run a command or Python code in the sandbox or, with the owner's
approval, outside it."""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assistant.disk import programs
from assistant.display import counted, exactly
from assistant.errors import ToolError
from assistant.events import Event, ToolPrinted
from assistant.secrets.redactor import Redactor
from assistant.secrets.stand_ins import stand_ins
from assistant.settings.sections import ShellSettings
from assistant.tools.base import Danger, Plan, Tool, ToolResult
from assistant.tools.commands import only_reads
from assistant.tools.files.roots import Roots
from assistant.tools.sandbox.process import (
    Bounds,
    Ending,
    Launch,
    Process,
    available,
    confined,
    default_memory,
)
from assistant.tools.schema import tool
from assistant.tools.shell.confinement import bounds, guards, record
from assistant.tools.shell.jobs import SHOWN_END, Jobs, Keeping, Output
from assistant.workspace.checkpoints import MADE_BY_TOOLS, Checkpoints, too_much


def interpreter(roots: tuple[Path, ...] = ()) -> str:
    """Return the shell that runs commands."""
    return programs.find("bash", roots) or "/bin/sh"


def environment(
    variables: Mapping[str, str], redactor: Redactor, roots: tuple[Path, ...] = ()
) -> dict[str, str]:
    """Return the environment for a command: harmless variables, and the owner's git identity."""
    chosen = git_identity(variables.get("HOME", ""), roots)
    chosen |= {
        name: value for name, value in variables.items() if programs.HARMLESS.fullmatch(name)
    }
    return {name: value for name, value in chosen.items() if redactor.redact(value) == value}


@cache
def git_identity(home: str, roots: tuple[Path, ...]) -> dict[str, str]:
    """Return the owner's name and address from git, whose configuration the sandbox hides."""
    git = programs.find("git", roots)
    if not git or not home:
        return {}
    result = subprocess.run(
        [git, "config", "--global", "--get-regexp", r"^user\.(name|email)$"],
        cwd="/",
        env={**programs.environment(roots), "HOME": home},
        capture_output=True,
        check=False,
    )
    pairs = (line.partition(" ") for line in result.stdout.decode("utf-8", "replace").splitlines())
    identity = {key.removeprefix("user.").upper(): value for key, _, value in pairs}
    return {
        f"GIT_{who}_{key}": identity[key] for key in identity for who in ("AUTHOR", "COMMITTER")
    }


RUN_PYTHON = 'exec python3 -u -c "$0"'
"""Runs the Python that a command would find, a project's own included."""
TIMEOUT = 120
MAX_TIMEOUT = 900
MEGABYTE = 1_000_000
ELSEWHERE = ", or run it in the background"
"""What else helps a command that takes too long in the foreground."""


RECENT = 2_000
"""Bytes of the newest output that are shown while a command runs."""
EVERY = 0.2
"""Seconds between updates of that output."""
Start = Callable[[float | None], Process]


def _run_silently(work: Generator[Event, None, ToolResult]) -> ToolResult:
    """Run the work to its end, dropping its events, and return its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: ToolResult = end.value
            return result


@dataclass(frozen=True)
class Shell:
    """Runs commands. `interrupt` stops the running one; `jobs` are those in the background.

    `sandbox` says whether the sandbox works here; it is called when the first command is planned.
    """

    roots: Roots
    redactor: Redactor
    interrupt: threading.Event
    sandbox: Callable[[], bool] = available
    settings: ShellSettings = field(default_factory=ShellSettings)
    jobs: Jobs = field(default_factory=Jobs)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)

    def tools(self) -> list[Tool]:
        """Return `shell` and `execute_code` as the model is offered them."""
        functions = (self.shell, self.execute_code)
        return [tool(function, writes=True, reveals=True) for function in functions]

    def as_tool(self) -> Tool:
        """Return `shell` alone."""
        return self.tools()[0]

    def shell(
        self,
        command: Annotated[str, Field(min_length=1, description="For bash, in the workspace.")],
        timeout: Annotated[
            int | None,
            Field(ge=1, le=MAX_TIMEOUT, description=f"Seconds until it is stopped; {TIMEOUT}."),
        ] = None,
        background: Annotated[
            bool, Field(description="Go on at once; it runs until it ends or the chat does.")
        ] = False,
        outside: Annotated[
            bool, Field(description="Outside the sandbox, with network; the owner is asked.")
        ] = False,
    ) -> Plan:
        """Run a shell command in a sandbox: it reads the workspace and the system, no other files.

        The workspace can be written, but for the files that steer or remember, git's own (commit
        outside) and those that editors and shells run. There is no network.
        """
        argv = [interpreter(self.roots.directories), "-c", command]
        return self._plan(
            argv,
            command,
            timeout,
            background=background,
            outside=outside,
            reads=only_reads(command),
        )

    def execute_code(
        self,
        code: Annotated[str, Field(min_length=1, description="A Python program; print results.")],
        timeout: Annotated[
            int | None,
            Field(ge=1, le=MAX_TIMEOUT, description=f"Seconds until it is stopped; {TIMEOUT}."),
        ] = None,
        outside: Annotated[
            bool, Field(description="Outside the sandbox, with network; the owner is asked.")
        ] = False,
    ) -> Plan:
        """Run a Python program, as `shell` runs a command: to compute, or to work through files."""
        argv = [interpreter(self.roots.directories), "-c", RUN_PYTHON, code]
        return self._plan(argv, code, timeout, outside=outside)

    def _plan(
        self,
        argv: list[str],
        text: str,
        timeout: int | None,
        *,
        background: bool = False,
        outside: bool = False,
        reads: bool = False,
    ) -> Plan:
        """Plan to run `argv`, which is shown to the owner as `text` and may be known to be one that
        only `reads`."""
        if unknown := stand_ins(text):
            raise ToolError(f"{', '.join(sorted(unknown))} is not known here")
        unsafe = self._unsafe_reason(outside)
        start = partial(self._start, argv, not unsafe)
        not_undoable = "" if reads else too_much(self.roots.directories, self._untouched)
        keeping = nullcontext if reads or not_undoable else self._keep_checkpoint
        work = None if background else partial(self._wait, start, timeout or TIMEOUT, keeping)
        run = (
            partial(self._run_in_background, text, start, timeout, keeping)
            if work is None
            else lambda: _run_silently(work(""))
        )
        danger = Danger.DANGEROUS if unsafe or not_undoable else Danger.MODERATE
        description = f"{unsafe or 'In the sandbox'}, in {self.roots.workspace.root}"
        if not_undoable:
            description += f"; /undo cannot take back what it changes, since {not_undoable}"
        detail = f"{description}:\n{exactly(text, kept=chr(10))}"
        return Plan(run, danger, (text,), lambda: detail, work=work)

    def _keep_checkpoint(self) -> AbstractContextManager[None]:
        """Keep what the command changes below the roots, so that it can be undone."""
        return self.checkpoints.around(self.roots.directories, self._untouched)

    def _untouched(self, path: str) -> bool:
        """Return whether a checkpoint may skip this path: commands cannot change it, memory's
        journal can revert it, or a tool regenerates it."""
        candidate = Path(path)
        return (
            candidate.name in MADE_BY_TOOLS or self.roots.closed(path) or candidate in self._guards
        )

    @cached_property
    def _guards(self) -> frozenset[Path]:
        return frozenset(self.roots.guards())

    def _unsafe_reason(self, outside: bool) -> str:
        if outside:
            return "Outside the sandbox"
        if not self.sandbox():
            return "No sandbox works on this machine"
        linked = [guard for guard in self.roots.guards() if guard.resolve() != guard]
        if linked:
            return f"The sandbox cannot protect {linked[0]}, which is behind a symbolic link"
        try:
            bounds(self.roots)
        except ToolError as error:
            return f"The sandbox does not hold: {error}"
        return ""

    def _start(self, argv: list[str], inside: bool, seconds: float | None) -> Process:
        memory = self.settings.memory_mb
        launch = Launch(
            argv,
            str(self.roots.workspace.root),
            self.settings.processes,
            memory * MEGABYTE if memory else default_memory(),
            environment(os.environ, self.redactor, self.roots.directories),
            seconds,
        )
        if inside:
            guarded = [(str(path), kind) for path, kind in guards(self.roots)]
            launch = replace(launch, guards=guarded, record=str(record(self.roots)))
            launch = confined(launch, self._bounds())
        return Process(launch)

    def _bounds(self) -> Bounds:
        base = bounds(self.roots)
        extra = (Path(folder).expanduser() for folder in self.settings.readable)
        return replace(base, readable=(*base.readable, *(path for path in extra if path.exists())))

    def _run_in_background(
        self, command: str, start: Start, timeout: int | None, keeping: Keeping
    ) -> ToolResult:
        describe = partial(self._describe_ending, timeout=timeout, elsewhere="")
        number = self.jobs.add(command, partial(start, timeout), describe, keeping)
        return ToolResult(
            f"Runs in the background as job {number}: read_job, stop_job, list_jobs.",
            compact=f"job {number}",
        )

    def _wait(
        self, start: Start, timeout: int, keeping: Keeping, call_id: str
    ) -> Generator[Event, None, ToolResult]:
        """Run a command to its end, reporting its output as it goes."""
        output, recent, reported_at = Output(), b"", time.monotonic()
        stopped = False
        with keeping(), start(timeout) as process:
            for data in process.arriving():
                output.add(data)
                recent = (recent + data)[-RECENT:]
                if data and time.monotonic() > reported_at + EVERY:
                    reported_at = time.monotonic()
                    rows = recent.decode("utf-8", "replace").split("\n")
                    complete = rows[1 if len(recent) == RECENT else 0 : -1]
                    yield ToolPrinted(call_id, self.redactor.redact("\n".join(complete)))
                if self.interrupt.is_set() and not stopped:
                    stopped = True
                    process.stop()
            ending = process.close()
        status = "[interrupted by the owner]" if stopped else self._describe_ending(ending, timeout)
        text = output.take()
        lines = len(text.splitlines())
        return ToolResult(
            "\n".join(part for part in (text, status) if part) or "(no output)",
            error=bool(status),
            compact=status.strip("[]") or counted(lines, "line"),
            tail=SHOWN_END,
        )

    def _describe_ending(
        self, ending: Ending, timeout: int | None, elsewhere: str = ELSEWHERE
    ) -> str:
        """Describe how a command ended, in brackets; empty if it succeeded."""
        match ending.cause:
            case "time":
                return f"[stopped after {timeout} s; give it longer{elsewhere}]"
            case "processes":
                return f"[stopped: over {self.settings.processes} processes at once]"
            case "memory":
                return "[stopped: over its limit of memory]"
            case "stopped":
                return "[stopped]"
            case "":
                return f"[exit {ending.code}]" if ending.code else ""
        return f"[ended: {ending.cause}]"
