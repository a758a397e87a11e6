"""`shell`: one command, in the sandbox that works here or, with the owner's approval, outside."""

import os
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assistant.disk import programs
from assistant.display import counted, exactly
from assistant.errors import ToolError
from assistant.secrets.redactor import Redactor
from assistant.secrets.stand_ins import stand_ins
from assistant.settings.tools import ShellSettings
from assistant.tools.base import Danger, Plan, Tool, ToolResult
from assistant.tools.files.roots import Roots
from assistant.tools.sandbox.bounds import Bounds
from assistant.tools.sandbox.process import (
    Ending,
    Launch,
    Limits,
    Process,
    available,
    confined,
    default_memory,
)
from assistant.tools.schema import tool
from assistant.tools.shell.confinement import bounds, guards, record
from assistant.tools.shell.jobs import Jobs, Output

GIT_SECONDS = 5.0


def interpreter(roots: tuple[Path, ...] = ()) -> str:
    """The shell that runs commands."""
    return programs.find("bash", roots) or "/bin/sh"


def environment(
    variables: Mapping[str, str], redactor: Redactor, roots: tuple[Path, ...] = ()
) -> dict[str, str]:
    """What of the environment a command is given, and who the owner is to git."""
    harmless = {
        name: value for name, value in variables.items() if programs.HARMLESS.fullmatch(name)
    }
    chosen = _identity(variables.get("HOME", ""), roots) | harmless
    return {name: value for name, value in chosen.items() if redactor.redact(value) == value}


@cache
def _identity(home: str, roots: tuple[Path, ...]) -> dict[str, str]:
    """The owner's name and address as git knows them: a sandbox does not show its configuration.

    Asked once for each home.
    """
    git = programs.find("git", roots)
    found: dict[str, str] = {}
    for key in ("name", "email") if git and home else ():
        asked = [str(git), "config", "--global", "--get", f"user.{key}"]
        try:
            done = subprocess.run(
                asked,
                cwd="/",
                env={**programs.environment(roots), "HOME": home},
                capture_output=True,
                timeout=GIT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        value = done.stdout.decode("utf-8", "replace").strip()
        if value:
            found[f"GIT_AUTHOR_{key.upper()}"] = found[f"GIT_COMMITTER_{key.upper()}"] = value
    return found


TIMEOUT = 120
MAX_TIMEOUT = 900
MEGABYTE = 1_000_000
ELSEWHERE = ", or run it in the background"
"""What else helps a command that takes too long, where it is waited for."""


@dataclass(frozen=True)
class Shell:
    """Runs commands. `interrupt` stops the one that runs; `jobs` are those in the background.

    `sandbox` tells whether the sandbox works here; it is first asked when a command is.
    """

    roots: Roots
    redactor: Redactor
    interrupt: threading.Event
    sandbox: Callable[[], bool] = available
    settings: ShellSettings = field(default_factory=ShellSettings)
    jobs: Jobs = field(default_factory=Jobs)

    def as_tool(self) -> Tool:
        """`shell`, as the model is offered it."""
        return tool(self.shell, writes=True, reveals=True)

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
        if unknown := stand_ins(command):
            raise ToolError(f"{', '.join(sorted(unknown))} is not known here")
        unsafe = self._why_unsafe(outside)
        start = partial(self._start, command, not unsafe)
        if background:
            run = partial(self._go_on, command, start, timeout)
        else:
            run = partial(self._wait, start, timeout or TIMEOUT)
        danger = Danger.DANGEROUS if unsafe else Danger.MODERATE
        where = f"{unsafe or 'In the sandbox'}, in {self.roots.workspace.root}"
        detail = f"{where}:\n{exactly(command, kept=chr(10))}"
        return Plan(run, danger, (command,), lambda: detail)

    def _why_unsafe(self, outside: bool) -> str:
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

    def _start(self, command: str, inside: bool, seconds: float | None) -> Process:
        memory = self.settings.memory_mb
        limits = Limits(self.settings.processes, memory * MEGABYTE if memory else default_memory())
        launch = Launch(
            [interpreter(self.roots.directories), "-c", command],
            str(self.roots.workspace.root),
            limits,
            seconds,
        )
        if inside:
            held = [(str(path), kind) for path, kind in guards(self.roots)]
            launch = replace(launch, guards=held, record=str(record(self.roots)))
            launch = confined(launch, self._bounds())
        return Process(launch, environment(os.environ, self.redactor, self.roots.directories))

    def _bounds(self) -> Bounds:
        found = bounds(self.roots)
        more = (Path(each).expanduser() for each in self.settings.readable)
        return replace(found, readable=(*found.readable, *(path for path in more if path.exists())))

    def _go_on(
        self, command: str, start: Callable[[float | None], Process], timeout: int | None
    ) -> ToolResult:
        told = partial(self._told, timeout=timeout, elsewhere="")
        number = self.jobs.add(command, partial(start, timeout), told)
        return ToolResult(
            f"Runs in the background as job {number}: read_job, stop_job, list_jobs.",
            compact=f"job {number}",
        )

    def _wait(self, start: Callable[[float | None], Process], timeout: int) -> ToolResult:
        output = Output()
        stopped = False
        with start(timeout) as process:
            for data in process.arriving():
                output.add(data)
                if self.interrupt.is_set() and not stopped:
                    stopped = True
                    process.stop()
            ending = process.close()
        told = "[interrupted by the owner]" if stopped else self._told(ending, timeout)
        said = output.take()
        lines = len(said.splitlines())
        return ToolResult(
            "\n".join(part for part in (said, told) if part) or "(no output)",
            error=bool(told),
            compact=told.strip("[]") or counted(lines, "line"),
        )

    def _told(self, ending: Ending, timeout: int | None, elsewhere: str = ELSEWHERE) -> str:
        """How a command ended, in brackets; empty if it ended well."""
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
