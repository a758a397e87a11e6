"""`daemon`: the resident process that owns a workspace's index."""

from dataclasses import asdict

import typer

from assistant.cli.help import commands
from assistant.cli.options import AsJson, print_json

daemon_commands = commands("Look after the memory daemon.")


def register(cli: typer.Typer) -> None:
    """Add the group to the tree."""
    cli.add_typer(daemon_commands, name="daemon")


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
