"""What becomes of a session when it is over: it is read for facts, by a process of its own.

The process starts with a session's first turn and waits for its end, whichever way that comes: the
kernel drops the session's lock with the chat. It loads nothing heavy before. One process serves a
workspace; what no process was there to see is found by the next.
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
"""Sessions that their owner took no part in: no facts are taken from them."""
LOOK_SECONDS = 1.0
"""How often the process looks whether a session has ended."""
COMMAND = ("-m", "assistant.cli.main", "memory", "capture", "--wait")


def begin(workspace: Workspace) -> None:
    """Have somebody wait for the end of the sessions there are, unless somebody does."""
    held = _alone(workspace)
    if held is None:
        return
    held.release()
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
    """What came of a session: its facts in memory, those that wait, or why it could not be read."""

    session: str
    stored: tuple[str, ...] = ()
    waiting: int = 0
    failed: str = ""


def read_ended(workspace: Workspace, *, wait: bool = False) -> Iterator[Read]:
    """Read the sessions that have ended, as each does if `wait`, until none is open or unread.

    Nothing is done if another process is at it, without a model, without trust, or if
    `memory.capture` says so. Raises ConfigError, StorageError.
    """
    held = _alone(workspace)
    if held is None:
        return
    try:
        while True:
            coming = list(due(workspace, datetime.now(UTC)))
            over = [session for session in coming if not session.open]
            if over:
                _keep_up(workspace)  # before: `undo` then takes back what was read
            yield from filter(None, (_read(workspace, session) for session in over))
            if not wait or not any(session.open for session in coming):
                return
            time.sleep(LOOK_SECONDS)
    finally:
        held.release()


def _keep_up(workspace: Workspace) -> None:
    """Keep sessions and memory up, once a day; the next chat says what moved, or what failed."""
    from assistant.memory.open import open_memory
    from assistant.settings.tree import validate

    raw, now = config.load(), datetime.now().astimezone()
    today, line = now.date().isoformat(), ""
    if not trust.is_trusted(workspace) or book.load(workspace).upkept == today:
        return
    try:
        keeping.sweep(workspace.sessions, now)
        if validate(raw).memory.upkeep == "daily":
            with closing(open_memory(workspace, raw)) as memory:
                done = memory.upkeep()
            counts = {"archived": done.archived, "sorted in": done.sorted}
            moved = [f"{counted(n, 'fact')} {verb}" for verb, n in counts.items() if n]
            if moved:
                line = f"Upkeep of memory: {', '.join(moved)} · `assistant memory log`"
    except AssistantError as error:
        line = f"Memory could not be kept up: {error.message}"
    except Exception as error:  # the border: sessions are read all the same
        line = f"Memory could not be kept up: {type(error).__name__}: {error}"[:200]
    with book.changing(workspace) as known:
        known.upkept, known.kept_up = today, line or known.kept_up


def _alone(workspace: Workspace) -> Lock | None:
    """The right to read the workspace's sessions, or None if another process has it."""
    return locking.try_lock(storage.private_directory(workspace.private) / "reading.lock")


def _read(workspace: Workspace, session: Due) -> Read | None:
    """Read one session; None if it holds nothing to read, or may not be read."""
    from assistant.agent.capture.reading import Captured
    from assistant.settings.tree import validate  # pydantic: once there is something to read

    chosen = validate(config.load())
    captured: Captured | None = None
    if chosen.memory.capture == "always" and trust.is_trusted(workspace):
        try:
            captured = _capture(workspace, chosen, session.id)
        except AssistantError as error:
            captured = Captured(failed=error.message)
        except Exception as error:  # the border: one session's fault never stops the others
            captured = Captured(failed=f"{type(error).__name__}: {error}"[:200])
    size = session.size
    with suppress(FileNotFoundError):  # what was captured is noted in it
        size = (workspace.sessions / f"{session.id}{SUFFIX}").stat().st_size
    read = Read(session.id)
    if captured:
        read = Read(session.id, captured.stored, captured.waiting, captured.failed)
    now = datetime.now(UTC)
    with book.changing(workspace) as known:
        news = News(session.id, now.isoformat(), len(read.stored), read.waiting)
        if news.stored or news.waiting:
            known.tell(news)
        if read.failed:
            known.failed(News(session.id, now.isoformat(), failed=read.failed), size, now)
        else:
            known.read(session.id, size)
    return read if read.stored or read.waiting or read.failed else None


def _capture(workspace: Workspace, chosen: "Settings", session: str) -> "Captured | None":
    """Take a session's facts; None if there is nothing to take, or no model to take it."""
    from assistant.agent.capture import reading  # the model behind it is slow to load
    from assistant.agent.context_budget import ContextBudget
    from assistant.memory.open import open_memory
    from assistant.secrets.current import redactor
    from assistant.session import transcript
    from assistant.session.history import group

    record = transcript.borrow(workspace.sessions, session)
    if record.origin in UNATTENDED:
        return None
    turns = group(record.entries)
    model = _model(chosen, record.entries)
    if not model.extracts or not reading.is_left(turns, record.entries):
        return None

    def spend(usage: Usage) -> None:
        with book.changing(workspace) as known:
            known.spend(usage.input_tokens + usage.output_tokens)

    budget = ContextBudget(model.context_window, chosen.context.reserve_tokens)
    with closing(open_memory(workspace, config.load())) as memory:
        job = reading.Reading(
            record,
            memory,
            model,
            budget,
            redactor().redact,
            afford=lambda: book.load(workspace).spent < chosen.memory.capture_tokens,
            spend=spend,
        )
        events = reading.capture(job, turns)
        while True:
            try:
                next(events)
            except StopIteration as end:
                return cast("Captured", end.value)


def _model(chosen: "Settings", entries: Sequence[Entry]) -> "ChatModel":
    """The configured model, else the one that the chat was held with."""
    from assistant.model import select
    from assistant.model.offline import OfflineModel

    spoke = [entry.model for entry in entries if isinstance(entry, AssistantEntry) and entry.model]
    if chosen.model.name or chosen.profiles or spoke[-1:] in ([], [OfflineModel.name]):
        return select.create(chosen)
    return select.create(select.with_model(chosen, spoke[-1]))
