"""`doctor`: is everything well, and if not, what cures it?"""

import typer

from assistant.errors import AssistantError


def register(cli: typer.Typer) -> None:
    """Add the command to the tree."""
    cli.command()(doctor)


def doctor(context: typer.Context) -> None:
    """Check every part; each fault comes with its cure."""
    from assistant.cli.setup.checks import CHECKS  # pydantic: not for other commands

    healthy = True
    for name, check in CHECKS.items():
        try:
            typer.echo(f"✓ {name}: {check(context.obj)}")
        except AssistantError as error:
            healthy = False
            typer.echo(f"✗ {name}: {error}")
    if not healthy:
        raise typer.Exit(1)
