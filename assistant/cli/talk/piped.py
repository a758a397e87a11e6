"""A chat from a pipe: each line is a turn, or a command that asks nothing."""

from collections.abc import Iterable, Iterator

import typer

from assistant.app.chat import Chat
from assistant.cli.talk.headless import print_turns
from assistant.cli.terminal.commands.slash import BEGINS, named
from assistant.cli.terminal.screen.base import Screen
from assistant.cli.terminal.screen.plain import PlainScreen
from assistant.display import spelled
from assistant.errors import INTERRUPTED, WAITING, AssistantError, UsageError
from assistant.events import Event
from assistant.messages import Picture

FAILED = 1


class Piped:
    """The chat whose owner is a program: it says lines, and reads what is printed."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.screen: Screen = PlainScreen("")
        self.given: dict[str, str | Picture] = {}
        self._code = 0
        self._waits = False

    def talk(self, lines: Iterable[str]) -> int:
        """Take the lines to their end, to `/quit`, or to an interruption; the exit code."""
        if not self.chat.conversation.asks:  # else the first line is the answer
            self.go_on()
        for line in filter(None, lines):
            if self._code == INTERRUPTED:
                break
            try:
                self._take(line)
            except EOFError:
                break
            except AssistantError as error:
                typer.echo(f"assistant: {spelled(str(error))}", err=True)
                self._code = FAILED
        return WAITING if self._waits and not self._code else self._code

    def go_on(self) -> None:
        """Finish a turn that a crash cut off."""
        self._print(self.chat.conversation.resume())

    def _take(self, line: str) -> None:
        if not line.startswith(BEGINS):
            turn, self.given = self.chat.send(line, self.given), {}
            self._print(turn)
            return
        command, argument = named(line)
        if command.asks:
            raise UsageError(f"{line} needs a terminal", "See `assistant --help` for its command")
        command.run(self, argument)

    def _print(self, turn: Iterator[Event]) -> None:
        code = print_turns([turn])
        self._waits = code == WAITING
        self._code = self._code if code in (0, WAITING) else code
