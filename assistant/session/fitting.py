"""Fitting the history into the model's window. Pure: turns in, turns or messages out.

In order, each step only if the ones before it do not suffice: results of earlier turns shown as a
summary and long results cut (always); the oldest turns left out; the older results of the turn
that is running shown as a summary; an error. All of it is a view: the transcript keeps everything.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import PurePosixPath

from assistant.errors import ModelError, ModelFailure
from assistant.messages import Message, ToolCall, estimate_tokens
from assistant.session.entries import AssistantEntry, AttachmentEntry, Entry, ToolResultEntry
from assistant.session.history import History, Turn, joined, messages, say
from assistant.tools.base import RESULT_LIMIT

WHOLE_RESULTS = 4
"""Results of this many turns before the running one are shown whole."""
AGING_STEP = 8
"""Turns whose results age at once, while there is room for them."""
FIRST_REQUEST_SHARE = 4
"""The first request is repeated whole unless it takes more than 1/4 of the room."""
MESSAGE_TOKENS = 4
"""What a message costs beside its text: OpenAI's rule of thumb."""
NO_LONGER = "[It is not shown any more; your owner can give it again.]"
KINDS = {
    ".py": "Python source",
    ".js": "JavaScript source",
    ".ts": "TypeScript source",
    ".rs": "Rust source",
    ".go": "Go source",
    ".c": "C source",
    ".h": "C source",
    ".java": "Java source",
    ".sh": "shell script",
    ".md": "Markdown",
    ".json": "JSON",
    ".toml": "TOML",
    ".yaml": "YAML",
    ".yml": "YAML",
    ".html": "HTML",
    ".css": "CSS",
    ".csv": "CSV",
    ".log": "log",
}

Measure = Callable[[Sequence[Message]], int]
"""Tokens of some messages."""
Shown = Callable[[ToolResultEntry, ToolCall | None], ToolResultEntry]
"""How a result is shown to the model."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The messages to send, their tokens, and how many of the oldest turns had to leave."""

    messages: tuple[Message, ...]
    tokens: int
    left_out: int = 0


def measure(said: Sequence[Message]) -> int:
    """Tokens of messages, estimated: text and tool calls, and a little for each message."""
    return sum(
        MESSAGE_TOKENS
        + estimate_tokens(message.content)
        + sum(picture.tokens for picture in message.pictures)
        + sum(
            estimate_tokens(call.name + json.dumps(dict(call.arguments), ensure_ascii=False))
            for call in message.tool_calls
        )
        for message in said
    )


def render(history: History, *, left_out: int = 0) -> list[Message]:
    """The history as messages: the first request, the summary of what followed, the turns.

    The summary is the assistant's, so that nothing in it speaks with the owner's voice.
    """
    return messages(history.turns, _head(history, left_out, None))


def fit(history: History, room: int, measured: Measure = measure) -> Fitted:
    """The messages of the history within `room` tokens.

    Each turn that may be shown is looked at once, the newest first. Raises ModelError (overflow)
    if the last turn alone is too long.
    """
    turns, limit = history.turns, max(0, room) // FIRST_REQUEST_SHARE
    for old in sorted({_stepped(len(turns)), _old(len(turns))}):
        fitted = _newest(history, old, room, measured)
        if fitted.left_out == 0 and fitted.tokens <= room:
            return fitted
    if fitted.tokens > room and turns:
        head = _head(history, fitted.left_out, limit)
        last = _shortened(_with_results(turns[-1], cut), room - measured(head), measured)
        said = joined(head, messages((last,)))
        fitted = Fitted(tuple(said), measured(said), fitted.left_out)
    if fitted.tokens <= room:
        return fitted
    raise ModelError(
        f"the last message and its tool results are too long for the model "
        f"({fitted.tokens:,} tokens, {max(room, 0):,} are free)",
        "Send less at once, or choose a model with a larger window",
        kind=ModelFailure.OVERFLOW,
    )


def _head(history: History, left_out: int, first_limit: int | None) -> list[Message]:
    """What stands for the turns that are not shown."""
    said: list[Message] = []
    if history.compaction or left_out:
        first = history.first
        if first_limit is not None and estimate_tokens(first) > first_limit:
            first = f"{first[: first_limit * 4]}\n[Cut: the rest of this request is left out.]"
        say(said, "user", first)
    if history.compaction:
        say(said, "assistant", f"[Summary of what followed]\n{history.compaction.summary}")
    if left_out:
        say(said, "assistant", f"[{left_out} older turns are left out to fit the model's window]")
    return said


def _newest(history: History, old: int, room: int, measured: Measure) -> Fitted:
    """As many of the newest turns as fit, one at least; the results in the first `old` are aged."""
    turns, limit = history.turns, max(0, room) // FIRST_REQUEST_SHARE
    head = _head(history, 0, limit)
    left_out, tokens = len(turns), 0
    shown: list[list[Message]] = []
    while left_out:
        said = messages((_seen(turns, left_out - 1, old),))
        cost = measured(said)
        if shown and measured(head) + tokens + cost > room:
            break
        shown.append(said)
        left_out, tokens = left_out - 1, tokens + cost
    head = _head(history, left_out, limit)
    while shown[1:] and measured(head) + tokens > room:
        left_out, tokens = left_out + 1, tokens - measured(shown.pop())
        head = _head(history, left_out, limit)
    whole = reduce(joined, reversed(shown), head)
    return Fitted(tuple(whole), measured(whole), left_out)


def view(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """What the model is shown of whole turns: old results as a summary, long ones cut."""
    old = _old(len(turns))
    return tuple(_seen(turns, number, old) for number in range(len(turns)))


def _seen(turns: Sequence[Turn], number: int, old: int) -> Turn:
    if number < old:
        return _with_results(_without_pictures(turns[number]), summarised)
    return _with_results(turns[number], cut)


def _without_pictures(turn: Turn) -> Turn:
    """The turn with pictures named and no longer shown."""
    if not any(isinstance(each, AttachmentEntry) and each.picture for each in turn.entries):
        return turn
    return replace(turn, entries=tuple(map(_named_only, turn.entries)))


def _named_only(entry: Entry) -> Entry:
    if isinstance(entry, AttachmentEntry) and entry.picture:
        return replace(entry, text=f"{entry.text}\n{NO_LONGER}", picture="")
    return entry


def _old(turns: int) -> int:
    """How many turns have results that are old."""
    return max(0, turns - 1 - WHOLE_RESULTS)


def _stepped(turns: int) -> int:
    """The same in steps, so that a request begins as the one before it did, which its provider
    has read and kept."""
    return _old(turns) // AGING_STEP * AGING_STEP


def summarised(result: ToolResultEntry, call: ToolCall | None = None) -> ToolResultEntry:
    """The result as one line on its size and kind, unless it is shorter itself."""
    size = len(result.content.encode("utf-8", "replace"))
    lines = result.content.count("\n") + 1
    verb = "Failed with" if result.error else "Returned"
    line = f"[Summary: {verb} {size} bytes ({lines} lines) of {_kind(result, call)}]"
    return result if len(result.content) <= len(line) else replace(result, content=line)


def cut(result: ToolResultEntry, call: ToolCall | None = None) -> ToolResultEntry:
    """The result within `RESULT_LIMIT`, with a notice how to read on."""
    text = result.content
    if len(text) <= RESULT_LIMIT:
        return result
    shown = text[:RESULT_LIMIT]
    notice = (
        f"\n[Cut: {RESULT_LIMIT:,} of {len(text):,} characters are shown, to line "
        f"{shown.count(chr(10)) + 1}. To read on, call {result.tool} for the part after that.]"
    )
    return replace(result, content=shown + notice)


def _shortened(turn: Turn, room: int, measured: Measure) -> Turn:
    """The turn with as many of its oldest results summarised as it takes, or all but the last."""
    results, aged = _results(turn), _results(_with_results(turn, summarised))
    tokens = measured(messages((turn,)))
    for count, (result, line) in enumerate(zip(results, aged, strict=True), start=1):
        tokens -= _size(result, measured) - _size(line, measured)
        if tokens <= room or count == len(results) - 1:
            return _with_results(turn, _summarising(results[:count]))
    return turn


def _size(result: ToolResultEntry, measured: Measure) -> int:
    return measured((Message("tool", result.content),))


def _results(turn: Turn) -> list[ToolResultEntry]:
    return [entry for entry in turn.entries if isinstance(entry, ToolResultEntry)]


def _summarising(results: Iterable[ToolResultEntry]) -> Shown:
    ids = {result.id for result in results}

    def shown(result: ToolResultEntry, call: ToolCall | None) -> ToolResultEntry:
        return summarised(result, call) if result.id in ids else result

    return shown


def _with_results(turn: Turn, shown: Shown) -> Turn:
    if not _results(turn):
        return turn
    calls: dict[str, ToolCall] = {}
    entries = []
    for entry in turn.entries:
        match entry:
            case AssistantEntry(tool_calls=asked):
                calls |= {call.id: call for call in asked}
            case ToolResultEntry():
                entry = shown(entry, calls.get(entry.call_id))
        entries.append(entry)
    return replace(turn, entries=tuple(entries))


def _kind(result: ToolResultEntry, call: ToolCall | None) -> str:
    """What a result is made of: by the path that was asked for, else by its first character."""
    path = call.arguments.get("path") if call else None
    named = KINDS.get(PurePosixPath(path).suffix.lower()) if isinstance(path, str) else None
    return named or ("JSON" if result.content.lstrip()[:1] in ("{", "[") else "text")
