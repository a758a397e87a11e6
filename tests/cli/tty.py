"""A real pseudo-terminal whose screen a test can look at: pexpect drives it, pyte keeps it."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import Self

import pexpect
import pyte

from tests.cli.conftest import ASSISTANT

PATIENCE = 300.0
"""Seconds until a test gives up on something that should come to stand on the screen."""
SCROLLBACK = 5000
Condition = str | Callable[["Tty"], object]


class Tty:
    """A command on a screen of so many columns and rows, for `with`.

    Nothing sleeps: `wait` reads what the command writes until the screen shows what is wanted.
    """

    def __init__(
        self,
        *arguments: str,
        size: tuple[int, int] = (80, 24),
        term: str = "xterm-256color",
        variables: Mapping[str, str] | None = None,
        command: Path = ASSISTANT,
    ) -> None:
        columns, rows = size
        self._screen = pyte.HistoryScreen(columns, rows, history=SCROLLBACK)
        self._stream = pyte.ByteStream(self._screen)
        environment = {**os.environ, **(variables or {}), "TERM": term}
        environment.pop("COLUMNS", None)  # the runner's, in a worker of it
        self.child = pexpect.spawn(
            str(command),
            list(arguments),
            env=environment,
            timeout=PATIENCE,
            dimensions=(rows, columns),
        )
        self.child.delaybeforesend = None
        self.raw = ""
        """All that the command has written."""

    def send(self, keys: str) -> None:
        """Press keys."""
        self.child.send(keys)

    def say(self, line: str) -> None:
        """Type a line and Enter."""
        self.send(f"{line}\r")

    def resize(self, columns: int, rows: int) -> None:
        """Change the window's size, as a terminal does that wraps nothing anew.

        A lower window loses the rows below the cursor, then those at its top to the scrollback.
        """
        screen = self._screen
        row, column = screen.cursor.y, screen.cursor.x
        lost = max(0, row + 1 - rows)
        screen.cursor_position(screen.lines, 1)
        for _ in range(lost):
            screen.index()
        if rows < screen.lines:
            for below in range(rows, screen.lines):
                screen.buffer.pop(below, None)
            screen.lines = rows
        screen.resize(rows, columns)
        screen.cursor_position(row - lost + 1, column + 1)
        self.child.setwinsize(rows, columns)

    def wait(self, wanted: Condition, *, gone: str = "") -> None:
        """Read until `wanted` is on the screen or true, and `gone` is not on the screen."""
        deadline = monotonic() + PATIENCE
        while not (self._is(wanted) and not (gone and gone in self.text)):
            if monotonic() > deadline:
                raise AssertionError(f"not on the screen: {wanted!r}\n{self.text}")
            self._read(f"ended before {wanted!r}")

    def end(self) -> int:
        """Read until the command ends; its exit code."""
        while self.child.isalive() or not self.child.flag_eof:
            try:
                self._feed(self.child.read_nonblocking(65536, timeout=PATIENCE))
            except pexpect.EOF:
                break
        self.child.close()
        status = self.child.exitstatus
        return -self.child.signalstatus if status is None else status

    @property
    def rows(self) -> list[str]:
        """The screen, row by row."""
        return [row.rstrip() for row in self._screen.display]

    @property
    def text(self) -> str:
        """The screen as one text."""
        return "\n".join(self.rows).rstrip()

    @property
    def whole(self) -> str:
        """All that the terminal can be scrolled back to, and the screen."""
        above = [
            "".join(row[x].data for x in range(len(row) and max(row) + 1)).rstrip()
            for row in self._screen.history.top
        ]
        return "\n".join([*above, *self.rows]).rstrip()

    def _feed(self, data: bytes) -> None:
        self.raw += data.decode("utf-8", "replace")
        self._stream.feed(data)

    def _is(self, wanted: Condition) -> bool:
        return wanted in self.text if isinstance(wanted, str) else bool(wanted(self))

    def _read(self, unless: str) -> None:
        try:
            self._feed(self.child.read_nonblocking(65536, timeout=1))
        except pexpect.TIMEOUT:
            pass
        except pexpect.EOF:
            raise AssertionError(f"{unless}\n{self.text}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.child.close(force=True)
