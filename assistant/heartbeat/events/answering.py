"""The events of the queue answered, each as a turn in a session of its own."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from assistant.errors import WorkspaceError
from assistant.heartbeat.events import queue
from assistant.heartbeat.events.incoming import instructions
from assistant.heartbeat.events.queue import Queued
from assistant.heartbeat.unattended import Outcome, allowed, attempt
from assistant.session import beats
from assistant.session.beats import News
from assistant.session.entries import TitleEntry
from assistant.workspace import trust
from assistant.workspace.folder import PROCEDURES_FILE, Workspace, read_text

if TYPE_CHECKING:
    from assistant.app.chat import Chat
    from assistant.events import Event

SECONDS = 300.0
"""What the owner's command may take over an answer."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of an event; whether the owner had said how to answer it, and why the answer could
    not be passed on."""

    queued: Queued
    came: Outcome
    instructed: bool
    fault: str = ""


def check(place: Workspace) -> None:
    """Raises WorkspaceError if the workspace may not answer."""
    if not trust.is_trusted(place):
        raise WorkspaceError(
            f"{place.root} is not trusted, and answers no events",
            "Run `assistant trust` if it is yours",
        )


def answered(place: Workspace, *, own: str = "", no_daemon: bool = False) -> Iterator[Answered]:
    """Answer what waits, oldest first, until nothing does or no model answers; nothing if another
    process is at it.

    The owner is told what is passed on to no command, but for the event `own`. Raises ConfigError
    if there is no model or no tokens are left: what waits goes on waiting.
    """
    check(place)
    while any(queue.waiting(place)):  # one may come between the last look and the lock's end
        work = queue.begin_work(place)
        if work is None:
            return
        with work:
            for each in queue.broken(place):
                _tell(place, each, failed="broke off, and is not answered again")
            for each in queue.waiting(place):
                most = allowed(place).heartbeat.tokens
                done = _answered(place, each, most, no_daemon=no_daemon)
                if each.name != own:
                    _report(place, done)
                yield done
                if done.came.state == "waiting":
                    return


def _answered(place: Workspace, queued: Queued, most: int, *, no_daemon: bool) -> Answered:
    event = queued.event
    told = instructions(_procedures(place), event.source)

    def ask(chat: "Chat") -> "Iterator[Event]":
        talk = chat.conversation
        talk.transcript.append(TitleEntry(talk.redactor.redact(event.title)))
        return talk.send(event.message(told), {f"An event from {event.source}": event.shown})

    queue.begin(place, queued)
    came, fault = attempt(place, "event", ask, most, no_daemon=no_daemon), ""
    if came.state == "waiting":
        if not queue.try_again(place, queued):
            came = replace(came, state="failed", said=f"{came.said}, for the last time")
    else:
        if queued.reply_to and came.state != "failed":
            fault = _passed_on(queued.reply_to, came.said)
        queue.end(place, queued)
    return Answered(queued, came, bool(told), fault)


def _passed_on(command: str, text: str) -> str:
    """Run the owner's command with the answer on standard input; what went wrong."""
    try:
        done = subprocess.run(
            ["sh", "-c", command], input=text, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the answer could not be passed on: {error}"
    return f"`{command}` failed with {done.returncode}" if done.returncode else ""


def _report(place: Workspace, done: Answered) -> None:
    """Have the owner told, once, of what nobody was shown."""
    queued, came = done.queued, done.came
    match came.state:
        case "failed":
            _tell(place, queued, failed=came.said)
        case "waiting" if not queued.tries:
            _tell(place, queued, failed=came.said)
        case "done" if done.fault:
            _tell(place, queued, came.session, failed=done.fault)
        case "done" if not queued.reply_to:
            _tell(place, queued, came.session)


def _tell(place: Workspace, queued: Queued, session: str = "", failed: str = "") -> None:
    when = datetime.fromtimestamp(queued.arrived).isoformat(timespec="minutes")
    about = f"{queued.event.title}: {failed}" if failed else ""
    with beats.changing(place) as known:
        known.tell(News(when, session, about, source=queued.source))


def _procedures(place: Workspace) -> str:
    try:
        return read_text(place.root / PROCEDURES_FILE)
    except FileNotFoundError:
        return ""
