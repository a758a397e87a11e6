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
from assistant.session.entries import AssistantEntry, UserEntry
from assistant.session.ids import ALPHABET, SUFFIX, session_ids
from assistant.session.transcript import Transcript, borrow

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


def adopt(directory: Path, program: str, name: str, said: Sequence[Said]) -> Adopted | None:
    """Take over a conversation, or what of it is not here yet; None if nothing was said in it.

    `name` is what the program calls it. Raises StorageError, SessionError.
    """
    if not any(isinstance(each, UserEntry) for each in said):
        return None
    with locking.lock(storage.private_directory(directory) / ".adopt"):
        mark = _mark(program, name)
        known = [each for each in session_ids(directory) if each.endswith(f"-{mark}")]
        session = known[0] if known else f"{_begun(said):%Y%m%d-%H%M%S}-{mark}"
        if known:
            record = borrow(directory, session)
        else:
            path = directory / f"{session}{SUFFIX}"
            record = Transcript(session, path, borrowed=True, origin=program)
        new = _unknown(record, said)
        record.extend(new)
        record.settle(ENDED.format(program=program))
    return Adopted(session, len(new))


def _unknown(record: Transcript, said: Sequence[Said]) -> list[Said]:
    """What is not in the session yet, in order."""
    known = Counter(_key(each) for each in record.entries if isinstance(each, Said))
    new = []
    for each in said:
        if known[_key(each)]:
            known[_key(each)] -= 1
        else:
            new.append(each)
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
