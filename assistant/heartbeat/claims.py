"""Claims: a file per task and due time, created exclusively before the task runs.

So each due time runs at most once, despite crashes, changed clocks and other machines using the
same folder. The file's name contains the task and the time; while the task runs, its text names the
machine.
"""

import os
import platform
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path

from assistant.disk import storage
from assistant.upkeep.tasks import Task
from assistant.workspace.folder import Workspace

KEPT = 500
"""Maximum number of claims kept per task."""
AHEAD = timedelta(hours=25)
"""Claims further in the future come from a wrong clock, and are ignored."""
_NAME = re.compile(r"(?P<task>[0-9a-f]{12})-(?P<due>\d{8}T\d{4}Z?)")


def directory(workspace: Workspace) -> Path:
    """Return the folder of the claims."""
    return workspace.private / "heartbeat"


def is_free(workspace: Workspace, task: Task, due: datetime) -> bool:
    """Return whether this due time and all later ones are unclaimed, since a clock may have been
    set back."""
    key, latest = task.schedule.key(due), task.schedule.key(datetime.now() + AHEAD)
    claimed = (name["due"] for name in _names(workspace) if name["task"] == task.key)
    return not any(key <= other <= latest for other in claimed)


def take(workspace: Workspace, task: Task, due: datetime, *, runs: bool = True) -> Path | None:
    """Claim a due time, of a task that now `runs`; return the claim, None for a time that is
    already claimed.

    It is settled by emptying it, and released by removing it.
    """
    folder = storage.private_directory(directory(workspace))
    path = folder / f"{task.key}-{task.schedule.key(due)}"
    with storage.reported("written", path):
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, storage.PRIVATE_FILE)
        except FileExistsError:
            return None
        with os.fdopen(descriptor, "wb") as file:
            file.write(_running() if runs else b"")
    storage.sync_directory(folder)
    return path


def broken(workspace: Workspace) -> Iterator[str]:
    """Yield the due times (ISO) that this machine began and did not finish, each once.

    The caller holds the heartbeat's lock, so no task is running.
    """
    for name in _names(workspace):
        path = directory(workspace) / name[0]
        if storage.read_or_empty(path) == _running():
            storage.replace(path, b"")
            yield datetime.strptime(name["due"][:13], "%Y%m%dT%H%M").isoformat(timespec="minutes")


def prune(workspace: Workspace) -> None:
    """Delete the oldest claims of each task."""
    for _, names in groupby(_names(workspace), key=lambda name: name["task"]):
        for name in [*names][:-KEPT]:
            (directory(workspace) / name[0]).unlink(missing_ok=True)


def _names(workspace: Workspace) -> Iterator["re.Match[str]"]:
    """Yield the names of all claims, by task, oldest first."""
    names = sorted(path.name for path in directory(workspace).glob("*"))
    yield from filter(None, map(_NAME.fullmatch, names))


def _running() -> bytes:
    return f"running on {platform.node()}".encode()
