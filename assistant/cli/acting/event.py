"""`event`: something that happened outside, answered as a turn."""

import importlib
import sys
from typing import Annotated

import typer

from assistant.cli.options import AsJson, at_terminal, print_json
from assistant.display import counted, spelled
from assistant.errors import UsageError


def register(cli: typer.Typer) -> None:
    """Add the command to the tree."""
    cli.command()(event)


def event(
    context: typer.Context,
    source: Annotated[
        str, typer.Option("--source", metavar="NAME", help="Who sends it, such as `github`.")
    ],
    reply_to: Annotated[
        str | None,
        typer.Option(
            "--reply-to", metavar="COMMAND", help="Run this with the answer on its input."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer one event: a JSON object on standard input, handled as AGENTS.md says.

    What it carries is data from outside. Several at once are answered in order.
    """
    from assistant.acting.events.answering import answer, check, reply
    from assistant.acting.events.incoming import MOST_BYTES, incoming
    from assistant.acting.events.queue import Ticket

    place = context.obj.place()
    check(place)
    if at_terminal():
        raise UsageError("an event comes on standard input", "Pipe one object of JSON into it")
    came = incoming(source, sys.stdin.buffer.read(MOST_BYTES + 1))
    with Ticket(place) as ticket:
        importlib.import_module("assistant.app")  # slow to load: while others have their turn
        with ticket.turn():
            answered = answer(place, came, no_daemon=context.obj.no_daemon)
            if as_json:
                print_json(
                    {
                        "source": source,
                        "answer": answered.text,
                        "session": answered.session,
                        "tokens": answered.tokens,
                        "instructed": answered.instructed,
                    }
                )
            else:
                typer.echo(spelled(answered.text))
                told = "" if answered.instructed else f"; AGENTS.md has no section for {source}"
                cost = counted(answered.tokens, "token")
                typer.echo(f"session {answered.session} · {cost}{told}", err=True)
            sys.stdout.flush()
            if reply_to:
                reply(reply_to, answered.text)
