"""`chat` and `ask`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from assistant.agent.memory_text import clean
from assistant.app.options import ChatOptions
from assistant.cli import resident
from assistant.cli.chat import welcome
from assistant.cli.options import (
    Lines,
    Message,
    lines,
    message_and_input,
    option,
    session_ids,
)
from assistant.errors import UsageError
from assistant.workspace.folder import read_text

Model = Annotated[str | None, option("--model NAME", "Use this model, this time.")]
Continue = Annotated[bool, option("--continue", "Continue the latest session.")]
Resume = Annotated[
    str | None, option("--resume ID", "Continue this session.", autocompletion=session_ids)
]
OffTheRecord = Annotated[bool, option("--otr", "Off the record: write nothing.")]
Yes = Annotated[bool, option("--yes", "Run dangerous tools without asking.")]
AddDir = Annotated[
    list[Path] | None,
    option("--add-dir DIR", "Let tools use this directory too.", exists=True, file_okay=False),
]
System = Annotated[
    Path | None,
    option("--system FILE", "Use this in place of IDENTITY.md.", exists=True, dir_okay=False),
]
Plain = Annotated[bool, option("--plain", "Plain output, for screen readers.")]


def chat(
    context: typer.Context,
    continued: Continue = False,
    resume: Resume = None,
    otr: OffTheRecord = False,
    model: Model = None,
    yes: Yes = False,
    add_dir: AddDir = None,
    system: System = None,
    plain: Plain = False,
) -> None:
    r"""Chat in this terminal; `assistant` alone does the same.

    From a pipe, each line is a turn.

    Examples:
      assistant chat --continue
      assistant chat --model ollama_chat/qwen3 --otr
      printf 'hello\nwhat is due today?\n' | assistant chat
    """
    options = _options(resume, continued, otr, model, yes, add_dir, system)
    if sys.stdin.isatty() and sys.stdout.isatty():
        from assistant.cli.chat import terminal  # prompt_toolkit: only for a chat at a terminal

        first = "" if otr else welcome.greet(context.obj)
        terminal.converse(context.obj, options, first, plain=plain)
        return
    from assistant.cli.chat.approval import approver  # the agent: not for `--help`
    from assistant.cli.chat.headless import Piped

    with context.obj.open_chat(options, approver()) as opened:
        raise typer.Exit(Piped(opened).talk(lines()))


def ask(
    context: typer.Context,
    message: Message = None,
    continued: Continue = False,
    resume: Resume = None,
    otr: OffTheRecord = False,
    model: Model = None,
    yes: Yes = False,
    add_dir: AddDir = None,
    system: System = None,
    as_json: Lines = False,
) -> None:
    """Send one message and print the reply.

    Examples:
      assistant ask what should I bring on Friday
      cat minutes.txt | assistant ask list the decisions
      assistant ask --json when does Mia land | jq -r 'select(.reply).reply'
    """
    if not (context.obj.no_daemon or context.obj.debug):
        code = resident.hand_over(model)
        if code is not None:
            raise typer.Exit(code)
    from assistant.cli.chat import headless
    from assistant.cli.chat.approval import approver  # the agent: not for `--help`

    text, attached = message_and_input(message)
    options = _options(resume, continued, otr, model, yes, add_dir, system)
    with context.obj.open_chat(options, approver()) as opened:
        talk = opened.conversation
        # if it asks a question, the message is the answer
        earlier = () if talk.asks else (talk.resume(),)
        turns = (*earlier, opened.send(text, attached))
        raise typer.Exit(headless.print_turns(turns, as_json=as_json))


def _options(
    resume: str | None,
    continued: bool,
    otr: bool,
    model: str | None,
    yes: bool,
    add_dir: list[Path] | None,
    system: Path | None,
) -> ChatOptions:
    if resume and continued:
        raise UsageError("--continue and --resume cannot be combined", "Give one of them")
    identity = (str(system), read_text(system)) if system else None
    if identity and not clean(identity[1]):
        raise UsageError(f"{system} is empty", "Write who the assistant is")
    return ChatOptions(
        resume, continued, otr, model, yes, add_dir or (), news=True, identity=identity
    )
