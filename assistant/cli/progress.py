"""Progress on standard error: a bar for a person who waits, a line now and then for a log."""

import sys
import time
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 0.4
"""Seconds of work before a bar is worth its flicker."""
SILENCE, BETWEEN = 5.0, 30.0
"""Seconds before a line is written where there is no terminal, and before each further one."""


class ProgressLine:
    """Called as `progress(what, done, total)` inside its `with`; shows itself if it takes long."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._since: float | None = None
        self._due = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        if self._since is None:
            return
        if not sys.stderr.isatty():
            self._write(what, done, total)
            return
        if self._bar is None and time.monotonic() - self._since < PATIENCE:
            return
        bar = self._bar or self._start()
        if what not in self._tasks:
            self._tasks[what] = bar.add_task(what, total=None)
        bar.update(self._tasks[what], completed=done, total=total or None)
        if bar.finished:
            self._rest()

    def _write(self, what: str, done: int, total: int) -> None:
        """Say it plainly, where it has been quiet for long."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + BETWEEN
            typer.echo(f"{what}: {done:,} of {total:,}" if total else f"{what} …", err=True)

    def _rest(self) -> None:
        """Leave the screen until there is as much to wait for again: a question may follow."""
        if self._bar is not None:
            self._bar.stop()
        self._bar = None
        self._tasks.clear()
        self._since = time.monotonic()

    def _start(self) -> "Progress":
        from rich.console import Console  # 0.1 s, and only when there is something to wait for
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Elapsed())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        return self._bar

    def __enter__(self) -> "ProgressLine":
        self._since = time.monotonic()
        self._due = self._since + SILENCE
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._rest()
        self._since = None
