"""The events of a workspace that wait, and are answered one after the other, oldest first.

Each is answered as a turn in a session of its own. `.assistant/events/` has one file an event,
written before its sender is told that it was taken. It is renamed when it is begun, so that one
that breaks off is told and not answered twice, and removed once it is answered.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assistant.disk import locking, storage
from assistant.disk.locking import Lock
from assistant.heartbeat.incoming import Incoming, instructions
from assistant.heartbeat.unattended import Outcome, allowed, attempt, check
from assistant.session import beats, notebook
from assistant.session.beats import News
from assistant.session.entries import TitleEntry
from assistant.workspace.folder import PROCEDURES_FILE, Workspace, read_text

if TYPE_CHECKING:
    from assistant.app.chat import Chat
    from assistant.events import Event

WAITING, BEGUN, FAILED = ".json", ".begun", ".failed"
"""How the files of events end."""
KEPT_IDS = 1_000
"""Ids of events, the latest, that are not taken a second time."""
LONGEST_PAUSE = 60.0
"""Minutes between two tries, at most; they double from one."""
GIVEN_UP = 24 * 3600.0
"""Seconds from its arrival on in which an event is tried again."""


@dataclass(frozen=True, slots=True)
class Queued:
    """An event in the queue: the command that takes its answer, how often it was tried, and the
    time (seconds since 1970) before which it is not tried again."""

    name: str
    source: str
    data: dict[str, Any]
    reply_to: str | None = None
    tries: int = 0
    after: float = 0.0

    @property
    def event(self) -> Incoming:
        """What came in."""
        return Incoming(self.source, self.data)

    @property
    def arrived(self) -> float:
        """When it was taken, in seconds since 1970."""
        return int(self.name[:20]) / 1e9


@dataclass(slots=True)
class Taken:
    """Digests of the ids of events that were taken, oldest first."""

    ids: list[str] = field(default_factory=list)


def directory(workspace: Workspace) -> Path:
    """Where the queue is."""
    return storage.private_directory(storage.private_directory(workspace.private) / "events")


def put(workspace: Workspace, event: Incoming, *, id: str = "", reply_to: str | None = None) -> str:
    """Take an event; its name in the queue, or "" if one of this source and id was taken before.

    Raises StorageError if it cannot be written down.
    """
    folder = directory(workspace)
    digest = sha256(f"{event.source}\0{id}".encode()).hexdigest()[:16]
    with notebook.changing(folder / "taken", Taken) as known:
        if id and digest in known.ids:
            return ""
        name = f"{time.time_ns():020d}-{os.getpid()}"
        _write(folder, Queued(name, event.source, event.data, reply_to))
        if id:
            known.ids = [*known.ids, digest][-KEPT_IDS:]
    return name


def begin_work(workspace: Workspace) -> Lock | None:
    """The right to answer, for a `with`; None if another process has it."""
    return locking.try_lock(directory(workspace) / "work.lock")


def waiting(workspace: Workspace) -> Iterator[Queued]:
    """The events that may be answered now, oldest first, as the queue changes meanwhile."""
    folder, last = workspace.private / "events", ""
    while names := sorted(path.stem for path in folder.glob(f"*{WAITING}") if path.stem > last):
        last = names[0]
        queued = _read(folder / f"{last}{WAITING}")
        if queued and queued.after <= time.time():
            yield queued


def begin(workspace: Workspace, queued: Queued) -> None:
    """Note that it is being answered."""
    path = directory(workspace) / f"{queued.name}{WAITING}"
    with storage.reported("renamed", path):
        path.replace(path.with_suffix(BEGUN))
    storage.sync_directory(path.parent)


def end(workspace: Workspace, queued: Queued) -> None:
    """Take it out of the queue."""
    (directory(workspace) / f"{queued.name}{BEGUN}").unlink(missing_ok=True)


def try_again(workspace: Workspace, queued: Queued) -> bool:
    """Put one back that nothing was done for; False if it has been tried for too long, and is
    put aside."""
    now, begun = time.time(), directory(workspace) / f"{queued.name}{BEGUN}"
    if now - queued.arrived > GIVEN_UP:
        begun.replace(begun.with_suffix(FAILED))
        return False
    minutes = min(2.0**queued.tries, LONGEST_PAUSE)
    _write(begun.parent, replace(queued, tries=queued.tries + 1, after=now + 60 * minutes))
    end(workspace, queued)
    return True


def broken(workspace: Workspace) -> Iterator[Queued]:
    """The events that were begun by a process that died, each once; for whoever may answer."""
    for path in sorted(directory(workspace).glob(f"*{BEGUN}")):
        queued = _read(path)
        path.replace(path.with_suffix(FAILED))
        if queued:
            yield queued


def _write(folder: Path, queued: Queued) -> None:
    storage.replace(folder / f"{queued.name}{WAITING}", json.dumps(asdict(queued)).encode())


def _read(path: Path) -> Queued | None:
    """What a file of the queue holds; None if it is gone or damaged."""
    try:
        return Queued(**json.loads(storage.read(path)))
    except (FileNotFoundError, ValueError, TypeError):
        return None


# Answering

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
    workspace: Workspace, *, own: str = "", no_daemon: bool = False
) -> Iterator[Answered]:
    """Answer what waits, oldest first, until nothing does or no model answers; nothing if another
    process is at it.

    The owner is told what no command is passed, but for the event `own`. Raises WorkspaceError
    without trust, ConfigError if there is no model or no tokens are left: what waits goes on
    waiting.
    """
    check(workspace)
    while any(waiting(workspace)):  # one may come between the last look and the lock's end
        work = begin_work(workspace)
        if work is None:
            return
        with work:
            for queued in broken(workspace):
                _tell(workspace, queued, failed="broke off, and is not answered again")
            for queued in waiting(workspace):
                most = allowed(workspace).heartbeat.tokens
                answered = _answer(workspace, queued, most, no_daemon=no_daemon)
                if queued.name != own:
                    _report(workspace, answered)
                yield answered
                if answered.outcome.state == "waiting":
                    return


def _answer(workspace: Workspace, queued: Queued, most: int, *, no_daemon: bool) -> Answered:
    event = queued.event
    try:
        told = instructions(read_text(workspace.root / PROCEDURES_FILE), event.source)
    except FileNotFoundError:
        told = ""

    def ask(chat: "Chat") -> "Iterator[Event]":
        talk = chat.conversation
        talk.transcript.append(TitleEntry(talk.redactor.redact(event.title)))
        return talk.send(event.message(told), {f"An event from {event.source}": event.shown})

    begin(workspace, queued)
    outcome, fault = attempt(workspace, "event", ask, most, no_daemon=no_daemon), ""
    if outcome.state == "waiting":
        if not try_again(workspace, queued):
            outcome = replace(outcome, state="failed", text=f"{outcome.text}, for the last time")
    else:
        if queued.reply_to and outcome.state != "failed":
            fault = _pass_on(queued.reply_to, outcome.text)
        end(workspace, queued)
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


def _report(workspace: Workspace, answered: Answered) -> None:
    """Have the owner told, once, of what nobody was shown."""
    queued, outcome = answered.queued, answered.outcome
    if outcome.state == "failed" or (outcome.state == "waiting" and not queued.tries):
        _tell(workspace, queued, failed=outcome.text)
    elif outcome.state == "done" and (answered.fault or not queued.reply_to):
        _tell(workspace, queued, outcome.session, answered.fault)


def _tell(workspace: Workspace, queued: Queued, session: str = "", failed: str = "") -> None:
    when = datetime.fromtimestamp(queued.arrived).isoformat(timespec="minutes")
    about = f"{queued.event.title}: {failed}" if failed else ""
    with beats.changing(workspace) as known:
        known.tell(News(when, session, about, source=queued.source))
