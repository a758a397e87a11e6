"""Adopts conversations from another program as sessions of this one.

A session's id is derived from the program and the program's own name of the conversation. So
adopting a conversation again gives the same session, to which only the new messages are added.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from assistant.disk import locking, storage
from assistant.errors import SessionError
from assistant.session.entries import AssistantEntry, CaptureEntry, TitleEntry, UserEntry
from assistant.session.transcript import ALPHABET, SUFFIX, Transcript, borrow, is_open, session_ids

Message = UserEntry | AssistantEntry
"""The entries that are adopted, each with its own time (ISO 8601) if known."""
MARK = 8
"""Length of the suffix that distinguishes conversations of the same second."""
ENDED = "The conversation in {program} ended here"


def find(directory: Path, program: str, name: str) -> str | None:
    """Return the session of a conversation; None if it has not been adopted."""
    mark = _mark(program, name)
    return next(
        (session for session in session_ids(directory) if session.endswith(f"-{mark}")), None
    )


def unknown(directory: Path, session: str, messages: Sequence[Message]) -> list[Message]:
    """Return the messages that a session does not have yet. Raises SessionError, StorageError."""
    return _unknown(borrow(directory, session), messages)


def adopt(
    directory: Path,
    program: str,
    name: str,
    messages: Sequence[Message],
    *,
    title: str = "",
    read: bool = True,
) -> int:
    """Adopt a conversation or its new messages, if the owner said anything in it; return how many
    are new.

    `name` is the program's name for it, `title` the owner's. With `read`, the session will be read
    for facts, and an unfinished last turn is ended. Raises StorageError, and SessionError if the
    session is damaged or open.
    """
    if not any(isinstance(message, UserEntry) for message in messages):
        return 0
    with locking.lock(storage.private_directory(directory) / ".adopt"):
        session = find(directory, program, name)
        if session is None:
            session = f"{_start_time(messages):%Y%m%d-%H%M%S}-{_mark(program, name)}"
            path = directory / f"{session}{SUFFIX}"
            record = Transcript(session, path, borrowed=True, origin=program, imported=not read)
            if title:
                record.append(TitleEntry(title, time=messages[0].time))
        elif is_open(directory, session):
            raise SessionError(f"session {session} is open", "Close it there and try again")
        else:
            record = borrow(directory, session)
        new = _unknown(record, messages)
        record.extend(new)
        if read:
            record.settle(ENDED.format(program=program))
        elif new:
            record.append(CaptureEntry(record.entries[-1].id, time=messages[-1].time))
    return len(new)


def _unknown(record: Transcript, messages: Sequence[Message]) -> list[Message]:
    existing = Counter(_key(entry) for entry in record.entries if isinstance(entry, Message))
    new = []
    for message in messages:
        if existing[_key(message)]:
            existing[_key(message)] -= 1
        else:
            new.append(message)
    return new


def _key(entry: Message) -> tuple[str, str]:
    return entry.type, entry.text


def _start_time(messages: Sequence[Message]) -> datetime:
    try:
        return datetime.fromisoformat(messages[0].time).astimezone(UTC)
    except ValueError:
        return datetime.now(UTC)


def _mark(program: str, name: str) -> str:
    digest = hashlib.sha256(f"{program}\0{name}".encode("utf-8", "replace")).digest()
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:MARK])
