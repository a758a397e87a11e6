"""Fitting the history into the model's window. Pure: turns in, turns or messages out.

In order, each step only if the ones before it do not suffice: results of earlier turns shown as a
summary and long results cut (always); the oldest turns left out; the older results of the turn
that is running shown as a summary; an error. All of it is a view: the transcript keeps everything.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from assistant.errors import ModelError, ModelFailure
from assistant.messages import Message, ToolCall, estimate_tokens
from assistant.session.entries import AssistantEntry, ToolResultEntry
from assistant.session.turns import History, Turn, messages, say

WHOLE_RESULTS = 4
"""Results of this many turns before the running one are shown whole."""
RESULT_LIMIT = 20_000
"""Characters of one result that are shown."""
FIRST_REQUEST_SHARE = 4
"""The first request is repeated whole unless it takes more than 1/4 of the room."""
MESSAGE_TOKENS = 4
"""What a message costs beside its text: OpenAI's rule of thumb."""
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
        + sum(
            estimate_tokens(call.name + json.dumps(dict(call.arguments), ensure_ascii=False))
            for call in message.tool_calls
        )
        for message in said
    )


def render(history: History, *, left_out: int = 0, first_limit: int | None = None) -> list[Message]:
    """The history as messages: the first request, the summary of what followed, the turns.

    The summary is the assistant's, so that nothing in it speaks with the owner's voice.
    """
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
    return messages(history.turns, said)


def fit(history: History, room: int, measured: Measure = measure) -> Fitted:
    """The messages of the history within `room` tokens.

    Raises ModelError (overflow) if the last turn alone is too long.
    """
    turns = view(history.turns)
    least = max(0, len(turns) - 1)
    for left_out in range(least + 1):
        fitted = _attempt(history, turns[left_out:], left_out, room, measured)
        if fitted.tokens <= room:
            return fitted
    for running in shortened(turns[-1]) if turns else ():
        fitted = _attempt(history, (running,), least, room, measured)
        if fitted.tokens <= room:
            return fitted
    raise ModelError(
        f"the last message and its tool results are too long for the model "
        f"({fitted.tokens:,} tokens, {max(room, 0):,} are free)",
        "Send less at once, or choose a model with a larger window",
        kind=ModelFailure.OVERFLOW,
    )


def view(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """What the model is shown of whole turns: old results as a summary, long ones cut."""
    old = max(0, len(turns) - 1 - WHOLE_RESULTS)
    aged = [_with_results(turn, summarised) for turn in turns[:old]]
    return (*aged, *(_with_results(turn, cut) for turn in turns[old:]))


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


def shortened(turn: Turn) -> Iterator[Turn]:
    """The turn with its oldest result summarised, then its two oldest, … all but the last."""
    results = [entry.id for entry in turn.entries if isinstance(entry, ToolResultEntry)]
    for count in range(1, len(results)):
        yield _with_results(turn, _summarising(set(results[:count])))


def _summarising(ids: set[str]) -> Shown:
    def shown(result: ToolResultEntry, call: ToolCall | None) -> ToolResultEntry:
        return summarised(result, call) if result.id in ids else result

    return shown


def _attempt(
    history: History, turns: Sequence[Turn], left_out: int, room: int, measured: Measure
) -> Fitted:
    shown = replace(history, turns=tuple(turns))
    said = render(shown, left_out=left_out, first_limit=max(0, room) // FIRST_REQUEST_SHARE)
    return Fitted(tuple(said), measured(said), left_out)


def _with_results(turn: Turn, shown: Shown) -> Turn:
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
