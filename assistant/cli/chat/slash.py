"""The slash commands of the chat, and `!` for the shell."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from difflib import get_close_matches

from assistant.agent.capture.origins import is_tainted
from assistant.app.chat import Chat
from assistant.app.undo import Changed, changed_by, take_back, undoable
from assistant.cli.chat import clipboard
from assistant.cli.chat.screen import Choice, Screen
from assistant.cli.chat.turn_view import TurnView
from assistant.cli.commands.agenda import set_reminder, show
from assistant.cli.commands.facts import choice, give
from assistant.cli.commands.memory import reading_cost
from assistant.cli.commands.review import decide
from assistant.cli.help import did_you_mean
from assistant.cli.memory_text import (
    one_line,
    show_recall,
    show_recorded,
    show_undone,
    show_written,
)
from assistant.cli.options import at_terminal, run_editor
from assistant.cli.palette import echo
from assistant.cli.session_text import session_facts, show_sessions, undo_lines
from assistant.disk import storage
from assistant.display import counted, spelled
from assistant.errors import UsageError
from assistant.events import ApprovalRequested
from assistant.memory.base import AGENDA_DAYS, Fact, Origin, Query
from assistant.messages import Attached, Note, Picture, ToolCall
from assistant.model import catalogue
from assistant.model.base import check_sight
from assistant.model.pictures import picture_of
from assistant.session import listing
from assistant.session.entries import AssistantEntry, RecalledEntry
from assistant.session.history import group
from assistant.session.listing import markdown
from assistant.session.transcript import session_ids
from assistant.tables import table_of
from assistant.upkeep.agenda import coming

ATTACHED = "attached to your next message"
SHELL_SECONDS = 900
"""Timeout of a shell command of the owner."""
LATEST_WRITES = 20
"""Number of recent writes to memory in which `/undo` looks for the owner's latest."""


class Host:
    """The chat that commands act on. `attachments`, by title, go with the next message."""

    def __init__(self, chat: Chat, screen: Screen) -> None:
        self.chat = chat
        self.screen = screen
        self.attachments: dict[str, Attached] = {}
        self.taken_back = chat.opened
        """When turns were last undone; that may have refused facts that waited."""

    def go_on(self) -> None:
        """Finish a turn that a crash interrupted."""
        raise NotImplementedError

    def run(self, line: str) -> None:
        """Run the command in `line`. Raises UsageError, and EOFError at `/quit`."""
        command, argument = parsed(line)
        if command.writes and self.chat.conversation.transcript.off_the_record:
            raise UsageError(
                "off the record nothing is written to memory, and no command runs",
                "Leave, and start a chat without --otr",
            )
        command.run(self, argument)


Run = Callable[[Host, str], None]
"""A command's function, called with the text after its name."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the chat, with its argument as help shows it; `writes` if it is off in
    off-the-record chats."""

    argument: str
    help: str
    run: Run
    writes: bool


COMMANDS: dict[str, Command] = {}
"""The commands by name, in the order of `/help`."""


def command(argument: str = "", name: str = "", *, writes: bool = False) -> Callable[[Run], Run]:
    """Register a function as a command under its own name or another; its docstring is the help.

    An argument in brackets is optional; any other one has an example.
    """

    def add(function: Run) -> Run:
        own_name = f"/{function.__name__.removesuffix('_')}"
        COMMANDS[name or own_name] = Command(argument, function.__doc__ or "", function, writes)
        return function

    return add


# Memory


@command("FACT", writes=True)
def remember(host: Host, text: str) -> None:
    """Write a fact to memory."""
    if written := give(host.chat.memory, Fact(text), host.chat.conversation.redactor.learn):
        show_written(written)


@command("QUERY")
def recall(host: Host, text: str) -> None:
    """Search memory."""
    show_recall(host.chat.memory.recall(Query(text, verbatim=True)))


@command("FILE:LINE", writes=True)
def forget(host: Host, target: str) -> None:
    """Remove a fact, after you confirm it."""
    if fact := choice(host.chat.memory, target):
        host.chat.memory.forget([fact])
        echo("Forgotten. /undo restores it.")


@command()
def why(host: Host, _: str) -> None:
    """Show why the last turn's passages were recalled."""
    turns = group(host.chat.conversation.transcript.entries)
    if not turns:
        raise UsageError("nothing has been recalled yet", "Send a message first")
    echo(f"for “{one_line(turns[-1].request)}”", faint=True)
    recalls = [entry for entry in turns[-1].entries if isinstance(entry, RecalledEntry)]
    if not recalls:
        echo("Memory was not searched.")
    for entry in recalls:
        show_recorded(entry, turns[-1].request)


@command(writes=True)
def review(host: Host, _: str) -> None:
    """Decide on the facts that wait for you."""
    decide(host.chat.memory, host.chat.workspace, host.chat.memory.waiting())


@command("[DAYS]")
def agenda(host: Host, days: str) -> None:
    """Show what is due."""
    if days and not days.isdecimal():
        raise UsageError(f"{days!r} is not a number of days", "Write /agenda 7, or /agenda")
    ahead, today = int(days or AGENDA_DAYS), date.today()
    show(coming(host.chat.memory, host.chat.workspace, today, ahead), today, ahead)


@command("WHEN WHAT", writes=True)
def remind(host: Host, words: str) -> None:
    """Set a reminder."""
    set_reminder(host.chat.workspace, words)


@command("[FILE]")
def edit(host: Host, name: str) -> None:
    """Open MEMORY.md or another file."""
    root = host.chat.workspace.root
    path = (root / (name or "MEMORY.md")).resolve()
    if not path.is_relative_to(root):
        raise UsageError(f"{name} is outside the workspace", "Name a file of it")
    if not at_terminal():
        raise UsageError("/edit needs a terminal", "Open the file in your editor")
    before = storage.stat_or_none(path)
    host.screen.aside(lambda: run_editor(path))
    is_saved = storage.stat_or_none(path) != before
    echo(f"{path.relative_to(root)}: {'saved' if is_saved else 'not changed'}.")


# Undo


@command(writes=True)
def undo(host: Host, _: str) -> None:
    """Undo what the last turn changed: files and facts."""
    chat, record = host.chat, host.chat.conversation.transcript
    writes = (w for w in chat.memory.log(LATEST_WRITES) if w.action != "undo" and not w.undone)
    latest = next(writes, None)
    turns = changed_by(chat.workspace, chat.memory, record.session, record.all_entries)
    changed = next(turns, None)
    since = max(chat.opened, host.taken_back)
    if changed:
        since = max(since, datetime.fromisoformat(changed.ended))
    if latest and latest.origin == Origin() and datetime.fromisoformat(latest.time) > since:
        show_undone(chat.memory.undo())
        return
    _take_back(host, [undoable(chat.workspace, changed)])


UNDID = "What the owner undid"
"""Title of the attachment that tells the model what was undone."""


def _take_back(host: Host, turns: Sequence[Changed]) -> None:
    """Undo turns, show what was undone, and attach that to the next message."""
    lines = list[str]()
    for changed in turns:
        back = take_back(host.chat.workspace, host.chat.memory, changed)
        lines += undo_lines(changed.name, back)
    host.taken_back = datetime.now().astimezone()
    echo("\n".join(lines))
    text = "\n".join(lines)  # it repeats text of these turns
    is_outside = any(is_tainted(changed.turn.entries) for changed in turns)
    host.attachments[UNDID] = text if is_outside else Note(text)


EVERYTHING, FILES, TALK = (
    Choice("everything", "files, facts and conversation", ""),
    Choice("files", "files and facts only", "the messages stay"),
    Choice("talk", "conversation only", "files and facts stay as they are"),
)


@command(writes=True)
def rewind(host: Host, _: str) -> None:
    """Go back to before an earlier message."""
    chat, talk = host.chat, host.chat.conversation
    record = talk.transcript
    turns = {turn.asked.id: turn for turn in group(record.entries)}
    if not turns:
        raise UsageError("there is no message to go back to", "Send a message first")
    changed = list(changed_by(chat.workspace, chat.memory, record.session, record.all_entries))
    changes = {change.turn.asked.id: _changes(change) for change in changed}
    messages = [
        Choice(id, one_line(turn.request), changes.get(id, "changed nothing"))
        for id, turn in reversed(turns.items())
    ]
    chosen = host.screen.pick("Go back to before which message?", messages)
    what = chosen and host.screen.pick("What should be undone?", (EVERYTHING, FILES, TALK))
    if chosen is None or what is None:
        return
    if what is not TALK:
        ids = [turn.asked.id for turn in group(record.all_entries)]
        later = ids[ids.index(chosen.name) :]
        _take_back(host, [change for change in changed if change.turn.asked.id in later])
    if what is not FILES:
        request = turns[chosen.name].request
        talk.rewind(chosen.name)
        host.screen.give_back(request)
        echo(f"Back to before “{one_line(request)}”, which is in the prompt again.")


def _changes(changed: Changed) -> str:
    """Return how much a turn has changed: `2 files, 1 fact`."""
    counts = ((len(changed.files), "file"), (len(changed.facts), "fact"))
    return ", ".join(counted(count, what) for count, what in counts if count)


# The model and its prompt


@command()
def status(host: Host, _: str) -> None:
    """Show the model, the session, and memory."""
    talk, memory = host.chat.conversation, host.chat.memory.status()
    record = "off the record" if talk.transcript.off_the_record else talk.transcript.session
    echo(f"model: {talk.model.name} · session {record}")
    echo(f"{counted(memory.chunks, 'passage')} in {counted(len(memory.sources), 'file')}")
    if memory.waiting_for_review:
        echo(f"{counted(memory.waiting_for_review, 'fact')} for your review: /review")


@command("[MESSAGE]")
def context(host: Host, message: str) -> None:
    """Show the prompt as it would be sent."""
    for section in host.chat.preview(message):
        echo(section.rendered)
        echo(f"({counted(section.tokens, 'token')})\n", faint=True)


@command()
def compact(host: Host, _: str) -> None:
    """Turn older turns into facts and a summary."""
    view = TurnView(host.screen)
    for event in host.chat.conversation.compact():
        view.show(event)


@command()
def usage(host: Host, _: str) -> None:
    """Show tokens and cost of this session."""
    used = host.chat.conversation.usage
    cost = "" if used.cost is None else f" · ${used.cost:.4f}"
    echo(
        f"{used.input_tokens:,} tokens in ({used.cached_tokens:,} of the last call cached), "
        f"{used.output_tokens:,} out{cost} · {host.chat.conversation.model.name}"
    )
    if reading := reading_cost(host.chat.workspace):
        echo(reading)


@command("[NAME]")
def model(host: Host, name: str) -> None:
    """Show or change the model."""
    doubts = host.chat.use_model(name) if name else []
    echo(f"model: {host.chat.conversation.model.name}")
    for doubt in doubts:
        echo(doubt, faint=True)


# Sessions


@command()
def sessions(host: Host, _: str) -> None:
    """List past sessions."""
    show_sessions(listing.sessions(host.chat.workspace.sessions))


@command()
def new(host: Host, _: str) -> None:
    """Start a new session."""
    _switch(host)
    echo("New session.", faint=True)


def _switch(host: Host, name: str | None = None) -> None:
    """Continue another session, or begin a new one; what was undone in this one is not attached."""
    host.chat.switch(name)
    host.attachments.pop(UNDID, None)


@command("[ID]")
def resume(host: Host, name: str) -> None:
    """Continue another session, picked from a list."""
    if not name:
        own = host.chat.conversation.transcript.session
        choices = [
            Choice(session.id, spelled(session.title), session_facts(session))
            for session in listing.sessions(host.chat.workspace.sessions)
            if session.id != own
        ]
        if not choices:
            raise UsageError("there is no other session", "Continue this one")
        picked = host.screen.pick("Which session?", choices)
        name = picked.name if picked else ""
    if name:
        _switch(host, name)
        host.go_on()


@command("[FILE]", writes=True)
def export(host: Host, name: str) -> None:
    """Write this session as markdown."""
    record = host.chat.conversation.transcript
    path = host.chat.workspace.root / storage.expanded(name or f"{record.session}.md")
    if path.exists():
        raise UsageError(f"{path} already exists", "Name another file")
    storage.replace(path, markdown(record.entries).encode())
    echo(f"Written to {path}.")


@command()
def copy(host: Host, _: str) -> None:
    """Copy the latest reply to the clipboard."""
    entries = reversed(host.chat.conversation.transcript.entries)
    replies = (entry.text for entry in entries if isinstance(entry, AssistantEntry))
    reply = next(filter(str.strip, replies), None)
    if reply is None:
        raise UsageError("there is no reply to copy yet", "Send a message first")
    if not clipboard.copied(reply):
        raise UsageError("no clipboard can be reached", "Install wl-copy or xclip, or use /export")
    echo(f"Copied {counted(len(reply.splitlines()), 'line')}.")


@command()
def paste(host: Host, _: str) -> None:
    """Attach the clipboard's picture; Ctrl-V does too."""
    picture = picture_of(clipboard.picture())
    if picture is None:
        raise UsageError("there is no picture on the clipboard", "Copy one first")
    pictures = sum(isinstance(attachment, Picture) for attachment in host.attachments.values())
    title = f"Picture {1 + pictures}"
    check_sight(host.chat.conversation.model, {title: picture})
    host.attachments[title] = picture
    echo(f"{title}, {picture}")
    echo(ATTACHED, faint=True)


@command()
def quit_(host: Host, _: str) -> None:
    """Leave; Ctrl-D does too."""
    raise EOFError


# Shell, help and leaving


@command("COMMAND", "!", writes=True)
def run_shell(host: Host, command: str) -> None:
    """Run a command in the sandbox, and attach its output to your next message."""
    talk = host.chat.conversation
    host.screen.draw(doing=spelled(f"! {command}"))
    talk.interruption.reset()
    call = ToolCall("owner", "shell", {"command": command, "timeout": SHELL_SECONDS})
    verdict = talk.toolbox.review(call)
    if verdict.action == "ask":
        request = ApprovalRequested(call.id, call.name, verdict.compact, verdict.detail)
        verdict = talk.toolbox.settle(verdict, talk.approver.decide(request))
    result = talk.toolbox.run(verdict)
    echo(result.content)
    if verdict.action == "run":
        host.attachments[f"Output of {command}"] = result.content
        echo(ATTACHED, faint=True)


@command()
def help_(host: Host, _: str) -> None:
    """Show this list."""
    rows = {f"{name} {command.argument}": command.help for name, command in COMMANDS.items()}
    rows["@FILE"] = "In a message: attach a file, a picture, or the list of a folder."
    for usage, help in rows.items():
        echo(usage.ljust(20) + help)
    echo(_data["keys"], faint=True)


_data = table_of(__file__)
OTHER_NAMES: Mapping[str, str] = _data["other_names"]
"""Names of these commands in other programs."""
BEGINS = ("/", "!")
"""First characters of lines that are commands, not messages."""


def parsed(line: str) -> tuple[Command, str]:
    """Return the command in a line and its argument. Raises UsageError if there is none."""
    name, _, argument = (f"! {line[1:]}" if line.startswith("!") else line).partition(" ")
    if name not in COMMANDS:
        similar = [OTHER_NAMES[name]] if name in OTHER_NAMES else get_close_matches(name, COMMANDS)
        question = f"{did_you_mean(similar[:1])} " if similar else ""
        raise UsageError(f"there is no command {name}", f"{question}Type /help for the list")
    chosen, argument = COMMANDS[name], argument.strip()
    if argument and not chosen.argument:
        raise UsageError(f"{name} takes no argument", f"Write {name} alone")
    if not argument and chosen.argument[:1] not in ("", "["):
        example = _data["examples"][name]
        raise UsageError(f"{name} needs {chosen.argument}", f"Write {name} {example}")
    return chosen, argument


def values(chat: Chat) -> dict[str, Callable[[], Iterable[str]]]:
    """Return the possible arguments of some commands, for completion."""
    workspace, own = chat.workspace, chat.settings
    models = [own.model.name or "", *(profile.name for profile in own.profiles)]
    return {
        "/model": lambda: dict.fromkeys(filter(None, (*models, *catalogue.names()))),
        "/resume": lambda: reversed(session_ids(workspace.sessions)),
        "/edit": lambda: [path.name for path in sorted(workspace.root.glob("*.md"))],
    }
