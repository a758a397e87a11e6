"""`connect`: tell another program of this memory, in its own configuration."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.cli.options import confirmed
from assistant.display import spelled
from assistant.errors import UsageError

if TYPE_CHECKING:
    from assistant.bridge.connect.changing import Change

NAMES = "claude-code, codex, cursor, opencode, claude-desktop or zed."
COLOURS = {"-": "red", "+": "green", "@": "cyan"}


def register(cli: typer.Typer) -> None:
    """Add the command to the tree."""
    cli.command()(connect)


def connect(
    context: typer.Context,
    program: Annotated[str, typer.Argument(metavar="PROGRAM", help=NAMES)],
    print_only: Annotated[
        bool, typer.Option("--print", help="Show what would change, and change nothing.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take the connection back.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Connect another program to this memory: the change is shown, and made after your yes."""
    from assistant.bridge.connect import changing
    from assistant.bridge.connect.programs import Launch, named

    chosen = named(program)
    launch = Launch(own_command(), context.obj.place().root)
    changes = (changing.unmaking if undo else changing.making)(chosen, launch)
    if not changes:
        state = "is not connected" if undo else "is connected already"
        typer.echo(f"{chosen.title} {state}; nothing to change.")
        return
    _show(changes)
    if print_only:
        return
    if not confirmed("Make this change?", yes=yes, cure="Run it again with --yes"):
        typer.echo("Nothing was changed.")
        raise typer.Exit(1)
    if undo:
        changing.unmake(chosen, changes)
        typer.echo(f"{chosen.title} is no longer connected.")
        return
    for copy in changing.make(chosen, changes):
        typer.echo(f"As it was: {spelled(str(copy))}")
    typer.echo(f"{chosen.title} is connected. {chosen.afterwards}")


def own_command() -> str:
    """The absolute path of this program, since others know no path of the shell's."""
    own = Path(sys.executable).with_name("assistant")
    found = str(own) if own.exists() else shutil.which("assistant")
    if not found:
        raise UsageError("there is no command `assistant` to name", "Install the package")
    return found


def _show(changes: "Sequence[Change]") -> None:
    for change in changes:
        for line in change.diff():
            typer.echo(typer.style(spelled(line), fg=COLOURS.get(line[:1])))
