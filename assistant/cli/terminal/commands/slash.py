"""The slash commands of the chat."""

from collections.abc import Callable
from dataclasses import dataclass

import typer

from assistant.app import Chat
from assistant.cli.memory.choosing import choice
from assistant.cli.memory.giving import give
from assistant.cli.memory.shown import show_recall, show_written
from assistant.cli.sessions.shown import show_sessions
from assistant.cli.terminal.palette import faint
from assistant.cli.terminal.told import told
from assistant.display import counted, spelled
from assistant.errors import UsageError
from assistant.memory.base import Fact, Query


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command: its argument as help shows it, and what it does with it."""

    argument: str
    help: str
    run: Callable[[Chat, str], None]


def run_command(chat: Chat, line: str) -> None:
    """Carry out a line that begins with a slash. Raises UsageError for an unknown command."""
    name, _, argument = line.partition(" ")
    command = COMMANDS.get(name)
    if command is None:
        raise UsageError(f"there is no command {name}", "Type /help for those there are")
    command.run(chat, argument.strip())


def _remember(chat: Chat, text: str) -> None:
    if not text:
        raise UsageError("/remember needs a fact", "Write /remember The spare key is with Ada")
    if written := give(chat.memory, Fact(text), chat.conversation.redactor.learn):
        show_written(written)


def _recall(chat: Chat, text: str) -> None:
    show_recall(chat.memory.recall(Query(text, verbatim=True)))


def _forget(chat: Chat, target: str) -> None:
    if found := choice(chat.memory, target):
        chat.memory.forget([found])
        typer.echo("Forgotten. `assistant memory undo` restores it.")


def _context(chat: Chat, message: str) -> None:
    for section in chat.conversation.preview(message):
        typer.echo(spelled(section.rendered))
        typer.echo(faint(f"({counted(section.tokens, 'token')})\n"))


def _compact(chat: Chat, _: str) -> None:
    for event in chat.conversation.compact():
        for line in told(event):
            typer.echo(line)


def _usage(chat: Chat, _: str) -> None:
    used = chat.conversation.usage
    cost = "" if used.cost is None else f" · ${used.cost:.4f}"
    typer.echo(
        f"{used.input_tokens:,} tokens in ({used.cached_tokens:,} of the last call cached), "
        f"{used.output_tokens:,} out{cost} · {chat.conversation.model.name}"
    )


def _sessions(chat: Chat, _: str) -> None:
    show_sessions(chat.place.sessions)


def _model(chat: Chat, name: str) -> None:
    if name:
        chat.use_model(name)
    typer.echo(f"answers come from {chat.conversation.model.name}")


def _help(chat: Chat, _: str) -> None:
    for name, command in COMMANDS.items():
        typer.echo(f"{name} {command.argument}".ljust(24) + command.help)
    typer.echo(faint("Enter sends; Alt-Enter begins a new line; Ctrl-C stops what runs."))
    typer.echo(faint("What you say while it works joins at the next gap; Enter again makes one."))


def _quit(chat: Chat, _: str) -> None:
    raise EOFError


COMMANDS = {
    "/remember": Command("FACT", "Write a fact to memory.", _remember),
    "/recall": Command("QUERY", "Show what memory holds on something.", _recall),
    "/forget": Command("FILE:LINE", "Remove a fact, after a yes.", _forget),
    "/context": Command("[MESSAGE]", "Show the prompt as it would be sent.", _context),
    "/compact": Command("", "Turn older turns into facts and a summary now.", _compact),
    "/usage": Command("", "Show tokens and cost of this session.", _usage),
    "/sessions": Command("", "List past sessions.", _sessions),
    "/model": Command("[NAME]", "Show or change the model for this session.", _model),
    "/help": Command("", "Show this list.", _help),
    "/quit": Command("", "Leave; Ctrl-D does too.", _quit),
}
