"""Read sessions for facts once they have ended, in a process of its own.

The process starts with a session's first turn and waits until the session ends; however that
happens, the kernel then releases the session's lock. Until then it loads nothing heavy. One process
serves a workspace; a session that ended while none was running is found by the next.
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

import assistant
from assistant import config
from assistant.agent.capture import book
from assistant.agent.capture.book import Due, News, due
from assistant.disk import locking, storage
from assistant.disk.locking import Lock
from assistant.display import counted
from assistant.errors import AssistantError
from assistant.messages import Usage
from assistant.session import keeping
from assistant.session.entries import AssistantEntry, Entry
from assistant.session.transcript import SUFFIX
from assistant.workspace import trust
from assistant.workspace.folder import Workspace

if TYPE_CHECKING:
    from assistant.agent.capture.reading import Captured
    from assistant.model.base import ChatModel
    from assistant.settings.tree import Settings

UNATTENDED = ("heartbeat", "event")
"""The origins of sessions without the owner: no facts are taken from them."""
LOOK_SECONDS = 1.0
"""Seconds between checks whether a session has ended."""
COMMAND = ("-m", "assistant.cli.main", "memory", "capture", "--wait")


def begin(workspace: Workspace) -> None:
    """Start the process that waits for sessions to end, unless one is running."""
    lock = _try_lock(workspace)
    if lock is None:
        return
    lock.release()
    home = Path(assistant.__file__).parent.parent
    subprocess.Popen(
        [sys.executable, *COMMAND, "-w", str(workspace.root)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=home,
    )


@dataclass(frozen=True, slots=True)
class Read:
    """The result for a session: facts stored, facts waiting, or why it could not be read."""

    session: str
    stored: tuple[str, ...] = ()
    waiting: int = 0
    failed: str = ""


def read_ended(workspace: Workspace, *, wait: bool = False) -> Iterator[Read]:
    """Read the sessions that have ended; with `wait`, until none is open or unread any more.

    Does nothing if another process does it already, if there is no model, if the workspace is not
    trusted, or if `memory.capture` forbids it. Raises ConfigError, StorageError.
    """
    lock = _try_lock(workspace)
    if lock is None:
        return
    try:
        while True:
            pending = list(due(workspace, datetime.now(UTC)))
            ended = [session for session in pending if not session.open]
            if ended:
                _keep_up(workspace)  # first, so that `undo` takes back the facts, not this
            yield from filter(None, (_read(workspace, session) for session in ended))
            if not wait or not any(session.open for session in pending):
                return
            time.sleep(LOOK_SECONDS)
    finally:
        lock.release()


def _keep_up(workspace: Workspace) -> None:
    """Run the upkeep of sessions and memory once a day; the next chat reports the result."""
    from assistant.memory.open import open_memory
    from assistant.settings.tree import validate

    raw, now = config.load(), datetime.now().astimezone()
    today, report = now.date().isoformat(), ""
    if not trust.is_trusted(workspace) or book.load(workspace).upkept == today:
        return
    try:
        keeping.sweep(workspace.sessions, now)
        if validate(raw).memory.upkeep == "daily":
            with closing(open_memory(workspace, raw)) as memory:
                result = memory.upkeep()
            counts = {"archived": result.archived, "sorted in": result.sorted}
            moved = [f"{counted(n, 'fact')} {verb}" for verb, n in counts.items() if n]
            if moved:
                report = f"Upkeep of memory: {', '.join(moved)} · `assistant memory log`"
    except AssistantError as error:
        report = f"Memory could not be kept up: {error.message}"
    except Exception as error:  # sessions must be read all the same
        report = f"Memory could not be kept up: {type(error).__name__}: {error}"[:200]
    with book.changing(workspace) as state:
        state.upkept, state.kept_up = today, report or state.kept_up


def _try_lock(workspace: Workspace) -> Lock | None:
    """Lock the reading of the workspace's sessions; None if another process holds the lock."""
    return locking.try_lock(storage.private_directory(workspace.private) / "reading.lock")


def _read(workspace: Workspace, session: Due) -> Read | None:
    """Read one session; None if there is nothing to read, or if it may not be read."""
    from assistant.agent.capture.reading import Captured
    from assistant.settings.tree import validate  # pydantic is slow to load

    settings = validate(config.load())
    captured: Captured | None = None
    if settings.memory.capture == "always" and trust.is_trusted(workspace):
        try:
            captured = _capture(workspace, settings, session.id)
        except AssistantError as error:
            captured = Captured(failed=error.message)
        except Exception as error:  # one session's failure must not stop the others
            captured = Captured(failed=f"{type(error).__name__}: {error}"[:200])
    size = session.size
    with suppress(FileNotFoundError):  # the captured facts were noted in it
        size = (workspace.sessions / f"{session.id}{SUFFIX}").stat().st_size
    read = Read(session.id)
    if captured:
        read = Read(session.id, captured.stored, captured.waiting, captured.failed)
    now = datetime.now(UTC)
    with book.changing(workspace) as state:
        news = News(session.id, now.isoformat(), len(read.stored), read.waiting)
        if news.stored or news.waiting:
            state.tell(news)
        if read.failed:
            state.failed(News(session.id, now.isoformat(), failed=read.failed), size, now)
        else:
            state.read(session.id, size)
    return read if read.stored or read.waiting or read.failed else None


def _capture(workspace: Workspace, settings: "Settings", session: str) -> "Captured | None":
    """Capture a session's facts; None if it has nothing to read, or there is no model."""
    from assistant.agent.capture import reading  # the model behind it is slow to load
    from assistant.agent.context_budget import ContextBudget
    from assistant.memory.open import open_memory
    from assistant.secrets.current import redactor
    from assistant.session import transcript
    from assistant.session.history import group

    conversation = transcript.borrow(workspace.sessions, session)
    if conversation.origin in UNATTENDED:
        return None
    turns = group(conversation.entries)
    model = _model(settings, conversation.entries)
    if not model.extracts or not reading.is_left(turns, conversation.entries):
        return None

    def spend(usage: Usage) -> None:
        with book.changing(workspace) as state:
            state.spend(usage.input_tokens + usage.output_tokens)

    budget = ContextBudget(model.context_window, settings.context.reserve_tokens)
    with closing(open_memory(workspace, config.load())) as memory:
        job = reading.Reading(
            conversation,
            memory,
            model,
            budget,
            redactor().redact,
            afford=lambda: book.load(workspace).spent < settings.memory.capture_tokens,
            spend=spend,
        )
        events = reading.capture(job, turns)
        while True:
            try:
                next(events)
            except StopIteration as end:
                return cast("Captured", end.value)


def _model(settings: "Settings", entries: Sequence[Entry]) -> "ChatModel":
    """The configured model, else the one that the chat used last."""
    from assistant.model import select
    from assistant.model.offline import OfflineModel

    used_models = [
        entry.model for entry in entries if isinstance(entry, AssistantEntry) and entry.model
    ]
    if settings.model.name or settings.profiles or used_models[-1:] in ([], [OfflineModel.name]):
        return select.create(settings)
    return select.create(select.with_model(settings, used_models[-1]))
