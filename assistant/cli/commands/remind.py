"""`remind`: a reminder, told at its time."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer

from assistant.cli.help import DAILY, command
from assistant.cli.options import AsJson, print_json
from assistant.display import spelled


def register(cli: typer.Typer) -> None:
    """Add the command to the tree."""
    command(cli, DAILY)(remind)


def remind(
    context: typer.Context,
    words: Annotated[
        list[str],
        typer.Argument(metavar="WHEN WHAT...", help="A time, then what to tell you then."),
    ],
    as_json: AsJson = False,
) -> None:
    """Set a reminder.

    Times: "in 20 minutes", "tomorrow at 9", "next Monday at 10", "at 17:00", "every Friday at 9".
    It is a line of HEARTBEAT.md: change or delete it there.

    Examples:
      assistant remind tomorrow at 9 call the bank
      assistant remind every Friday at 18 put out the bins
    """
    from assistant.secrets.current import redactor
    from assistant.upkeep import reminders

    said = redactor().redact(" ".join(words))
    done = reminders.remind(context.obj.place(), said, datetime.now())
    if as_json:
        print_json(asdict(done))
        return
    typer.echo(spelled(done.said))
    if done.note:
        typer.echo(f"note: {done.note}", err=True)
