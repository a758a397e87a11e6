"""The owner and the assistant at one terminal: a turn or a command for each line that is said."""

import contextlib
import io
import time
from collections.abc import Iterator

from assistant.app import Chat
from assistant.cli.terminal.commands.slash import run_command
from assistant.cli.terminal.palette import BAD, faint, styled
from assistant.cli.terminal.screen.base import Kind, Screen
from assistant.cli.terminal.status import status
from assistant.cli.terminal.view import TurnView
from assistant.display import spelled
from assistant.errors import AssistantError
from assistant.events import Event

COMMAND = "/"
STOPPED = "stopped"


class Sitting:
    """An open chat on a screen."""

    def __init__(self, chat: Chat, screen: Screen) -> None:
        self.chat = chat
        self.screen = screen
        screen.tell(status(chat))

    def take(self, line: str) -> None:
        """Do what a line says, and what was said into it too late. Raises EOFError at `/quit`."""
        self.screen.echo(line)
        if line.startswith(COMMAND):
            self._command(line)
            return
        self.turn(self.chat.conversation.send(line))
        while late := self.chat.conversation.late():
            self.screen.joined(late)
            self.screen.echo(late)
            self.turn(self.chat.conversation.send(late))

    def go_on(self) -> None:
        """Say which session goes on, and finish a turn that a crash cut off."""
        talk = self.chat.conversation
        self.screen.put(faint(f"going on with {talk.transcript.session}"), "line")
        if talk.unfinished:
            self.turn(talk.resume())

    def turn(self, turn: Iterator[Event]) -> None:
        """Show one turn; Ctrl-C ends it, wherever it hits."""
        talk, view, began = self.chat.conversation, TurnView(self.screen), time.monotonic()
        with self.screen.working(talk):
            try:
                for event in turn:
                    view.show(event)
            except KeyboardInterrupt:  # it hit the screen and not the turn: end that too
                talk.cancel()
                for event in turn:
                    view.show(event)
            finally:
                view.flush()
        self.screen.tell(status(self.chat, time.monotonic() - began, view.recalled))

    def _command(self, line: str) -> None:
        above = _Above(self.screen)
        with self.screen.working(None), contextlib.redirect_stdout(above):
            try:
                run_command(self.chat, line)
            except AssistantError as error:
                self.screen.put(styled(spelled(str(error)), BAD))
            except KeyboardInterrupt:
                self.screen.put(STOPPED, "line")
            finally:
                above.end()


class _Above(io.TextIOBase):
    """What a command prints, on the screen line by line."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._rest = ""
        self._kind: Kind = "block"

    def isatty(self) -> bool:
        """As the screen is."""
        return True

    def write(self, text: str) -> int:
        """Put up every whole line."""
        whole, end, self._rest = (self._rest + text).rpartition("\n")
        if end:
            self._put(whole)
        return len(text)

    def end(self) -> None:
        """Put up a last line that has no end."""
        if self._rest:
            self._put(self._rest)

    def _put(self, text: str) -> None:
        self._screen.put(text, self._kind)
        self._kind = "more"
