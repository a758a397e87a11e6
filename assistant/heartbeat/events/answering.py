"""An event answered as a turn, in a session of its own."""

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assistant.errors import StorageError, TurnError, WorkspaceError
from assistant.heartbeat.events.incoming import Incoming, instructions
from assistant.session.entries import TitleEntry
from assistant.workspace import trust
from assistant.workspace.folder import PROCEDURES_FILE, Workspace, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assistant.app.chat import Chat
    from assistant.events import Event

SECONDS = 300.0
"""What the owner's command may take over an answer."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What was answered, in which session, and what it cost; whether the owner had said how."""

    text: str
    session: str
    tokens: int
    instructed: bool


def check(place: Workspace) -> None:
    """Raises WorkspaceError if the workspace may not answer."""
    if not trust.is_trusted(place):
        raise WorkspaceError(
            f"{place.root} is not trusted, and answers no events",
            "Run `assistant trust` if it is yours",
        )


def answer(place: Workspace, event: Incoming, *, no_daemon: bool = False) -> Answered:
    """Answer an event. Raises TurnError if the turn fails, and what opening it raises."""
    from assistant.app.chat import open_chat
    from assistant.app.wish import ChatWish

    told = instructions(_procedures(place), event.source)
    with open_chat(place, ChatWish(purpose="event"), no_daemon=no_daemon) as chat:
        talk = chat.conversation
        talk.transcript.append(TitleEntry(talk.redactor.redact(event.title)))
        turn = talk.send(event.message(told), {f"An event from {event.source}": event.shown})
        return _ended(chat, turn, bool(told))


def reply(command: str, text: str) -> None:
    """Run the owner's command with the answer on standard input. Raises StorageError."""
    try:
        done = subprocess.run(
            ["sh", "-c", command], input=text, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StorageError(f"the answer could not be passed on: {error}", "Check it") from error
    if done.returncode:
        raise StorageError(
            f"the answer was given, and `{command}` failed with {done.returncode}",
            "Check the command; the answer stands above",
        )


def _ended(chat: "Chat", turn: "Iterator[Event]", instructed: bool) -> Answered:
    from assistant import events

    talk, said = chat.conversation, ""
    for event in turn:
        match event:
            case events.TurnFinished(text):
                said = text
            case events.TurnFailed(message, cure):
                raise TurnError(message, cure)
    used = talk.usage
    return Answered(
        said, talk.transcript.session, used.input_tokens + used.output_tokens, instructed
    )


def _procedures(place: Workspace) -> str:
    try:
        return read_text(place.root / PROCEDURES_FILE)
    except FileNotFoundError:
        return ""
