"""Claims: each due time is taken by a file that can be made only once, before anything is done.

So it is done at most once, whoever dies meanwhile, whatever a clock says, and whichever machine on
the same folder comes first. The file's name says the task and the time, its text what came of it.
"""

import json
import os
import platform
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Literal

from assistant.disk import storage
from assistant.upkeep.tasks import Task
from assistant.workspace.folder import Workspace

State = Literal["begun", "done", "silent", "skipped", "failed", "waiting"]
"""`waiting`: no model answered; the due time was given back and is tried again."""
KEPT = 500
"""Claims of one task that are kept."""
AHEAD = timedelta(hours=25)
"""A claim that lies so far ahead comes of a clock that was wrong, and holds nothing back."""
_NAME = re.compile(r"(?P<task>[0-9a-f]{12})-(?P<due>\d{8}T\d{4}Z?)")


def directory(workspace: Workspace) -> Path:
    """Where the claims are."""
    return workspace.private / "heartbeat"


def is_free(workspace: Workspace, task: Task, due: datetime) -> bool:
    """Whether nobody has claimed this due time, nor one after it: clocks are set back."""
    key, latest = task.schedule.key(due), task.schedule.key(datetime.now() + AHEAD)
    claimed = (name["due"] for name in _names(workspace) if name["task"] == task.key)
    return not any(key <= other <= latest for other in claimed)


def take(workspace: Workspace, task: Task, due: datetime, state: State = "begun") -> bool:
    """Claim a due time for good; False if somebody was first."""
    storage.private_directory(directory(workspace))
    path = _path(workspace, task, due)
    with storage.reported("written", path):
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, storage.PRIVATE_FILE)
        except FileExistsError:
            return False
        with os.fdopen(descriptor, "wb") as file:
            file.write(_encoded(state))
    storage.sync_directory(path.parent)
    return True


def settle(workspace: Workspace, task: Task, due: datetime, state: State) -> None:
    """Note what came of a due time that was claimed."""
    storage.replace(_path(workspace, task, due), _encoded(state))


def release(workspace: Workspace, task: Task, due: datetime) -> None:
    """Give a due time back: nothing was done, and it may be tried again."""
    _path(workspace, task, due).unlink(missing_ok=True)


def broken(workspace: Workspace) -> Iterator[str]:
    """The due times (ISO) that this machine began and died over; each is named once, and then
    failed.

    For the holder of the heartbeat's lock: nobody else is at work.
    """
    for name in _names(workspace):
        path = directory(workspace) / name[0]
        try:
            claim = json.loads(storage.held(path))
        except ValueError:
            continue
        if claim.get("state") == "begun" and claim.get("machine") == platform.node():
            storage.replace(path, _encoded("failed"))
            yield datetime.strptime(name["due"][:13], "%Y%m%dT%H%M").isoformat(timespec="minutes")


def prune(workspace: Workspace) -> None:
    """Drop the oldest claims of each task beyond those that are kept."""
    for _, names in groupby(_names(workspace), key=lambda name: name["task"]):
        for name in [*names][:-KEPT]:
            (directory(workspace) / name[0]).unlink(missing_ok=True)


def _path(workspace: Workspace, task: Task, due: datetime) -> Path:
    return directory(workspace) / f"{task.key}-{task.schedule.key(due)}"


def _names(workspace: Workspace) -> Iterator["re.Match[str]"]:
    """The names of all claims, those of a task together, the oldest first."""
    names = sorted(path.name for path in directory(workspace).glob("*"))
    yield from filter(None, map(_NAME.fullmatch, names))


def _encoded(state: State) -> bytes:
    return json.dumps({"state": state, "machine": platform.node(), "process": os.getpid()}).encode()
