"""`shell`, `execute_code` and the tools for background jobs.

The first two run a command or Python code in the sandbox or, with the owner's approval, outside it.
`list_jobs`, `read_job` and `stop_job` are for commands in the background, which end with the chat.
"""

import os
import shutil
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import Field

from assistant.disk import programs
from assistant.display import counted, exactly
from assistant.errors import ToolError
from assistant.events import Event, ToolPrinted
from assistant.secrets.redactor import Redactor
from assistant.secrets.stand_ins import stand_ins
from assistant.settings.sections import ShellSettings
from assistant.tables import table_of
from assistant.tools.base import INTERRUPTED, TICK, Plan, Tool, ToolResult, tool
from assistant.tools.files.access import Roots
from assistant.tools.places import EXECUTED_SUFFIXES
from assistant.tools.policy import only_reads
from assistant.tools.sandbox.process import (
    Command,
    Launch,
    available,
    confined,
    default_memory,
    shell_program,
)
from assistant.tools.shell.confinement import bounds, guards, record
from assistant.workspace.checkpoints import MADE_BY_TOOLS, Checkpoints, PassedOver, too_much

PROGRAMS = table_of(__file__)["programs"].split()
SHOWN_END = 6_000
"""Number of characters of the output's end that are shown along with its beginning."""


MOST = 8
"""Maximum number of commands running in the background at once."""
LONGEST_WAIT = 60
SHOWN = 80
"""Maximum characters of a command in a list."""

JobNumber = Annotated[int, Field(description="The number of the job.")]


class Jobs:
    """The jobs of a chat, by number."""

    def __init__(self) -> None:
        self._jobs: dict[int, Command] = {}

    def add(self, start: Callable[[], Command]) -> int:
        """Start a command and return its number. Raises ToolError if too many already run."""
        if sum(job.runs for job in self._jobs.values()) >= MOST:
            raise ToolError(
                f"{MOST} commands are already running in the background", "Stop one first"
            )
        number = len(self._jobs) + 1
        self._jobs[number] = start()
        return number

    def any(self) -> bool:
        """Return whether there has been a job."""
        return bool(self._jobs)

    def get(self, number: int) -> Command:
        """Return a job. Raises ToolError if there is none with this number."""
        if number not in self._jobs:
            raise ToolError(f"there is no job {number}; jobs end with their chat")
        return self._jobs[number]

    def listed(self) -> list[str]:
        """Return a line for each job."""
        return [
            f"{number} {job.state} {exactly(job.text)[:SHOWN]}"
            for number, job in self._jobs.items()
        ]

    def close(self) -> None:
        """Stop all running jobs."""
        for job in self._jobs.values():
            if job.runs:
                job.stop()


def job_tools(jobs: Jobs, interrupt: threading.Event) -> list[Tool]:
    """Return `list_jobs`, `read_job` and `stop_job`, offered once there is a job."""

    def list_jobs() -> ToolResult:
        """List the commands that were started in the background, and whether they still run."""
        lines = jobs.listed()
        return ToolResult("\n".join(lines) or "No jobs.", compact=counted(len(lines), "job"))

    def read_job(
        job: JobNumber,
        wait: Annotated[
            int, Field(ge=0, le=LONGEST_WAIT, description="Seconds to wait for something new.")
        ] = 0,
    ) -> ToolResult:
        """Read what a job has printed since it was last read, and whether it still runs."""
        selected = jobs.get(job)
        deadline = time.monotonic() + wait
        while time.monotonic() < deadline and not (selected.output or interrupt.is_set()):
            if selected.wait(TICK):
                break
        state = selected.state
        return ToolResult(
            "\n".join(part for part in (selected.output.take(), state) if part),
            compact=state.strip("[]"),
            tail=SHOWN_END,
        )

    def stop_job(job: JobNumber) -> ToolResult:
        """Stop a job, with all that it started."""
        selected = jobs.get(job)
        selected.stop()
        return ToolResult(selected.state, compact=selected.state.strip("[]"))

    return [tool(function, available=jobs.any) for function in (list_jobs, read_job, stop_job)]


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
    names = ("config", "--global", "--get-regexp", r"^user\.(name|email)$")
    result = programs.git(Path("/"), *names, roots=roots, HOME=home) if home else None
    if result is None:
        return {}
    pairs = (line.partition(" ") for line in result.stdout.decode("utf-8", "replace").splitlines())
    identity = {key.removeprefix("user.").upper(): value for key, _, value in pairs}
    return {
        f"GIT_{who}_{key}": identity[key] for key in identity for who in ("AUTHOR", "COMMITTER")
    }


RUN_PYTHON = 'exec python3 -u -c "$1"'
"""Runs the Python that a command in the sandbox would find, including a project's own."""
TIMEOUT = 120
MAX_TIMEOUT = 900
Timeout = Annotated[
    int | None,
    Field(ge=1, le=MAX_TIMEOUT, description=f"Seconds until it is stopped; {TIMEOUT}."),
]
Outside = Annotated[
    bool, Field(description="Outside the sandbox, with network; the owner is asked.")
]
MEGABYTE = 1_000_000


NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
EVERY = 0.2
"""Seconds between updates of that output."""


@dataclass(frozen=True)
class Shell:
    """Runs commands. `interrupt` stops the running one; `jobs` are those in the background.

    `sandbox` returns whether the sandbox works on this machine; it is called when the first command
    is planned.
    """

    roots: Roots
    redactor: Redactor
    interrupt: threading.Event
    sandbox: Callable[[], bool] = available
    settings: ShellSettings = field(default_factory=ShellSettings)
    jobs: Jobs = field(default_factory=Jobs)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)

    def tools(self) -> list[Tool]:
        """Return `shell` and `execute_code` as offered to the model."""
        shell, execute = (
            tool(function, writes=True, reveals=True)
            for function in (self.shell, self.execute_code)
        )
        path = programs.environment(self.roots.directories)["PATH"]
        present = [name for name in PROGRAMS if shutil.which(name, path=path)]
        program = Path(shell_program(self.roots.directories)).name
        described = f"{shell.spec.description}\n\nThe shell is {program}."
        if present:
            described += f"\n\nThis machine has: {', '.join(present)}."
        return [replace(shell, spec=replace(shell.spec, description=described)), execute]

    def shell(
        self,
        command: Annotated[str, Field(min_length=1, description="In the workspace.")],
        timeout: Timeout = None,
        background: Annotated[
            bool, Field(description="Return at once; it runs until it ends or the chat does.")
        ] = False,
        outside: Outside = False,
    ) -> Plan:
        """Run a shell command in a sandbox: it reads the workspace and the system, no other files.

        The workspace can be written, but for the files that steer or remember, git's own (commit
        outside) and those that editors and shells run. There is no network.
        """
        argv = [shell_program(self.roots.directories), "-c", command]
        return self._plan(
            argv,
            command,
            timeout,
            self._unsafe_reason(outside),
            background=background,
            reads=only_reads(command),
        )

    def execute_code(
        self,
        code: Annotated[str, Field(min_length=1, description="A Python program; print results.")],
        timeout: Timeout = None,
        outside: Outside = False,
    ) -> Plan:
        """Run a Python program, as `shell` runs a command: to compute, or to work through files."""
        unsafe, roots = self._unsafe_reason(outside), self.roots.directories
        if unsafe:  # neither a Python nor a module that a sandboxed command has planted
            if (python := programs.find("python3", roots)) is None:
                raise ToolError("there is no python3 outside the workspace")
            return self._plan([python, "-I", "-u", "-c", code], code, timeout, unsafe)
        argv = [shell_program(roots), "-c", RUN_PYTHON, "execute_code", code]
        return self._plan(argv, code, timeout)

    def run_hook(
        self, command: str, variables: Mapping[str, str], *, outside: bool
    ) -> tuple[str, bool]:
        """Run one of the owner's hooks, whose changes are undone with the turn's.

        Return its output, and whether it succeeded. Raises ToolError if it must run in the sandbox
        and none works.
        """
        if not outside and (reason := self._unsafe_reason(outside)):
            raise ToolError(f"a hook cannot run: {reason}", "Give it `outside = true`")
        argv = [shell_program(self.roots.directories), "-c", command]
        kept = not too_much(self.roots.directories, self._untouched)
        hook = self._begin(argv, TIMEOUT, not outside, kept, variables)
        try:
            hook.wait()
        finally:
            hook.stop()
        return hook.output.take(), hook.ending.code == 0

    def _plan(
        self,
        argv: list[str],
        text: str,
        timeout: int | None,
        unsafe: str = "",
        *,
        background: bool = False,
        reads: bool = False,
    ) -> Plan:
        """Plan to run `argv`, which is shown to the owner as `text`.

        `unsafe` says why it runs outside the sandbox; `reads` says that it only reads.
        """
        if unknown := stand_ins(text):
            raise ToolError(f"{', '.join(sorted(unknown))} is not known here")
        not_undoable = "" if reads else too_much(self.roots.directories, self._untouched)
        start = partial(self._begin, argv, inside=not unsafe, kept=not (reads or not_undoable))

        def run() -> ToolResult:
            number = self.jobs.add(partial(start, timeout))
            return ToolResult(
                f"Runs in the background as job {number}: read_job, stop_job, list_jobs.",
                compact=f"job {number}",
            )

        dangerous = bool(unsafe or not_undoable)
        description = f"{unsafe or 'In the sandbox'}, in {self.roots.workspace.root}"
        if not_undoable:
            description += f"; /undo cannot take back what it changes, since {not_undoable}"
        detail = f"{description}:\n{exactly(text, kept=chr(10))}"
        work = None if background else partial(self._wait, partial(start, timeout or TIMEOUT))
        return Plan(run, (text,), lambda: detail, dangerous, work=work)

    @cached_property
    def _untouched(self) -> PassedOver:
        """What a checkpoint may skip: commands cannot change it, memory's journal can revert it,
        or a tool regenerates it."""
        return PassedOver(
            frozenset(map(str, self.roots.guards())),
            frozenset(str(path).casefold() for path in self.roots.private),
            MADE_BY_TOOLS,
        )

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
            return f"The sandbox cannot be set up: {error}"
        return ""

    def _begin(
        self,
        argv: list[str],
        seconds: float | None,
        inside: bool,
        kept: bool,
        variables: Mapping[str, str] = NO_VARIABLES,
    ) -> Command:
        """Start a command, `inside` the sandbox or not; if `kept`, its changes can be undone."""
        keeping: AbstractContextManager[None] = nullcontext()
        if kept:
            keeping = self.checkpoints.around(self.roots.directories, self._untouched)
        return Command(partial(self._launch, argv, seconds, inside, variables), keeping)

    def _launch(
        self, argv: list[str], seconds: float | None, inside: bool, variables: Mapping[str, str]
    ) -> Launch:
        memory = self.settings.memory_mb
        launch = Launch(
            argv,
            str(self.roots.workspace.root),
            self.settings.processes,
            memory * MEGABYTE if memory else default_memory(),
            {**environment(os.environ, self.redactor, self.roots.directories), **variables},
            seconds,
        )
        if not inside:
            return launch
        guarded = [(str(path), kind) for path, kind in guards(self.roots)]
        renamed = [(str(r), end) for r in self.roots.directories for end in EXECUTED_SUFFIXES]
        launch = replace(launch, guards=guarded, record=str(record(self.roots)), renamed=renamed)
        return confined(launch, bounds(self.roots, self.settings.readable))

    def _wait(
        self, start: Callable[[], Command], call_id: str
    ) -> Generator[Event, None, ToolResult]:
        """Run a command to its end, reporting its output as it goes."""
        command, printed = start(), ""
        stopped = interrupted = False
        try:
            while not (stopped or command.wait(EVERY)):
                if command.output.recent != printed:
                    printed = command.output.recent
                    yield ToolPrinted(call_id, self.redactor.redact(printed))
                stopped = self.interrupt.is_set()
        except KeyboardInterrupt:
            stopped = interrupted = True
        finally:
            command.stop()
        status = command.status
        if stopped:
            status = f"[{INTERRUPTED}]"
        text = command.output.take()
        return ToolResult(
            "\n".join(part for part in (text, status) if part) or "(no output)",
            error=bool(status),
            compact=status.strip("[]") or counted(len(text.splitlines()), "line"),
            tail=SHOWN_END,
            interrupted=interrupted,
        )
