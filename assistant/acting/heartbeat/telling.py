"""Whether a beat has anything to say, and what the next chat is told of it."""

import re
from dataclasses import dataclass
from datetime import datetime

from assistant.acting.heartbeat import claims
from assistant.acting.heartbeat.claims import State
from assistant.acting.heartbeat.tasks import Task
from assistant.session import beats
from assistant.session.beats import News
from assistant.workspace.folder import Workspace

SILENCE = frozenset({"", "nothing", "heartbeat ok", "no reply"})
"""Last lines of a reply that say nothing, without punctuation."""


@dataclass(frozen=True, slots=True)
class Beat:
    """What came of a due time: what was said, or why it failed; what it cost, and its session."""

    task: Task
    due: datetime
    state: State
    said: str = ""
    tokens: int = 0
    session: str = ""


def says_nothing(reply: str) -> bool:
    """Whether the model, by the last line of its reply, has nothing to tell."""
    last = reply.strip().rpartition("\n")[2]
    return " ".join(re.sub(r"[\W_]+", " ", last).split()).casefold() in SILENCE


def tell(place: Workspace, beat: Beat) -> Beat:
    """Have the next chat say it, unless there is nothing to say."""
    if beat.state in ("done", "failed"):
        when = f"{beat.due:%Y-%m-%dT%H:%M}"
        failed = f"{beat.task.citation}: {beat.said}" if beat.state == "failed" else ""
        news = News(when, "" if failed else beat.session, failed)
        with beats.changing(place) as known:
            known.untold.append(news)
    return beat


def tell_broken(place: Workspace) -> None:
    """Have the next chat say which beats broke off."""
    if found := list(claims.broken(place)):
        with beats.changing(place) as known:
            for when in found:
                told = f"{when[:4]}-{when[4:6]}-{when[6:11]}:{when[11:]}"
                known.untold.append(News(told, failed="broke off, and is not done again"))
