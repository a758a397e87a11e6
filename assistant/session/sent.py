"""What each turn was sent: the sections of its prompt, kept beside the session.

`.assistant/sessions/ID.prompts` holds one line of JSON a turn. A section that says what it said the
turn before is kept without its text, so that a long session costs its prompt once.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assistant.disk import storage
from assistant.errors import SessionError

SUFFIX = ".prompts"


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


def keep(directory: Path, session: str, sent: Sent) -> None:
    """Write down what is about to be sent. Raises StorageError."""
    path = directory / f"{session}{SUFFIX}"
    before = {part.title: part for part in _last(path)}
    listed: list[dict[str, Any]] = []
    for part in sent.parts:
        same = before.get(part.title) == part
        listed.append({"title": part.title, "same": True} if same else asdict(part))
    line = {"turn": sent.turn, "time": sent.time, "model": sent.model, "parts": listed}
    data = json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace")
    storage.append(path, data + b"\n")


def sent(directory: Path, session: str) -> list[Sent]:
    """What the turns of a session were sent, in order; a damaged line ends the list.

    Raises SessionError if nothing of it is kept.
    """
    found = _read(directory / f"{session}{SUFFIX}")
    if not found:
        raise SessionError(
            f"of session {session} it is not kept what was sent",
            "It is of an older version, of another program, or had no turn",
        )
    return found


def _last(path: Path) -> Sequence[Part]:
    found = _read(path)
    return found[-1].parts if found else ()


def _read(path: Path) -> list[Sent]:
    found: list[Sent] = []
    before: dict[str, Part] = {}
    for line in storage.held(path).splitlines():
        try:
            said = json.loads(line)
            parts = tuple(
                before[each["title"]]
                if each.get("same")
                else Part(each["title"], each["source"], each["text"])
                for each in said["parts"]
            )
            found.append(Sent(said["turn"], said["time"], said["model"], parts))
        except (ValueError, KeyError, TypeError):
            break
        before = {part.title: part for part in parts}
    return found
