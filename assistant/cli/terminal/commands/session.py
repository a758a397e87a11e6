"""Slash commands on the conversation: its prompt, its cost, its model, and other sessions."""

from pathlib import Path

import typer

from assistant.cli.memory.sentences import reading_cost
from assistant.cli.sessions.shown import facts, show_sessions
from assistant.cli.terminal import clipboard
from assistant.cli.terminal.commands.host import BESIDE, Host
from assistant.cli.terminal.palette import faint
from assistant.cli.terminal.screen.base import Choice
from assistant.cli.terminal.view import TurnView
from assistant.disk import storage
from assistant.display import counted, spelled
from assistant.errors import UsageError
from assistant.messages import Picture
from assistant.model.base import check_sight
from assistant.model.pictures import picture_of
from assistant.session import listing
from assistant.session.entries import AssistantEntry
from assistant.session.export import markdown


def context(host: Host, message: str) -> None:
    """Show the prompt as it would be sent."""
    for section in host.chat.preview(message):
        typer.echo(spelled(section.rendered))
        typer.echo(faint(f"({counted(section.tokens, 'token')})\n"))


def compact(host: Host, _: str) -> None:
    """Turn older turns into facts and a summary, saying how far it is."""
    view = TurnView(host.screen)
    for event in host.chat.conversation.compact():
        view.show(event)


def usage(host: Host, _: str) -> None:
    """Show tokens and cost of this session, and what reading past ones took."""
    used = host.chat.conversation.usage
    cost = "" if used.cost is None else f" · ${used.cost:.4f}"
    typer.echo(
        f"{used.input_tokens:,} tokens in ({used.cached_tokens:,} of the last call cached), "
        f"{used.output_tokens:,} out{cost} · {host.chat.conversation.model.name}"
    )
    if reading := reading_cost(host.chat.place):
        typer.echo(reading)


def sessions(host: Host, _: str) -> None:
    """List past sessions."""
    show_sessions(host.chat.place.sessions)


def new(host: Host, _: str) -> None:
    """Begin a new session; memory and model stay."""
    host.chat.switch()
    typer.echo(faint("a new session"))


def resume(host: Host, name: str) -> None:
    """Go on with another session; without a name, choose one from a list."""
    chosen = name or _picked(host)
    if chosen:
        host.chat.switch(chosen)
        host.go_on()


def _picked(host: Host) -> str:
    """The session that the owner picks; empty for none."""
    own = host.chat.conversation.transcript.session
    others = [each for each in listing.sessions(host.chat.place.sessions) if each.id != own]
    if not others:
        raise UsageError("there is no other session", "Go on with this one")
    choices = [Choice(each.id, spelled(each.title), facts(each)) for each in others]
    taken = host.screen.pick("Which session?", choices)
    return taken.name if taken else ""


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


def copy(host: Host, _: str) -> None:
    """Copy the latest reply, as markdown."""
    said = [
        each.text
        for each in host.chat.conversation.transcript.entries
        if isinstance(each, AssistantEntry) and each.text.strip()
    ]
    if not said:
        raise UsageError("nothing was answered yet", "Say something first")
    if not (clipboard.copied(said[-1]) or host.screen.copy(said[-1])):
        raise UsageError("no clipboard can be reached", "Install wl-copy or xclip, or use /export")
    typer.echo(f"Copied {counted(len(said[-1].splitlines()), 'line')}.")


def paste(host: Host, _: str) -> None:
    """Have the clipboard's picture go with the next message."""
    picture = picture_of(clipboard.picture())
    if picture is None:
        raise UsageError("there is no picture on the clipboard", "Copy one first")
    title = f"Picture {1 + sum(isinstance(each, Picture) for each in host.given.values())}"
    check_sight(host.chat.conversation.model, {title: picture})
    host.given[title] = picture
    typer.echo(f"{title}, {picture}")
    typer.echo(faint(BESIDE))


def model(host: Host, name: str) -> None:
    """Show or change the model for this session."""
    doubts = host.chat.use_model(name) if name else []
    typer.echo(f"answers come from {host.chat.conversation.model.name}")
    for doubt in doubts:
        typer.echo(faint(doubt))


def leave(host: Host, _: str) -> None:
    """End the chat."""
    raise EOFError
