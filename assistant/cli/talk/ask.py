"""`ask` and `context`: one message from the shell, and what is sent with it."""

from typing import Annotated

import typer

from assistant.cli.opening import Opening
from assistant.cli.options import AsJson, message_and_input, print_json
from assistant.cli.talk.chat import AddDir, Continue, Model, OffTheRecord, Resume, Yes
from assistant.display import counted, spelled

Message = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MESSAGE]...",
        help="The message. Standard input goes with it, or is the message if there is none.",
        show_default=False,
    ),
]


def register(cli: typer.Typer) -> None:
    """Add the commands to the tree."""
    cli.command()(ask)
    cli.command()(context)


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
    from assistant.cli.talk import headless
    from assistant.cli.terminal.approval import approver  # the agent: behind `--help`

    text, attached = message_and_input(message)
    opening = Opening(context.obj, resume, continued, otr, model, yes, add_dir or ())
    with opening.open(approver()) as opened:
        talk = opened.conversation
        earlier = () if talk.asks else (talk.resume(),)  # the message is the answer
        turns = (*earlier, opened.send(text, attached))
        raise typer.Exit(headless.print_turns(turns, as_json=as_json))


def context(context: typer.Context, message: Message = None, as_json: AsJson = False) -> None:
    """Show the prompt that a message would be sent with, section by section."""
    text, attached = message_and_input(message)
    with Opening(context.obj).open() as opened:
        sections = opened.preview(text, attached)
    if as_json:
        print_json(
            [{"title": each.title, "tokens": each.tokens, "text": each.text} for each in sections]
        )
        return
    for section in sections:
        typer.echo(spelled(section.rendered))
        typer.echo(typer.style(f"({counted(section.tokens, 'token')})\n", dim=True))
    typer.echo(f"{counted(sum(section.tokens for section in sections), 'token')} in all", err=True)
