"""`remind`: a reminder, told at its time."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer

from assistant.cli.options import AsJson, print_json
from assistant.display import spelled


def register(cli: typer.Typer) -> None:
    """Add the command to the tree."""
    cli.command()(remind)


def remind(
    context: typer.Context,
    words: Annotated[
        list[str],
        typer.Argument(metavar="WHEN WHAT...", help="tomorrow at 9 call the bank"),
    ],
    as_json: AsJson = False,
) -> None:
    """Write down a reminder, which is told at its time as it stands.

    When: "in 20 minutes", "tomorrow at 9", "next Monday at 10", "at 17:00", "every Friday at 9".
    It is a line of HEARTBEAT.md: edit it there, or delete it.
    """
    from assistant.acting.heartbeat.reminders import remind as written

    done = written(context.obj.place(), " ".join(words), datetime.now())
    if as_json:
        print_json(asdict(done))
        return
    typer.echo(f"{done.when}: {spelled(done.text)} (HEARTBEAT.md:{done.line})")
    if not done.wakes:
        typer.echo(
            "note: nothing on this machine will tell it. `assistant heartbeat install` has it "
            "looked for every few minutes",
            err=True,
        )
