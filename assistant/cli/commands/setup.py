"""`init`, `trust`, `secrets`, `daemon` and `completion`."""

import contextlib
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assistant.cli.help import commands
from assistant.cli.options import AsJson, Globals, at_terminal, print_json
from assistant.display import counted, spelled
from assistant.errors import WorkspaceError
from assistant.workspace import folder as workspace
from assistant.workspace import template, trust

if TYPE_CHECKING:
    from assistant.cli import doctor as checks


def register(cli: typer.Typer) -> None:
    """Add the commands to the tree."""
    cli.command()(init)
    cli.command("trust")(trust_workspace)
    cli.command()(completion)
    cli.command()(doctor)
    cli.add_typer(secret_commands, name="secrets")
    cli.add_typer(daemon_commands, name="daemon")


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


secret_commands = commands("Register values that must never be sent or stored.")
Name = Annotated[str, typer.Argument(help="What it is called, such as home_key.")]


@secret_commands.command("add")
def add(name: Name) -> None:
    """Register a secret; its value is asked for, or read from standard input."""
    from assistant.secrets import registered  # the configuration: only this needs it

    if sys.stdin.isatty():
        value = typer.prompt("Value", hide_input=True, err=True)
    else:
        value = sys.stdin.read().strip()
    where = registered.add(name, value)
    typer.echo(f"{name} is registered, its value kept in {where}")


@secret_commands.command("show")
def show(name: Name) -> None:
    """Print the value of a registered secret."""
    from assistant.secrets import registered  # as above

    typer.echo(registered.value(name))


@secret_commands.command("list")
def list_secrets(as_json: AsJson = False) -> None:
    """List the names of the registered secrets; never a value."""
    from assistant.secrets import registered  # as above

    names = registered.names()
    if as_json:
        print_json(names)
        return
    if not names:
        typer.echo("No secret is registered: `assistant secrets add NAME` does.", err=True)
    for name in names:
        typer.echo(name)


@secret_commands.command("remove")
def remove(name: Name) -> None:
    """Forget a registered secret."""
    from assistant.secrets import registered  # as above

    registered.remove(name)
    typer.echo(f"{name} is no longer registered")


daemon_commands = commands("Look after the memory daemon.")


@daemon_commands.command("start")
def daemon_start(context: typer.Context) -> None:
    """Start the memory daemon, if it is not running."""
    with context.obj.memory() as memory:
        state = memory.status().daemon
    typer.echo(f"running: process {state.pid}" if state else "running in this process")


@daemon_commands.command("stop")
def daemon_stop(context: typer.Context) -> None:
    """Stop the memory daemon; the next command starts another."""
    from assistant.cli import resident
    from assistant.memory.daemon import lifecycle

    if resident.stop():
        typer.echo("stopped the process that waits for `ask`", err=True)
    stopped = lifecycle.stop(context.obj.place(), lambda line: typer.echo(line, err=True))
    typer.echo("stopped" if stopped else "not running")


@daemon_commands.command("status")
def daemon_status(context: typer.Context, as_json: AsJson = False) -> None:
    """Show whether a memory daemon runs for this workspace; starts none."""
    from assistant.memory.daemon import client

    state = client.daemon_status(context.obj.place())
    if as_json:
        print_json(asdict(state) if state else None)
    elif state is None:
        typer.echo("not running")
    else:
        rss = state.rss_bytes / 1e6
        typer.echo(f"running: process {state.pid}, {rss:.0f} MB, {state.uptime_s:.0f} s")


Shell = Literal["bash", "zsh", "fish"]
PROGRAM, VARIABLE = "assistant", "_ASSISTANT_COMPLETE"
"""Set by the shell's own script when it asks what could follow."""


def completion(shell: Annotated[Shell, typer.Argument(help="Which shell it is for.")]) -> None:
    """Print the script that makes a shell complete our commands."""
    from typer.completion import get_completion_script

    typer.echo(get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell))


def prepare_completion() -> None:
    """Let typer answer if a shell asks what could follow."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # the shells' ways: 5 ms

        completion_init()


# doctor

MARKS = {"well": "✓", "remark": "!", "fault": "✗"}


def doctor(
    context: typer.Context,
    with_model: Annotated[
        bool | None,
        typer.Option(
            "--with-model/--without-model",
            help="Send the model one word, or do not; otherwise you are asked.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check every part; each fault comes with its cure. Exit code 1 if there is a fault."""
    from assistant.upkeep import findings as kept

    options: Globals = context.obj
    found = []
    for finding in _findings(options, with_model, as_json=as_json):
        found.append(finding)
        if not as_json:
            typer.echo(f"{MARKS[finding.state]} {spelled(finding.line)}")
    if as_json:
        print_json([asdict(each) for each in found])
    faults = [each.line for each in found if each.state == "fault"]
    with contextlib.suppress(WorkspaceError):
        kept.keep(options.place(), faults)  # the next chat mentions them
    if faults:
        raise typer.Exit(1)


def _findings(
    options: Globals, with_model: bool | None, *, as_json: bool
) -> "Iterator[checks.Finding]":
    from assistant.cli import doctor as checks

    yield from checks.findings(options)
    if with_model is None and not as_json and at_terminal() and (model := checks.model_name()):
        with_model = typer.confirm(f"Send {model} one word, to see if it answers?", err=True)
    if with_model:
        yield checks.examined("answer", checks.answer, options)
