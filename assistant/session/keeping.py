"""Operations on whole sessions, and the files that are stored next to a transcript.

Pictures are copied; off the record they stay in memory. `.assistant/sessions/ID.prompts` records
the prompt of each turn as a line of JSON. A section that is the same as in the previous turn is
recorded without its text, so a long session stores its prompt once.
"""

import json
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from assistant.disk import locking, storage
from assistant.errors import SessionError
from assistant.messages import Message, Picture
from assistant.session.entries import AttachmentEntry, TitleEntry
from assistant.session.transcript import (
    READING,
    SUFFIX,
    Transcript,
    borrow,
    find,
    locked,
    subtask_ids,
)
from assistant.workspace.folder import PICTURES, PROMPTS


def rename(directory: Path, name: str, title: str) -> str:
    """Give a session a title, even if it is open; return its id. Raises SessionError."""
    if not title.strip():
        raise SessionError("a title cannot be empty", "Write one")
    session = find(directory, name)
    borrow(directory, session).append(TitleEntry(" ".join(title.split())))
    return session


def delete(directory: Path, name: str) -> str:
    """Delete a session and its subtasks with all their files; return its id.

    Raises SessionError if it is open.
    """
    session = find(directory, name)
    lock = locked(directory, session)
    try:
        for id_ in (*subtask_ids(directory, session), session):
            (directory / f"{id_}{SUFFIX}").unlink()
            (directory / f"{id_}.lock").unlink(missing_ok=True)
            (directory / f"{id_}{READING}").unlink(missing_ok=True)
            (directory / f"{id_}{PROMPTS}").unlink(missing_ok=True)
            if (pictures := directory / f"{id_}{PICTURES}").exists():
                shutil.rmtree(pictures)
    finally:
        lock.release()
    return session


def sweep(directory: Path, now: datetime) -> None:
    """Remove the locks of sessions that are not open, and the prompts that are too old."""
    for path in directory.glob("*.lock"):
        if (lock := locking.try_lock(path)) is not None:
            path.unlink(missing_ok=True)
            lock.release()
    for path in directory.glob(f"*{PROMPTS}"):
        with suppress(FileNotFoundError):  # another process may sweep, too
            if path.stat().st_mtime < (now - PROMPTS_KEPT).timestamp():
                path.unlink()


# The prompt of each turn

PROMPTS_KEPT = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Part:
    """A section as it was sent, and its source; on disk only its title if it is the `same` as in
    the previous turn."""

    title: str
    source: str = ""
    text: str = ""
    same: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """The prompt that was sent to `model` at `time`, in the turn that begins with entry `turn`."""

    turn: str
    time: str
    model: str
    parts: tuple[Part, ...]


def keep_prompt(transcript: Transcript, sent: Sent) -> None:
    """Record a prompt that is about to be sent, except off the record. Raises StorageError."""
    if transcript.path is None:
        return
    path = transcript.path.with_suffix(PROMPTS)
    earlier = _prompts(path)
    previous = {part.title: part for part in earlier[-1].parts} if earlier else {}
    parts = tuple(
        Part(part.title, same=True) if previous.get(part.title) == part else part
        for part in sent.parts
    )
    line = json.dumps(asdict(replace(sent, parts=parts)), ensure_ascii=False)
    storage.append(path, line.encode("utf-8", "backslashreplace") + b"\n")


def prompts_sent(directory: Path, session: str) -> list[Sent]:
    """Return the prompts of a session's turns, in order; a damaged line ends the list.

    Raises SessionError if none were recorded.
    """
    prompts = _prompts(directory / f"{session}{PROMPTS}")
    if not prompts:
        raise SessionError(
            f"the prompts of session {session} were not recorded",
            "It is from an older version or another program, or had no turn",
        )
    return prompts


def _prompts(path: Path) -> list[Sent]:
    prompts: list[Sent] = []
    previous: dict[str, Part] = {}
    for line in storage.read_or_empty(path).splitlines():
        try:
            sent = msgspec.convert(json.loads(line), Sent)
            parts = tuple(previous[part.title] if part.same else part for part in sent.parts)
        except (ValueError, KeyError):
            break
        prompts.append(replace(sent, parts=parts))
        previous = {part.title: part for part in parts}
    return prompts


# Pictures


def keep_picture(
    transcript: Transcript, title: str, picture: Picture, call_id: str = ""
) -> AttachmentEntry:
    """Copy a picture, then write its entry to the transcript. Raises StorageError."""
    if transcript.path is None:
        transcript.unwritten[picture.name] = picture.data
    else:
        folder = storage.private_directory(transcript.path.with_suffix(PICTURES))
        storage.replace(folder / picture.name, picture.data)
    size = (picture.width, picture.height)
    return transcript.append(
        AttachmentEntry(title, f"({picture})", picture.name, size, call_id=call_id)
    )


def with_pictures(transcript: Transcript, message: Message) -> Message:
    """Return the message with the data of its pictures loaded; a missing copy has no data."""
    if not message.pictures:
        return message
    pictures = (
        replace(picture, data=_data(transcript, picture.name)) for picture in message.pictures
    )
    return replace(message, pictures=tuple(pictures))


def _data(transcript: Transcript, name: str) -> bytes:
    if transcript.path is None:
        return transcript.unwritten.get(name, b"")
    path = transcript.path.with_suffix(PICTURES) / name
    return storage.read(path) if path.exists() else b""
