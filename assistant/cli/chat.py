"""`chat`, `ask` and `context`: conversation from the shell."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from assistant.cli.opening import Opening
from assistant.cli.options import AsJson, given, print_json
from assistant.display import spelled

Message = Annotated[str | None, typer.Argument(help="The message; `-` reads standard input.")]
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


def register(cli: typer.Typer) -> None:
    """Add the conversation's commands to the tree."""
    cli.command()(chat)
    cli.command()(ask)
    cli.command()(context)


def chat(
    context: typer.Context,
    continued: Continue = False,
    resume: Resume = None,
    otr: OffTheRecord = False,
    model: Model = None,
    yes: Yes = False,
    add_dir: AddDir = None,
) -> None:
    """Talk with the assistant; from a pipe, each line is a turn."""
    opening = Opening(context.obj, resume, continued, otr, model, yes, add_dir or ())
    if sys.stdin.isatty() and sys.stdout.isatty():
        from assistant.cli.terminal import converse  # prompt_toolkit: only for a person

        converse.converse(opening)
        return
    from assistant.cli import headless

    with opening.open() as opened:
        headless.print_turn(opened.conversation.resume())
        for line in filter(str.strip, sys.stdin):
            headless.print_turn(opened.conversation.send(line.strip()))


def ask(
    context: typer.Context,
    message: Message = None,
    continued: Continue = False,
    resume: Resume = None,
    otr: OffTheRecord = False,
    model: Model = None,
    yes: Yes = False,
    add_dir: AddDir = None,
    as_json: AsJson = False,
) -> None:
    """Do one turn, and print the reply or its events."""
    from assistant.cli import headless

    text = given(message, "message")
    opening = Opening(context.obj, resume, continued, otr, model, yes, add_dir or ())
    with opening.open() as opened:
        headless.print_turn(opened.conversation.resume(), as_json=as_json)
        if not headless.print_turn(opened.conversation.send(text), as_json=as_json):
            raise typer.Exit(1)


def context(
    context: typer.Context,
    message: Message = None,
    as_json: AsJson = False,
) -> None:
    """Show the prompt that a message would be sent with, section by section."""
    text = given(message, "message")
    with Opening(context.obj).open() as opened:
        sections = opened.conversation.preview(text)
    if as_json:
        print_json(
            [{"title": each.title, "tokens": each.tokens, "text": each.text} for each in sections]
        )
        return
    for section in sections:
        typer.echo(spelled(section.rendered))
        typer.echo(typer.style(f"({section.tokens} tokens)\n", dim=True))
    typer.echo(f"{sum(section.tokens for section in sections)} tokens in all", err=True)
