"""`memory capture`: read the sessions that have ended for facts, now."""

from typing import Annotated

import typer

from assistant.cli.memory.state import memory_commands
from assistant.display import counted, spelled


def register(_: typer.Typer) -> None:
    """Add it to the memory commands."""
    memory_commands.command()(capture)


def capture(
    context: typer.Context,
    wait: Annotated[
        bool, typer.Option("--wait", help="Stay until every open session has ended, too.")
    ] = False,
) -> None:
    """Take lasting facts out of chats that have ended; it happens by itself as well."""
    from assistant.agent import afterwards

    read = 0
    for each in afterwards.read_ended(context.obj.place(), wait=wait):
        read += 1
        typer.echo(f"{each.session}: {counted(len(each.stored), 'fact')}" + _left(each.waiting))
        for fact in each.stored:
            typer.echo(f"  {spelled(fact)}")
        if each.failed:
            typer.echo(f"  not all of it could be read: {spelled(each.failed)}")
    if not read and not wait:
        typer.echo("No chat that has ended is unread.")


def _left(waiting: int) -> str:
    return f", {counted(waiting, 'waits', 'wait')} for `assistant memory review`" if waiting else ""
