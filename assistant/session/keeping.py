"""What the owner does with a whole session: name it, delete it."""

from pathlib import Path

from assistant.errors import SessionError
from assistant.session import pictures, sent
from assistant.session.entries import TitleEntry
from assistant.session.ids import SUFFIX, find, locked, subtask_ids
from assistant.session.transcript import borrow


def rename(directory: Path, name: str, title: str) -> str:
    """Give a session a title, be it open or not; returns its id. Raises SessionError."""
    if not title.strip():
        raise SessionError("a title cannot be empty", "Write one")
    session = find(directory, name)
    borrow(directory, session).append(TitleEntry(" ".join(title.split())))
    return session


def delete(directory: Path, name: str) -> str:
    """Remove a session's file for good, and its subtasks'; returns its id.

    Raises SessionError if it is open.
    """
    session = find(directory, name)
    lock = locked(directory, session)
    try:
        for each in (*subtask_ids(directory, session), session):
            (directory / f"{each}{SUFFIX}").unlink()
            (directory / f"{each}.lock").unlink(missing_ok=True)
            (directory / f"{each}{sent.SUFFIX}").unlink(missing_ok=True)
            pictures.forget(directory, each)
    finally:
        lock.release()
    return session
