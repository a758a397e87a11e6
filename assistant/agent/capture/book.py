"""The state of reading sessions for facts: which are due or read, the cost, and what to report.

`.assistant/reading.json` holds numbers and the ids of sessions, never their text, so that a purge
need not touch it. If it is lost, only the count of the month's tokens is: captured facts are noted
in the transcripts.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assistant.display import counted
from assistant.errors import SessionError
from assistant.quoting import one_line
from assistant.session import notebook, transcript
from assistant.session.entries import CapturedEntry, Entry
from assistant.session.transcript import SUFFIX, is_open, session_ids
from assistant.workspace.folder import Workspace

DELAYS = (timedelta(hours=1), timedelta(days=1), timedelta(days=2))
"""The delays before a failed session is tried again; after the last one it is given up."""
NAMED = 5
"""The most facts of a session that the next chat quotes."""
OLD = timedelta(days=1)
"""Sessions that ended longer than this before the first reading are never read."""


@dataclass(frozen=True, slots=True)
class Known:
    """The state of a session: its size in bytes when it was read, and the failures since.

    It is not tried again before `after` (ISO 8601, UTC).
    """

    size: int = 0
    failures: int = 0
    after: str = ""


@dataclass(frozen=True, slots=True)
class News:
    """The report on a session in the next chat: facts stored, facts waiting, or why it failed."""

    session: str
    time: str
    stored: int = 0
    waiting: int = 0
    failed: str = ""


@dataclass(slots=True)
class Book(notebook.Spending):
    """The whole state. `upkept` is the day (ISO) of memory's last upkeep, `kept_up` the report on
    it for the next chat."""

    since: str = ""
    sessions: dict[str, Known] = field(default_factory=dict)
    untold: list[News] = field(default_factory=list)
    upkept: str = ""
    kept_up: str = ""

    def read(self, session: str, size: int) -> None:
        """Note that the session was read up to this size."""
        self.sessions[session] = Known(size)

    def failed(self, news: News, size: int, now: datetime) -> None:
        """Note that the session could not be read; after the last try, report it and give up."""
        state = self.sessions.get(news.session, Known())
        if state.failures == len(DELAYS):
            self.sessions[news.session] = Known(size)
            self.untold.append(news)
            return
        later = (now + DELAYS[state.failures]).isoformat()
        self.sessions[news.session] = replace(state, failures=state.failures + 1, after=later)

    def tell(self, news: News) -> None:
        """Add a report for the next chat, merged with earlier ones on the same session."""
        earlier = [item for item in self.untold if item.session == news.session]
        stored = news.stored + sum(item.stored for item in earlier)
        waiting = news.waiting + sum(item.waiting for item in earlier)
        others = [item for item in self.untold if item.session != news.session]
        self.untold = [*others, replace(news, stored=stored, waiting=waiting)]


def load(workspace: Workspace) -> Book:
    """Load the state of a workspace; a new one if it cannot be read."""
    return notebook.load(_path(workspace), Book)


def changing(workspace: Workspace) -> AbstractContextManager[Book]:
    """Lock the state, yield it to be changed, and write it back."""
    return notebook.changing(_path(workspace), Book)


def _path(workspace: Workspace) -> Path:
    return workspace.private / "reading.json"


def take_news(workspace: Workspace, now: datetime) -> list[str]:
    """Take the pending reports as lines that quote the facts; each is returned only once."""
    book = load(workspace)
    if not book.untold and not book.kept_up:
        return []
    with changing(workspace) as book:
        news, book.untold = book.untold, []
        upkeep, book.kept_up = book.kept_up, ""
    lines = [
        line for session_news in news for line in _lines(session_news, workspace.sessions, now)
    ]
    return [*lines, *filter(None, [upkeep])]


def _lines(news: News, sessions: Path, now: datetime) -> Iterator[str]:
    chat = f"{_day(news.time, now)} chat"
    if news.failed:
        yield f"No facts could be taken from {chat} in {len(DELAYS) + 1} tries: {news.failed}"
        return
    captures = [
        entry for entry in _read(sessions, news.session) if isinstance(entry, CapturedEntry)
    ]
    if news.stored:
        stored_facts = [one_line(fact) for entry in captures for fact in entry.kept][-news.stored :]
        yield _with_facts(f"{counted(news.stored, 'fact')} from {chat}", stored_facts)
    if news.waiting:
        waiting_facts = [one_line(fact) for entry in captures for fact in entry.held][
            -news.waiting :
        ]
        verb = "waits" if news.waiting == 1 else "wait"
        yield _with_facts(f"{news.waiting} {verb} from {chat}", waiting_facts) + " · /review"


def _with_facts(summary: str, facts: Sequence[str]) -> str:
    """The summary, followed by the first few facts."""
    more = f"; and {len(facts) - NAMED} more" if len(facts) > NAMED else ""
    return f"{summary}: {'; '.join(facts[:NAMED])}{more}" if facts else summary


def _read(sessions: Path, session: str) -> Sequence[Entry]:
    """The entries of a session; empty if it is gone or damaged."""
    try:
        return transcript.read(sessions, session)
    except SessionError:
        return ()


def _day(time: str, now: datetime) -> str:
    day = datetime.fromisoformat(time).astimezone(now.tzinfo).date()
    match (now.date() - day).days:
        case 0:
            return "today's"
        case 1:
            return "yesterday's"
    return f"{day.isoformat()}'s"


# What is due

IDLE = timedelta(minutes=10)
"""An open session that has been idle for this long is read as if it had ended."""


@dataclass(frozen=True, slots=True)
class Due:
    """A session with unread entries; while it is `open` in a chat it is not read yet."""

    id: str
    size: int
    open: bool


def due(workspace: Workspace, now: datetime) -> Iterator[Due]:
    """The sessions to be read, oldest first, including those that are still open."""
    book = load(workspace)
    if not book.since:
        with changing(workspace) as book:
            book.since = book.since or now.isoformat()
    started = datetime.fromisoformat(book.since)
    for session in session_ids(workspace.sessions):
        try:
            status = (workspace.sessions / f"{session}{SUFFIX}").stat()
        except FileNotFoundError:
            continue
        written = datetime.fromtimestamp(status.st_mtime, UTC)
        state = book.sessions.get(session, Known())
        if state.size == status.st_size or (
            session not in book.sessions and written < started - OLD
        ):
            continue
        if state.after and datetime.fromisoformat(state.after) > now:
            continue
        open_in_chat = is_open(workspace.sessions, session)
        yield Due(session, status.st_size, open_in_chat and now - written < IDLE)
