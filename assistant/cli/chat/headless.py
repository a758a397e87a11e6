"""Turns that are printed."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator

import typer

from assistant import events
from assistant.app.chat import Chat
from assistant.cli.chat.palette import DUMB
from assistant.cli.chat.plain import PlainScreen
from assistant.cli.chat.screen import Screen
from assistant.cli.chat.slash import BEGINS, named
from assistant.display import spelled
from assistant.errors import INTERRUPTED, WAITING, AssistantError, UsageError
from assistant.events import Event
from assistant.messages import Picture

WIDTH = 80
"""Columns of a terminal that does not say how many it has."""


def print_turns(turns: Iterable[Iterator[Event]], *, as_json: bool = False) -> int:
    """Print turns as they come; the exit code: 0, 1 if any failed, 130 if one was interrupted.

    An interrupted turn is the last one. It is 3 if the last one ended with a question.
    """
    code, asked = 0, False
    for turn in turns:
        match _printed(turn, as_json=as_json):
            case events.TurnFailed():
                code = 1
            case events.TurnFinished(interrupted=True):
                return INTERRUPTED
            case events.TurnFinished(waiting=True):
                asked = True
            case events.TurnFinished():
                asked = False
    return WAITING if asked and not code else code


def _printed(turn: Iterator[Event], *, as_json: bool) -> Event | None:
    """Print one turn; its last event."""
    text, event = _Rendered() if _is_seen() else _Text(), None
    for event in turn:
        if as_json:
            typer.echo(events.to_json(event))
        else:
            text.show(event)
            _print_beside(event)
        sys.stdout.flush()
    return event


def _is_seen() -> bool:
    """Whether a person reads standard output, on a terminal that shows more than letters."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in DUMB


class _Rendered:
    """The text of one turn on a terminal: each block once it is whole, blank lines between them."""

    def __init__(self) -> None:
        self._text = ""
        self._first = True

    def show(self, event: Event) -> None:
        from assistant.cli.chat.markdown import finished_blocks  # rich: only where it is seen

        match event:
            case events.TextDelta(text):
                self._text += spelled(text)
                if "\n" in text:  # a block ends with a line
                    whole, self._text = finished_blocks(self._text)
                    self._put(whole)
            case events.ToolStarted() | events.ApprovalRequested() | events.QuestionAsked():
                self._end()
            case events.TurnFinished(reply, waiting=waiting):
                self._end()
                self._put(reply if waiting else "")
            case events.TurnFailed():
                self._end()
            case _:
                pass

    def _end(self) -> None:
        text, self._text = self._text, ""
        self._put(text)

    def _put(self, markdown: str) -> None:
        if not markdown.strip():
            return
        from assistant.cli.chat.markdown import Renderer

        columns = shutil.get_terminal_size((WIDTH, 0)).columns
        typer.echo("\n" * (not self._first) + Renderer(columns).markdown(markdown))
        self._first = False


class _Text:
    """The text of one turn on standard output, its parts around tool calls set apart."""

    def __init__(self) -> None:
        self._last = ""
        self._parted = False

    def show(self, event: Event) -> None:
        match event:
            case events.TextDelta(text) if text:
                typer.echo(("\n\n" if self._parted else "") + spelled(text), nl=False)
                self._last, self._parted = text[-1], False
            case events.ToolStarted():
                self._parted = bool(self._last)
            case events.TurnFinished() | events.TurnFailed():
                if self._last:
                    typer.echo(nl=self._last != "\n")
                if isinstance(event, events.TurnFinished) and event.waiting:
                    typer.echo(spelled(event.reply))
            case _:
                pass


def _print_beside(event: Event) -> None:
    """What is not the reply, on standard error."""
    match event:
        case events.Notice(text):
            typer.echo(f"note: {spelled(text)}", err=True)
        case events.SkillLoaded(skill, _, trigger):
            typer.echo(spelled(f"skill {skill} loaded: “{trigger}”"), err=True)
        case events.TurnFailed(message, cure):
            typer.echo(spelled(f"assistant: {message}. {cure}".rstrip()), err=True)
        case events.Retrying():
            typer.echo(spelled(event.said), err=True)
        case _:
            pass


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
