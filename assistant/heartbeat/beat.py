"""One run of the heartbeat: runs each due task in a separate session.

No model is imported before a task is due and its time is claimed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from assistant.disk import locking, storage
from assistant.heartbeat import claims
from assistant.heartbeat.unattended import Outcome, check_limits, check_trust, run_turn
from assistant.session import beats
from assistant.session.beats import News
from assistant.upkeep.tasks import Task, Unread, tasks
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace


@dataclass(frozen=True, slots=True)
class Beat:
    """A task, the time it was due, and the outcome."""

    task: Task
    due: datetime
    outcome: Outcome


def read(workspace: Workspace) -> tuple[list[Task], list[Unread]]:
    """Return the tasks of the workspace, and the lines that are not tasks. Raises StorageError."""
    return tasks(workspace.text(HEARTBEAT_FILE))


def _written(workspace: Workspace) -> datetime:
    """Return when the file of tasks was last written."""
    try:
        return datetime.fromtimestamp((workspace.root / HEARTBEAT_FILE).stat().st_mtime)
    except OSError:
        return datetime.min


def due(workspace: Workspace, now: datetime) -> list[tuple[Task, datetime]]:
    """Return the tasks whose latest time has passed unclaimed, earliest first.

    A task counts from the check before the one that first saw it but, unless it recurs at an
    interval, not before the file was written. Of several missed times only the latest is due.
    """
    due_tasks = []
    with beats.changing(workspace) as state:
        listed, written = read(workspace)[0], _written(workspace)
        for task in listed:
            is_interval = task.schedule.every and not task.schedule.hours
            begin = state.since(task.key, now, datetime.min if is_interval else written)
            latest = task.schedule.latest(now)
            if latest and latest > begin and claims.is_free(workspace, task, latest):
                due_tasks.append((task, latest))
        keys = {task.key for task in listed}
        state.seen = {key: since for key, since in state.seen.items() if key in keys}
        state.waiting = {key: due for key, due in state.waiting.items() if key in keys}
        state.looked = now.isoformat(timespec="seconds")
    return sorted(due_tasks, key=lambda item: item[1])


def run(workspace: Workspace, now: datetime, *, no_daemon: bool = False) -> Iterator[Beat]:
    """Run the due tasks, unless another process is running them.

    Raises WorkspaceError if the workspace is not trusted, ConfigError without a model or tokens.
    """
    check_trust(workspace)
    lock = locking.try_lock(storage.private_directory(workspace.private) / "heartbeat.lock")
    if lock is None:
        return
    with lock:
        for time in claims.broken(workspace):
            with beats.changing(workspace) as state:
                state.tell(News(time, failed="was interrupted, and is not run again"))
        due_tasks = due(workspace, now)
        with beats.changing(workspace) as state:
            state.run(now)
        for task, when in sorted(due_tasks, key=lambda item: not item[0].reminds):
            if task.skips and now - when > task.grace:
                if claims.take(workspace, task, when, runs=False):
                    yield Beat(task, when, Outcome("skipped"))
            # reported before it is claimed, so that after a crash it is repeated
            elif task.reminds:
                beat = _report(workspace, Beat(task, when, Outcome("done", task.text)))
                if claims.take(workspace, task, when, runs=False):
                    yield beat
            else:
                check_limits(workspace)
                if claim := claims.take(workspace, task, when):
                    yield _run_task(workspace, task, when, claim, no_daemon=no_daemon)
        if due_tasks:
            claims.prune(workspace)


def _run_task(
    workspace: Workspace, task: Task, when: datetime, claim: Path, *, no_daemon: bool
) -> Beat:
    """Run a task whose time is claimed; release the claim if it has to be retried."""
    outcome = run_turn(
        workspace, "heartbeat", lambda chat: chat.send(task.text), no_daemon=no_daemon
    )
    if outcome.state == "waiting":
        claim.unlink(missing_ok=True)
    beat = _report(workspace, Beat(task, when, outcome))
    if outcome.state != "waiting":
        storage.replace(claim, b"")
    return beat


def _report(workspace: Workspace, beat: Beat) -> Beat:
    """Report a beat to the owner, unless it is silent; report only once that a task waits.

    Until it has run, this is not repeated, even if the task becomes due again.
    """
    task, when, outcome = beat.task, f"{beat.due:%Y-%m-%dT%H:%M}", beat.outcome
    with beats.changing(workspace) as state:
        state.beat = datetime.now().isoformat(timespec="minutes")
        if outcome.state == "waiting" and task.key in state.waiting:
            return beat
        state.waiting.pop(task.key, None)
        if outcome.state == "waiting":
            state.waiting[task.key] = when
        if not task.reminds:
            state.refused = ""
        if outcome.state in ("failed", "waiting"):
            state.tell(News(when, failed=f"{task.citation}: {outcome.text}"))
        elif outcome.state == "done":
            state.tell(News(when, outcome.session, task=task.key if task.reminds else ""))
    return beat
