"""Slash commands on memory: write, find, forget, take back, decide, look."""

import os
import shlex
import subprocess
from datetime import date
from pathlib import Path

import typer

from assistant.cli.acting.agenda import DAYS, show
from assistant.cli.memory import upkeep
from assistant.cli.memory.choosing import choice
from assistant.cli.memory.giving import give
from assistant.cli.memory.shown import one_line, show_recall, show_recorded, show_written
from assistant.cli.terminal.commands.host import Host
from assistant.cli.terminal.palette import faint
from assistant.display import counted
from assistant.errors import UsageError
from assistant.memory.base import Fact, Query
from assistant.session.entries import RecalledEntry
from assistant.session.history.turns import group
from assistant.upkeep.agenda import coming

OFF = "off the record nothing is written to memory"


def remember(host: Host, text: str) -> None:
    """Write a fact; off the record, refuse."""
    _on_the_record(host)
    if not text:
        raise UsageError("/remember needs a fact", "Write /remember The spare key is with Ada")
    if written := give(host.chat.memory, Fact(text), host.chat.conversation.redactor.learn):
        show_written(written)


def recall(host: Host, text: str) -> None:
    """Show what memory holds on something."""
    if not text:
        raise UsageError("/recall needs a question", "Write /recall who has the spare key")
    show_recall(host.chat.memory.recall(Query(text, verbatim=True)))


def forget(host: Host, target: str) -> None:
    """Remove a fact, after a yes."""
    _on_the_record(host)
    if found := choice(host.chat.memory, target):
        host.chat.memory.forget([found])
        typer.echo("Forgotten. /undo restores it.")


def undo(host: Host, _: str) -> None:
    """Take back the latest write to memory."""
    _on_the_record(host)
    entry = host.chat.memory.undo()
    typer.echo(f"Undone: {entry.action} {entry.source}  {one_line(entry.text)}")


def why(host: Host, _: str) -> None:
    """Show what was recalled for the last turn, as it was then, and what it owes its place to."""
    turns = group(host.chat.conversation.transcript.entries)
    if not turns:
        raise UsageError("nothing was recalled yet", "Say something first")
    typer.echo(faint(f"for “{one_line(turns[-1].request)}”"))
    found = [each for each in turns[-1].entries if isinstance(each, RecalledEntry)]
    if not found:
        typer.echo("Memory was not asked.")
    for entry in found:
        show_recorded(entry)


def review(host: Host, _: str) -> None:
    """Decide on the facts that wait."""
    _on_the_record(host)
    waiting = host.chat.memory.waiting()
    if not waiting:
        typer.echo("Nothing waits for you.")
    upkeep.decide(host.chat.memory, host.chat.place, waiting)


def agenda(host: Host, days: str) -> None:
    """Show what is due."""
    if days and not days.isdecimal():
        raise UsageError(f"{days!r} is no number of days", "Say `/agenda 7`, or `/agenda`")
    ahead, today = int(days or DAYS), date.today()
    show(coming(host.chat.memory, today, ahead), today, ahead)


def edit(host: Host, name: str) -> None:
    """Open a file of the workspace in the owner's editor."""
    path = (host.chat.place.root / (name or "MEMORY.md")).resolve()
    if not path.is_relative_to(host.chat.place.root):
        raise UsageError(f"{name} is outside the workspace", "Name a file of it")
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    _edited(editor, path)
    typer.echo(f"{path.relative_to(host.chat.place.root)}: what you saved is known.")


def status(host: Host, _: str) -> None:
    """Show which model answers, and what memory holds."""
    talk, state = host.chat.conversation, host.chat.memory.status()
    record = "off the record" if talk.transcript.off_the_record else talk.transcript.session
    typer.echo(f"answers come from {talk.model.name} · session {record}")
    typer.echo(f"{counted(state.chunks, 'passage')} in {counted(len(state.sources), 'file')}")
    if state.waiting_for_review:
        typer.echo(f"{counted(state.waiting_for_review, 'fact')} for your review: /review")


def _edited(editor: str, path: Path) -> None:
    try:
        subprocess.run([*shlex.split(editor), str(path)], check=False)
    except OSError as error:
        raise UsageError(f"{editor} cannot be started: {error.strerror}", "Set EDITOR") from error


def _on_the_record(host: Host) -> None:
    if host.chat.conversation.transcript.off_the_record:
        raise UsageError(OFF, "Leave, and begin a chat without --otr")
