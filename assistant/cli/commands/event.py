"""`event`: something that happened outside, answered as a turn."""

import importlib
import sys
import tempfile
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.cli import resident
from assistant.cli.help import TOOLS, examples
from assistant.cli.options import AsJson, Globals, at_terminal, input_bytes, print_json
from assistant.display import counted, spelled
from assistant.errors import UsageError

if TYPE_CHECKING:
    from assistant.heartbeat.events.incoming import Incoming


def register(cli: typer.Typer) -> None:
    """Add the command to the tree."""
    cli.command(
        rich_help_panel=TOOLS,
        epilog=examples(
            "curl -s https://ci.example/last | assistant event --source ci",
            "cat event.json | assistant event --source mail --reply-to 'tee answer.txt'",
        ),
    )(event)


def event(
    context: typer.Context,
    source: Annotated[
        str, typer.Option("--source", metavar="NAME", help="Its sender, such as `github`.")
    ],
    reply_to: Annotated[
        str | None,
        typer.Option("--reply-to", metavar="COMMAND", help="Pipe the answer into this command."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer an event: a JSON object on standard input, handled as AGENTS.md says.

    Its content is untrusted data. Events are answered in order.
    """
    from assistant.heartbeat.events.answering import check
    from assistant.heartbeat.events.incoming import MOST_BYTES, incoming

    place = context.obj.place()
    check(place)
    if at_terminal():
        raise UsageError("no event on standard input", "Pipe one JSON object into it")
    given = input_bytes(MOST_BYTES + 1)
    came = incoming(source, given)
    if resident.is_copy:  # whoever called has its turn
        _answer(context.obj, came, reply_to, as_json)
    else:
        raise typer.Exit(_in_turn(context.obj, came, given, reply_to, as_json))


def _in_turn(
    options: Globals, came: "Incoming", given: bytes, reply_to: str | None, as_json: bool
) -> int:
    """Answer it once those before it are answered; what is slow to load, is loaded meanwhile."""
    from assistant.heartbeat.events.queue import Ticket

    alone = options.no_daemon or options.debug
    with Ticket(options.place()) as ticket, tempfile.TemporaryFile() as data:
        data.write(given)
        data.seek(0)
        if alone or not resident.warm_up():
            importlib.import_module("assistant.app.chat")
        with ticket.turn():
            done = None if alone else resident.carried_out(given=data.fileno())
            if done is not None:
                return done
            _answer(options, came, reply_to, as_json)
            return 0


def _answer(options: Globals, came: "Incoming", reply_to: str | None, as_json: bool) -> None:
    """Answer an event, print that, and pass it on."""
    from assistant.heartbeat.events.answering import answer, reply

    answered = answer(options.place(), came, no_daemon=options.no_daemon)
    if as_json:
        print_json(
            {
                "source": came.source,
                "answer": answered.text,
                "session": answered.session,
                "tokens": answered.tokens,
                "instructed": answered.instructed,
            }
        )
    else:
        typer.echo(spelled(answered.text))
        told = "" if answered.instructed else f"; AGENTS.md has no section for {came.source}"
        cost = counted(answered.tokens, "token")
        typer.echo(f"session {answered.session} · {cost}{told}", err=True)
    sys.stdout.flush()
    if reply_to:
        reply(reply_to, answered.text)
