"""`ask`: one message from the shell."""

from typing import Annotated

import typer

from assistant.app.wish import ChatWish
from assistant.cli import resident
from assistant.cli.opening import Opening
from assistant.cli.options import AsJson, message_and_input
from assistant.cli.talk.chat import AddDir, Continue, Model, OffTheRecord, Resume, Yes

Message = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MESSAGE]...",
        help="The message. Standard input goes with it, or is the message if there is none.",
        show_default=False,
    ),
]


def register(cli: typer.Typer) -> None:
    """Add the command to the tree."""
    cli.command()(ask)


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
    if not (context.obj.no_daemon or context.obj.debug):
        done = resident.carried_out(model)
        if done is not None:
            raise typer.Exit(done)
    from assistant.cli.talk import headless
    from assistant.cli.terminal.approval import approver  # the agent: behind `--help`

    text, attached = message_and_input(message)
    opening = Opening(context.obj, ChatWish(resume, continued, otr, model, yes, add_dir or ()))
    with opening.open(approver()) as opened:
        talk = opened.conversation
        earlier = () if talk.asks else (talk.resume(),)  # the message is the answer
        turns = (*earlier, opened.send(text, attached))
        raise typer.Exit(headless.print_turns(turns, as_json=as_json))
