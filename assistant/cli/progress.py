"""Progress on standard error: a line that changes for a person, a line now and then for a log."""

import os
import sys
import time

import typer

PATIENCE = 0.4
"""Seconds of work before it is worth a line on a terminal."""
SILENCE, BETWEEN = 5.0, 30.0
"""Seconds before a line is written where there is no terminal, and before each further one."""
REDRAWN = 0.1
"""Seconds between two states of the line on a terminal."""
ERASE = "\r\x1b[K"


class ProgressLine:
    """Called as `progress(what, done, total)` inside its `with`; shows itself if it takes long."""

    def __init__(self) -> None:
        self._shown = False
        self._due: float | None = None
        """When to write next; None outside its `with`."""

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if self._due is None:
            return
        seen = _is_seen()
        if seen and 0 < total <= done:
            self._rest()
        elif now >= self._due:
            self._due = now + (REDRAWN if seen else BETWEEN)
            text = f"{what}: {done:,} of {total:,}" if total else f"{what} …"
            typer.echo(f"{ERASE}{text}" if seen else text, err=True, nl=not seen)
            self._shown = seen

    def _rest(self) -> None:
        """Leave the screen until there is as much to wait for again: a question may follow."""
        if self._shown:
            typer.echo(ERASE, err=True, nl=False)
        self._shown = False
        self._due = time.monotonic() + (PATIENCE if _is_seen() else SILENCE)

    def __enter__(self) -> "ProgressLine":
        self._rest()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._rest()
        self._due = None


def _is_seen() -> bool:
    """Whether standard error is a terminal that can erase a line."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
