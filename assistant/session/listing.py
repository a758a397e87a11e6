"""The sessions there are, as `assistant sessions list` shows them.

Of a transcript only what is shown is decoded; one that cannot be read so is read as a whole, to
say why.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from assistant import storage
from assistant.errors import SessionError
from assistant.messages import Usage
from assistant.quoting import visible
from assistant.session.entries import (
    FORMAT,
    NO_USAGE,
    AssistantEntry,
    CaptureEntry,
    CompactionEntry,
)
from assistant.session.transcript import SUFFIX, read, session_ids, whole_lines

TITLE_LIMIT = 80
"""Characters of a title."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One session: its first message as title, how long it is, what it cost.

    Times are ISO 8601, UTC. `fault` says why its file cannot be read; then the rest is empty.
    """

    id: str
    title: str = ""
    turns: int = 0
    started: str = ""
    updated: str = ""
    usage: Usage = NO_USAGE
    model: str = ""
    fault: str = ""


def sessions(directory: Path) -> list[SessionSummary]:
    """All sessions, newest first. A damaged one is listed with its fault."""
    return [_summary(directory, session) for session in reversed(session_ids(directory))]


def latest(directory: Path) -> str | None:
    """The id of the session that was begun last; None if there is none."""
    return next(reversed(session_ids(directory)), None)


def title(request: str) -> str:
    """A message as one line without anything that could steer a terminal."""
    line = " ".join(visible(request).split())
    return line if len(line) <= TITLE_LIMIT else f"{line[: TITLE_LIMIT - 1]}…"


class _Line(msgspec.Struct):
    """What is shown of an entry."""

    type: str
    id: str
    time: str
    text: str = ""
    joins: bool = False
    usage: Usage = NO_USAGE
    model: str = ""
    version: str = ""


PAID = (AssistantEntry.type, CaptureEntry.type, CompactionEntry.type)
_DECODER = msgspec.json.Decoder(_Line)


def _summary(directory: Path, session: str) -> SessionSummary:
    try:
        lines = _lines(directory / f"{session}{SUFFIX}")
    except msgspec.MsgspecError:
        return _read(directory, session)
    known = not lines or lines[0].version.startswith(f"{FORMAT[0]}.")
    return _summed(session, lines) if known else _read(directory, session)


def _lines(path: Path) -> Sequence[_Line]:
    return _DECODER.decode_lines(whole_lines(storage.read(path))[0])


def _read(directory: Path, session: str) -> SessionSummary:
    """A session that is read as a whole."""
    try:
        entries = read(directory, session)
    except SessionError as error:
        return SessionSummary(session, fault=error.message)
    told = (
        {name: value for name in _Line.__struct_fields__ if (value := getattr(each, name, None))}
        for each in entries
    )
    return _summed(session, [_Line(**each) for each in told])


def _summed(session: str, lines: Sequence[_Line]) -> SessionSummary:
    asked = [line.text for line in lines if line.type == "user" and not line.joins]
    return SessionSummary(
        session,
        title(asked[0]) if asked else "",
        len(asked),
        lines[0].time if lines else "",
        lines[-1].time if lines else "",
        sum((line.usage for line in lines if line.type in PAID), start=NO_USAGE),
        next((line.model for line in reversed(lines) if line.model), ""),
    )
