"""The context budget: fitting the history into a model's window.

The steps, each taken only if the previous ones do not suffice: old results are reduced to one line
(always); the oldest turns are left out; the older results of the running turn are reduced to one
line; its longest texts are cut, with a note on how to read on; what memory holds is left out; the
prompt's files are cut; an error is raised. All of this is only a view: the transcript keeps
everything.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import structs

from assistant.errors import ModelError, ModelFailure
from assistant.messages import Message, Picture, estimate_tokens, request_tokens
from assistant.model.base import UNKNOWN_WINDOW, ToolSpec
from assistant.session.entries import (
    AttachmentEntry,
    Entry,
    ToolResultEntry,
    text_of,
    texts_of,
    whole_text,
    with_text,
)
from assistant.session.history import History, Turn, history, joined, messages, say
from assistant.session.keeping import with_pictures
from assistant.session.transcript import Transcript
from assistant.tools.base import MOST_PICTURES, part_of

if TYPE_CHECKING:
    from assistant.agent.prompt import Prompt

RATIOS = (0.5, 4.0)
"""Bounds of the correction by the provider's token count: code and CJK text cost more."""
SMALLEST_WINDOW = 4_096
"""A rejection never lowers the window below this: something else must be wrong with the request."""
LEAST_ROOM = 64
"""The minimum tokens that the history needs in addition to the prompt and the answer."""
WHOLE_RESULTS = 4
"""The results of this many turns before the running one are shown in full."""
AGING_STEP = 8
"""While there is room, the results of this many turns are reduced at once: in between, each request
begins like the previous one, which the provider has cached."""
FIRST_REQUEST_SHARE = 4
"""The first request is repeated in full unless it takes more than 1/4 of the room."""
MESSAGE_TOKENS = 4
"""The cost of a message in addition to its text: OpenAI's rule of thumb."""
CUT_ROOM = 200
"""The maximum length of a cut's notice in characters."""
LEAST_TEXT = 120
"""The length in characters up to which a text is not cut: the notice is as long."""
NO_NUMBERS: Mapping[str, int] = MappingProxyType({})
NO_LONGER = "[No longer shown; it can be sent again.]"

Measure = Callable[[Sequence[Message]], int]
"""Returns the tokens of some messages."""


class ContextBudget:
    """The tokens of one model's window; estimates are corrected by what its provider reports.

    `left_out` is the number of the oldest turns that a request may omit. `sent` is the estimated
    cost of the latest request, None if it could not be built.
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

    def measured(self, messages: Sequence[Message]) -> int:
        """Return the tokens of messages."""
        return math.ceil(measure(messages) * self._ratio)

    def specs(self, tools: Sequence[ToolSpec]) -> int:
        """Return the tokens of tool descriptions."""
        return math.ceil(sum(tool.tokens for tool in tools) * self._ratio)

    def room(self, system: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """Return the tokens left for the history; negative if the prompt alone is too long."""
        return self.window - self.reserve - self.measured(system) - self.specs(tools)

    def tools_dropped(self, reported: int, tools: Sequence[ToolSpec]) -> bool:
        """Return whether the provider's first count covers only the messages, without the tools.

        Only determined if the tools are a third of the request, as the estimate is not exact:
        providers that encode tools compactly count less than half of their JSON.
        """
        cost = sum(tool.tokens for tool in tools)
        if self._ratio != 1 or not self.sent or 3 * cost < self.sent:
            return False
        message_tokens = self.sent - cost
        return 0.5 * message_tokens < reported < 1.1 * message_tokens

    def learn(self, reported: int) -> None:
        """Correct the estimate by the tokens that the provider reported for the latest request."""
        if self.sent and reported:
            least, most = RATIOS
            self._ratio = min(most, max(least, self._ratio * reported / self.sent))

    def refused(self, window: int) -> None:
        """Lower the window because the provider rejected the latest request as too long.

        `window` is the model's window, which the provider may have stated.
        """
        if self.sent is not None:
            self.window = min(self.window, max(self.sent, SMALLEST_WINDOW))
        self.window = min(self.window, window)
        if self.sent is not None and self.sent < self.window:  # it was estimated too low
            self._ratio = min(RATIOS[1], self._ratio * self.window / self.sent)

    def request(
        self, prompt: "Prompt", record: Transcript, specs: Sequence[ToolSpec]
    ) -> Sequence[Message]:
        """Return the messages to send. Raises ModelError (overflow) if `left_out` is too low."""
        self.sent = None
        system, fitted = self._fit_history(prompt, record, specs)
        if fitted.left_out > self.left_out:
            raise ModelError("the history is too long", kind=ModelFailure.OVERFLOW)
        self.sent = self.measured([system]) + self.specs(specs) + fitted.tokens
        messages = [with_pictures(record, message) for message in fitted.messages]
        return [system, *mark_for_cache(messages, history(record.entries).turns[-2:])]

    def needed(self, prompt: "Prompt", record: Transcript, specs: Sequence[ToolSpec]) -> int:
        """Return how many of the oldest turns must be omitted. Raises ModelError if the last alone
        is too long."""
        return self._fit_history(prompt, record, specs)[1].left_out

    def fullness(self, prompt: "Prompt", record: Transcript, specs: Sequence[ToolSpec]) -> float:
        """Return the share of its room that the history takes; over 1 if it does not fit."""
        room = self.room([prompt.system, Message("user", prompt.briefing)], specs)
        tokens = self.measured(rendered(history(record.entries)))
        return tokens / room if room > 0 else float("inf")

    def _fit_history(
        self, prompt: "Prompt", record: Transcript, specs: Sequence[ToolSpec]
    ) -> tuple[Message, "Fitted"]:
        """Fit the history into what the system message and the tools leave of the window; return
        that message too, shortened if the last turn would not fit otherwise."""
        room = self.room([prompt.system], specs)
        if room < LEAST_ROOM and self._ratio > 1:  # learned from another kind of text
            self._ratio = 1.0
        past = history(record.entries)
        older, latest = past.turns[:-1], past.turns[-1:]
        for system, briefing in prompt.ever_shorter():
            room = self.room([system], specs)
            briefed = (replace(turn, briefing=briefing) for turn in latest)
            fitting = replace(past, turns=(*older, *briefed))
            try:
                return system, fit(fitting, room, self.measured, numbers_in(record))
            except ModelError as error:
                failure = error
        costs = (
            f"the prompt takes {self.measured([system]):,} tokens, the tools {self.specs(specs):,} "
            f"and the answer {self.reserve:,}, of a window of {self.window:,}"
        )
        if room >= LEAST_ROOM:
            raise ModelError(f"{failure.message}: {costs}", failure.cure, kind=failure.kind)
        raise ModelError(
            f"the prompt alone is too long for the model: {costs}",
            "Shorten SOUL.md or similar files (`assistant context` shows each part), or set a "
            "larger window: `assistant config set model.context_window …`",
            kind=ModelFailure.OVERFLOW,
        )


def numbers_in(record: Transcript) -> dict[str, int]:
    """Return the number that `read_on` uses for each text of a session, by the entry's id."""
    return {id_: number for number, id_ in enumerate(texts_of(record.entries), 1)}


def measure(messages: Sequence[Message]) -> int:
    """Estimate the tokens of messages: text, pictures, tool calls, and a constant for each."""
    return sum(
        MESSAGE_TOKENS
        + request_tokens(message.content)
        + sum(picture.tokens for picture in message.pictures)
        + sum(
            request_tokens(call.name + json.dumps(dict(call.arguments), ensure_ascii=False))
            for call in message.tool_calls
        )
        for message in messages
    )


def mark_for_cache(sent: Sequence[Message], latest: Sequence[Turn]) -> list[Message]:
    """Mark the messages up to which a provider may cache the request.

    One mark is before each of the latest turns, where the previous request's cache ends; another is
    at the end if the turn continues after tool calls.
    """
    marks = {len(sent) - 1} if sent and sent[-1].role == "tool" else set()
    end = len(sent)
    for turn in reversed(latest):
        end -= len(messages((turn,)))
        marks.add(end - 1)
    return [
        replace(message, cache=True) if position in marks else message
        for position, message in enumerate(sent)
    ]


# The history within the remaining room


@dataclass(frozen=True, slots=True)
class Fitted:
    """The messages to send, their tokens, and how many of the oldest turns are left out."""

    messages: tuple[Message, ...]
    tokens: int
    left_out: int = 0


def rendered(past: History) -> list[Message]:
    """Return the history as the model sees it while all of it fits."""
    old = _count_reduced(len(past.turns), 1)
    turns = (_as_sent(turn, old=number < old) for number, turn in enumerate(past.turns))
    return messages(turns, _head(past))


def fit(
    past: History,
    room: int,
    measured: Measure = measure,
    numbers: Mapping[str, int] = NO_NUMBERS,
) -> Fitted:
    """Return the messages of the history that fit in `room` tokens.

    Examines only turns that may fit, newest first. Texts of the last turn that have a number may be
    cut; the remainder may leave no room for the replacement of the older turns. Raises ModelError
    (overflow) if the last turn alone is too long.
    """
    count = len(past.turns)
    for old in sorted({_count_reduced(count, AGING_STEP), _count_reduced(count, 1)}):
        fitted = _newest(past, old, room, measured)
        if fitted.left_out == 0 and fitted.tokens <= room:
            return fitted
    for head in (_head(past, fitted.left_out, room), []) if count else ():
        if fitted.tokens <= room:
            break
        left = room - measured(head)
        last = _shortened(_as_sent(past.turns[-1], old=False), left, measured)
        last = _cut(last, left, measured, numbers)
        fitted_messages = joined(head, messages((last,)))
        fitted = Fitted(tuple(fitted_messages), measured(fitted_messages), fitted.left_out)
    if fitted.tokens <= room:
        return fitted
    raise ModelError(
        f"the last message and its tool results are too long for the model "
        f"({fitted.tokens:,} tokens, {max(room, 0):,} are free)",
        "Send less at once, or choose a model with a larger window",
        kind=ModelFailure.OVERFLOW,
    )


def _newest(past: History, old: int, room: int, measured: Measure) -> Fitted:
    """Return the newest turns that fit, at least one; results of the first `old` are reduced."""
    whole, part = _head(past), _head(past, len(past.turns), room)
    newest: list[list[Message]] = []
    tokens = 0
    for number in reversed(range(len(past.turns))):
        turn_messages = messages((_as_sent(past.turns[number], old=number < old),))
        cost = measured(turn_messages)
        if newest and measured(part if number else whole) + tokens + cost > room:
            break
        newest.append(turn_messages)
        tokens += cost
    left_out = len(past.turns) - len(newest)
    head = _head(past, left_out, room)
    tokens += measured(head)
    sent = reduce(joined, reversed(newest), head)
    return Fitted(tuple(sent), tokens, left_out)


def _head(past: History, left_out: int = 0, room: int | None = None) -> list[Message]:
    """Return the replacement of omitted turns: the first request and the summary of the rest.

    The summary is the assistant's message, so nothing in it passes for the owner's words.
    """
    head: list[Message] = []
    if past.compaction or left_out:
        first = past.first
        limit = None if room is None else max(0, room) // FIRST_REQUEST_SHARE
        if limit is not None and estimate_tokens(first) > limit:
            first = f"{first[: limit * 4]}\n[Cut: the rest of this request is left out.]"
        say(head, "user", first)
    if past.compaction:
        say(head, "assistant", f"[Summary of what followed]\n{past.compaction.summary}")
    if left_out:
        say(head, "assistant", f"[{left_out} older turns are left out to fit the model's window]")
    return head


def _count_reduced(turns: int, step: int) -> int:
    """Return how many of the oldest of `turns` turns have their results reduced to one line."""
    return max(0, turns - 1 - WHOLE_RESULTS) // step * step


def _as_sent(turn: Turn, *, old: bool) -> Turn:
    """Return a turn as the model sees it: old results as one line, old pictures by name, and tools'
    pictures by name except the newest."""
    gone = {entry.id for entry in _returned_pictures(turn)[:-MOST_PICTURES]}
    entries = (_reduced(entry) if old or entry.id in gone else entry for entry in turn.entries)
    return replace(turn, entries=tuple(entries))


def _returned_pictures(turn: Turn) -> list[Entry]:
    """Return the pictures that came with results."""
    return [e for e in turn.entries if isinstance(e, AttachmentEntry) and e.call_id and e.picture]


def _reduced(entry: Entry) -> Entry:
    """Return a result as one line, or a picture by name."""
    match entry:
        case ToolResultEntry():
            return summarised(entry)
        case AttachmentEntry() if entry.picture:
            return structs.replace(entry, text=f"{entry.text}\n{NO_LONGER}", picture="")
    return entry


def _shortened(turn: Turn, room: int, measured: Measure) -> Turn:
    """Reduce the turn's results to one line, the oldest first and pictures before texts, until it
    fits; of the last result only its picture."""
    pictures = _returned_pictures(turn)
    results = [entry for entry in turn.entries if isinstance(entry, ToolResultEntry)]
    excess = measured(messages((turn,))) - room
    lines: dict[str, Entry] = {}
    for entry in (*pictures[:-1], *results[:-1], *pictures[-1:]):
        if excess <= 0:
            break
        line = lines[entry.id] = _reduced(entry)
        full, short = (measured((_as_message(item),)) for item in (entry, line))
        excess -= full - short
    return replace(turn, entries=tuple(lines.get(entry.id, entry) for entry in turn.entries))


def _as_message(entry: Entry) -> Message:
    if isinstance(entry, AttachmentEntry) and entry.picture:
        return Message("user", entry.text, pictures=(Picture(entry.picture, *entry.size),))
    return Message("user", text_of(entry))


def _cut(turn: Turn, room: int, measured: Measure, numbers: Mapping[str, int]) -> Turn:
    """Cut the longest numbered texts of the turn until it fits; none to less than a notice."""
    excess = measured(messages((turn,))) - room
    for entry in sorted(turn.entries, key=lambda entry: -len(text_of(entry))):
        text = text_of(entry)
        if excess <= 0 or entry.id not in numbers or len(text) <= LEAST_TEXT:
            continue
        cost = measured((Message("tool", text),))
        end = max(0, (cost - excess) * len(text) // cost - CUT_ROOM)
        shown = with_text(entry, part_of(whole_text(entry), numbers[entry.id], 0, end))
        turn = replace(turn, entries=tuple(shown if e is entry else e for e in turn.entries))
        excess = measured(messages((turn,))) - room
    return turn


def summarised(result: ToolResultEntry) -> ToolResultEntry:
    """Return the result as one line about its size, unless the result itself is shorter."""
    size = len(result.content.encode("utf-8", "replace"))
    verb = "Failed with" if result.error else "Returned"
    line = f"[Summary: {verb} {size} bytes ({result.content.count(chr(10)) + 1} lines)]"
    return result if len(result.content) <= len(line) else structs.replace(result, content=line)
