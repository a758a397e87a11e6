"""The queue of events, each answered as a turn in a separate session, oldest first.

`.assistant/events/` has a file per event, written before the sender gets its confirmation. The file
is renamed when the answer begins, so that an interrupted event is reported and not answered twice,
and removed when it is answered.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.disk import locking, notebook, storage
from assistant.heartbeat.incoming import Incoming, instructions
from assistant.heartbeat.unattended import RETRIED, Outcome, check_limits, check_trust, run_turn
from assistant.session import beats
from assistant.session.beats import News
from assistant.session.entries import TitleEntry
from assistant.workspace.folder import PROCEDURES_FILE, Workspace

if TYPE_CHECKING:
    from assistant.app.chat import Chat
    from assistant.events import Event

WAITING, BEGUN, FAILED = ".json", ".begun", ".failed"
"""Suffixes of the files, by the state of the event."""
KEPT_IDS = 1_000
"""Number of latest IDs of which the digests are stored, to recognise repeated events."""
LONGEST_PAUSE = 60.0
"""Maximum minutes between two attempts; the interval starts at one and doubles."""
GIVEN_UP = 24 * 3600.0
"""Seconds after its arrival during which an event is retried."""


@dataclass(frozen=True, slots=True)
class Queued(Incoming):
    """An event in the queue; it is retried no earlier than `after` (seconds since 1970)."""

    name: str
    reply_to: str | None = None
    tries: int = 0
    after: float = 0.0

    @property
    def arrived(self) -> float:
        """When it was queued, in seconds since 1970."""
        return int(self.name[:20]) / 1e9

    def retried(self) -> "Queued":
        """The event as it waits for the next attempt."""
        minutes = min(2.0**self.tries, LONGEST_PAUSE)
        return replace(self, tries=self.tries + 1, after=time.time() + 60 * minutes)


def directory(workspace: Workspace) -> Path:
    """Return the folder of the queue."""
    return storage.private_directory(storage.private_directory(workspace.private) / "events")


def put(workspace: Workspace, event: Incoming, *, id: str = "", reply_to: str | None = None) -> str:
    """Queue an event; return its name, or "" for a repeated ID. Raises StorageError."""
    folder = directory(workspace)
    digest = sha256(f"{event.source}\0{id}".encode()).hexdigest()[:16]
    with notebook.changing(folder / "taken", list[str]) as taken:
        if id and digest in taken:
            return ""
        name = f"{time.time_ns():020d}-{os.getpid()}"
        _write(folder, Queued(event.source, event.data, name, reply_to))
        if id:
            taken[:] = [*taken, digest][-KEPT_IDS:]
    return name


def waiting(workspace: Workspace) -> Iterator[Queued]:
    """Yield the events to answer now, oldest first, including those that arrive meanwhile.

    A wait longer than the maximum interval means that the clock was set back.
    """
    folder, last = workspace.private / "events", ""
    while names := sorted(path.stem for path in folder.glob(f"*{WAITING}") if path.stem > last):
        last = names[0]
        queued = _read(folder / f"{last}{WAITING}")
        if queued and not 0 < queued.after - time.time() <= 60 * LONGEST_PAUSE:
            yield queued


def broken(workspace: Workspace) -> Iterator[Queued]:
    """Yield the events whose process died while answering, each once; the caller holds the lock."""
    for path in sorted(directory(workspace).glob(f"*{BEGUN}")):
        queued = _read(path)
        path.replace(path.with_suffix(FAILED))
        if queued:
            yield queued


def _write(folder: Path, queued: Queued) -> None:
    storage.replace(folder / f"{queued.name}{WAITING}", json.dumps(asdict(queued)).encode())


def _read(path: Path) -> Queued | None:
    """Return the event in a file; None if it is gone or damaged."""
    try:
        return Queued(**json.loads(storage.read(path)))
    except (FileNotFoundError, ValueError, TypeError):
        return None


# Answering

SECONDS = 300.0
"""Timeout of the owner's command."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The outcome of an event: whether AGENTS.md has instructions for it, and why the answer could
    not be passed on."""

    queued: Queued
    outcome: Outcome
    instructed: bool
    fault: str = ""


def answer_waiting(
    workspace: Workspace, *, own: str = "", no_daemon: bool = False
) -> Iterator[Answered]:
    """Answer the queue, oldest first, until it is empty or no model answers.

    Does nothing while another process answers. Answers that go to no command are reported to the
    owner, except that of `own`. Raises WorkspaceError if the workspace is not trusted, ConfigError
    without a model or tokens; the events then keep waiting.
    """
    check_trust(workspace)
    while any(waiting(workspace)):  # one may arrive before the lock is released
        work = locking.try_lock(directory(workspace) / "work.lock")
        if work is None:
            return
        with work:
            for queued in broken(workspace):
                _notify(workspace, queued, failed="was interrupted, and is not answered again")
            for queued in waiting(workspace):
                check_limits(workspace)
                answered = _answer(workspace, queued, no_daemon=no_daemon)
                if queued.name != own:
                    _report(workspace, answered)
                yield answered
                if answered.outcome.state == "waiting":
                    return


def _answer(workspace: Workspace, queued: Queued, *, no_daemon: bool) -> Answered:
    guidance = instructions(workspace.text(PROCEDURES_FILE), queued.source)

    def ask(chat: "Chat") -> "Iterator[Event]":
        talk = chat.conversation
        talk.transcript.append(TitleEntry(talk.redactor.redact(queued.title)))
        attached = {f"An event from {queued.source}": queued.shown}
        return talk.send(queued.message(guidance), attached)

    waits = directory(workspace) / f"{queued.name}{WAITING}"
    begun = waits.with_suffix(BEGUN)
    with storage.reported("renamed", waits):
        waits.replace(begun)
    storage.sync_directory(begun.parent)
    outcome, fault = run_turn(workspace, "event", ask, no_daemon=no_daemon), ""
    if outcome.state != "waiting":
        if queued.reply_to and outcome.state != "failed":
            fault = _pass_on(queued.reply_to, outcome.text)
        begun.unlink(missing_ok=True)
    elif time.time() - queued.arrived > GIVEN_UP:
        begun.replace(begun.with_suffix(FAILED))
        text = f"{outcome.text.removesuffix(RETRIED)} (given up after a day)"
        outcome = replace(outcome, state="failed", text=text)
    else:
        _write(begun.parent, queued.retried())
        begun.unlink(missing_ok=True)
    return Answered(queued, outcome, bool(guidance), fault)


def _pass_on(command: str, text: str) -> str:
    """Pipe the answer into the owner's command; return the fault."""
    try:
        process = subprocess.run(
            ["/bin/sh", "-c", command], input=text, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the answer could not be passed on: {error}"
    return f"`{command}` failed with {process.returncode}" if process.returncode else ""


def _report(workspace: Workspace, answered: Answered) -> None:
    """Report an unseen answer to the owner, once."""
    queued, outcome = answered.queued, answered.outcome
    if outcome.state == "failed" or (outcome.state == "waiting" and not queued.tries):
        _notify(workspace, queued, failed=outcome.text)
    elif outcome.state == "done" and (answered.fault or not queued.reply_to):
        _notify(workspace, queued, outcome.session, answered.fault)


def _notify(workspace: Workspace, queued: Queued, session: str = "", failed: str = "") -> None:
    when = datetime.fromtimestamp(queued.arrived).isoformat(timespec="minutes")
    about = f"{queued.title}: {failed}" if failed else ""
    with beats.changing(workspace) as state:
        state.tell(News(when, session, about, source=queued.source))
