"""The sessions there are, as `assistant sessions list` shows them."""

from dataclasses import dataclass
from pathlib import Path

from assistant.errors import SessionError
from assistant.messages import Usage
from assistant.quoting import visible
from assistant.session.entries import NO_USAGE, Entry, usage_of
from assistant.session.transcript import read, session_ids
from assistant.session.turns import group

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


def _summary(directory: Path, session: str) -> SessionSummary:
    try:
        entries = read(directory, session)
    except SessionError as error:
        return SessionSummary(session, fault=error.message)
    turns = group(entries)
    return SessionSummary(
        session,
        title(turns[0].request) if turns else "",
        len(turns),
        entries[0].time if entries else "",
        entries[-1].time if entries else "",
        usage_of(entries),
        _model(entries),
    )


def _model(entries: tuple[Entry, ...]) -> str:
    named = (getattr(entry, "model", "") for entry in reversed(entries))
    return next(filter(None, named), "")
