"""Slash commands on the conversation: its prompt, its cost, its model, and other sessions."""

from pathlib import Path

import typer

from assistant.cli.sessions.shown import show_sessions
from assistant.cli.terminal.commands.host import Host
from assistant.cli.terminal.palette import faint
from assistant.cli.terminal.view import TurnView
from assistant.disk import storage
from assistant.display import counted, spelled
from assistant.errors import UsageError
from assistant.session.export import markdown


def context(host: Host, message: str) -> None:
    """Show the prompt as it would be sent."""
    for section in host.chat.conversation.preview(message):
        typer.echo(spelled(section.rendered))
        typer.echo(faint(f"({counted(section.tokens, 'token')})\n"))


def compact(host: Host, _: str) -> None:
    """Turn older turns into facts and a summary, saying how far it is."""
    view = TurnView(host.screen)
    for event in host.chat.conversation.compact():
        view.show(event)


def usage(host: Host, _: str) -> None:
    """Show tokens and cost of this session."""
    used = host.chat.conversation.usage
    cost = "" if used.cost is None else f" · ${used.cost:.4f}"
    typer.echo(
        f"{used.input_tokens:,} tokens in ({used.cached_tokens:,} of the last call cached), "
        f"{used.output_tokens:,} out{cost} · {host.chat.conversation.model.name}"
    )


def sessions(host: Host, _: str) -> None:
    """List past sessions."""
    show_sessions(host.chat.place.sessions)


def new(host: Host, _: str) -> None:
    """Begin a new session; memory and model stay."""
    host.chat.switch()
    typer.echo(faint("a new session"))


def resume(host: Host, name: str) -> None:
    """Go on with another session; without a name, list them."""
    if not name:
        show_sessions(host.chat.place.sessions)
        typer.echo(faint("/resume ID goes on with one; the end of its id will do"))
        return
    host.chat.switch(name)
    host.go_on()


def export(host: Host, name: str) -> None:
    """Write this session as markdown, into the workspace unless a path is given."""
    record = host.chat.conversation.transcript
    if record.off_the_record:
        raise UsageError("off the record nothing is written", "Copy it from the screen")
    path = host.chat.place.root / Path(name or f"{record.session}.md").expanduser()
    if path.exists():
        raise UsageError(f"{path} is there already", "Name another file")
    storage.replace(path, markdown(record.entries).encode())
    typer.echo(f"Written to {spelled(str(path))}.")


def model(host: Host, name: str) -> None:
    """Show or change the model for this session."""
    if name:
        host.chat.use_model(name)
    typer.echo(f"answers come from {host.chat.conversation.model.name}")


def leave(host: Host, _: str) -> None:
    """End the chat."""
    raise EOFError
