"""The events of the queue answered, each as a turn in a session of its own."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from assistant.heartbeat import queue
from assistant.heartbeat.incoming import instructions
from assistant.heartbeat.queue import Queued
from assistant.heartbeat.unattended import Outcome, allowed, attempt, check
from assistant.session import beats
from assistant.session.beats import News
from assistant.session.entries import TitleEntry
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
    outcome: Outcome
    instructed: bool
    fault: str = ""


def answer_waiting(
    place: Workspace, *, own: str = "", no_daemon: bool = False
) -> Iterator[Answered]:
    """Answer what waits, oldest first, until nothing does or no model answers; nothing if another
    process is at it.

    The owner is told what no command is passed, but for the event `own`. Raises WorkspaceError
    without trust, ConfigError if there is no model or no tokens are left: what waits goes on
    waiting.
    """
    check(place)
    while any(queue.waiting(place)):  # one may come between the last look and the lock's end
        work = queue.begin_work(place)
        if work is None:
            return
        with work:
            for queued in queue.broken(place):
                _tell(place, queued, failed="broke off, and is not answered again")
            for queued in queue.waiting(place):
                most = allowed(place).heartbeat.tokens
                answered = _answer(place, queued, most, no_daemon=no_daemon)
                if queued.name != own:
                    _report(place, answered)
                yield answered
                if answered.outcome.state == "waiting":
                    return


def _answer(place: Workspace, queued: Queued, most: int, *, no_daemon: bool) -> Answered:
    event = queued.event
    try:
        told = instructions(read_text(place.root / PROCEDURES_FILE), event.source)
    except FileNotFoundError:
        told = ""

    def ask(chat: "Chat") -> "Iterator[Event]":
        talk = chat.conversation
        talk.transcript.append(TitleEntry(talk.redactor.redact(event.title)))
        return talk.send(event.message(told), {f"An event from {event.source}": event.shown})

    queue.begin(place, queued)
    outcome, fault = attempt(place, "event", ask, most, no_daemon=no_daemon), ""
    if outcome.state == "waiting":
        if not queue.try_again(place, queued):
            outcome = replace(outcome, state="failed", text=f"{outcome.text}, for the last time")
    else:
        if queued.reply_to and outcome.state != "failed":
            fault = _pass_on(queued.reply_to, outcome.text)
        queue.end(place, queued)
    return Answered(queued, outcome, bool(told), fault)


def _pass_on(command: str, text: str) -> str:
    """Run the owner's command with the answer on standard input; what went wrong."""
    try:
        done = subprocess.run(
            ["sh", "-c", command], input=text, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the answer could not be passed on: {error}"
    return f"`{command}` failed with {done.returncode}" if done.returncode else ""


def _report(place: Workspace, answered: Answered) -> None:
    """Have the owner told, once, of what nobody was shown."""
    queued, outcome = answered.queued, answered.outcome
    if outcome.state == "failed" or (outcome.state == "waiting" and not queued.tries):
        _tell(place, queued, failed=outcome.text)
    elif outcome.state == "done" and (answered.fault or not queued.reply_to):
        _tell(place, queued, outcome.session, answered.fault)


def _tell(place: Workspace, queued: Queued, session: str = "", failed: str = "") -> None:
    when = datetime.fromtimestamp(queued.arrived).isoformat(timespec="minutes")
    about = f"{queued.event.title}: {failed}" if failed else ""
    with beats.changing(place) as known:
        known.tell(News(when, session, about, source=queued.source))
