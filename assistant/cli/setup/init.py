"""`init` and `trust`: a workspace made, and one let into prompts."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from assistant.cli.options import AsJson, print_json
from assistant.display import counted
from assistant.workspace import folder as workspace
from assistant.workspace import template, trust


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
    as_json: AsJson = False,
) -> None:
    """Create a workspace; what is there already stays."""
    root = directory or context.obj.directory or workspace.default_root()
    restored: list[str] = []
    if archive is None:
        made = make(root)
    else:
        restored, made = _restored(archive, root)
    done = _in_git(root) if git else []
    if as_json:
        told = {"workspace": str(root), "added": made.added, "kept": made.kept}
        print_json({**told, "restored": restored, "git": done})
        return
    if archive is None:
        tell(made)
    else:
        typer.echo(f"Restored {counted(len(restored), 'file')} from {archive}.")
    for line in done:
        typer.echo(line)
    other = "" if root == workspace.default_root() else f" -w {shlex.quote(str(root))}"
    typer.echo(f"The workspace is at {root}; its files are yours to edit, in any editor.")
    typer.echo(f"Next: `assistant{other}` opens the chat, `assistant{other} doctor` checks all.")


def make(root: Path) -> template.Created:
    """Make a workspace that is trusted, and new unless it was one already."""
    created = template.create(root)
    trust.grant(created.workspace)
    if not created.kept:
        created.workspace.new.touch()
    return created


def tell(created: template.Created) -> None:
    """Say which files a workspace got."""
    for name in created.added:
        typer.echo(f"added {name}")
    for name in created.kept:
        typer.echo(f"kept  {name}")


def _restored(archive: Path, root: Path) -> tuple[list[str], template.Created]:
    """Make the workspace that an archive holds, which whoever has it at hand trusts."""
    from assistant.moving.archive import restore  # behind `--help`

    names = restore(archive, root)
    created = template.create(root)
    trust.grant(created.workspace)
    return names, created


def _in_git(root: Path) -> list[str]:
    """Have git keep the workspace, and this program unite what two machines wrote."""
    from assistant.workspace.git import set_up

    program = Path(sys.argv[0]).resolve()
    if program.name != "assistant":
        program = Path(sys.executable).with_name("assistant")
    return set_up(workspace.find(root), program)


def trust_workspace(context: typer.Context) -> None:
    """Let a workspace's files enter prompts."""
    place = context.obj.place()
    new = trust.grant(place)
    typer.echo(f"{place.root} is trusted" if new else f"{place.root} was trusted already")
