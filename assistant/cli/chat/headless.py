"""Turns that are printed, for `ask` and for a chat whose owner is a program."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator

import typer

from assistant import events
from assistant.app.chat import Chat
from assistant.cli.chat.palette import DUMB
from assistant.cli.chat.plain import PlainScreen
from assistant.cli.chat.slash import BEGINS, Host, parsed
from assistant.cli.questions import asked_by
from assistant.display import spelled
from assistant.errors import INTERRUPTED, WAITING, AssistantError, UsageError
from assistant.events import Event

WIDTH = 80
"""Columns of a terminal that does not say how many it has."""
FAILED = 1


def print_turns(turns: Iterable[Iterator[Event]], *, as_json: bool = False) -> int:
    """Print turns as they come; the exit code: 0, 1 if any failed, 130 if one was interrupted.

    An interrupted turn is the last one. It is 3 if the last one ended with a question.
    """
    code, asked = 0, False
    for turn in turns:
        reply, last = _Reply(), None
        for event in turn:
            if as_json:
                typer.echo(events.to_json(event))
            else:
                reply.show(event)
                _print_beside(event)
            sys.stdout.flush()
            last = event
        match last:
            case events.TurnFailed():
                code = FAILED
            case events.TurnFinished(interrupted=True):
                return INTERRUPTED
            case events.TurnFinished(waiting=waiting):
                asked = waiting
    return WAITING if asked and not code else code


class _Reply:
    """The reply on standard output, its parts around tool calls set apart by a blank line.

    On a terminal each block of markdown is rendered once it is whole; elsewhere the text is
    printed as it comes.
    """

    def __init__(self) -> None:
        self._renders = sys.stdout.isatty() and os.environ.get("TERM", "") not in DUMB
        self._text = ""
        """What is not printed yet on a terminal, else the last piece that was."""
        self._parted = False

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
            case events.TurnFailed():
                self._end()

    def _add(self, text: str) -> None:
        if not self._renders:
            self._part(not self._text)
            typer.echo(text, nl=False)
            self._text = text
            return
        from assistant.cli.chat.markdown import finished_blocks  # rich: only where it is seen

        self._text += text
        if "\n" in text:  # a block ends with a line
            whole, self._text = finished_blocks(self._text)
            self._render(whole)

    def _end(self) -> None:
        """Print what there is of the last part."""
        text, self._text = self._text, ""
        if self._renders:
            self._render(text)
        elif text and not text.endswith("\n"):
            typer.echo()

    def _render(self, markdown: str) -> None:
        if not markdown.strip():
            return
        from assistant.cli.chat.markdown import Renderer

        self._part(True)
        columns = shutil.get_terminal_size((WIDTH, 0)).columns
        typer.echo(Renderer(columns).markdown(markdown))

    def _part(self, begins: bool) -> None:
        """Print a blank line before each part but the first."""
        if begins and self._parted:
            typer.echo()
        self._parted = True


def _print_beside(event: Event) -> None:
    """What is not the reply, on standard error."""
    match event:
        case events.Notice(text):
            line = f"note: {text}"
        case events.SkillLoaded(skill, _, trigger):
            line = f"skill {skill} loaded: “{trigger}”"
        case events.TurnFailed(message, cure):
            line = f"assistant: {message}. {cure}".rstrip()
        case events.Retrying():
            line = event.said
        case _:
            return
    typer.echo(spelled(line), err=True)


class Piped(Host):
    """The chat whose owner is a program: it says lines, and reads what is printed."""

    def __init__(self, chat: Chat) -> None:
        super().__init__(chat, PlainScreen(""))
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
            turn, self.attachments = self.chat.send(line, self.attachments), {}
            self._print(turn)
            return

        def nobody(question: str) -> str:
            name = line.split()[0]
            raise UsageError(f"{name} asks a question here", "Run its command in a terminal")

        command, argument = parsed(line)
        with asked_by(nobody):
            command.run(self, argument)

    def _print(self, turn: Iterator[Event]) -> None:
        code = print_turns([turn])
        self._waits = code == WAITING
        self._code = self._code if code in (0, WAITING) else code
