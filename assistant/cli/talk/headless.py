"""Turns without a terminal: replies as plain text, or every event as a line of JSON."""

import sys
from collections.abc import Iterable, Iterator

import typer

from assistant import events
from assistant.display import spelled
from assistant.errors import INTERRUPTED, WAITING
from assistant.events import Event


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
    text, event = _Text(), None
    for event in turn:
        if as_json:
            typer.echo(events.to_json(event))
        else:
            text.show(event)
            _print_beside(event)
        sys.stdout.flush()
    return event


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
