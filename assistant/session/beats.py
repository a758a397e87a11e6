"""What is known of the heartbeat: since when tasks stand, what beats cost, what to tell.

`.assistant/heartbeat.json` holds digests, times, numbers and the ids of sessions, never a word of
a task.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, time
from pathlib import Path

from assistant.display import shortened
from assistant.errors import AssistantError
from assistant.session import notebook
from assistant.session.entries import AssistantEntry, InterruptedEntry
from assistant.session.transcript import read
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace, read_text

SHOWN = 160
"""Characters of an answer that the next chat is told."""
MOST_TOLD = 5


@dataclass(slots=True)
class News:
    """A beat that the next chat mentions: when it was due, and its session, what went wrong, or
    the line of a reminder."""

    due: str
    session: str = ""
    failed: str = ""
    line: int = 0


@dataclass(slots=True)
class Beats:
    """All of it: `seen` is when each task was first met, `tokens` are those of each month.

    `looked` is when the heartbeat last looked, `beat` when something was last done. `waiting` has
    the due time of each task that waits for a model.
    """

    looked: str = ""
    beat: str = ""
    waiting: dict[str, str] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    untold: list[News] = field(default_factory=list)

    @property
    def spent(self) -> int:
        """The tokens that beats have cost this month."""
        return notebook.this_month(self.tokens)

    def spend(self, tokens: int) -> None:
        """Count what a beat cost."""
        self.tokens = notebook.spending(self.tokens, tokens)

    def since(self, key: str, now: datetime) -> datetime:
        """From when on a task counts: from the look before the one that first met it, or the day
        of the first look. So an edited task is not done again for a time that has passed. A clock
        that was set back makes it earlier.
        """
        first = self.looked or datetime.combine(now, time.min).isoformat()
        known = self.seen.get(key, first)
        self.seen[key] = min(known, now.isoformat(timespec="seconds"))
        return datetime.fromisoformat(self.seen[key])


def path(place: Workspace) -> Path:
    """Where it is kept."""
    return place.private / "heartbeat.json"


def load(place: Workspace) -> Beats:
    """What is kept; nothing if it cannot be read."""
    return notebook.load(path(place), Beats)


def changing(place: Workspace) -> AbstractContextManager[Beats]:
    """It, to be changed by this process alone; written at the end."""
    return notebook.changing(path(place), Beats)


def take_news(place: Workspace) -> list[str]:
    """What there is to tell, a line each; from now on it is told."""
    if not load(place).untold:
        return []
    with changing(place) as known:
        news, known.untold = known.untold, []
    lines = [_line(place, each) for each in news[-MOST_TOLD:]]
    more = len(news) - len(lines)
    return [*lines, *([f"{more} earlier beats: `assistant sessions list`"] if more else ())]


def _line(place: Workspace, news: News) -> str:
    when = f"heartbeat, {news.due.replace('T', ' ')}"
    if news.line:
        lines = read_text(place.root / HEARTBEAT_FILE).split("\n")
        line = lines[news.line - 1] if news.line <= len(lines) else "its line is gone"
        return f"{when}: {shortened(line.strip(), SHOWN)} ({HEARTBEAT_FILE}:{news.line})"
    if not news.session:
        return f"{when}: {news.failed}"
    try:
        said = [
            each.text
            for each in read(place.sessions, news.session)
            if isinstance(each, AssistantEntry | InterruptedEntry) and each.text.strip()
        ]
    except AssistantError:
        said = []
    text = " ".join(" ".join(said[-1:]).split()) or "its session is gone"
    return f"{when}: {shortened(text, SHOWN)} · `assistant sessions show {news.session[-3:]}`"
