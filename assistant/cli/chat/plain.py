"""The plain screen, for screen readers and dumb terminals: it only writes lines, and redraws
nothing."""

import contextlib
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO, Unpack

import typer

from assistant.app.options import ENDING
from assistant.cli.chat.screen import QUIET, Choice, Kind, Parts
from assistant.cli.palette import SGR
from assistant.cli.questions import edited_line
from assistant.errors import UsageError

if TYPE_CHECKING:
    from assistant.conversation import Conversation

BYTES_AT_ONCE = 4096
MOST = 20
"""Number of choices listed at a time."""
THERE_ARE_MORE = " (there are more)"


class LineDialogue:
    """Asks questions on a terminal in line mode. `kept` is the text typed before a question."""

    def __init__(self, keyboard: TextIO, screen: TextIO) -> None:
        self._keyboard = keyboard
        self._screen = screen
        self._last: Kind = "line"
        self.kept = ""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return os.get_terminal_size(self._screen.fileno())

    def put(self, text: str, kind: Kind = "block") -> None:
        """Write a text."""
        if kind != "more":
            if "block" in (kind, self._last):
                typer.echo(file=self._screen)
            self._last = kind
        typer.echo(text, file=self._screen)

    def view(self, text: str) -> bool:
        """A pager would draw on the screen: there is none here."""
        return False

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """Read and keep typed text until no key is pressed for a while."""
        terminal = self._keyboard.fileno()
        before = termios.tcgetattr(terminal)
        tty.setcbreak(terminal, termios.TCSANOW)
        typed = b""
        try:
            while select.select([terminal], [], [], QUIET)[0]:
                if not (data := os.read(terminal, BYTES_AT_ONCE)):
                    break
                typed += data
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        self.kept += typed.decode("utf-8", "replace")
        yield

    def answer(self, question: str, options: Sequence[str] = ()) -> str:
        """Return the owner's answer. Raises EOFError at Ctrl-D."""
        typer.echo(question, file=self._screen, nl=False)
        self._screen.flush()
        line = self._keyboard.readline()
        if not line.endswith("\n"):
            typer.echo(file=self._screen)
            raise EOFError
        return line


class PlainScreen(LineDialogue):
    """A screen that only writes lines. Text typed too early waits for the prompt."""

    def __init__(self, prompt: str) -> None:
        super().__init__(sys.stdin, sys.stdout)
        self._prompt = prompt
        self._leaving = False
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> "PlainScreen":
        self._handlers = {number: signal.signal(number, self._on_end) for number in ENDING}
        return self

    def __exit__(self, *_: object) -> None:
        """Restore what the signals did."""
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def put(self, text: str, kind: Kind = "block") -> None:
        """Write a text without colours."""
        super().put(SGR.sub("", text), kind)

    def render(self, markdown: str) -> str:
        """Return the markdown as it is."""
        return markdown.strip("\n")

    def draw(self, **parts: Unpack[Parts]) -> None:
        """Do nothing: blocks are shown when finished, and `/status` shows the status."""

    def read(self) -> str:
        """Return the owner's next line, prefilled with text typed before a question."""
        if self._leaving:
            raise EOFError
        typer.echo(file=self._screen)
        kept, self.kept = self.kept.partition("\n")[0], ""
        return edited_line(self._prompt, kept)

    def answer(self, question: str, options: Sequence[str] = (), *, draft: str = "") -> str:
        """Return the owner's answer, prefilled with `draft`. Raises EOFError at Ctrl-D."""
        return edited_line(question, draft) if draft else super().answer(question, options)

    def end(self, error: BaseException) -> None:
        """Do nothing: the error is raised when the next line is handled."""

    def give_back(self, text: str) -> None:
        """Prefill the next prompt with an unsent message."""
        self.kept = text

    @contextlib.contextmanager
    def working(self, talk: "Conversation | None") -> Iterator[None]:
        """Do nothing: text typed meanwhile waits in the terminal."""
        yield

    def aside(self, action: Callable[[], object]) -> None:
        """Run an action that needs the terminal for itself."""
        action()

    def pick(self, title: str, choices: Sequence[Choice]) -> Choice | None:
        """Return the choice that the owner picks by number; other input filters the list.

        Raises UsageError without a terminal.
        """
        if not self._keyboard.isatty():
            raise UsageError(
                "choosing from a list needs a terminal", "Run it in a chat at a terminal"
            )
        matching = list(choices)
        while True:
            shown = matching[:MOST]
            rows = [f"{n}. {choice.title}  {choice.facts}" for n, choice in enumerate(shown, 1)]
            self.put("\n".join([title, *rows]))
            more = THERE_ARE_MORE * (len(matching) > MOST)
            answer = ""
            with contextlib.suppress(EOFError):
                answer = self.answer(f"A number, words to search{more}, or Enter: ").strip()
            if not answer:
                return None
            if answer.isdecimal() and 1 <= int(answer) <= len(shown):
                return shown[int(answer) - 1]
            found = [choice for choice in choices if choice.matches(answer)]
            if not found:
                self.put("no match", "line")
            matching = found or matching

    def _on_end(self, *_: object) -> None:
        """Leave: the window was closed, or the process is to end. A running turn is stopped."""
        self._leaving = True
        raise KeyboardInterrupt
