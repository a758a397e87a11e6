"""`completion`: what a shell must be told to complete commands, options and values."""

import os
from typing import Annotated, Literal

import typer

Shell = Literal["bash", "zsh", "fish"]
PROGRAM, VARIABLE = "assistant", "_ASSISTANT_COMPLETE"
"""Set by the shell's own script when it asks what could follow."""


def register(cli: typer.Typer) -> None:
    """Add the command to the tree."""
    cli.command()(completion)


def completion(shell: Annotated[Shell, typer.Argument(help="Which shell it is for.")]) -> None:
    """Print the script that makes a shell complete our commands."""
    from typer.completion import get_completion_script

    typer.echo(get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell))


def prepare() -> None:
    """Let typer answer if a shell asks what could follow."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # the shells' ways: 5 ms

        completion_init()
