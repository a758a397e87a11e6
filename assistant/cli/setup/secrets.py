"""`secrets add|list|show|remove`: values that never leave this machine in the clear."""

import sys
from typing import Annotated

import typer

from assistant.cli.help import commands
from assistant.cli.options import AsJson, print_json

secret_commands = commands("Register values that must never be sent or stored.")
Name = Annotated[str, typer.Argument(help="What it is called, such as home_key.")]


def register(cli: typer.Typer) -> None:
    """Add the secrets' commands to the tree."""
    cli.add_typer(secret_commands, name="secrets")


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
