"""The pictures of a session: copies beside its transcript; off the record, in memory."""

from dataclasses import replace
from pathlib import Path

from assistant.disk import storage
from assistant.messages import Message, Picture
from assistant.session.entries import AttachmentEntry
from assistant.session.transcript import Transcript

SUFFIX = ".pictures"
"""Of the folder of a session's pictures."""


def keep(transcript: Transcript, title: str, picture: Picture) -> AttachmentEntry:
    """Copy a picture and write it down, in this order. Raises StorageError."""
    if transcript.path is None:
        transcript.unwritten[picture.name] = picture.data
    else:
        folder = storage.private_directory(transcript.path.with_suffix(SUFFIX))
        storage.replace(folder / picture.name, picture.data)
    size = (picture.width, picture.height)
    return transcript.append(AttachmentEntry(title, f"({picture})", picture.name, size))


def with_pictures(transcript: Transcript, message: Message) -> Message:
    """The message with the data of its pictures; one whose copy is gone has none."""
    if not message.pictures:
        return message
    shown = (replace(each, data=_data(transcript, each.name)) for each in message.pictures)
    return replace(message, pictures=tuple(shown))


def forget(directory: Path, session: str) -> None:
    """Remove the copies of a session's pictures."""
    folder = directory / f"{session}{SUFFIX}"
    for path in folder.glob("*"):
        path.unlink()
    if folder.exists():
        folder.rmdir()


def _data(transcript: Transcript, name: str) -> bytes:
    if transcript.path is None:
        return transcript.unwritten.get(name, b"")
    path = transcript.path.with_suffix(SUFFIX) / name
    return storage.read(path) if path.exists() else b""
