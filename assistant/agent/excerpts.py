"""Past turns quoted as data for a model that reads them: what a tool returned or a page said must
not speak to whoever summarises it or takes facts from it. Pure.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from assistant.display import shortened
from assistant.messages import ToolCall, estimate_tokens
from assistant.quoting import one_line, quoted
from assistant.session.entries import (
    AssistantEntry,
    AttachmentEntry,
    Entry,
    InterruptedEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.history import Turn

SPOKEN_LIMIT = 6_000
"""Characters of a message that are quoted."""
RESULT_LIMIT = 1_500
"""Characters of a tool result that are quoted."""


def quote(turns: Sequence[Turn], *, timed: bool = False) -> str:
    """The turns as quoted data, each entry behind its id and its speaker.

    `timed`: the day and time of entries stand above them.
    """
    lines: list[str] = []
    above = ""
    for turn in turns:
        for entry in turn.entries:
            line = _quoted_entry(entry)
            if not line:
                continue
            if timed and (time := _time(entry.time)) not in ("", above):
                lines.append(f"[{time}]")
                above = time
            lines.append(line)
    return "\n".join(lines)


def batches(turns: Sequence[Turn], room: int) -> Iterator[tuple[Turn, ...]]:
    """The turns in runs that each cost at most `room` tokens when quoted, at least one a run."""
    batch: list[Turn] = []
    held = 0
    for turn in turns:
        cost = estimate_tokens(quote([turn]))
        if batch and held + cost > room:
            yield tuple(batch)
            batch, held = [], 0
        batch.append(turn)
        held += cost
    if batch:
        yield tuple(batch)


def readings(turns: Sequence[Turn]) -> Iterator[tuple[Turn, ...]]:
    """The turns so often that every part of the owner's long messages is shown once.

    The first has all of the turns; the others hold what a message says beyond what is shown.
    """
    later = 0
    while shown := tuple(filter(None, (_reading(turn, later) for turn in turns))):
        yield shown
        later += 1


def call_line(call: ToolCall) -> str:
    """A call with what it was given, on one line."""
    given = ", ".join(
        f"{one_line(name)}={shortened(one_line(_plain(value)[:160]), 40)}"
        for name, value in call.arguments.items()
    )
    return f"{one_line(call.name)}({given})"


def _reading(turn: Turn, later: int) -> Turn | None:
    """A turn with this part of the owner's words; None if they have no such part."""
    entries: list[Entry] = []
    for entry in turn.entries:
        if isinstance(entry, UserEntry):
            entries += [replace(entry, text=part) for part in _parts(entry.text)[later : later + 1]]
        elif later == 0:
            entries.append(entry)
    return Turn(tuple(entries)) if entries else None


def _parts(text: str) -> list[str]:
    """A message in parts that are shown whole, each ending where a line or a sentence does."""
    parts = []
    while len(text) > SPOKEN_LIMIT:
        half = SPOKEN_LIMIT // 2
        ends = (text.rfind(mark, half, SPOKEN_LIMIT) + len(mark) for mark in ("\n", ". ", " "))
        end = next((each for each in ends if each > half), SPOKEN_LIMIT)
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _quoted_entry(entry: Entry) -> str:
    match entry:
        case UserEntry(text=text):
            return f"{entry.id} owner: {_cut(text, SPOKEN_LIMIT)}"
        case AttachmentEntry(title=title, text=text):
            return f"{entry.id} {one_line(title)}: {_cut(text, RESULT_LIMIT)}"
        case AssistantEntry(text=text, tool_calls=calls):
            asked = "".join(f"\n  | calls {call_line(call)}" for call in calls)
            return f"{entry.id} assistant: {_cut(text, SPOKEN_LIMIT)}{asked}"
        case ToolResultEntry(tool=tool, content=content):
            return f"{entry.id} result of {one_line(tool)}: {_cut(content, RESULT_LIMIT)}"
        case InterruptedEntry(text=text):
            return f"{entry.id} ({one_line(text)})"
        case _:
            return ""


def _time(time: str) -> str:
    """When an entry was said, here: day, weekday and minute; empty if that is not known."""
    try:
        return f"{datetime.fromisoformat(time).astimezone():%A %Y-%m-%d %H:%M}"
    except ValueError:
        return ""


def _cut(text: str, limit: int) -> str:
    return quoted(text if len(text) <= limit else f"{text[:limit]} … ({len(text)} characters)")
