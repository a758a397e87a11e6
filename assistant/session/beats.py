"""The state of the heartbeat: when tasks were first seen, what beats cost, and what to report.

`.assistant/heartbeat.json` contains digests, times, numbers and session ids, never the text of a
task.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from pathlib import Path

from assistant.disk import notebook
from assistant.workspace.folder import Workspace

MAX_RUNS = 3
"""The number of runs whose times are stored."""


@dataclass(slots=True)
class News:
    """A report to the owner: when the task was due, and its session, its failure, or the key of a
    reminder. `source` is the origin of an event; `sent` is set once a notification was delivered.
    """

    due: str
    session: str = ""
    failed: str = ""
    task: str = ""
    source: str = ""
    sent: bool = field(default=False, compare=False)


@dataclass(slots=True)
class Beats(notebook.Spending):
    """The whole state; `seen` is when each task was first seen.

    `looked` is when due tasks were last determined, and `runs` are the latest runs; `beat` is when
    one last did something, `delivered` when a notification was last delivered, `faults` why
    channels rejected the latest. `refused` is the reported reason why no beat may begin. `waiting`
    has the due time of each task that waits for a model. `untold` is the outbox.
    """

    looked: str = ""
    runs: list[str] = field(default_factory=list)
    beat: str = ""
    delivered: str = ""
    faults: dict[str, str] = field(default_factory=dict)
    refused: str = ""
    waiting: dict[str, str] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)
    untold: list[News] = field(default_factory=list)

    def run(self, now: datetime) -> None:
        """Record a run."""
        minute = now.isoformat(timespec="minutes")
        if minute not in self.runs:
            self.runs = [*self.runs, minute][-MAX_RUNS:]

    def tell(self, news: News) -> None:
        """Add a report to the outbox, once."""
        if news not in self.untold:
            self.untold.append(news)

    def since(self, key: str, now: datetime, written: datetime) -> datetime:
        """Return the time after which a task counts: the check before the one that first saw it, or
        the start of the day of the first check; but not before the file was `written`. So a new or
        edited task does not run for a time that has passed. If the clock was set back, the time
        moves back with it.
        """
        first = self.looked or (datetime.combine(now, time.min) - timedelta(seconds=1)).isoformat()
        if written <= now:
            first = max(first, written.isoformat(timespec="seconds"))
        seen = self.seen.get(key, first)
        self.seen[key] = min(seen, now.isoformat(timespec="seconds"))
        return datetime.fromisoformat(self.seen[key])


def path(workspace: Workspace) -> Path:
    """Return the path of the state file."""
    return workspace.private / "heartbeat.json"


def load(workspace: Workspace) -> Beats:
    """Load the state; an empty one if it cannot be read."""
    return notebook.load(path(workspace), Beats)


def changing(workspace: Workspace) -> AbstractContextManager[Beats]:
    """Lock the state, yield it to be changed, and write it back."""
    return notebook.changing(path(workspace), Beats)
