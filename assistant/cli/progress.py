"""Progress on standard error: a bar for a person who waits, nothing for a program."""

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 0.4
"""Seconds of work before a bar is worth its flicker."""


class ProgressLine:
    """Called as `progress(what, done, total)` inside its `with`; shows itself if it takes long."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._since: float | None = None

    def __call__(self, what: str, done: int, total: int) -> None:
        if self._since is None or not sys.stderr.isatty():
            return
        if self._bar is None and time.monotonic() - self._since < PATIENCE:
            return
        bar = self._bar or self._start()
        if what not in self._tasks:
            self._tasks[what] = bar.add_task(what, total=None)
        bar.update(self._tasks[what], completed=done, total=total or None)
        if bar.finished:
            self._rest()

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
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._rest()
        self._since = None
