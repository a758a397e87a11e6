"""Asking the owner in a terminal that is read line by line: for `ask`, and where nothing moves."""

import os
import select
import termios
import tty
from collections.abc import Sequence
from typing import TextIO

import typer

from assistant.cli.terminal.dialogue import Line
from assistant.cli.terminal.screen.base import QUIET

CHUNK = 4096


class LineDialogue:
    """Questions on a terminal in line mode. `kept` is what was typed before they were put."""

    def __init__(self, keyboard: TextIO, screen: TextIO) -> None:
        self._keyboard = keyboard
        self._screen = screen
        self.kept = ""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return os.get_terminal_size(self._screen.fileno())

    def settle(self) -> None:
        """Take in what was typed, until the keys are quiet."""
        terminal = self._keyboard.fileno()
        before = termios.tcgetattr(terminal)
        tty.setcbreak(terminal, termios.TCSANOW)
        typed = b""
        try:
            while select.select([terminal], [], [], QUIET)[0]:
                if not (data := os.read(terminal, CHUNK)):
                    break
                typed += data
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        self.kept += typed.decode("utf-8", "replace")

    def show(self, lines: Sequence[Line], *, more: bool = False) -> None:
        """Put lines on the screen, where they stay."""
        if not more:
            typer.echo(file=self._screen)
        for line in lines:
            typer.echo(line.styled, file=self._screen)

    def answer(self, question: str, options: Sequence[str] = ()) -> str:
        """What the owner answers, at Enter. Raises EOFError at Ctrl-D."""
        typer.echo(question, file=self._screen, nl=False)
        self._screen.flush()
        line = self._keyboard.readline()
        if not line.endswith("\n"):
            typer.echo(file=self._screen)
            raise EOFError
        return line
