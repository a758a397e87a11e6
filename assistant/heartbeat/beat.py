"""One run of the heartbeat: what is due is done, each in a session of its own, and it ends.

Nothing that knows a model is loaded before a task is due and its time was taken.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING

from assistant.disk import locking, storage
from assistant.errors import AssistantError, ConfigError, WorkspaceError
from assistant.heartbeat import claims
from assistant.heartbeat.claims import State
from assistant.session import beats, keeping
from assistant.session.beats import News
from assistant.session.entries import AssistantEntry
from assistant.upkeep.tasks import Task, Unread, tasks
from assistant.workspace import trust
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace, read_text

if TYPE_CHECKING:
    from assistant.app.chat import Chat
    from assistant.settings.tree import Settings


SILENCE = frozenset({"", "nothing", "heartbeat ok", "no reply"})
"""Replies that say nothing, without punctuation."""


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
            chosen = _allowed(place, when)
            if claims.take(place, task, when):
                beat = _tell(place, _done(place, task, when, chosen, no_daemon))
                if beat.state != "waiting":
                    claims.settle(place, task, when, beat.state)
                yield beat
        if found:
            claims.prune(place)


def _allowed(place: Workspace, when: datetime) -> "Settings":
    """The settings, if there are a model and tokens left. Raises ConfigError, told once."""
    from assistant import config
    from assistant.model import select
    from assistant.settings import tree as settings  # once something is due

    recipe = place.recipe
    chosen = settings.validate(config.load(recipe=recipe), recipe)
    most = chosen.heartbeat.monthly_tokens
    if not select.create(chosen).extracts:
        error = ConfigError(
            "a task is due, and there is no model to do it",
            "Connect one: `assistant config set model NAME`",
        )
    elif beats.load(place).spent >= most:
        error = ConfigError(
            f"the heartbeat has used this month's {most:,} tokens",
            "Raise heartbeat.monthly_tokens, or wait for the next month",
        )
    else:
        return chosen
    with beats.changing(place) as known:
        if known.refused != str(error):
            known.refused = str(error)
            known.tell(News(f"{when:%Y-%m-%dT%H:%M}", failed=str(error)))
    raise error


def _done(
    place: Workspace, task: Task, when: datetime, chosen: "Settings", no_daemon: bool
) -> Beat:
    """Carry out a task whose time was taken.

    Where the model answered nothing, nothing was done: the time is given back, to be tried again
    until the next one comes. Whatever else goes wrong is said, and not tried again.
    """
    from assistant.app.chat import open_chat
    from assistant.app.wish import ChatWish

    wish = ChatWish(purpose="heartbeat")
    try:
        with open_chat(place, wish, no_daemon=no_daemon) as chat:
            beat = _held(chat, task, when, chosen.heartbeat.tokens)
    except AssistantError as error:
        beat = Beat(task, when, "failed", str(error))
    if beat.state == "waiting":
        keeping.delete(place.sessions, beat.session)
        claims.release(place, task, when)
        return replace(beat, session="")
    return beat


def _held(chat: "Chat", task: Task, when: datetime, most: int) -> Beat:
    """The turn of a task, stopped once it has cost what a beat may."""
    from assistant import events
    from assistant.heartbeat import agenda

    talk, said, failed = chat.conversation, "", ""
    try:
        for event in talk.send(task.text, agenda.given(chat, task.text, date.today())):
            match event:
                case events.StateChanged(events.State.THINKING) if _cost(chat) >= most:
                    talk.interruption.cancel()
                    failed = f"stopped: it had cost {_cost(chat):,} of {most:,} tokens"
                case events.TurnFinished(reply):
                    said = reply
                case events.TurnFailed(message, cure):
                    failed = f"{message}. {cure}".rstrip()
    finally:
        with beats.changing(chat.place) as known:
            known.spend(_cost(chat))
    state: State = "failed" if failed else "silent" if says_nothing(said) else "done"
    if failed and not any(isinstance(each, AssistantEntry) for each in talk.transcript.entries):
        state, failed = "waiting", f"{failed} (it is tried again)"
    return Beat(task, when, state, failed or said, _cost(chat), talk.transcript.session)


def _cost(chat: "Chat") -> int:
    used = chat.conversation.usage
    return used.input_tokens + used.output_tokens


def says_nothing(reply: str) -> bool:
    """Whether the whole of a reply says that there is nothing to tell."""
    return " ".join(re.sub(r"[\W_]+", " ", reply).split()).casefold() in SILENCE


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
