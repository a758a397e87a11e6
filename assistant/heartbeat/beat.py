"""One run of the heartbeat: what is due is done, each task in a session of its own, and it ends.

Nothing that knows a model is loaded before a task is due and its time was claimed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from assistant.disk import locking, storage
from assistant.heartbeat import claims
from assistant.heartbeat.unattended import Outcome, allowed, attempt, check
from assistant.session import beats
from assistant.session.beats import News
from assistant.upkeep.tasks import Task, Unread, tasks
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace, read_text

if TYPE_CHECKING:
    from assistant.app.chat import Chat
    from assistant.events import Event


@dataclass(frozen=True, slots=True)
class Beat:
    """A task, the time it was due, and what came of it."""

    task: Task
    due: datetime
    outcome: Outcome


def read(workspace: Workspace) -> tuple[list[Task], list[Unread]]:
    """The tasks of the workspace. Raises StorageError if the file is not text."""
    try:
        return tasks(read_text(workspace.root / HEARTBEAT_FILE))
    except FileNotFoundError:
        return [], []


def due(workspace: Workspace, now: datetime) -> list[tuple[Task, datetime]]:
    """The tasks whose latest time has come and was claimed by nobody, the earliest first.

    A task counts from the look before the one that first met it. Of several times that were
    missed only the latest is due.
    """
    found = []
    with beats.changing(workspace) as known:
        listed = read(workspace)[0]
        for task in listed:
            begin = known.since(task.key, now)
            latest = task.schedule.latest(now)
            if latest and latest >= begin and claims.is_free(workspace, task, latest):
                found.append((task, latest))
        keys = {task.key for task in listed}
        known.seen = {key: since for key, since in known.seen.items() if key in keys}
        known.waiting = {key: due for key, due in known.waiting.items() if key in keys}
        known.looked = now.isoformat(timespec="minutes")
    return sorted(found, key=lambda item: item[1])


def run(workspace: Workspace, now: datetime, *, no_daemon: bool = False) -> Iterator[Beat]:
    """Do what is due; nothing if another process is at it.

    Raises WorkspaceError without trust, ConfigError if a task may not be done.
    """
    check(workspace)
    lock = locking.try_lock(storage.private_directory(workspace.private) / "heartbeat.lock")
    if lock is None:
        return
    with lock:
        for time in claims.broken(workspace):
            with beats.changing(workspace) as known:
                known.tell(News(time, failed="broke off, and is not done again"))
        found = due(workspace, now)
        for task, when in sorted(found, key=lambda item: not item[0].reminds):
            if task.skips and now - when > task.grace:
                if claims.take(workspace, task, when, "skipped"):
                    yield Beat(task, when, Outcome("skipped"))
            elif task.reminds:  # told before it is claimed: a crash has it told again, not lost
                beat = _tell(workspace, Beat(task, when, Outcome("done", task.text)))
                if claims.take(workspace, task, when, "done"):
                    yield beat
            else:
                most = allowed(workspace).heartbeat.tokens
                if claims.take(workspace, task, when):
                    yield _done(workspace, task, when, most, no_daemon=no_daemon)
        if found:
            claims.prune(workspace)


def _done(workspace: Workspace, task: Task, when: datetime, most: int, *, no_daemon: bool) -> Beat:
    """Carry out a task whose time was claimed; the claim is released if it is to be tried again."""

    def ask(chat: "Chat") -> "Iterator[Event]":
        return chat.send(task.text)

    outcome = attempt(workspace, "heartbeat", ask, most, no_daemon=no_daemon)
    if outcome.state == "waiting":
        claims.release(workspace, task, when)
    beat = _tell(workspace, Beat(task, when, outcome))
    if outcome.state != "waiting":
        claims.settle(workspace, task, when, outcome.state)
    return beat


def _tell(workspace: Workspace, beat: Beat) -> Beat:
    """Have the owner told, unless there is nothing to say; that a task waits is said once."""
    task, when, outcome = beat.task, f"{beat.due:%Y-%m-%dT%H:%M}", beat.outcome
    with beats.changing(workspace) as known:
        known.beat = datetime.now().isoformat(timespec="minutes")
        if outcome.state == "waiting" and known.waiting.get(task.key) == when:
            return beat
        known.waiting.pop(task.key, None)
        if outcome.state == "waiting":
            known.waiting[task.key] = when
        if not task.reminds:
            known.refused = ""
        if outcome.state in ("failed", "waiting"):
            known.tell(News(when, failed=f"{task.citation}: {outcome.text}"))
        elif outcome.state == "done":
            known.tell(News(when, outcome.session, task=task.key if task.reminds else ""))
    return beat
