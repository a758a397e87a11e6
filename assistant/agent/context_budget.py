"""What of a model's window a request takes, and what of the history is shown in it.

In order, each step only if the ones before it do not suffice: results of earlier turns as one line
and long results cut (always); the oldest turns left out; the older results of the running turn as
one line; an error. All of it is a view: the transcript keeps everything.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from assistant.errors import ModelError, ModelFailure
from assistant.messages import Message, estimate_tokens
from assistant.model.base import UNKNOWN_WINDOW, ToolSpec
from assistant.session.entries import AttachmentEntry, Entry, ToolResultEntry
from assistant.session.history import History, Turn, history, joined, messages, say
from assistant.session.keeping import with_pictures
from assistant.session.transcript import Transcript
from assistant.tools.base import RESULT_LIMIT

if TYPE_CHECKING:
    from assistant.agent.prompt import Prompt

RATIOS = (0.5, 4.0)
"""Within these the provider's count may correct the estimate: code and CJK text cost more."""
SMALLEST_WINDOW = 4_096
"""No refusal makes us think a window smaller: then something else is wrong with the request."""
LEAST_ROOM = 64
"""Tokens that a conversation needs at least beside the prompt and the answer."""
WHOLE_RESULTS = 4
"""Results of this many turns before the running one are shown whole."""
AGING_STEP = 8
"""While there is room, the results of so many turns age at once: in between a request begins as the
one before it did, which its provider has cached."""
FIRST_REQUEST_SHARE = 4
"""The first request is repeated whole unless it takes more than 1/4 of the room."""
MESSAGE_TOKENS = 4
"""What a message costs beside its text: OpenAI's rule of thumb."""
NO_LONGER = "[It is not shown any more; your owner can give it again.]"

Measure = Callable[[Sequence[Message]], int]
"""Tokens of some messages."""


class ContextBudget:
    """The tokens of one model's window, the estimate corrected by what its provider reports.

    `left_out` is how many of the oldest turns may be missing from a request; `sent` what the
    latest was estimated to cost, None if it could not be made.
    """

    def __init__(self, window: int | None, reserve: int) -> None:
        self.window = window or UNKNOWN_WINDOW
        self.left_out = 0
        self.sent: int | None = None
        self._reserve = reserve
        self._ratio = 1.0

    @property
    def reserve(self) -> int:
        """Tokens kept free for the reply: the setting, or a quarter of a small window."""
        return min(self._reserve, self.window // 4)

    def measured(self, said: Sequence[Message]) -> int:
        """Tokens of messages."""
        return math.ceil(measure(said) * self._ratio)

    def specs(self, tools: Sequence[ToolSpec]) -> int:
        """Tokens of tool descriptions."""
        texts = (json.dumps([tool.name, tool.description, dict(tool.parameters)]) for tool in tools)
        return math.ceil(sum(map(estimate_tokens, texts)) * self._ratio)

    def room(self, system: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """Tokens left for the history; negative if the prompt alone is too long."""
        return self.window - self.reserve - self.measured(system) - self.specs(tools)

    def learn(self, reported: int) -> None:
        """Correct the estimate: the latest request has cost so many tokens."""
        if self.sent and reported:
            least, most = RATIOS
            self._ratio = min(most, max(least, self._ratio * reported / self.sent))

    def refused(self, window: int) -> None:
        """The provider found the latest request too long, if it was one that could be made.

        `window` is the model's, as its provider may have said.
        """
        if self.sent is not None:
            self.window = min(self.window, max(self.sent, SMALLEST_WINDOW))
        self.window = min(self.window, window)

    def request(
        self, prompt: "Prompt", record: Transcript, specs: Sequence[ToolSpec]
    ) -> Sequence[Message]:
        """The messages to send. Raises ModelError (overflow) if more than `left_out` must go."""
        self.sent = None
        shown = history(record.entries)
        fitted = self._fitted(prompt, shown, specs)
        if fitted.left_out > self.left_out:
            raise ModelError("the history is too long", kind=ModelFailure.OVERFLOW)
        self.sent = self.measured(prompt.system) + self.specs(specs) + fitted.tokens
        said = [with_pictures(record, message) for message in fitted.messages]
        return [*prompt.system, *marked(said, shown.turns[-2:])]

    def needed(self, prompt: "Prompt", record: Transcript, specs: Sequence[ToolSpec]) -> int:
        """How many of the oldest turns must go. Raises ModelError if the last alone is too long."""
        return self._fitted(prompt, history(record.entries), specs).left_out

    def fullness(self, prompt: "Prompt", record: Transcript, specs: Sequence[ToolSpec]) -> float:
        """The share of the room for the history that it takes; over 1 if it does not fit."""
        room = self.room([*prompt.system, Message("user", prompt.briefing)], specs)
        tokens = self.measured(rendered(history(record.entries)))
        return tokens / room if room > 0 else float("inf")

    def _fitted(self, prompt: "Prompt", shown: History, specs: Sequence[ToolSpec]) -> "Fitted":
        """The history in what the system prompt and the tools leave of the window."""
        room = self.room(prompt.system, specs)
        if room < LEAST_ROOM:
            text, tools = self.measured(prompt.system), self.specs(specs)
            raise ModelError(
                f"the prompt alone is too long for the model: it takes {text:,} tokens, the tools "
                f"{tools:,} and the answer {self.reserve:,}, of a window of {self.window:,}",
                "Shorten SOUL.md and its like (`assistant context` shows each part), or set a "
                "larger window: `assistant config set model.context_window …`",
                kind=ModelFailure.OVERFLOW,
            )
        briefed = (replace(turn, briefing=prompt.briefing) for turn in shown.turns[-1:])
        turns = (*shown.turns[:-1], *briefed)
        return fit(replace(shown, turns=turns), room, self.measured)


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


def marked(said: Sequence[Message], latest: Sequence[Turn]) -> list[Message]:
    """The messages with marks up to which a provider may cache what it has read.

    At the end of what came before each of the latest turns: this request finds what the one
    before it has left there. And at the end, where the turn's own calls go on from.
    """
    marks = {len(said) - 1} if said and said[-1].role == "tool" else set()
    end = len(said)
    for turn in reversed(latest):
        end -= len(messages((turn,)))
        marks.add(end - 1)
    return [
        replace(message, cache=True) if position in marks else message
        for position, message in enumerate(said)
    ]


# The history within the room that is left


@dataclass(frozen=True, slots=True)
class Fitted:
    """The messages to send, their tokens, and how many of the oldest turns had to leave."""

    messages: tuple[Message, ...]
    tokens: int
    left_out: int = 0


def rendered(shown: History) -> list[Message]:
    """The history as the model is shown it while all of it fits."""
    old = _old(len(shown.turns), 1)
    turns = (_seen(turn, old=number < old) for number, turn in enumerate(shown.turns))
    return messages(turns, _head(shown))


def fit(shown: History, room: int, measured: Measure = measure) -> Fitted:
    """The messages of the history within `room` tokens.

    Only turns that may be shown are looked at, the newest first. Raises ModelError (overflow) if
    the last turn alone is too long.
    """
    count = len(shown.turns)
    for old in sorted({_old(count, AGING_STEP), _old(count, 1)}):
        fitted = _newest(shown, old, room, measured)
        if fitted.left_out == 0 and fitted.tokens <= room:
            return fitted
    if fitted.tokens > room and count:
        head = _head(shown, fitted.left_out, room)
        last = _shortened(_seen(shown.turns[-1], old=False), room - measured(head), measured)
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


def _newest(shown: History, old: int, room: int, measured: Measure) -> Fitted:
    """As many of the newest turns as fit, one at least; the results of the first `old` are aged."""
    whole, part = _head(shown), _head(shown, len(shown.turns), room)
    fitting: list[list[Message]] = []
    tokens = 0
    for number in reversed(range(len(shown.turns))):
        said = messages((_seen(shown.turns[number], old=number < old),))
        cost = measured(said)
        if fitting and measured(part if number else whole) + tokens + cost > room:
            break
        fitting.append(said)
        tokens += cost
    left_out = len(shown.turns) - len(fitting)
    head = _head(shown, left_out, room)
    tokens += measured(head)
    said = reduce(joined, reversed(fitting), head)
    return Fitted(tuple(said), tokens, left_out)


def _head(shown: History, left_out: int = 0, room: int | None = None) -> list[Message]:
    """What stands for the turns that are not shown: the first request, the summary of what
    followed. It is the assistant's, so that nothing in it speaks with the owner's voice.
    """
    said: list[Message] = []
    if shown.compaction or left_out:
        first = shown.first
        limit = None if room is None else max(0, room) // FIRST_REQUEST_SHARE
        if limit is not None and estimate_tokens(first) > limit:
            first = f"{first[: limit * 4]}\n[Cut: the rest of this request is left out.]"
        say(said, "user", first)
    if shown.compaction:
        say(said, "assistant", f"[Summary of what followed]\n{shown.compaction.summary}")
    if left_out:
        say(said, "assistant", f"[{left_out} older turns are left out to fit the model's window]")
    return said


def _old(turns: int, step: int) -> int:
    """How many of so many turns have results that are old."""
    return max(0, turns - 1 - WHOLE_RESULTS) // step * step


def _seen(turn: Turn, *, old: bool) -> Turn:
    """What the model is shown of a turn: old results as one line, pictures named; long ones cut."""

    def seen(entry: Entry) -> Entry:
        match entry:
            case ToolResultEntry():
                return summarised(entry) if old else cut(entry)
            case AttachmentEntry() if old and entry.picture:
                return replace(entry, text=f"{entry.text}\n{NO_LONGER}", picture="")
        return entry

    return replace(turn, entries=tuple(map(seen, turn.entries)))


def _shortened(turn: Turn, room: int, measured: Measure) -> Turn:
    """The turn with as many of its oldest results as one line as it takes, or all but the last."""
    results = [entry for entry in turn.entries if isinstance(entry, ToolResultEntry)]
    excess = measured(messages((turn,))) - room
    short: dict[str, ToolResultEntry] = {}
    for result in results[:-1]:
        if excess <= 0:
            break
        line = short[result.id] = summarised(result)
        before, after = (measured((Message("tool", each.content),)) for each in (result, line))
        excess -= before - after
    return replace(turn, entries=tuple(short.get(entry.id, entry) for entry in turn.entries))


def summarised(result: ToolResultEntry) -> ToolResultEntry:
    """The result as one line on its size, unless it is shorter itself."""
    size = len(result.content.encode("utf-8", "replace"))
    verb = "Failed with" if result.error else "Returned"
    line = f"[Summary: {verb} {size} bytes ({result.content.count(chr(10)) + 1} lines)]"
    return result if len(result.content) <= len(line) else replace(result, content=line)


def cut(result: ToolResultEntry) -> ToolResultEntry:
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
