"""The screen that is not drawn: what is written stays. For screen readers and dumb terminals."""

import contextlib
import os
import readline
import select
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from typing import TextIO, Unpack

import typer

from assistant.cli.chat.palette import SGR
from assistant.cli.chat.screen import QUIET, Choice, During, Kind, Line, Moving
from assistant.errors import UsageError

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

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
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
        yield

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


MOST = 20
"""Choices that are listed at a time."""
THERE_ARE_MORE = " (there are more)"


class PlainScreen(LineDialogue):
    """A terminal that is only written to. What is typed too early waits for the prompt."""

    def __init__(self, prompt: str) -> None:
        super().__init__(sys.stdin, sys.stdout)
        self._prompt = prompt
        self._last: Kind = "line"

    def __enter__(self) -> "PlainScreen":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to give back."""

    def put(self, text: str, kind: Kind = "block", growing: str | None = None) -> None:
        """Write a text."""
        if kind != "more":
            if "block" in (kind, self._last):
                typer.echo(file=self._screen)
            self._last = kind
        typer.echo(SGR.sub("", text), file=self._screen)

    def render(self, markdown: str) -> str:
        """Markdown as it was written."""
        return markdown.strip("\n")

    def draw(self, **parts: Unpack[Moving]) -> None:
        """Nothing moves: a block is shown when it is finished, and `/status` has the status."""

    def does(self, what: str, *, seconds: float = 0.0) -> None:
        """Nothing: what was done is told when it is."""

    def show(self, lines: Sequence[Line], *, more: bool = False) -> None:
        """Put up the lines of a question."""
        self.put("\n".join(line.text for line in lines), "more" if more else "block")

    def echo(self, text: str) -> None:
        """Nothing: the terminal has shown what was typed."""

    def end(self, why: BaseException) -> None:
        """Nothing: who reads is at the prompt, and is told at the next line."""

    def give_back(self, text: str) -> None:
        """Let the next prompt begin with a message that was refused."""
        self.kept = text

    def copy(self, text: str) -> bool:
        """Not here."""
        return False

    def read(self) -> str:
        """What the owner says next; it begins with what was typed before a question was put."""
        typer.echo(file=self._screen)
        kept, self.kept = self.kept.partition("\n")[0], ""
        readline.set_startup_hook(lambda: readline.insert_text(kept))
        return input(self._prompt)

    def pick(self, title: str, choices: Sequence[Choice]) -> Choice | None:
        """What the owner takes of a list, by its number; other words narrow it.

        Raises UsageError where nobody is there to choose.
        """
        if not self._keyboard.isatty():
            raise UsageError("nobody is here to choose one", "Name it behind the command")
        shown = list(choices)
        while shown:
            rows = [f"{n}. {each.title}  {each.facts}" for n, each in enumerate(shown[:MOST], 1)]
            self.show([Line(title), *map(Line, rows)])
            said = self.answer(
                f"A number, words to search{THERE_ARE_MORE * (len(shown) > MOST)}, or Enter: "
            )
            if said.strip().isdecimal() and 1 <= int(said) <= len(rows):
                return shown[int(said) - 1]
            if not said.strip():
                return None
            shown = [each for each in choices if each.holds(said)]
        typer.echo("none of them", file=self._screen)
        return None

    @contextlib.contextmanager
    def working(self, during: During | None) -> Iterator[None]:
        """Something runs."""
        yield

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """The terminal belongs to another program meanwhile."""
        yield
