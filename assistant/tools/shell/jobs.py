"""Background commands of a chat: `list_jobs`, `read_job`, `stop_job`. They end with the chat."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Annotated

from pydantic import Field

from assistant.display import counted, exactly
from assistant.errors import ToolError
from assistant.tools.base import Tool, ToolResult
from assistant.tools.sandbox.process import PATIENCE, TICK, Ending, Process
from assistant.tools.schema import tool

Keeping = Callable[[], AbstractContextManager[None]]
HEAD, TAIL = 400_000, 100_000
"""Bytes kept of the start and the end of a command's output."""
SHOWN_END = 6_000
"""Characters of the end of the output that are shown along with its beginning."""


class Output:
    """The head and the tail of an unbounded stream of bytes. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0

    def add(self, data: bytes) -> None:
        """Append output."""
        with self._lock:
            self._size += len(data)
            room = HEAD - len(self._head)
            self._head += data[:room]
            if len(data) > room:
                self._tail = (self._tail + data[room:])[-TAIL:]

    def __bool__(self) -> bool:
        return self._size > 0

    def take(self) -> str:
        """Return the kept output with a note on what was dropped, and clear it."""
        with self._lock:
            omitted = self._size - len(self._head) - len(self._tail)
            middle = (
                f"\n[… {omitted:,} bytes left out; write it to a file to read them …]\n".encode()
                if omitted
                else b""
            )
            text = (self._head + middle + self._tail).decode("utf-8", "replace")
            self._head, self._tail, self._size = bytearray(), bytearray(), 0
        return text.rstrip("\n")


MOST = 8
"""The most commands that run in the background at once."""
LONGEST_WAIT = 60
SHOWN = 80
"""Characters of a command in a list."""

JobNumber = Annotated[int, Field(description="The number of the job.")]


class Job:
    """One command and its output since the last read."""

    def __init__(
        self, command: str, process: Process, describe: Callable[[Ending], str], cleanup: ExitStack
    ) -> None:
        self.command = command
        self._cleanup = cleanup
        self._process = process
        self._describe = describe
        self._began = time.monotonic()
        self._fresh = Output()
        self._ending: Ending | None = None
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    @property
    def runs(self) -> bool:
        """Whether the command still runs."""
        return self._ending is None

    @property
    def state(self) -> str:
        """How long the command has been running, or how it ended."""
        if self._ending is None:
            return f"[runs, {time.monotonic() - self._began:.0f} s]"
        return self._describe(self._ending) or "[exit 0]"

    def read(self) -> str:
        """Return the output since the last read."""
        return self._fresh.take()

    def wait(self, seconds: float, interrupt: threading.Event) -> None:
        """Wait until the job has ended or printed something, for at most `seconds`."""
        deadline = time.monotonic() + seconds
        while self.runs and not self._fresh and not interrupt.is_set():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return
            self._thread.join(min(TICK, remaining))

    def stop(self) -> None:
        """End the command and everything it started."""
        self._process.stop()
        self._thread.join(PATIENCE)

    def _follow(self) -> None:
        for data in self._process.arriving():
            self._fresh.add(data)
        try:
            with self._cleanup:
                ending = self._process.close()
        finally:
            self._ending = ending


class Jobs:
    """The jobs of a chat, by number."""

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}

    def add(
        self,
        command: str,
        start: Callable[[], Process],
        describe: Callable[[Ending], str],
        keeping: Keeping = nullcontext,
    ) -> int:
        """Start a command and return its number. `keeping` makes a context around the whole run.

        Raises ToolError if too many run already.
        """
        if sum(job.runs for job in self._jobs.values()) >= MOST:
            raise ToolError(f"{MOST} commands run in the background already", "Stop one first")
        number = len(self._jobs) + 1
        with ExitStack() as stack:
            stack.enter_context(keeping())
            self._jobs[number] = Job(command, start(), describe, stack.pop_all())
        return number

    def any(self) -> bool:
        """Return whether there has been a job."""
        return bool(self._jobs)

    def get(self, number: int) -> Job:
        """Return a job. Raises ToolError if there is none with this number."""
        if number not in self._jobs:
            raise ToolError(f"there is no job {number}; jobs end with their chat")
        return self._jobs[number]

    def listed(self) -> list[str]:
        """Return a line for each job."""
        return [
            f"{number} {job.state} {exactly(job.command)[:SHOWN]}"
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
        selected.wait(wait, interrupt)
        state = selected.state
        return ToolResult(
            "\n".join(part for part in (selected.read(), state) if part),
            compact=state.strip("[]"),
            tail=SHOWN_END,
        )

    def stop_job(job: JobNumber) -> ToolResult:
        """Stop a job, with all that it started."""
        selected = jobs.get(job)
        selected.stop()
        return ToolResult(selected.state, compact=selected.state.strip("[]"))

    return [tool(function, available=jobs.any) for function in (list_jobs, read_job, stop_job)]
