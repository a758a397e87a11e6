"""Progress on standard error: a line redrawn on a terminal, occasional lines in a log."""

import os
import sys
import time

import typer

PATIENCE = 0.4
"""Seconds of work before the line is shown on a terminal."""
BETWEEN = 30.0
"""Without a terminal, the seconds before the first line and between later ones."""
REDRAWN = 0.1
"""Seconds between two redraws of the line."""
ERASE = "\r\x1b[K"


class ProgressLine:
    """A context manager called as `progress(what, done, total)`; shown only if the work takes
    long."""

    def __init__(self) -> None:
        self._shown = False
        self._due: float | None = None
        """When to write the next line; None outside the `with` block."""

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if self._due is None:
            return
        redraws = _is_terminal()
        if 0 < total <= done:
            if redraws:
                self._reset()
        elif now >= self._due:
            self._due = now + (REDRAWN if redraws else BETWEEN)
            text = f"{what}: {done:,} of {total:,}" if total else f"{what} …"
            typer.echo(f"{ERASE}{text}" if redraws else text, err=True, nl=not redraws)
            self._shown = redraws

    def _reset(self) -> None:
        """Erase the line and delay showing it again, since a question may follow."""
        if self._shown:
            typer.echo(ERASE, err=True, nl=False)
        self._shown = False
        self._due = time.monotonic() + (PATIENCE if _is_terminal() else BETWEEN)

    def __enter__(self) -> "ProgressLine":
        self._reset()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._reset()
        self._due = None


def _is_terminal() -> bool:
    """Return whether standard error is a terminal that can erase a line."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
