"""One run of the heartbeat: what is due is done, each in a session of its own, and it ends.

Nothing that knows a model is loaded before a task is due and its time was taken.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

from assistant.disk import locking, storage
from assistant.errors import WorkspaceError
from assistant.heartbeat import claims
from assistant.heartbeat.claims import State
from assistant.heartbeat.unattended import allowed, attempt
from assistant.session import beats
from assistant.session.beats import News
from assistant.upkeep.tasks import Task, Unread, tasks
from assistant.workspace import trust
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace, read_text

if TYPE_CHECKING:
    from assistant.app.chat import Chat
    from assistant.events import Event


@dataclass(frozen=True, slots=True)
class Beat:
    """What came of a due time: what was said, or why it failed; what it cost, and its session."""

    task: Task
    due: datetime
    state: State
    said: str = ""
    tokens: int = 0
    session: str = ""


def read(place: Workspace) -> tuple[list[Task], list[Unread]]:
    """The tasks of the workspace. Raises StorageError if the file is no text."""
    try:
        return tasks(read_text(place.root / HEARTBEAT_FILE))
    except FileNotFoundError:
        return [], []


def due(place: Workspace, now: datetime) -> list[tuple[Task, datetime]]:
    """The tasks whose latest time has come and was taken by nobody, the earliest first.

    A task counts from the look before the one that first met it. Of several times that were
    missed only the latest is due.
    """
    found = []
    with beats.changing(place) as known:
        listed = read(place)[0]
        for task in listed:
            begin = known.since(task.key, now)
            latest = task.schedule.latest(now)
            if latest and latest >= begin and claims.is_free(place, task, latest):
                found.append((task, latest))
        there = {task.key for task in listed}
        known.seen = {key: since for key, since in known.seen.items() if key in there}
        known.waiting = {key: due for key, due in known.waiting.items() if key in there}
        known.looked = now.isoformat(timespec="minutes")
    return sorted(found, key=lambda each: each[1])


def run(place: Workspace, now: datetime, *, no_daemon: bool = False) -> Iterator[Beat]:
    """Do what is due. Raises WorkspaceError without trust, ConfigError if it may not be done."""
    if not trust.is_trusted(place):
        raise WorkspaceError(
            f"{place.root} is not trusted, and its tasks are not done",
            "Run `assistant trust` if it is yours",
        )
    held = locking.try_lock(storage.private_directory(place.private) / "heartbeat.lock")
    if held is None:
        return  # another is at it
    with held:
        _tell_broken(place)
        found = due(place, now)
        late = [each for each in found if each[0].skips and now - each[1] > each[0].grace]
        for task, when in late:
            if claims.take(place, task, when, "skipped"):
                yield Beat(task, when, "skipped")
        ready = [each for each in found if each not in late]
        for task, when in ready:
            if task.reminds:  # a crash behind the first step has it written once more, not lost
                beat = _tell(place, Beat(task, when, "done", task.text))
                if claims.take(place, task, when, "done"):
                    yield beat
        for task, when in [each for each in ready if not each[0].reminds]:
            most = allowed(place).heartbeat.tokens
            if claims.take(place, task, when):
                beat = _tell(place, _done(place, task, when, most, no_daemon))
                if beat.state != "waiting":
                    claims.settle(place, task, when, beat.state)
                yield beat
        if found:
            claims.prune(place)


def _done(place: Workspace, task: Task, when: datetime, most: int, no_daemon: bool) -> Beat:
    """Carry out a task whose time was taken; it is given back if it is to be tried again."""
    from assistant.heartbeat import agenda

    def ask(chat: "Chat") -> "Iterator[Event]":
        return chat.send(task.text, agenda.given(chat, task.text, date.today()))

    came = attempt(place, "heartbeat", ask, most, no_daemon=no_daemon)
    if came.state == "waiting":
        claims.release(place, task, when)
        return Beat(task, when, "waiting", came.said, came.tokens)
    return Beat(task, when, came.state, came.said, came.tokens, came.session)


def _tell(place: Workspace, beat: Beat) -> Beat:
    """Have the owner told, unless there is nothing to say; that a beat waits is said once."""
    when = f"{beat.due:%Y-%m-%dT%H:%M}"
    task = beat.task
    with beats.changing(place) as known:
        known.beat = datetime.now().isoformat(timespec="minutes")
        if beat.state == "waiting":
            if known.waiting.get(task.key) == when:
                return beat
            known.waiting[task.key] = when
        else:
            known.waiting.pop(task.key, None)
        if not task.reminds:
            known.refused = ""
        if beat.state in ("failed", "waiting"):
            known.tell(News(when, failed=f"{task.citation}: {beat.said}"))
        elif beat.state == "done":
            known.tell(News(when, beat.session, task=task.key if task.reminds else ""))
    return beat


def _tell_broken(place: Workspace) -> None:
    """Have the owner told which beats broke off."""
    for when in claims.broken(place):
        due = f"{when[:4]}-{when[4:6]}-{when[6:11]}:{when[11:]}"
        with beats.changing(place) as known:
            known.tell(News(due, failed="broke off, and is not done again"))
