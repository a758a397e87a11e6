"""What the owner does with a whole session, and what is kept beside its transcript.

Pictures are copied, off the record in memory only. `.assistant/sessions/ID.prompts` says what each
turn was sent, a line of JSON a turn; a section that says what it said the turn before is kept
without its text, so that a long session costs its prompt once.
"""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from assistant.disk import locking, storage
from assistant.errors import SessionError
from assistant.messages import Message, Picture
from assistant.session.entries import AttachmentEntry, TitleEntry
from assistant.session.transcript import SUFFIX, Transcript, borrow, find, locked, subtask_ids


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
            (directory / f"{each}{PROMPTS}").unlink(missing_ok=True)
            forget_pictures(directory, each)
    finally:
        lock.release()
    return session


def sweep(directory: Path, now: datetime) -> None:
    """Remove the locks of sessions that nobody has open, and what was sent long ago."""
    for path in directory.glob("*.lock"):
        if (lock := locking.try_lock(path)) is not None:
            path.unlink(missing_ok=True)
            lock.release()
    for path in directory.glob(f"*{PROMPTS}"):
        with suppress(FileNotFoundError):  # another process sweeps, too
            if path.stat().st_mtime < (now - PROMPTS_KEPT).timestamp():
                path.unlink()


# What each turn was sent

PROMPTS_KEPT = timedelta(days=30)
PROMPTS = ".prompts"


@dataclass(frozen=True, slots=True)
class Part:
    """A section as it was sent, and where it came from."""

    title: str
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Sent:
    """What the turn that begins with the entry `turn` was sent, at `time`, to `model`."""

    turn: str
    time: str
    model: str
    parts: tuple[Part, ...]


def keep_prompt(transcript: Transcript, sent: Sent) -> None:
    """Write down what is about to be sent; nothing off the record. Raises StorageError."""
    if transcript.path is None:
        return
    path = transcript.path.with_suffix(PROMPTS)
    kept = _prompts(path)
    before = {part.title: part for part in kept[-1].parts} if kept else {}
    parts = [
        {"title": part.title, "same": True} if before.get(part.title) == part else asdict(part)
        for part in sent.parts
    ]
    line = {"turn": sent.turn, "time": sent.time, "model": sent.model, "parts": parts}
    data = json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace")
    storage.append(path, data + b"\n")


def prompts_sent(directory: Path, session: str) -> list[Sent]:
    """What the turns of a session were sent, in order; a damaged line ends the list.

    Raises SessionError if nothing of it is kept.
    """
    found = _prompts(directory / f"{session}{PROMPTS}")
    if not found:
        raise SessionError(
            f"of session {session} it is not kept what was sent",
            "It is of an older version, of another program, or had no turn",
        )
    return found


def _prompts(path: Path) -> list[Sent]:
    found: list[Sent] = []
    before: dict[str, Part] = {}
    for line in storage.held(path).splitlines():
        try:
            said = json.loads(line)
            parts = tuple(
                before[part["title"]]
                if part.get("same")
                else Part(part["title"], part["source"], part["text"])
                for part in said["parts"]
            )
            found.append(Sent(said["turn"], said["time"], said["model"], parts))
        except (ValueError, KeyError, TypeError):
            break
        before = {part.title: part for part in parts}
    return found


# Pictures

PICTURES = ".pictures"
"""Of the folder of a session's pictures."""


def keep_picture(transcript: Transcript, title: str, picture: Picture) -> AttachmentEntry:
    """Copy a picture and write it down, in this order. Raises StorageError."""
    if transcript.path is None:
        transcript.unwritten[picture.name] = picture.data
    else:
        folder = storage.private_directory(transcript.path.with_suffix(PICTURES))
        storage.replace(folder / picture.name, picture.data)
    size = (picture.width, picture.height)
    return transcript.append(AttachmentEntry(title, f"({picture})", picture.name, size))


def with_pictures(transcript: Transcript, message: Message) -> Message:
    """The message with the data of its pictures; one whose copy is gone has none."""
    if not message.pictures:
        return message
    shown = (replace(picture, data=_data(transcript, picture.name)) for picture in message.pictures)
    return replace(message, pictures=tuple(shown))


def forget_pictures(directory: Path, session: str) -> None:
    """Remove the copies of a session's pictures."""
    folder = directory / f"{session}{PICTURES}"
    for path in folder.glob("*"):
        path.unlink()
    if folder.exists():
        folder.rmdir()


def _data(transcript: Transcript, name: str) -> bytes:
    if transcript.path is None:
        return transcript.unwritten.get(name, b"")
    path = transcript.path.with_suffix(PICTURES) / name
    return storage.read(path) if path.exists() else b""
