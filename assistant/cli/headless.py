"""A turn without a terminal: the reply as plain text, or every event as a line of JSON."""

import sys
from collections.abc import Iterator

import typer

from assistant import events
from assistant.display import spelled
from assistant.events import Event


def print_turn(turn: Iterator[Event], *, as_json: bool = False) -> bool:
    """Print a turn as it comes; False if it failed. What is not the reply goes to stderr."""
    done = True
    for event in turn:
        if as_json:
            typer.echo(events.to_json(event))
            sys.stdout.flush()
        else:
            _print_plain(event)
        if isinstance(event, events.TurnFailed):
            done = False
    return done


def _print_plain(event: Event) -> None:
    match event:
        case events.TextDelta(text):
            typer.echo(spelled(text), nl=False)
            sys.stdout.flush()
        case events.TurnFinished():
            typer.echo()
        case events.Notice(text):
            typer.echo(f"note: {spelled(text)}", err=True)
        case events.TurnFailed(message, cure):
            typer.echo(spelled(f"assistant: {message}. {cure}".rstrip()), err=True)
        case events.Retrying(model, reason, delay):
            typer.echo(spelled(f"{reason}; trying {model} in {delay:.0f} s"), err=True)
        case _:
            pass
