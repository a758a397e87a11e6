"""Claims: each due time is taken by a file that can be made only once, before anything is done.

So it is done at most once, whoever dies meanwhile, whatever a clock says, and whichever machine on
the same folder comes first. The file's name says the task and the time, its text what came of it.
"""

import json
import os
import platform
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
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


@dataclass(frozen=True, slots=True)
class Claim:
    """What is known of a due time: who took it, when, and what came of it."""

    state: State
    at: str
    machine: str
    process: int


def directory(place: Workspace) -> Path:
    """Where the claims are."""
    return place.private / "heartbeat"


def is_free(place: Workspace, task: Task, due: datetime) -> bool:
    """Whether nobody has taken this due time, nor one after it: clocks are set back."""
    key = task.schedule.key(due)
    latest = task.schedule.key(datetime.now() + AHEAD)
    return not any(key <= each <= latest for each in _taken(place, task))


def take(place: Workspace, task: Task, due: datetime, state: State = "begun") -> bool:
    """Take a due time for good; False if somebody was first."""
    path = storage.private_directory(directory(place)) / f"{task.key}-{task.schedule.key(due)}"
    with storage.reported("written", path):
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, storage.PRIVATE_FILE)
        except FileExistsError:
            return False
        with os.fdopen(descriptor, "wb") as file:
            file.write(_encoded(state))
    storage.sync_directory(path.parent)
    return True


def settle(place: Workspace, task: Task, due: datetime, state: State) -> None:
    """Note what came of a due time that was taken."""
    storage.replace(directory(place) / f"{task.key}-{task.schedule.key(due)}", _encoded(state))


def release(place: Workspace, task: Task, due: datetime) -> None:
    """Give a due time back: nothing was done, and it may be tried again."""
    (directory(place) / f"{task.key}-{task.schedule.key(due)}").unlink(missing_ok=True)


def broken(place: Workspace) -> Iterator[str]:
    """The due times that this machine began and died over; each is named once, and then failed.

    For whoever holds the right to beat here: nobody else is at work.
    """
    for path in sorted(directory(place).glob("*")):
        found = _NAME.fullmatch(path.name)
        claim = _read(path) if found else None
        if found and claim and claim.state == "begun" and claim.machine == platform.node():
            storage.replace(path, _encoded("failed"))
            yield found["due"]


def prune(place: Workspace) -> None:
    """Drop the oldest claims of each task beyond those that are kept."""
    names: dict[str, list[Path]] = {}
    for path in sorted(directory(place).glob("*"), reverse=True):
        if found := _NAME.fullmatch(path.name):
            names.setdefault(found["task"], []).append(path)
    for paths in names.values():
        for path in paths[KEPT:]:
            path.unlink(missing_ok=True)


def _taken(place: Workspace, task: Task) -> Iterator[str]:
    for path in directory(place).glob(f"{task.key}-*"):
        if found := _NAME.fullmatch(path.name):
            yield found["due"]


def _encoded(state: State) -> bytes:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return json.dumps(asdict(Claim(state, at, platform.node(), os.getpid()))).encode()


def _read(path: Path) -> Claim | None:
    try:
        return Claim(**json.loads(storage.held(path)))
    except (ValueError, TypeError):
        return None
