"""The list of sessions, as `assistant sessions list` shows it, and a session as a document.

Only the fields that are shown are decoded from a transcript. If that fails, the transcript is read
completely to find out why.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Literal

import msgspec

from assistant.disk import storage
from assistant.display import shortened
from assistant.errors import SessionError
from assistant.messages import Usage
from assistant.quoting import visible
from assistant.session.entries import (
    FORMAT,
    NO_USAGE,
    AssistantEntry,
    AttachmentEntry,
    CaptureEntry,
    CompactionEntry,
    Entry,
    InterruptedEntry,
    NoticeEntry,
    RetryEntry,
    SubtasksEntry,
    TitleEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.history import standing
from assistant.session.transcript import SUFFIX, is_open, read, session_ids, whole_lines

TITLE_LIMIT = 80
"""Characters of a title."""
GREETING = 12
"""A sentence of at most this many characters is too short for a title ("Hi there.")."""
SENTENCE = re.compile(r"(?<=[.!?…])\s|(?<=[。！？])")


Left = Literal["", "cut off", "waiting", "asked"]
LEFT: dict[Left, str] = {
    "cut off": "was cut off",
    "waiting": "waits for your yes or no",
    "asked": "waits for your answer",
}
"""The words for each way in which a session was left."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One session: its title, its length and its cost.

    Times are ISO 8601, UTC. `left` says how its last turn was left: cut off, or waiting for the
    owner's approval or answer; empty if it is finished. `fault` says why its file cannot be read;
    all other fields are then empty. `origin` is the other program it was held with, if any.
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
    """List all sessions, newest first. A damaged one is listed with its fault."""
    return [_summary(directory, session) for session in reversed(session_ids(directory))]


def latest(directory: Path) -> str | None:
    """The id of the newest session of this program; None if there is none."""
    newest = reversed(session_ids(directory))
    return next((session for session in newest if not _summary(directory, session).origin), None)


def abandoned(directory: Path) -> list[SessionSummary]:
    """The newest sessions that are unfinished and not open, back to the first finished one."""
    summaries = (_summary(directory, session) for session in reversed(session_ids(directory)))
    newest = (session for session in summaries if not session.origin)
    unfinished = takewhile(lambda session: session.left or is_open(directory, session.id), newest)
    return [session for session in unfinished if not is_open(directory, session.id)]


def title_of(entries: Iterable[Entry]) -> str:
    """A session's title: the one that the owner gave, else from their first request; or empty."""
    titles, requests = [""], [""]
    for entry in entries:
        if isinstance(entry, TitleEntry):
            titles.append(entry.text)
        elif isinstance(entry, UserEntry) and not entry.joins:
            requests.append(entry.text)
    return title(titles[-1] or requests[:2][-1])


def title(request: str) -> str:
    """The first sentence that is long enough, without terminal control characters."""
    line = " ".join(visible(request).split())
    end = next(
        (match.start() for match in SENTENCE.finditer(line) if match.start() > GREETING), None
    )
    return shortened(line[:end], TITLE_LIMIT)


class _Passage(msgspec.Struct):
    id: str


class _Line(msgspec.Struct):
    """The fields of an entry that the list needs."""

    type: str
    id: str
    time: str
    text: str = ""
    joins: bool = False
    usage: Usage = NO_USAGE
    model: str = ""
    version: str = ""
    origin: str = ""
    decision: str = ""
    tool_calls: Sequence[object] = ()
    passages: Sequence[_Passage] = ()
    to: str = ""


PAID = (AssistantEntry.type, CaptureEntry.type, CompactionEntry.type, SubtasksEntry.type)
BEHIND = (CaptureEntry.type, NoticeEntry.type, RetryEntry.type)
"""Entries that reading a session for facts may add after its end: they are no activity."""
_DECODER = msgspec.json.Decoder(_Line)


def _summary(directory: Path, session: str) -> SessionSummary:
    try:
        lines = _lines(directory / f"{session}{SUFFIX}")
    except msgspec.MsgspecError:
        return _read(directory, session)
    is_known_format = not lines or lines[0].version.startswith(f"{FORMAT[0]}.")
    return _summed(session, lines) if is_known_format else _read(directory, session)


def _lines(path: Path) -> Sequence[_Line]:
    lines: list[_Line] = _DECODER.decode_lines(whole_lines(storage.read(path))[0])
    return standing(lines)


def _read(directory: Path, session: str) -> SessionSummary:
    """Summarise a session from a complete reading of its transcript."""
    try:
        entries = read(directory, session)
    except SessionError as error:
        return SessionSummary(session, fault=error.message)
    values = (
        {name: value for name in _Line.__struct_fields__ if (value := getattr(entry, name, None))}
        for entry in entries
    )
    return _summed(session, [_Line(**item) for item in values])


def _summed(session: str, lines: Sequence[_Line]) -> SessionSummary:
    requests = [line.text for line in lines if line.type == "user" and not line.joins]
    titles = [line.text for line in lines if line.type == TitleEntry.type]
    active = [line for line in lines if line.type not in BEHIND]
    return SessionSummary(
        session,
        title(["", *requests[:1], *titles][-1]),
        len(requests),
        lines[0].time if lines else "",
        active[-1].time if active else "",
        sum((line.usage for line in lines if line.type in PAID), start=NO_USAGE),
        next((line.model for line in reversed(active) if line.model), ""),
        _left(lines),
        origin=lines[0].origin if lines else "",
    )


def _left(lines: Sequence[_Line]) -> Left:
    """How the last turn was left, as in `Turn.finished`; another program's turn is finished."""
    taken_over = lines and lines[0].origin and all(line.type != "recalled" for line in lines)
    for line in reversed(lines):
        match line.type:
            case "user" if taken_over:
                return ""
            case "assistant":
                return "cut off" if line.tool_calls else ""
            case "interrupted":
                return ""
            case "approval":
                return "cut off" if line.decision else "waiting"
            case "question":
                return "asked"
            case "user" | "tool_result" | "reminder":
                return "cut off"
    return ""


# A session as a markdown document


def markdown(entries: Sequence[Entry]) -> str:
    """The conversation as markdown, with a heading for each speaker and tool results as quotes."""
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
    """How many prompts a passage was put into, and the day of the last one (ISO, UTC)."""

    times: int
    last: str


def recalls(directory: Path) -> dict[str, Asked]:
    """Count the recalls of each passage, by its id; sessions that cannot be read are skipped."""
    counts: dict[str, Asked] = {}
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        with suppress(msgspec.MsgspecError):
            for line in _lines(path):
                for passage in line.passages:
                    earlier = counts.get(passage.id, Asked(0, ""))
                    counts[passage.id] = Asked(earlier.times + 1, max(earlier.last, line.time[:10]))
    return counts
