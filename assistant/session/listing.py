"""The sessions there are, as `assistant sessions list` shows them, and one as a document.

Of a transcript only what is shown is decoded; one that cannot be read so is read as a whole, to
say why.
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
"""A sentence of at most so many characters says too little ("Hi there.")."""
SENTENCE = re.compile(r"(?<=[.!?…])\s|(?<=[。！？])")


Left = Literal["", "cut off", "waiting", "asked"]
LEFT: dict[Left, str] = {
    "cut off": "was cut off",
    "waiting": "waits for your yes or no",
    "asked": "waits for your answer",
}
"""What is said of a session that was left so."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One session: what it is about, how long it is, what it cost.

    Times are ISO 8601, UTC. `left` says how its last turn was left: in the middle, or waiting for
    the owner's yes or answer; empty if it is whole. `fault` says why its file cannot be read; then
    the rest is empty. `origin` is the program it was held with, if it was another one.
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
    """All sessions, newest first. A damaged one is listed with its fault."""
    return [_summary(directory, session) for session in reversed(session_ids(directory))]


def latest(directory: Path) -> str | None:
    """The id of the session that was begun last, in this program; None if there is none."""
    newest = reversed(session_ids(directory))
    return next((each for each in newest if not _summary(directory, each).origin), None)


def abandoned(directory: Path) -> list[SessionSummary]:
    """The newest sessions that nobody has open and whose last turn has no end, up to the first
    that is whole."""
    every = (_summary(directory, session) for session in reversed(session_ids(directory)))
    newest = (session for session in every if not session.origin)
    unfinished = takewhile(lambda each: each.left or is_open(directory, each.id), newest)
    return [each for each in unfinished if not is_open(directory, each.id)]


def title_of(entries: Iterable[Entry]) -> str:
    """A session's title: the owner's, else of what they said first; empty if that is nothing."""
    named, asked = [""], [""]
    for entry in entries:
        if isinstance(entry, TitleEntry):
            named.append(entry.text)
        elif isinstance(entry, UserEntry) and not entry.joins:
            asked.append(entry.text)
    return title(named[-1] or asked[:2][-1])


def title(request: str) -> str:
    """The first sentence that says something, without anything that could steer a terminal."""
    line = " ".join(visible(request).split())
    end = next((each.start() for each in SENTENCE.finditer(line) if each.start() > GREETING), None)
    return shortened(line[:end], TITLE_LIMIT)


class _Passage(msgspec.Struct):
    id: str


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
    origin: str = ""
    decision: str = ""
    tool_calls: Sequence[object] = ()
    passages: Sequence[_Passage] = ()
    to: str = ""


PAID = (AssistantEntry.type, CaptureEntry.type, CompactionEntry.type, SubtasksEntry.type)
BEHIND = (CaptureEntry.type, NoticeEntry.type, RetryEntry.type)
"""What may come once a session is over, when it is read for facts: nobody went on with it."""
_DECODER = msgspec.json.Decoder(_Line)


def _summary(directory: Path, session: str) -> SessionSummary:
    try:
        lines = _lines(directory / f"{session}{SUFFIX}")
    except msgspec.MsgspecError:
        return _read(directory, session)
    known = not lines or lines[0].version.startswith(f"{FORMAT[0]}.")
    return _summed(session, lines) if known else _read(directory, session)


def _lines(path: Path) -> Sequence[_Line]:
    lines: list[_Line] = _DECODER.decode_lines(whole_lines(storage.read(path))[0])
    return standing(lines)


def _read(directory: Path, session: str) -> SessionSummary:
    """A session that is read as a whole."""
    try:
        entries = read(directory, session)
    except SessionError as error:
        return SessionSummary(session, fault=error.message)
    told = (
        {name: value for name in _Line.__struct_fields__ if (value := getattr(entry, name, None))}
        for entry in entries
    )
    return _summed(session, [_Line(**item) for item in told])


def _summed(session: str, lines: Sequence[_Line]) -> SessionSummary:
    asked = [line.text for line in lines if line.type == "user" and not line.joins]
    named = [line.text for line in lines if line.type == TitleEntry.type]
    held = [line for line in lines if line.type not in BEHIND]
    return SessionSummary(
        session,
        title(["", *asked[:1], *named][-1]),
        len(asked),
        lines[0].time if lines else "",
        held[-1].time if held else "",
        sum((line.usage for line in lines if line.type in PAID), start=NO_USAGE),
        next((line.model for line in reversed(held) if line.model), ""),
        _left(lines),
        origin=lines[0].origin if lines else "",
    )


def _left(lines: Sequence[_Line]) -> Left:
    """How the last turn was left, as `Turn.finished` sees it; another program's is whole."""
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
    """What was said, under headings that say by whom; what tools did stands as quotations."""
    return "\n\n".join([f"# {title_of(entries) or 'Nothing said'}", *_parts(entries)]) + "\n"


def _parts(entries: Sequence[Entry]) -> Iterator[str]:
    speaker = ""
    for entry in entries:
        match entry:
            case UserEntry(text=text):
                who, said = "You", text
            case AssistantEntry(text=text) if text.strip():
                who, said = "Assistant", text
            case AttachmentEntry(title=name, text=text):
                who, said = speaker, _quote(f"{name}\n{text}")
            case ToolResultEntry(tool=tool, compact=compact):
                who, said = "Assistant", _quote(f"{tool}: {compact}".removesuffix(": "))
            case InterruptedEntry(text=text):
                who, said = speaker, _quote(f"({text})")
            case CompactionEntry(summary=summary):
                who, said = speaker, _quote(f"(summary of what came before)\n{summary}")
            case _:
                continue
        if who != speaker:
            yield f"## {who}"
            speaker = who
        yield said.strip("\n")


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


# How often passages were recalled


@dataclass(frozen=True, slots=True)
class Asked:
    """A passage was put into so many prompts, the last time on a day (ISO, UTC)."""

    times: int
    last: str


def recalls(directory: Path) -> dict[str, Asked]:
    """By its id, what is known of each passage; a session that cannot be read counts nothing."""
    known: dict[str, Asked] = {}
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        with suppress(msgspec.MsgspecError):
            for line in _lines(path):
                for passage in line.passages:
                    before = known.get(passage.id, Asked(0, ""))
                    known[passage.id] = Asked(before.times + 1, max(before.last, line.time[:10]))
    return known
