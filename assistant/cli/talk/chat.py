"""`chat`: conversation from the shell."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from assistant.app.wish import ChatWish
from assistant.cli.opening import Opening
from assistant.cli.options import lines
from assistant.cli.talk import welcome

Model = Annotated[
    str | None, typer.Option("--model", metavar="M", help="The model, for this time only.")
]
Continue = Annotated[bool, typer.Option("--continue", help="Go on with the latest session.")]
Resume = Annotated[
    str | None, typer.Option("--resume", metavar="ID", help="Go on with this session.")
]
OffTheRecord = Annotated[bool, typer.Option("--otr", help="Off the record: write nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="Let dangerous tools run unasked.")]
AddDir = Annotated[
    list[Path] | None,
    typer.Option("--add-dir", metavar="DIR", help="Let tools use this directory too."),
]

Plain = Annotated[
    bool, typer.Option("--plain", help="Draw nothing: text comes once, for screen readers.")
]


def register(cli: typer.Typer) -> None:
    """Add the command to the tree."""
    cli.command()(chat)


def chat(
    context: typer.Context,
    continued: Continue = False,
    resume: Resume = None,
    otr: OffTheRecord = False,
    model: Model = None,
    yes: Yes = False,
    add_dir: AddDir = None,
    plain: Plain = False,
) -> None:
    """Talk with the assistant; from a pipe, each line is a turn."""
    wish = ChatWish(resume, continued, otr, model, yes, add_dir or (), news=True)
    opening = Opening(context.obj, wish, plain)
    if sys.stdin.isatty() and sys.stdout.isatty():
        from assistant.cli.terminal import converse  # prompt_toolkit: only for a person

        if not otr:
            welcome.greet(context.obj)
        converse.converse(opening)
        return
    from assistant.cli.talk.piped import Piped
    from assistant.cli.terminal.approval import approver

    with opening.open(approver()) as opened:
        raise typer.Exit(Piped(opened).talk(lines()))
