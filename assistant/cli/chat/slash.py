"""Slash commands."""

import os
import shlex
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol

import typer

from assistant.app.chat import Chat
from assistant.app.undo import Changed, changed_by, take_back
from assistant.cli.chat import clipboard
from assistant.cli.chat.palette import faint
from assistant.cli.chat.screen import Choice, Screen
from assistant.cli.chat.turn_view import TurnView
from assistant.cli.commands.agenda import DAYS, show
from assistant.cli.commands.facts import choice, give
from assistant.cli.commands.memory import reading_cost
from assistant.cli.commands.review import decide
from assistant.cli.memory_text import one_line, show_recall, show_recorded, show_written
from assistant.cli.session_text import session_facts, show_sessions, undo_lines
from assistant.disk import storage
from assistant.display import counted, spelled
from assistant.errors import UsageError
from assistant.events import ApprovalRequested
from assistant.memory.base import Fact, JournalEntry, Origin, Query
from assistant.messages import Picture, ToolCall
from assistant.model import catalogue
from assistant.model.base import check_sight
from assistant.model.pictures import picture_of
from assistant.session import listing
from assistant.session.entries import AssistantEntry, RecalledEntry
from assistant.session.history import group
from assistant.session.listing import markdown
from assistant.upkeep.agenda import coming

BESIDE = "goes with your next message"


class Host(Protocol):
    """The chat on its screen."""

    chat: Chat
    screen: Screen
    given: dict[str, str | Picture]
    """What goes with the next message, by its title."""

    def go_on(self) -> None:
        """Show the session's last exchange, and finish a turn that was cut off."""


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command: its argument as help shows it, and what it does with it.

    One that `asks` has the terminal to itself, and reads it line by line.
    """

    argument: str
    help: str
    run: Callable[[Host, str], None]
    asks: bool = False


LONGEST = 900
"""Seconds until it is stopped."""


def run_shell(host: Host, command: str) -> None:
    """Run a command and show what it prints, which goes with the next message."""
    talk = host.chat.conversation
    if not command:
        raise UsageError("! needs a command", "Write !git status")
    if talk.transcript.off_the_record:
        raise UsageError("off the record no command runs", "Leave, and begin a chat without --otr")
    host.screen.does(spelled(f"! {command}"))
    talk.interruption.reset()
    call = ToolCall("owner", "shell", {"command": command, "timeout": LONGEST})
    verdict = talk.toolbox.review(call)
    if verdict.action == "ask":
        asked = ApprovalRequested(call.id, call.name, verdict.compact, verdict.detail)
        verdict = talk.toolbox.settle(verdict, talk.approver.decide(asked))
    result = talk.toolbox.run(verdict)
    typer.echo(spelled(result.content))
    if verdict.action == "run":
        host.given[f"What {command} printed"] = result.content
        typer.echo(faint(BESIDE))


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
    """Take back what the last turn changed, or what the owner has written to memory since."""
    _on_the_record(host)
    chat = host.chat
    record = chat.conversation.transcript
    latest = next((each for each in chat.memory.log(20) if _stands(each)), None)
    turns = group(record.entries)
    since = max([chat.opened, *(datetime.fromisoformat(t.entries[-1].time) for t in turns[-1:])])
    if latest and latest.origin == OWNER and datetime.fromisoformat(latest.time) > since:
        entry = chat.memory.undo()
        typer.echo(f"Undone: {entry.action} {entry.source}  {one_line(entry.text)}")
        return
    last = next(changed_by(chat.place, chat.memory, record.session, record.entries), None)
    if last is None:
        raise UsageError(
            "this chat has changed nothing that stands",
            "`assistant memory undo` takes back the latest write to memory, whoever made it",
        )
    _take_back(host, [last])


OWNER = Origin()


def _stands(write: JournalEntry) -> bool:
    return write.action != "undo" and not write.undone


def _take_back(host: Host, turns: Sequence[Changed]) -> None:
    """Take turns back, say what came of it, and have the model hear of it."""
    lines = []
    for each in turns:
        lines.append(f"Taken back: “{one_line(each.turn.request)}”")
        lines += undo_lines(take_back(host.chat.place, host.chat.memory, each))
    typer.echo(spelled("\n".join(lines)))
    host.given["What the owner has undone"] = "\n".join(lines)


EVERYTHING, FILES, TALK = (
    Choice("everything", "files, facts and conversation", ""),
    Choice("files", "files and facts only", "what was said stays"),
    Choice("talk", "conversation only", "files and facts stay as they are"),
)


def rewind(host: Host, _: str) -> None:
    """Go back to before an earlier message: with what was changed since, what was said, or both."""
    _on_the_record(host)
    chat, talk = host.chat, host.chat.conversation
    record = talk.transcript
    turns = group(record.entries)
    if not turns:
        raise UsageError("nothing was said yet", "Say something first")
    changed = list(changed_by(chat.place, chat.memory, record.session, record.entries))
    told = {each.turn.asked.id: _changes(each) for each in changed}
    messages = [
        Choice(each.asked.id, one_line(each.request), told.get(each.asked.id, "changed nothing"))
        for each in reversed(turns)
    ]
    chosen = host.screen.pick("Back to before which message?", messages)
    what = chosen and host.screen.pick("What is taken back?", (EVERYTHING, FILES, TALK))
    if chosen is None or what is None:
        return
    ids = [each.asked.id for each in turns]
    later = ids[ids.index(chosen.name) :]
    if what is not TALK:
        _take_back(host, [each for each in changed if each.turn.asked.id in later])
    if what is not FILES:
        request = turns[ids.index(chosen.name)].request
        talk.rewind(chosen.name)
        host.screen.give_back(request)
        typer.echo(f"Back to before “{one_line(request)}”, which is in the prompt again.")


def _changes(changed: Changed) -> str:
    """How much a turn has changed."""
    counts = ((len(changed.files), "file"), (len(changed.facts), "fact"))
    return ", ".join(counted(count, what) for count, what in counts if count)


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
        show_recorded(entry, turns[-1].request)


def review(host: Host, _: str) -> None:
    """Decide on the facts that wait."""
    _on_the_record(host)
    waiting = host.chat.memory.waiting()
    if not waiting:
        typer.echo("Nothing waits for you.")
    decide(host.chat.memory, host.chat.place, waiting)


def agenda(host: Host, days: str) -> None:
    """Show what is due."""
    if days and not days.isdecimal():
        raise UsageError(f"{days!r} is no number of days", "Say `/agenda 7`, or `/agenda`")
    ahead, today = int(days or DAYS), date.today()
    show(coming(host.chat.memory, host.chat.place, today, ahead), today, ahead)


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
    choices = [Choice(each.id, spelled(each.title), session_facts(each)) for each in others]
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
    typer.echo(faint("Enter sends; Alt-Enter begins a new line; Esc stops what runs."))
    typer.echo(faint("Ctrl-O: all a tool printed; Ctrl-X Ctrl-E: your editor; Ctrl-D leaves."))
    typer.echo(
        faint("Sent while it works, a message waits for the next pause; Enter again makes one.")
    )


SHELL = Command(
    "COMMAND",
    "Run a command in the sandbox; its output is attached to your next message.",
    run_shell,
)
COMMANDS = {
    "/remember": Command("FACT", "Write a fact to memory.", remember),
    "/recall": Command("QUERY", "Show what memory holds on something.", recall),
    "/forget": Command("FILE:LINE", "Remove a fact, after a yes.", forget, asks=True),
    "/undo": Command("", "Take back what the last turn changed: files and facts.", undo),
    "/rewind": Command("", "Go back to before an earlier message.", rewind),
    "/why": Command("", "Show why the last turn's passages were recalled.", why),
    "/review": Command("", "Decide on the facts that wait for you.", review, asks=True),
    "/agenda": Command("[DAYS]", "Show what is due.", agenda),
    "/edit": Command("[FILE]", "Open MEMORY.md or another file.", edit, asks=True),
    "/status": Command("", "Show the model, the session, and memory.", status),
    "/context": Command("[MESSAGE]", "Show the prompt as it would be sent.", context),
    "/compact": Command("", "Turn older turns into facts and a summary.", compact),
    "/usage": Command("", "Show tokens and cost of this session.", usage),
    "/model": Command("[NAME]", "Show or change the model.", model),
    "/new": Command("", "Begin a new session.", new),
    "/resume": Command("[ID]", "Go on with another session, picked from a list.", resume),
    "/sessions": Command("", "List past sessions.", sessions),
    "/paste": Command("", "Attach the clipboard's picture; Ctrl-V does too.", paste),
    "/copy": Command("", "Copy the latest reply to the clipboard.", copy),
    "/export": Command("[FILE]", "Write this session as markdown.", export),
    "/help": Command("", "Show this list.", _help),
    "/quit": Command("", "Leave; Ctrl-D does too.", leave),
}


def values(chat: Chat) -> dict[str, Callable[[], Iterable[str]]]:
    """What the argument of a command may be, for the menu while it is typed."""
    place = chat.place
    return {
        "/model": lambda: [*(each.name for each in chat.settings.profiles), *catalogue.names()],
        "/resume": lambda: [each.id for each in listing.sessions(place.sessions)],
        "/edit": lambda: [path.name for path in sorted(place.root.glob("*.md"))],
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
