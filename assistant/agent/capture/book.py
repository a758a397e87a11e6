"""Which sessions are to be read for facts now, which were read, what it cost, what to tell.

`.assistant/reading.json` holds numbers and the ids of sessions, never a word of one, so that there
is nothing in it for a purge. Whoever loses it loses nothing but the count of the month: what was
captured of a session is noted in its transcript.
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
"""After a provider's failure a session is tried again so much later, and then given up."""
NAMED = 5
"""Facts of a session that the next chat names."""
OLD = timedelta(days=1)
"""Sessions that had ended so long ago when the first was read are left as they were."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a session: its size in bytes when it was read, and failures since.

    It is not tried before `after` (ISO 8601, UTC).
    """

    size: int = 0
    failures: int = 0
    after: str = ""


@dataclass(frozen=True, slots=True)
class News:
    """What the next chat says of a session: facts stored, facts that wait, why it was given up."""

    session: str
    time: str
    stored: int = 0
    waiting: int = 0
    failed: str = ""


@dataclass(slots=True)
class Book(notebook.Spending):
    """All of it. `upkept` is the day (ISO) of the last upkeep of memory, `kept_up` what the next
    chat says of it."""

    since: str = ""
    sessions: dict[str, Known] = field(default_factory=dict)
    untold: list[News] = field(default_factory=list)
    upkept: str = ""
    kept_up: str = ""

    def read(self, session: str, size: int) -> None:
        """The session was read as far as it went."""
        self.sessions[session] = Known(size)

    def failed(self, news: News, size: int, now: datetime) -> None:
        """It could not be read; after the last try that is told, and it is left alone."""
        known = self.sessions.get(news.session, Known())
        if known.failures == len(DELAYS):
            self.sessions[news.session] = Known(size)
            self.untold.append(news)
            return
        later = (now + DELAYS[known.failures]).isoformat()
        self.sessions[news.session] = replace(known, failures=known.failures + 1, after=later)

    def tell(self, news: News) -> None:
        """Have the next chat say it, together with what is known of the session already."""
        told = [each for each in self.untold if each.session == news.session]
        stored = news.stored + sum(item.stored for item in told)
        waiting = news.waiting + sum(item.waiting for item in told)
        others = [each for each in self.untold if each.session != news.session]
        self.untold = [*others, replace(news, stored=stored, waiting=waiting)]


def load(workspace: Workspace) -> Book:
    """The book of a workspace; a new one if there is none that can be read."""
    return notebook.load(_path(workspace), Book)


def changing(workspace: Workspace) -> AbstractContextManager[Book]:
    """The book, to be changed by this process alone; written at the end."""
    return notebook.changing(_path(workspace), Book)


def _path(workspace: Workspace) -> Path:
    return workspace.private / "reading.json"


def take_news(workspace: Workspace, now: datetime) -> list[str]:
    """What there is to tell, a line each, in the words of the sessions; it is told once."""
    book = load(workspace)
    if not book.untold and not book.kept_up:
        return []
    with changing(workspace) as book:
        news, book.untold = book.untold, []
        upkeep, book.kept_up = book.kept_up, ""
    lines = [line for item in news for line in _lines(item, workspace.sessions, now)]
    return [*lines, *filter(None, [upkeep])]


def _lines(news: News, sessions: Path, now: datetime) -> Iterator[str]:
    chat = f"{_day(news.time, now)} chat"
    if news.failed:
        yield f"No facts could be taken from {chat} in {len(DELAYS) + 1} tries: {news.failed}"
        return
    noted = [each for each in _read(sessions, news.session) if isinstance(each, CapturedEntry)]
    if news.stored:
        kept = [one_line(fact) for entry in noted for fact in entry.kept][-news.stored :]
        yield _worded(f"{counted(news.stored, 'fact')} from {chat}", kept)
    if news.waiting:
        held = [one_line(fact) for entry in noted for fact in entry.held][-news.waiting :]
        left = "waits" if news.waiting == 1 else "wait"
        yield _worded(f"{news.waiting} {left} from {chat}", held) + " · /review"


def _worded(what: str, facts: Sequence[str]) -> str:
    """What there is, and the words of the first few."""
    more = f"; and {len(facts) - NAMED} more" if len(facts) > NAMED else ""
    return f"{what}: {'; '.join(facts[:NAMED])}{more}" if facts else what


def _read(sessions: Path, session: str) -> Sequence[Entry]:
    """The entries of a session; none of one that is gone or damaged."""
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
"""An open session in which nothing was said for so long is read as if it had ended."""


@dataclass(frozen=True, slots=True)
class Due:
    """A session with something unread; it is not to be read yet while a chat has it `open`."""

    id: str
    size: int
    open: bool


def due(workspace: Workspace, now: datetime) -> Iterator[Due]:
    """The sessions whose turn it is, oldest first, and those that will come to it by themselves."""
    book = load(workspace)
    if not book.since:
        with changing(workspace) as book:
            book.since = book.since or now.isoformat()
    begun = datetime.fromisoformat(book.since)
    for session in session_ids(workspace.sessions):
        try:
            status = (workspace.sessions / f"{session}{SUFFIX}").stat()
        except FileNotFoundError:
            continue
        written = datetime.fromtimestamp(status.st_mtime, UTC)
        known = book.sessions.get(session, Known())
        if known.size == status.st_size or (session not in book.sessions and written < begun - OLD):
            continue
        if known.after and datetime.fromisoformat(known.after) > now:
            continue
        is_held = is_open(workspace.sessions, session)
        yield Due(session, status.st_size, is_held and now - written < IDLE)
