"""The ids of sessions: which there are, which one a name means, and which is open.

A session is a file in its folder, `ID.jsonl`; its lock stands beside it while it is open.
"""

import secrets
from datetime import UTC, datetime
from pathlib import Path

from assistant.disk import locking
from assistant.disk.locking import Lock
from assistant.errors import SessionError

SUFFIX = ".jsonl"
SUBTASK = "."
"""Between the id of a session and the number of a subtask of it."""
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
"""Of the end of a session's id: no characters that look alike."""


def new() -> str:
    """An id that begins with the time, in UTC."""
    now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{now}-{''.join(secrets.choice(ALPHABET) for _ in range(3))}"


def find(directory: Path, name: str) -> str:
    """The id of the one session that begins or ends with `name`. Raises SessionError."""
    ids = session_ids(directory) if SUBTASK not in name else subtask_ids(directory)
    if name in ids:
        return name
    found = [each for each in ids if name and (each.startswith(name) or each.endswith(name))]
    if len(found) == 1:
        return found[0]
    if found:
        raise SessionError(
            f"{len(found)} sessions match {name!r}: {', '.join(found[:5])}", "Type more of its id"
        )
    raise SessionError(
        f"there is no session {name!r}", "Run `assistant sessions list` for those there are"
    )


def session_ids(directory: Path) -> list[str]:
    """The ids of the sessions there are, oldest first; those of subtasks aside."""
    return sorted(path.stem for path in directory.glob(f"*{SUFFIX}") if SUBTASK not in path.stem)


def subtask_ids(directory: Path, session: str = "*") -> list[str]:
    """The ids of the subtasks of a session, or of all."""
    return sorted(path.stem for path in directory.glob(f"{session}{SUBTASK}*{SUFFIX}"))


def is_open(directory: Path, session: str) -> bool:
    """Whether a chat has the session open."""
    if not (directory / f"{session}.lock").exists():
        return False
    lock = locking.try_lock(directory / f"{session}.lock")
    if lock is not None:
        lock.release()
    return lock is None


def locked(directory: Path, session: str) -> Lock:
    """The session's lock, held. Raises SessionError if it is open."""
    path = directory / f"{session}.lock"
    lock = locking.try_lock(path)
    if lock is None:
        raise SessionError(
            f"session {session} is open in another chat (process {locking.holder(path) or '?'})",
            "Close it there, or begin a new one",
        )
    return lock
