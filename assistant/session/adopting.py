"""Conversations that were held with another program, taken over as sessions of this one.

The id of a session comes from the program and its own name of the conversation, so that the same
conversation, taken over again, is the same session: only what was said since is added.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from assistant.disk import locking, storage
from assistant.errors import SessionError
from assistant.session.entries import AssistantEntry, CaptureEntry, TitleEntry, UserEntry
from assistant.session.transcript import ALPHABET, SUFFIX, Transcript, borrow, is_open, session_ids

Said = UserEntry | AssistantEntry
"""What is taken over of a conversation, each with its own time (ISO 8601) if that is known."""
MARK = 8
"""Characters that tell a conversation from all others of its second."""
ENDED = "The conversation in {program} ended here"


@dataclass(frozen=True, slots=True)
class Adopted:
    """The session that a conversation is, and how many entries of it are new."""

    session: str
    new: int


def find(directory: Path, program: str, name: str) -> str | None:
    """The session that a conversation is, if it was taken over."""
    mark = _mark(program, name)
    return next(
        (session for session in session_ids(directory) if session.endswith(f"-{mark}")), None
    )


def unknown(directory: Path, session: str, said: Sequence[Said]) -> list[Said]:
    """What is not in a session yet, in order. Raises SessionError, StorageError."""
    return _unknown(borrow(directory, session), said)


def adopt(
    directory: Path,
    program: str,
    name: str,
    said: Sequence[Said],
    *,
    title: str = "",
    read: bool = True,
) -> Adopted | None:
    """Take over a conversation, or what of it is not here yet; None if nothing was said in it.

    `name` is what the program calls it, `title` what its owner does. `read`: it is to be read for
    facts, and a turn in the middle of which it ends is ended. Raises StorageError, and SessionError
    for a session that is damaged, or open.
    """
    if not any(isinstance(message, UserEntry) for message in said):
        return None
    with locking.lock(storage.private_directory(directory) / ".adopt"):
        session = find(directory, program, name)
        if session is None:
            session = f"{_begun(said):%Y%m%d-%H%M%S}-{_mark(program, name)}"
            path = directory / f"{session}{SUFFIX}"
            record = Transcript(session, path, borrowed=True, origin=program)
            if title:
                record.append(TitleEntry(title, time=said[0].time))
        elif is_open(directory, session):
            raise SessionError(f"session {session} is open", "Close it there and try again")
        else:
            record = borrow(directory, session)
        new = _unknown(record, said)
        record.extend(new)
        if read:
            record.settle(ENDED.format(program=program))
        elif new:
            record.append(CaptureEntry(record.entries[-1].id, time=said[-1].time))
    return Adopted(session, len(new))


def _unknown(record: Transcript, said: Sequence[Said]) -> list[Said]:
    known = Counter(_key(entry) for entry in record.entries if isinstance(entry, Said))
    new = []
    for message in said:
        if known[_key(message)]:
            known[_key(message)] -= 1
        else:
            new.append(message)
    return new


def _key(entry: Said) -> tuple[str, str]:
    return entry.type, entry.text


def _begun(said: Sequence[Said]) -> datetime:
    try:
        return datetime.fromisoformat(said[0].time).astimezone(UTC)
    except ValueError:
        return datetime.now(UTC)


def _mark(program: str, name: str) -> str:
    digest = hashlib.sha256(f"{program}\0{name}".encode("utf-8", "replace")).digest()
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:MARK])
