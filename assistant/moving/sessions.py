"""Conversations from elsewhere as sessions of this workspace."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from assistant.disk import storage
from assistant.memory.text.identity import digest
from assistant.moving.items import ExportedConversation, Message
from assistant.session import codec, ids, transcript
from assistant.session.entries import (
    FORMAT,
    AssistantEntry,
    CaptureEntry,
    Entry,
    HeaderEntry,
    TitleEntry,
    UserEntry,
)
from assistant.workspace.folder import Workspace

_NEVER = datetime(1970, 1, 1, tzinfo=UTC).isoformat(timespec="milliseconds")
"""The time of what has none."""
Done = Literal["new", "grown", "known"]


class Sessions:
    """Writes conversations into a workspace, or, `dry`, only says what would become of them."""

    def __init__(
        self, place: Workspace, kind: str, redact: Callable[[str], str], *, dry: bool
    ) -> None:
        self._directory = place.sessions
        self._kind = kind
        self._redact = redact
        self._dry = dry

    def take(self, found: ExportedConversation, *, known: bool) -> Done:
        """Write a conversation, or what it has more than the session it once became.

        One that is `known` and gone was deleted here, and does not come back. One that went on
        otherwise, here or there, becomes a session of its own. Raises SessionError for a session
        that is damaged, or open elsewhere.
        """
        path = self._path(found, found.id)
        if not path.exists() and (known or self._dry):
            return "known" if known else "new"
        messages = [replace(each, text=self._redact(each.text)) for each in found.messages]
        if not path.exists():
            self._write(path, found, messages)
            return "new"
        there = self._messages(path)
        if there[: len(messages)] == _texts(messages):
            return "known"
        if there == _texts(messages[: len(there)]):
            return self._append(path, messages[len(there) :])
        other = self._path(found, f"{found.id}\n{len(messages)}\n{messages[-1].text}")
        if other.exists():
            return "known"
        self._write(other, found, messages)
        return "new"

    def _path(self, found: ExportedConversation, named: str) -> Path:
        """The file of a session whose id is made of the conversation's, and sorts by its time."""
        begun = datetime.fromisoformat(found.time or _NEVER).strftime("%Y%m%d-%H%M%S")
        number = int(digest(f"{self._kind}\n{named}")[:16], 16)
        letters = ids.ALPHABET
        end = "".join(letters[number // len(letters) ** place % len(letters)] for place in range(6))
        return self._directory / f"{begun}-{end}{ids.SUFFIX}"

    def _messages(self, path: Path) -> list[tuple[str, str]]:
        return [
            (each.type, each.text)
            for each in transcript.read(self._directory, path.stem)
            if isinstance(each, UserEntry | AssistantEntry) and each.text
        ]

    def _write(self, path: Path, found: ExportedConversation, messages: Sequence[Message]) -> None:
        if self._dry:
            return
        begun = found.time or _NEVER
        version = ".".join(map(str, FORMAT))
        head: list[Entry] = [HeaderEntry(version, path.stem, self._kind, id="e0", time=begun)]
        if title := " ".join(self._redact(found.title).split()):
            head.append(TitleEntry(title, id="e1", time=begun))
        said = _entries(messages, len(head), begun)
        storage.private_directory(self._directory)
        storage.replace(path, b"".join(map(codec.encode, [*head, *said])))
        path.chmod(storage.PRIVATE_FILE)

    def _append(self, path: Path, messages: Sequence[Message]) -> Done:
        if self._dry:
            return "grown"
        held = ids.locked(self._directory, path.stem)
        with held:
            there = transcript.read(self._directory, path.stem)
            said = _entries(messages, len(there), there[-1].time)
            storage.append(path, b"".join(map(codec.encode, said)))
        return "grown"


def _entries(messages: Sequence[Message], first: int, begun: str) -> list[Entry]:
    """What was said, and that there is nothing in it to be read for facts."""
    kinds = {"user": UserEntry, "assistant": AssistantEntry}
    entries: list[Entry] = []
    time = begun
    for number, each in enumerate(messages, start=first):
        time = each.time or time
        entries.append(kinds[each.by](each.text, id=f"e{number}", time=time))
    end = first + len(messages)
    return [*entries, CaptureEntry(f"e{end - 1}", id=f"e{end}", time=time)]


def _texts(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(each.by, each.text) for each in messages]
