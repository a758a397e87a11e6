"""What the chat takes for a command: slash commands by name, and `!` before one of the shell."""

from difflib import get_close_matches

import typer

from assistant.cli.terminal.commands import memory, session, shell
from assistant.cli.terminal.commands.host import Command, Host
from assistant.cli.terminal.palette import faint
from assistant.errors import UsageError

BEGINS = ("/", "!")
"""What a line begins with that is a command and no message."""


def named(line: str) -> tuple[Command, str]:
    """The command that a line begins with, and its argument. Raises UsageError if there is none."""
    if line.startswith("!"):
        return SHELL, line.removeprefix("!").strip()
    name, _, argument = line.partition(" ")
    if name not in COMMANDS:
        near = OTHERWISE.get(name) or next(iter(get_close_matches(name, COMMANDS, n=1)), "")
        meant = f"Did you mean {near}? " if near else ""
        raise UsageError(f"there is no command {name}", f"{meant}Type /help for those there are")
    return COMMANDS[name], argument.strip()


def _help(host: Host, _: str) -> None:
    for name, command in COMMANDS.items():
        typer.echo(f"{name} {command.argument}".ljust(20) + command.help)
    typer.echo(f"!{SHELL.argument}".ljust(20) + SHELL.help)
    typer.echo(
        "@FILE".ljust(20) + "In a message: the file, picture or list of a folder goes with it."
    )
    typer.echo(faint("Enter sends; Alt-Enter begins a new line; Ctrl-C stops what runs."))
    typer.echo(faint("Ctrl-X Ctrl-E opens your editor; Ctrl-Z suspends; Ctrl-D leaves."))
    typer.echo(faint("What you say while it works joins at the next gap; Enter again makes one."))


SHELL = Command("COMMAND", "Run a command in the sandbox; its output goes with it.", shell.run)
COMMANDS = {
    "/remember": Command("FACT", "Write a fact to memory.", memory.remember),
    "/recall": Command("QUERY", "Show what memory holds on something.", memory.recall),
    "/forget": Command("FILE:LINE", "Remove a fact, after a yes.", memory.forget, asks=True),
    "/undo": Command("", "Take back the latest write to memory.", memory.undo),
    "/why": Command("", "Show why the last turn's passages were recalled.", memory.why),
    "/review": Command("", "Decide on the facts that wait for you.", memory.review, asks=True),
    "/agenda": Command("[DAYS]", "Show what is due.", memory.agenda),
    "/edit": Command("[FILE]", "Open MEMORY.md or another file.", memory.edit, asks=True),
    "/status": Command("", "Show the model, the session, and memory.", memory.status),
    "/context": Command("[MESSAGE]", "Show the prompt as it would be sent.", session.context),
    "/compact": Command("", "Turn older turns into facts and a summary.", session.compact),
    "/usage": Command("", "Show tokens and cost of this session.", session.usage),
    "/model": Command("[NAME]", "Show or change the model.", session.model),
    "/new": Command("", "Begin a new session.", session.new),
    "/resume": Command("[ID]", "Go on with another session, picked from a list.", session.resume),
    "/sessions": Command("", "List past sessions.", session.sessions),
    "/paste": Command("", "Attach the clipboard's picture; Ctrl-V does too.", session.paste),
    "/copy": Command("", "Copy the latest reply to the clipboard.", session.copy),
    "/export": Command("[FILE]", "Write this session as markdown.", session.export),
    "/help": Command("", "Show this list.", _help),
    "/quit": Command("", "Leave; Ctrl-D does too.", session.leave),
}
OTHERWISE = {
    "/clear": "/new",
    "/reset": "/new",
    "/memory": "/recall",
    "/search": "/recall",
    "/cost": "/usage",
    "/tokens": "/usage",
    "/save": "/export",
    "/config": "/status",
    "/history": "/sessions",
    "/exit": "/quit",
    "/bye": "/quit",
}
"""What other programs call what a command here does."""
