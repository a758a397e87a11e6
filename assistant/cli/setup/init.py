"""`init` and `trust`: a workspace made, and one let into prompts."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from assistant.display import counted
from assistant.workspace import folder as workspace
from assistant.workspace import trust


def register(cli: typer.Typer) -> None:
    """Add the commands to the tree."""
    cli.command()(init)
    cli.command("trust")(trust_workspace)


def init(
    context: typer.Context,
    directory: Annotated[
        Path | None, typer.Argument(help="Where; else the default workspace.")
    ] = None,
    archive: Annotated[
        Path | None,
        typer.Option("--from", metavar="ARCHIVE", help="Restore what `assistant export` wrote."),
    ] = None,
    git: Annotated[
        bool, typer.Option("--git", help="Keep it in git, which then merges it fact by fact.")
    ] = False,
) -> None:
    """Create a workspace; what is there already stays."""
    root = directory or context.obj.directory or workspace.default_root()
    if archive is None:
        make(root)
    else:
        _restore(archive, root)
    if git:
        _in_git(root)
    other = "" if root == workspace.default_root() else f" -w {shlex.quote(str(root))}"
    typer.echo(f"The workspace is at {root}; its files are yours to edit, in any editor.")
    typer.echo(f"Next: `assistant{other}` opens the chat, `assistant{other} doctor` checks all.")


def make(root: Path) -> None:
    """Make a workspace that is trusted, and new unless it was one already."""
    created = workspace.create(root)
    for name in created.added:
        typer.echo(f"added {name}")
    for name in created.kept:
        typer.echo(f"kept  {name}")
    trust.grant(created.workspace)
    if not created.kept:
        created.workspace.new.touch()


def _restore(archive: Path, root: Path) -> None:
    """Make the workspace that an archive holds, which whoever has it at hand trusts."""
    from assistant.moving.archive import restore  # behind `--help`

    names = restore(archive, root)
    created = workspace.create(root)
    trust.grant(created.workspace)
    typer.echo(f"Restored {counted(len(names), 'file')} from {archive}.")


def _in_git(root: Path) -> None:
    """Have git keep the workspace, and this program unite what two machines wrote."""
    from assistant.workspace.git import set_up

    program = Path(sys.argv[0]).resolve()
    if program.name != "assistant":
        program = Path(sys.executable).with_name("assistant")
    for line in set_up(workspace.find(root), program):
        typer.echo(line)


def trust_workspace(context: typer.Context) -> None:
    """Let a workspace's files enter prompts."""
    place = context.obj.place()
    new = trust.grant(place)
    typer.echo(f"{place.root} is trusted" if new else f"{place.root} was trusted already")
