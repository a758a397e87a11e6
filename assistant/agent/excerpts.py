"""Past turns quoted as data for a model, so that text from a tool or a page cannot instruct the
model that summarises it or extracts facts from it. Pure.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from assistant.display import compact_call
from assistant.messages import ToolCall, request_tokens
from assistant.quoting import one_line, quoted
from assistant.session.entries import (
    AssistantEntry,
    AttachmentEntry,
    Entry,
    InterruptedEntry,
    ToolResultEntry,
    UserEntry,
    text_of,
    with_text,
)
from assistant.session.history import Turn

SPOKEN_LIMIT = 6_000
"""The maximum number of characters of a message that are quoted."""
RESULT_LIMIT = 1_500
"""The maximum number of characters of a tool result that are quoted."""


def quote(turns: Sequence[Turn], *, timed: bool = False) -> str:
    """Quote the turns, each entry after its id and its speaker.

    With `timed`, lines with the day and time precede the entries.
    """
    lines: list[str] = []
    above = ""
    for entry in (entry for turn in turns for entry in turn.entries):
        if not (line := _quoted_entry(entry)):
            continue
        if timed and (time := _time(entry.time)) not in ("", above):
            lines.append(f"[{time}]")
            above = time
        lines.append(line)
    return "\n".join(lines)


def batches(turns: Sequence[Turn], room: int, most: int) -> Iterator[tuple[Turn, ...]]:
    """Split the turns into batches of at most `room` tokens when quoted, but at least one turn.

    In a turn over `most` tokens, results and attachments are cut.
    """
    batch: list[Turn] = []
    tokens = 0
    for turn in turns:
        cost = request_tokens(quote([turn]))
        if cost > most:
            turn = _cut_given(turn, most)
            cost = request_tokens(quote([turn]))
        if batch and tokens + cost > room:
            yield tuple(batch)
            batch, tokens = [], 0
        batch.append(turn)
        tokens += cost
    if batch:
        yield tuple(batch)


def _cut_given(turn: Turn, room: int) -> Turn:
    """Return the turn with its results and attachments cut to `room` characters in total."""
    given = [e for e in turn.entries if isinstance(e, ToolResultEntry | AttachmentEntry)]
    limit = room // max(len(given), 1)
    texts = ((entry, text_of(entry)) for entry in turn.entries)
    return Turn(tuple(with_text(e, text[:limit]) if text else e for e, text in texts))


def readings(turns: Sequence[Turn]) -> Iterator[tuple[Turn, ...]]:
    """Yield the turns repeatedly, so that every part of the owner's long messages is read once.

    The first reading has the complete turns; later ones have the next parts of long messages.
    """
    part_number = 0
    while reading := tuple(filter(None, (_reading(turn, part_number) for turn in turns))):
        yield reading
        part_number += 1


def call_line(call: ToolCall) -> str:
    """Return a call with its arguments, on one line."""
    return one_line(compact_call(call.name, call.arguments))


def _reading(turn: Turn, part_number: int) -> Turn | None:
    """Return the turn with this part of its messages; None if none has that many parts."""
    entries: list[Entry] = []
    for entry in turn.entries:
        if isinstance(entry, UserEntry):
            entries += [
                replace(entry, text=part)
                for part in _parts(entry.text)[part_number : part_number + 1]
            ]
        elif part_number == 0:
            entries.append(entry)
    return Turn(tuple(entries)) if entries else None


def _parts(text: str) -> list[str]:
    """Split a message at line or sentence ends into parts short enough to quote."""
    parts = []
    while len(text) > SPOKEN_LIMIT:
        half = SPOKEN_LIMIT // 2
        ends = (text.rfind(mark, half, SPOKEN_LIMIT) + len(mark) for mark in ("\n", ". ", " "))
        end = next((end for end in ends if end > half), SPOKEN_LIMIT)
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]


def _quoted_entry(entry: Entry) -> str:
    match entry:
        case UserEntry(text=text):
            return f"{entry.id} owner: {_cut(text, SPOKEN_LIMIT)}"
        case AttachmentEntry(title=title, text=text):
            return f"{entry.id} {one_line(title)}: {_cut(text, RESULT_LIMIT)}"
        case AssistantEntry(text=text, tool_calls=calls):
            call_lines = "".join(f"\n  | calls {call_line(call)}" for call in calls)
            return f"{entry.id} assistant: {_cut(text, SPOKEN_LIMIT)}{call_lines}"
        case ToolResultEntry(tool=tool, content=content):
            return f"{entry.id} result of {one_line(tool)}: {_cut(content, RESULT_LIMIT)}"
        case InterruptedEntry(text=text):
            return f"{entry.id} ({one_line(text)})"
        case _:
            return ""


def _time(time: str) -> str:
    """Return the local weekday, date and minute of an entry; "" if its time is unknown."""
    try:
        return f"{datetime.fromisoformat(time).astimezone():%A %Y-%m-%d %H:%M}"
    except ValueError:
        return ""


def _cut(text: str, limit: int) -> str:
    return quoted(text if len(text) <= limit else f"{text[:limit]} … ({len(text)} characters)")
