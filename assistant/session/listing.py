"""The list of sessions, as `assistant sessions list` shows it, and a session as a document."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Literal

from assistant.display import shortened
from assistant.errors import SessionError
from assistant.messages import Usage, without_forgotten
from assistant.quoting import visible
from assistant.session.entries import (
    NO_USAGE,
    AssistantEntry,
    AttachmentEntry,
    CapturedEntry,
    CaptureEntry,
    CompactionEntry,
    Entry,
    HeaderEntry,
    InterruptedEntry,
    NoticeEntry,
    RecalledEntry,
    RetryEntry,
    TitleEntry,
    ToolResultEntry,
    UserEntry,
    usage_of,
)
from assistant.session.history import awaiting_owner, group, last_turn, open_question
from assistant.session.transcript import SUFFIX, entries_of, is_open, session_ids

TITLE_LIMIT = 80
"""The maximum length of a title in characters."""
GREETING = 12
"""A sentence of at most this many characters is too short for a title ("Hi there.")."""
SENTENCE = re.compile(r"(?<=[.!?…])\s|(?<=[。！？])")


Left = Literal["", "cut off", "waiting", "asked"]
LEFT: dict[Left, str] = {
    "cut off": "was cut off",
    "waiting": "waits for your yes or no",
    "asked": "waits for your answer",
}
"""The descriptions of the states in which a session may be left."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One session: its title, its length and its cost.

    Times are ISO 8601, UTC. `left` says how its last turn was left: cut off, or waiting for the
    owner's approval or answer; empty if it is finished. `fault` says why its file cannot be read;
    all other fields are then empty. `origin` is the other program it took place in, if any.
    """

    id: str
    title: str = ""
    turns: int = 0
    started: str = ""
    updated: str = ""
    usage: Usage = NO_USAGE
    model: str = ""
    left: Left = ""
    fault: str = ""
    origin: str = ""


def sessions(directory: Path) -> list[SessionSummary]:
    """List all sessions, the last used first; before them the damaged ones with their faults."""
    summaries = _summaries(directory, session_ids(directory))
    return sorted(summaries, key=lambda session: session.updated or "damaged", reverse=True)


def written(directory: Path) -> dict[str, float]:
    """Return when each session's file was last written, by its id."""
    return {id: (directory / f"{id}{SUFFIX}").stat().st_mtime for id in session_ids(directory)}


def latest(directory: Path) -> str | None:
    """Return the id of the last used session of this program; None if there is none."""
    times = written(directory)
    last = SessionSummary("")
    for session in _summaries(directory, sorted(times, key=times.__getitem__)):
        if last.id and times[session.id] < datetime.fromisoformat(last.updated).timestamp():
            break  # a session is not used after its file's last write
        if session.fault and not last.id:
            return session.id  # opening it reports the fault
        if not session.origin and session.updated > last.updated:
            last = session
    return last.id or None


def abandoned(directory: Path) -> list[SessionSummary]:
    """Return the newest sessions, unfinished and not open, back to the first finished one."""
    newest = _summaries(directory, session_ids(directory))
    ours = (session for session in newest if not session.origin)
    unfinished = takewhile(lambda session: session.left or is_open(directory, session.id), ours)
    return [session for session in unfinished if not is_open(directory, session.id)]


def title_of(entries: Iterable[Entry]) -> str:
    """Return a session's title: the owner's, else one from their first request; or ""."""
    titles, requests = [], []
    for entry in entries:
        if isinstance(entry, TitleEntry):
            titles.append(without_forgotten(entry.text))
        elif isinstance(entry, UserEntry) and not entry.joins:
            requests.append(without_forgotten(entry.text))
    return title(next(filter(None, [*titles[-1:], *requests]), ""))


def title(request: str) -> str:
    """Return the first sentence that is long enough, without terminal control characters."""
    line = " ".join(visible(request).split())
    end = next(
        (match.start() for match in SENTENCE.finditer(line) if match.start() > GREETING), None
    )
    return shortened(line[:end], TITLE_LIMIT)


BEHIND = (CaptureEntry, CapturedEntry, NoticeEntry, RetryEntry, TitleEntry)
"""Entries that reading a session for facts, or renaming it, adds: they do not count as activity."""
ASIDE = (*BEHIND, AttachmentEntry)
"""Entries that are neither a message nor a result."""


def _summaries(directory: Path, ids: Sequence[str]) -> Iterator[SessionSummary]:
    """Yield these sessions, the last first, except files killed before their first line."""
    for session in reversed(ids):
        try:
            entries = entries_of(directory / f"{session}{SUFFIX}")
        except SessionError as error:
            yield SessionSummary(session, fault=error.message)
        else:
            if entries:
                yield _summary(session, entries)


def _summary(session: str, entries: Sequence[Entry]) -> SessionSummary:
    active = [entry for entry in entries if not isinstance(entry, BEHIND)]
    models = [entry.model for entry in active if isinstance(entry, AssistantEntry) and entry.model]
    header = next(iter(entries), None)
    return SessionSummary(
        session,
        title_of(entries),
        len(group(entries)),
        entries[0].time,
        active[-1].time if active else "",
        usage_of(entries),
        models[-1] if models else "",
        _left(entries),
        origin=header.origin if isinstance(header, HeaderEntry) else "",
    )


def _left(entries: Sequence[Entry]) -> Left:
    """Return how the last turn was left; another program's is finished unless continued here."""
    turn = last_turn(entries)
    if turn is None or turn.finished:
        return ""
    header = entries[0]
    is_theirs = isinstance(header, HeaderEntry) and header.origin
    last = next(entry for entry in reversed(turn.entries) if not isinstance(entry, ASIDE))
    if is_theirs and isinstance(last, UserEntry):
        return "cut off" if any(isinstance(entry, RecalledEntry) for entry in entries) else ""
    if open_question(turn.entries):
        return "asked"
    return "waiting" if awaiting_owner(turn.entries) else "cut off"


# A session as a markdown document


def markdown(entries: Sequence[Entry]) -> str:
    """Render the conversation as markdown: headings for speakers, tool results as quotes."""
    return "\n\n".join([f"# {title_of(entries) or 'Nothing said'}", *_parts(entries)]) + "\n"


def _parts(entries: Sequence[Entry]) -> Iterator[str]:
    speaker = ""
    for entry in entries:
        match entry:
            case UserEntry(text=text):
                author, text = "You", text
            case AssistantEntry(text=text) if text.strip():
                author, text = "Assistant", text
            case AttachmentEntry(title=name, text=text):
                author, text = speaker, _quote(f"{name}\n{text}")
            case ToolResultEntry(tool=tool, compact=compact):
                author, text = "Assistant", _quote(f"{tool}: {compact}".removesuffix(": "))
            case InterruptedEntry(text=text):
                author, text = speaker, _quote(f"({text})")
            case CompactionEntry(summary=summary):
                author, text = speaker, _quote(f"(summary of what came before)\n{summary}")
            case _:
                continue
        if author != speaker:
            yield f"## {author}"
            speaker = author
        yield text.strip("\n")


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


# How often passages were recalled


@dataclass(frozen=True, slots=True)
class Asked:
    """The number of prompts a passage was put into, and the day of the last one (ISO, UTC)."""

    times: int
    last: str


def recalls(directory: Path) -> dict[str, Asked]:
    """Count the recalls of each passage, by its id; sessions that cannot be read are skipped."""
    counts: dict[str, Asked] = {}
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        with suppress(SessionError):
            for entry in entries_of(path):
                for passage in entry.passages if isinstance(entry, RecalledEntry) else ():
                    earlier = counts.get(passage.id, Asked(0, ""))
                    last = max(earlier.last, entry.time[:10])
                    counts[passage.id] = Asked(earlier.times + 1, last)
    return counts
