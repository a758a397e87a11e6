"""`export`: one archive of all that a workspace is, to take along."""

from pathlib import Path
from typing import Annotated

import typer

from assistant.cli.options import AsJson, print_json
from assistant.display import counted, spelled


def register(cli: typer.Typer) -> None:
    """Add the command to the tree."""
    cli.command()(export)


def export(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="The zip archive to write.")],
    as_json: AsJson = False,
) -> None:
    """Write one archive of all files, sessions and journal; `init --from` restores it."""
    from assistant.moving import archive  # behind `--help`

    names, links = archive.export(context.obj.place(), path)
    if as_json:
        print_json({"path": str(path), "files": names, "links_left_out": links})
        return
    for link in links:
        typer.echo(f"left out: {spelled(link)}, a link", err=True)
    typer.echo(f"Written to {path}: {counted(len(names), 'file')}.")
    typer.echo(f"`assistant init --from {path} DIR` makes the same workspace again.")
