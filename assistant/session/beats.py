"""What is known of the heartbeat: since when tasks stand, what beats cost, what to tell.

`.assistant/heartbeat.json` holds digests, times, numbers and the ids of sessions, never a word of
a task.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, time
from pathlib import Path

from assistant.session import notebook
from assistant.workspace.folder import Workspace


@dataclass(slots=True)
class News:
    """What the owner is told: when it was due, and its session, what went wrong, or the key of a
    reminder; `source` of an event; `sent` once a notification has taken it."""

    due: str
    session: str = ""
    failed: str = ""
    task: str = ""
    source: str = ""
    sent: bool = field(default=False, compare=False)


@dataclass(slots=True)
class Beats(notebook.Spending):
    """All of it: `seen` is when each task was first met.

    `looked` is when the heartbeat last looked, `beat` when something was last done, `delivered`
    when a notification was last taken; `fault` is why the latest was not. `refused` is why no
    beat may begin, and was told; `waiting` has the due time of each task that waits for a model.
    `untold` is the outbox.
    """

    looked: str = ""
    beat: str = ""
    delivered: str = ""
    fault: str = ""
    refused: str = ""
    waiting: dict[str, str] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)
    untold: list[News] = field(default_factory=list)

    def tell(self, news: News) -> None:
        """Write down what is to be told, once."""
        if news not in self.untold:
            self.untold.append(news)

    def since(self, key: str, now: datetime) -> datetime:
        """From when on a task counts: from the look before the one that first met it, or the day
        of the first look. So an edited task is not done again for a time that has passed. A clock
        that was set back makes it earlier.
        """
        first = self.looked or datetime.combine(now, time.min).isoformat()
        known = self.seen.get(key, first)
        self.seen[key] = min(known, now.isoformat(timespec="seconds"))
        return datetime.fromisoformat(self.seen[key])


def path(workspace: Workspace) -> Path:
    """Where it is kept."""
    return workspace.private / "heartbeat.json"


def load(workspace: Workspace) -> Beats:
    """What is kept; nothing if it cannot be read."""
    return notebook.load(path(workspace), Beats)


def changing(workspace: Workspace) -> AbstractContextManager[Beats]:
    """It, to be changed by this process alone; written at the end."""
    return notebook.changing(path(workspace), Beats)
