"""Read sessions for facts after they have ended, in a separate process: `python -m … ROOT`.

The process starts with a session's first turn and waits until the session ends; however that
happens, the kernel then releases the session's lock. Until then it loads nothing heavy. One process
serves a workspace; a session that ended while none was running is read by the next. `memory
capture` reads on the owner's request, and the two take turns.

`.assistant/reading.json` records what was read and what the next chat reports. It contains numbers
and session ids, never text, so a purge need not touch it. If it is lost, only the count of the
month's tokens is: captured facts are recorded in the transcripts.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from assistant import config
from assistant.disk import locking, notebook, programs, storage
from assistant.disk.locking import LockHeld
from assistant.display import counted
from assistant.errors import AssistantError, MemoryFailure, SessionError, StorageError
from assistant.events import drained
from assistant.messages import FORGOTTEN, Usage
from assistant.quoting import one_line
from assistant.session import keeping, transcript
from assistant.session.entries import AssistantEntry, CapturedEntry, Entry, UserEntry
from assistant.session.transcript import SUFFIX, is_open, session_ids
from assistant.workspace import trust
from assistant.workspace.folder import Workspace

if TYPE_CHECKING:
    from assistant.memory.base import Keeper
    from assistant.model.base import ChatModel
    from assistant.settings.tree import Settings

UNATTENDED = ("heartbeat", "event")
"""The origins of sessions without the owner: no facts are taken from them."""
LOOK_SECONDS = 1.0
"""Seconds between checks whether a session has ended."""
IDLE = timedelta(minutes=10)
"""An open session that has been idle for this long is read as if it had ended."""
DELAYS = (timedelta(hours=1), timedelta(days=1), timedelta(days=2))
"""The delays before a failed session is tried again; after the last one it is given up."""
TRIES = len(DELAYS) + 1
NAMED = 5
"""The maximum number of facts of a session that the next chat quotes."""
READING_SECONDS = 600.0
"""Seconds to wait while another process reads sessions."""
NO_MODEL = "there is no language model (`assistant config set model NAME`)"
NO_TRUST = "this workspace is not trusted (`assistant trust`)"


def begin(workspace: Workspace) -> None:
    """Start the process that waits for sessions to end, unless one is running."""
    if lock := locking.try_lock(_lock_path(workspace)):
        lock.release()
        programs.start_own(["-m", "assistant.agent.capture.ended", str(workspace.root)])


def _serve(workspace: Workspace) -> None:
    """Read the sessions of a workspace until none is open; do nothing if another process does."""
    if lock := locking.try_lock(_lock_path(workspace)):
        with lock:
            for _ in read_ended(workspace, wait=True):
                pass


def _lock_path(workspace: Workspace) -> Path:
    """Return the lock file of the process that waits for sessions to end."""
    return storage.private_directory(workspace.private) / "reading.lock"


@dataclass(frozen=True, slots=True)
class Read:
    """The result for a session: facts stored, waiting and left out (with the reason), or why it
    could not be read.

    `lacks` says what must be provided to read it; until then it stays unread.
    """

    session: str
    stored: tuple[str, ...] = ()
    waiting: int = 0
    failed: str = ""
    left_out: tuple[str, ...] = ()
    lacks: str = ""


def read_ended(workspace: Workspace, *, wait: bool = False, asked: bool = False) -> Iterator[Read]:
    """Read the sessions that have ended; with `wait`, until none is open or unread any more.

    If the owner has `asked`, failed sessions are retried once at once, and another failure does not
    count. A session without a model stays unread, and so do all sessions while the workspace is not
    trusted; if `memory.capture` forbids reading, they count as read.

    Waits while another process reads. Raises ConfigError, StorageError.
    """
    tried: set[Unread] = set()
    failed: set[str] = set()
    path = _lock_path(workspace).with_name("capturing.lock")
    while True:
        try:
            lock = locking.lock(path, READING_SECONDS)
        except LockHeld:
            if wait:
                continue
            raise
        with lock:
            sessions = list(unread(workspace, failed=asked))
            ended = [
                session
                for session in sessions
                if not session.open and session not in tried and session.id not in failed
            ]
            tried.update(ended)
            if ended:
                _keep_up(workspace)  # first, so that `undo` reverses the facts, not the upkeep
            for session in ended:
                read = _read(workspace, session, asked)
                if asked and read.failed:
                    failed.add(session.id)
                if read != Read(session.id):
                    yield read
        if not ended:
            if not wait or not any(session.open for session in sessions):
                return
            time.sleep(LOOK_SECONDS)


@dataclass(frozen=True, slots=True)
class Unread:
    """A session with unread entries; while it is `open` in a chat it is not read yet."""

    id: str
    size: int
    open: bool


def unread(workspace: Workspace, *, failed: bool = True) -> Iterator[Unread]:
    """Yield the sessions to read, oldest first, including open ones; with `failed`, also those
    whose next try is not due yet, and those that were given up."""
    now, state = datetime.now(UTC), load(workspace)
    for session in session_ids(workspace.sessions):
        try:
            status = (workspace.sessions / f"{session}{SUFFIX}").stat()
        except FileNotFoundError:
            continue
        written = datetime.fromtimestamp(status.st_mtime, UTC)
        progress = state.sessions.get(session, Progress())
        if progress.size == status.st_size and not (failed and progress.failures):
            continue
        after = datetime.fromisoformat(progress.after) if progress.after else now
        if not failed and now < after <= now + DELAYS[-1]:  # later if the clock was set back
            continue
        open_in_chat = is_open(workspace.sessions, session)
        yield Unread(session, status.st_size, open_in_chat and now - written < IDLE)


def _keep_up(workspace: Workspace) -> None:
    """Run the upkeep of sessions and memory once a day; the next chat reports the result."""
    from assistant.memory.open import open_memory
    from assistant.settings.tree import validate

    raw, now = config.load(), datetime.now().astimezone()
    today, report = now.date().isoformat(), ""
    if not trust.is_trusted(workspace) or load(workspace).upkept == today:
        return
    try:
        keeping.sweep(workspace.sessions, now)
        if validate(raw).memory.upkeep == "daily":
            with closing(open_memory(workspace, raw)) as memory:
                result = memory.upkeep()
            counts = {"archived": result.archived, "sorted in": result.sorted}
            moved = [f"{counted(n, 'fact')} {verb}" for verb, n in counts.items() if n]
            if moved:
                report = f"Memory upkeep: {', '.join(moved)} · `assistant memory log`"
    except Exception as error:  # sessions must be read nevertheless
        report = f"Memory upkeep failed: {_reason(error)}"
    with changing(workspace) as state:
        state.upkept, state.kept_up = today, report or state.kept_up


def _reason(error: Exception) -> str:
    if isinstance(error, AssistantError):
        return error.message
    return f"{type(error).__name__}: {error}"[:200]


def _read(workspace: Workspace, session: Unread, asked: bool) -> Read:
    """Read one session."""
    from assistant.settings.tree import validate  # pydantic is slow to load

    settings, began = validate(config.load()), datetime.now(UTC)
    read = Read(session.id)
    if settings.memory.capture == "always":
        if not trust.is_trusted(workspace):
            return Read(session.id, lacks=NO_TRUST)
        try:
            read = _capture(workspace, settings, session.id)
        except Exception as error:  # one session's failure must not stop the others
            read = Read(session.id, failed=_reason(error))
    if read.lacks:
        return read
    if asked and read.failed and not (read.stored or read.waiting):
        return read
    size = session.size  # later additions, including the captured facts, are examined again
    with suppress(FileNotFoundError):
        if read.failed:
            size = (workspace.sessions / f"{session.id}{SUFFIX}").stat().st_size
    with changing(workspace) as state:
        state.note(read, size, began)
    return read


def _capture(workspace: Workspace, settings: "Settings", session: str) -> Read:
    """Capture a session's facts."""
    from assistant.agent.capture import reading  # the model behind it is slow to load
    from assistant.agent.context_budget import ContextBudget
    from assistant.memory.open import open_memory
    from assistant.secrets.registered import redactor
    from assistant.session.history import group

    conversation = transcript.borrow(workspace.sessions, session)
    turns, before = group(conversation.entries), len(conversation.all_entries)
    if conversation.origin in UNATTENDED or not reading.is_left(turns, conversation.entries):
        return Read(session)
    model = _model(settings, conversation.entries)
    if not model.extracts:
        return Read(session, lacks=NO_MODEL)

    def spend(usage: Usage) -> None:
        with changing(workspace) as state:
            state.spend(usage.tokens)

    budget = ContextBudget(model.context_window, settings.context.reserve_tokens)
    with closing(open_memory(workspace, config.load())) as memory:
        job = reading.Reading(
            conversation,
            memory,
            model,
            budget,
            redactor().redact,
            afford=lambda: load(workspace).spent < settings.memory.capture_tokens,
            spend=spend,
        )
        failed = drained(reading.capture(job, turns))
    done = [e for e in conversation.all_entries[before:] if isinstance(e, CapturedEntry)]
    stored = tuple(fact for entry in done for fact in entry.kept)
    left_out = tuple(line for entry in done for line in entry.left_out)
    return Read(session, stored, sum(entry.waiting for entry in done), failed, left_out)


def _model(settings: "Settings", entries: Sequence[Entry]) -> "ChatModel":
    """Return the configured model, else the one that the chat used last."""
    from assistant.model import select
    from assistant.model.offline import OfflineModel

    used_models = [
        entry.model for entry in entries if isinstance(entry, AssistantEntry) and entry.model
    ]
    if settings.model.name or settings.profiles or used_models[-1:] in ([], [OfflineModel.name]):
        return select.create(settings)
    return select.create(select.with_model(settings, used_models[-1]))


# What was read, and what the next chat reports


@dataclass(frozen=True, slots=True)
class Progress:
    """A session's size in bytes when it was read or given up, and the failures since.

    It is not tried again before `after` (ISO 8601, UTC).
    """

    size: int = 0
    failures: int = 0
    after: str = ""


@dataclass(frozen=True, slots=True)
class News:
    """The report on a session in the next chat: the facts captured since a `time` (ISO 8601, UTC),
    or why it could not be read, finally after `TRIES` attempts."""

    session: str
    time: str
    failed: str = ""
    tries: int = TRIES


@dataclass(slots=True)
class State(notebook.Spending):
    """The contents of `reading.json`. `upkept` is the day (ISO) of memory's last upkeep, `kept_up`
    the report on it for the next chat; `failures_told` is the day when failures were reported."""

    sessions: dict[str, Progress] = field(default_factory=dict)
    untold: list[News] = field(default_factory=list)
    upkept: str = ""
    kept_up: str = ""
    failures_told: str = ""

    def note(self, read: Read, size: int, began: datetime) -> None:
        """Record the result for a session of this size, whose reading `began` then; its first and
        last failure are reported."""
        session = read.session
        progress = self.sessions.get(session, Progress())
        failures = progress.failures % TRIES + 1 if read.failed else 0
        earlier = next((news for news in self.untold if news.session == session), None)
        is_told = failures in (1, TRIES) or (earlier is not None and earlier.failed)
        since = earlier.time if earlier else _stamp(began)
        self.untold = [news for news in self.untold if news.session != session]
        if earlier or read != Read(session):
            news = News(session, since, read.failed if is_told else "", failures)
            self.untold.append(news)
        if 0 < failures < TRIES:
            after = (began + DELAYS[failures - 1]).isoformat()
            self.sessions[session] = Progress(progress.size, failures, after)
        else:
            self.sessions[session] = Progress(size, failures)


def load(workspace: Workspace) -> State:
    """Load the state of a workspace; a new one if it cannot be read."""
    return notebook.load(workspace.private / "reading.json", State)


def changing(workspace: Workspace) -> AbstractContextManager[State]:
    """Lock the state, yield it to be changed, and write it back."""
    return notebook.changing(workspace.private / "reading.json", State)


def take_news(workspace: Workspace, memory: "Keeper", now: datetime) -> list[str]:
    """Take the pending reports as lines that quote the facts; each is returned only once.

    Failures are reported once a day; later ones stay pending, and so does everything while memory
    cannot be read, which recall reports.
    """
    state = load(workspace)
    if not state.untold and not state.kept_up:
        return []
    with suppress(MemoryFailure, StorageError), changing(workspace) as state:
        failed = [news for news in state.untold if news.failed]
        today, later = now.date().isoformat(), list[News]()
        if failed and state.failures_told == today:
            later = [replace(news, time=_stamp(datetime.now(UTC))) for news in failed]
            state.untold = [replace(news, failed="") for news in state.untold]
        lines = pending_news(state, workspace, memory, now)
        state.untold, state.kept_up = later, ""
        state.failures_told = today if failed else state.failures_told
        return lines
    return []


def pending_news(state: State, workspace: Workspace, memory: "Keeper", now: datetime) -> list[str]:
    """Return the pending reports as lines, without facts that were undone or forgotten since."""
    lines: list[str] = []
    failed: dict[str, list[str]] = {}
    for news in state.untold:
        entries: Sequence[Entry] = ()
        with suppress(SessionError):  # the session may be gone, or damaged
            entries = transcript.read(workspace.sessions, news.session)
        said = [entry.time for entry in entries if isinstance(entry, UserEntry) and entry.time]
        day = datetime.fromisoformat(said[-1] if said else news.time).astimezone(now.tzinfo).date()
        when = {0: "today's", 1: "yesterday's"}.get((now.date() - day).days, f"{day}'s")
        lines += _lines(news, f"{when} chat", entries, memory)
        if news.failed:
            tries = f"in {TRIES} tries" if news.tries == TRIES else "yet"
            failed.setdefault(f"{tries}: {news.failed}", []).append(f"{when} chat")
    for reason, (chat, *more) in failed.items():
        chats = f"{chat} and {len(more)} more" if more else chat
        lines.append(f"No facts could be extracted from {chats} {reason}")
    return [*lines, *filter(None, [state.kept_up])]


def _lines(news: News, chat: str, entries: Sequence[Entry], memory: "Keeper") -> Iterator[str]:
    new = [e for e in entries if isinstance(e, CapturedEntry) and e.time >= news.time]
    kept = [(fact, entry) for entry in new for fact in entry.kept]
    if facts := [entry.with_struck(fact) for fact, entry in kept if _is_current(memory, fact)]:
        yield _with_facts(f"{counted(len(facts), 'fact')} from {chat}", facts)
    if held := [fact for entry in new for fact in entry.held]:
        waiting = {held.fact.text for held in memory.waiting()}
        if facts := [fact for fact in held if fact in waiting]:
            summary = f"{counted(len(facts), 'waits', 'wait')} from {chat}"
            yield f"{_with_facts(summary, facts)} · /review"
    lines = [line for entry in new for line in entry.left_out if FORGOTTEN not in line]
    if lines:
        yield _with_facts(f"{len(lines)} left out from {chat}", lines)


def _stamp(time: datetime) -> str:
    """Format a time as in a transcript's entries."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")


def _is_current(memory: "Keeper", fact: str) -> bool:
    located = memory.locate(fact)
    return located.exact and any(passage.status == "current" for passage in located.passages)


def _with_facts(summary: str, facts: Sequence[str]) -> str:
    """Return the summary, followed by the first few facts."""
    more = f"; and {len(facts) - NAMED} more" if len(facts) > NAMED else ""
    return f"{summary}: {'; '.join(map(one_line, facts[:NAMED]))}{more}"


if __name__ == "__main__":
    _serve(Workspace(Path(sys.argv[1])))
