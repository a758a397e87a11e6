"""Whether a beat has anything to say, and what the next chat is told of it."""

import re
from dataclasses import dataclass, replace
from datetime import datetime

from assistant.acting.heartbeat import claims
from assistant.acting.heartbeat.claims import State
from assistant.acting.heartbeat.tasks import Task
from assistant.session import beats
from assistant.session.beats import News
from assistant.workspace.folder import Workspace

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
    again: bool = False
    """It waits for a model, and that was told before."""


def says_nothing(reply: str) -> bool:
    """Whether the whole of a reply says that there is nothing to tell."""
    return " ".join(re.sub(r"[\W_]+", " ", reply).split()).casefold() in SILENCE


def tell(place: Workspace, beat: Beat) -> Beat:
    """Have the next chat say it, unless there is nothing to say; that a beat waits is said once."""
    when = f"{beat.due:%Y-%m-%dT%H:%M}"
    task = beat.task
    with beats.changing(place) as known:
        known.beat = datetime.now().isoformat(timespec="minutes")
        if beat.state == "waiting":
            if known.waiting.get(task.key) == when:
                return replace(beat, again=True)
            known.waiting[task.key] = when
        else:
            known.waiting.pop(task.key, None)
        if beat.state in ("failed", "waiting"):
            known.untold.append(News(when, failed=f"{task.citation}: {beat.said}"))
        elif beat.state == "done":
            line = task.line if task.reminds else 0
            known.untold.append(News(when, beat.session, line=line))
    return beat


def tell_broken(place: Workspace) -> None:
    """Have the next chat say which beats broke off."""
    if found := list(claims.broken(place)):
        with beats.changing(place) as known:
            for when in found:
                told = f"{when[:4]}-{when[4:6]}-{when[6:11]}:{when[11:]}"
                known.untold.append(News(told, failed="broke off, and is not done again"))
