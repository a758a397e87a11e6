"""Prints turns on standard output, for `ask` and for a chat from a pipe."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator

import typer

from assistant import events
from assistant.app.chat import Chat
from assistant.cli.chat.markdown import finished_blocks, rendered
from assistant.cli.chat.plain import PlainScreen
from assistant.cli.chat.slash import BEGINS, Host
from assistant.cli.chat.turn_view import event_lines
from assistant.cli.palette import DUMB, echo
from assistant.cli.questions import asked_by
from assistant.display import spelled
from assistant.errors import INTERRUPTED, WAITING, AssistantError, UsageError
from assistant.events import Event

WIDTH = 80
"""Columns assumed for a terminal of unknown width."""
FAILED = 1


def print_turns(turns: Iterable[Iterator[Event]], *, as_json: bool = False) -> int:
    """Print turns as they arrive, stop at an interrupted one, and return the exit code.

    It is 0, 1 if a turn failed, 130 if one was interrupted, 3 if the last one asks a question.
    """
    code = 0
    for turn in turns:
        reply, last = _Reply(), None
        for event in turn:
            if as_json:
                typer.echo(events.to_json(event))
            else:
                reply.show(event)
            sys.stdout.flush()
            last = event
        match last:
            case events.TurnFailed():
                code = FAILED
            case events.TurnFinished(interrupted=True):
                return INTERRUPTED
            case events.TurnFinished(waiting=waiting) if code != FAILED:
                code = WAITING if waiting else 0
    return code


class _Reply:
    """Prints the reply, and everything else on standard error.

    A blank line separates the parts of the reply before and after tool calls.

    On a terminal each block of markdown is rendered when it is finished; otherwise the text is
    printed as it arrives.
    """

    def __init__(self) -> None:
        self._renders = sys.stdout.isatty() and os.environ.get("TERM", "") not in DUMB
        self._text = ""
        """On a terminal the text not printed yet, otherwise the last piece printed."""
        self._has_printed = False

    def show(self, event: Event) -> None:
        match event:
            case events.TextDelta(text) if text:
                self._add(spelled(text))
            case events.ToolStarted() | events.ApprovalRequested() | events.QuestionAsked():
                self._end()
            case events.TurnFinished(reply, waiting=waiting):
                self._end()
                if waiting:
                    self._add(spelled(reply))
                    self._end()
            case events.TurnFailed(message, cure):
                self._end()
                echo(f"assistant: {message}. {cure}".rstrip(), err=True)
            case events.Notice() | events.SkillLoaded() | events.Retrying():
                self._end()
                typer.echo("\n".join(event_lines(event)), err=True)

    def _add(self, text: str) -> None:
        if not self._renders:
            self._separate(not self._text)
            typer.echo(text, nl=False)
            self._text = text
            return
        self._text += text
        if "\n" in text:  # a block ends at the end of a line
            finished, self._text = finished_blocks(self._text)
            self._render(finished)

    def _end(self) -> None:
        """Finish the current part."""
        text, self._text = self._text, ""
        if self._renders:
            self._render(text)
        elif text and not text.endswith("\n"):
            echo()

    def _render(self, markdown: str) -> None:
        if markdown.strip():
            self._separate(True)
            columns = shutil.get_terminal_size((WIDTH, 0)).columns
            typer.echo(rendered(markdown, columns))

    def _separate(self, begins: bool) -> None:
        """Print a blank line before each part except the first."""
        if begins and self._has_printed:
            echo()
        self._has_printed = True


class Piped(Host):
    """A chat whose lines come from a pipe."""

    def __init__(self, chat: Chat) -> None:
        super().__init__(chat, PlainScreen(""))
        self._code = 0

    def talk(self, lines: Iterable[str]) -> int:
        """Handle the lines until `/quit` or an interruption, and return the exit code."""
        if not self.chat.conversation.asks:  # otherwise the first line answers the question
            self.go_on()
        waiting = filter(None, lines)
        while self._code != INTERRUPTED and (line := next(waiting, "")):
            try:
                self._take(line)
            except EOFError:
                break
            except AssistantError as error:
                echo(f"assistant: {error}", err=True)
                self._code = FAILED
        return self._code

    def go_on(self) -> None:
        """Finish a turn that a crash interrupted."""
        self._print(self.chat.conversation.resume())

    def _take(self, line: str) -> None:
        if not line.startswith(BEGINS):
            turn, self.attachments = self.chat.send(line, self.attachments), {}
            self._print(turn)
            return

        def refuse(_question: str, _draft: str) -> str:
            name = line.split()[0]
            raise UsageError(f"{name} asks a question", "Run it in a chat at a terminal")

        with asked_by(refuse):
            self.run(line)

    def _print(self, turn: Iterator[Event]) -> None:
        code = print_turns([turn])
        if self._code != FAILED or code == INTERRUPTED:
            self._code = code
