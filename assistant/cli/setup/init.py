"""`init` and `trust`: a workspace made, and one let into prompts."""

from pathlib import Path
from typing import Annotated

import typer

from assistant import trust, workspace


def register(cli: typer.Typer) -> None:
    """Add the commands to the tree."""
    cli.command()(init)
    cli.command("trust")(trust_workspace)


def init(
    context: typer.Context,
    directory: Annotated[
        Path | None, typer.Argument(help="Where; else the default workspace.")
    ] = None,
) -> None:
    """Create a workspace; what is there already stays."""
    root = directory or context.obj.directory or workspace.default_root()
    created = workspace.create(root)
    for name in created.added:
        typer.echo(f"added {name}")
    for name in created.kept:
        typer.echo(f"kept  {name}")
    trust.grant(created.workspace)
    typer.echo(f"The workspace is at {root}. Edit SOUL.md and USER.md to make it yours.")


def trust_workspace(context: typer.Context) -> None:
    """Let a workspace's files enter prompts."""
    place = context.obj.place()
    new = trust.grant(place)
    typer.echo(f"{place.root} is trusted" if new else f"{place.root} was trusted already")
