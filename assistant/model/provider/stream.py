"""Assembles a streamed reply from litellm's chunks: text, reasoning and tool calls."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn

from assistant.characters import SURROGATE, mend
from assistant.events import ReasoningDelta, TextDelta
from assistant.messages import Reply, ToolCall, Usage
from assistant.tables import table_of

# Tool calls: a provider may merge parallel ones under one index (Ollama), repeat an ID, omit it, or
# truncate the JSON. So a delta opens a new call if it has a name and its ID is new or, without an
# ID, if the previous call is already complete; and a call is run only if its name and its arguments
# are valid.

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Tool names that OpenAI and Anthropic accept."""
SPARE_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
"""A string, or a comma before a closing bracket outside strings."""
FENCED = re.compile(r"\s*```(?:json)?\s*\n(?P<inside>.*)\n\s*```\s*", re.DOTALL)
AGAIN = "send the call again"


@dataclass(slots=True)
class CallDelta:
    """A tool call, or a piece of one as received: any part may be missing."""

    index: int | None = None
    id: str = ""
    name: str = ""
    arguments: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are already one JSON object, so that no more can belong to it."""
        try:
            return bool(self.arguments.strip()) and decode_arguments(self.arguments) is not None
        except ValueError:
            return False


class Calls:
    """The calls of a reply while it streams; an ID may be missing or repeated."""

    def __init__(self) -> None:
        self._calls: list[CallDelta] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, delta: CallDelta) -> None:
        """Add a piece of a call."""
        call = self._continued(delta)
        if call is None:
            index = len(self._calls) if delta.index is None else delta.index
            call = CallDelta(index)
            self._calls.append(call)
        call.id = call.id or delta.id
        call.name = call.name or delta.name
        call.arguments += delta.arguments

    def sound(self, *, ended: bool) -> Iterator[ToolCall]:
        """Yield the calls; an invalid one has a fault. `ended`: the reply is complete."""
        for call in self._calls:
            yield sound_call(call.id, call.name, mend(call.arguments), ended=ended)

    def _continued(self, delta: CallDelta) -> CallDelta | None:
        """Return the call that this delta continues, or None if it starts a new one."""
        candidates = [call for call in self._calls if delta.index in (None, call.index)]
        if not candidates:
            return None
        last = candidates[-1]
        if delta.id and (with_id := [call for call in candidates if call.id == delta.id]):
            return with_id[-1]
        if delta.name and last.name and (last.is_whole or (delta.id and last.id)):
            return None
        return last


def sound_call(identity: str, name: str, arguments: str, *, ended: bool = True) -> ToolCall:
    """Return a call with its arguments decoded, or with a fault for the model."""
    if not TOOL_NAME.fullmatch(name):
        safe_name = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:64] or "unnamed"
        return ToolCall(identity, safe_name, fault=f"there is no tool named {name!r}")
    try:
        return ToolCall(identity, name, decode_arguments(arguments, ended=ended))
    except ValueError as error:
        return ToolCall(identity, name, fault=str(error))


def decode_arguments(text: str, *, ended: bool = True) -> dict[str, Any]:
    """Decode the arguments of a call. Empty text means none, if the reply `ended` normally.

    Models write JSON with raw line breaks and extra commas, or in a fence: only unambiguous
    mistakes are repaired. Truncated JSON is not completed, since the call would run with partial
    arguments. Raises ValueError, one line for the model, unless the text is one JSON object.
    """
    if not text.strip():
        if not ended:
            raise ValueError(f"the reply was cut off before the arguments; {AGAIN}")
        return {}
    fenced = FENCED.fullmatch(text)
    text = fenced["inside"] if fenced else text
    try:
        value = _loads(text)
    except (ValueError, RecursionError) as error:
        try:
            value = _loads(SPARE_COMMA.sub(lambda match: match[1] or "", text))
        except (ValueError, RecursionError):
            raise ValueError(f"the arguments are not valid JSON ({error}); {AGAIN}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"the arguments must be one JSON object; {AGAIN}")
    encoded = json.dumps(value, ensure_ascii=False)
    return dict(json.loads(mend(encoded))) if SURROGATE.search(encoded) else value


def _loads(text: str) -> Any:
    """Parse JSON, allowing control characters such as raw line breaks in strings."""
    return json.loads(text, strict=False, parse_constant=_no_constant)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# Finish reasons in one vocabulary: providers and servers use some sixty.

ENDED = frozenset({"stop", "tool_calls"})
"""The answer is complete."""
MALFORMED = "malformed_call"
"""The model made a call that its provider could not parse, and so did not pass on."""
UNKNOWN = "“"
"""The prefix of an unknown finish reason."""
QUOTED_LENGTH = 60
"""Maximum characters quoted of a provider's finish reason."""
MEANINGS: Mapping[str, str] = table_of(__file__)
"""Patterns in the providers' finish reasons; the first match counts. A provider's new reason mostly
consists of known words. An unknown reason is passed on if the response lacks something; otherwise
the response counts as complete."""
_ODD = re.compile(r"[^a-z0-9_.: -]")

Shown = Iterator[TextDelta | ReasoningDelta]


def ending(reason: str | None) -> str:
    """Translate the provider's finish reason to `Reply.finish_reason`, quoting an unknown one.

    None: the stream broke off.
    """
    if not reason:
        return "incomplete"
    word = reason.lower()
    meanings = (meaning for meaning, words in MEANINGS.items() if re.search(words, word))
    return next(meanings, f"{UNKNOWN}{_ODD.sub('', word)[:QUOTED_LENGTH]}”")


@dataclass(frozen=True, slots=True)
class Delta:
    """The content that a chunk adds. `blocks` are pieces of signed reasoning (Anthropic's)."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[CallDelta, ...] = ()
    blocks: tuple[Mapping[str, Any], ...] = ()

    @property
    def size(self) -> int:
        """The number of characters; 0 for a chunk that only keeps the stream alive."""
        arguments = sum(len(call.arguments) + len(call.name) for call in self.calls)
        return len(self.text) + len(self.reasoning) + arguments


@dataclass(slots=True)
class _GrowingText:
    """A growing text; half of a surrogate pair is held back until its other half arrives."""

    parts: list[str] = field(default_factory=list)
    pending: str = ""

    def add(self, piece: str, *, last: bool = False) -> str:
        """Add a piece and return the text that can be shown."""
        text = self.pending + piece
        self.pending = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" and not last else ""
        if visible := mend(text[: len(text) - len(self.pending)]):
            self.parts.append(visible)
        return visible

    @property
    def whole(self) -> str:
        """The text so far; empty if it is only white space, which providers refuse in a message."""
        text = "".join(self.parts)
        return text if text.strip() else ""


OPEN, CLOSE = "<think>", "</think>"
QUOTES = "`\"'“‘"


class Assembly:
    """Assembles one reply, and separates reasoning from its text, wherever pieces are split.

    Open models served without a reasoning parser write it into the text, before `</think>`. Some
    chat templates put `<think>` at the end of the prompt: then the text has only the end tag, and
    what came before it was not the reply. Such a model always does so: with `unopened` its text
    counts as reasoning from the first word, unless no tag closes it. Once the reply is complete,
    `unopened` says whether the model did so.
    """

    def __init__(self, *, unopened: bool = False) -> None:
        self.unopened = unopened
        self._state: Literal["head", "thinking", "unsure", "gap", "reply"] = "head"
        self._pending = ""
        self._text = _GrowingText()
        self._reasoning = _GrowingText()
        self._signed: list[Mapping[str, Any]] = []
        self._unsigned = ""
        self._calls = Calls()

    def add(self, delta: Delta) -> Shown:
        """Add a chunk and yield the text that can be shown."""
        for block in delta.blocks:
            self._sign(block)
        inline, text = self._split(delta.text)
        if thought := self._reasoning.add(delta.reasoning + inline):
            yield ReasoningDelta(thought)
        if visible := self._text.add(text):
            yield TextDelta(visible)
        for call in delta.calls:
            self._calls.add(call)

    def _split(self, piece: str) -> tuple[str, str]:
        """Add a piece of the text and return its reasoning and its reply."""
        self._pending += piece
        reasoning = ""
        if self._state == "head":
            start = self._pending.lstrip()
            if start.startswith(OPEN):
                self._pending, self._state = start.removeprefix(OPEN), "thinking"
                self.unopened = False
            elif OPEN.startswith(start):
                return "", ""
            else:
                self._state = "thinking" if self.unopened else "unsure"
        if self._state in ("thinking", "unsure"):
            end = self._end()
            if end < 0:
                return self._split_partial_tag()
            reasoning, self._pending = self._pending[:end], self._pending[end + len(CLOSE) :]
            if self._state == "unsure":
                self.unopened = True
                self._reasoning.parts += self._text.parts
                self._text = _GrowingText()
            self._state = "gap"
        if self._state == "gap":
            self._pending = self._pending.lstrip()
            self._state = "reply" if self._pending else "gap"
        reply, self._pending = self._pending, ""
        return reasoning, reply

    def _end(self) -> int:
        """Return the offset at which the reasoning ends in the pending text, or -1.

        An end tag without a start tag must not be a mention in a text about tags.
        """
        position = self._pending.find(CLOSE)
        while position >= 0 and self._state == "unsure":
            text = "".join(self._text.parts) + self._pending[:position]
            line = text.rpartition("\n")[2]
            fenced = text.count("```") % 2 or line.count("`") % 2
            if not (OPEN in text or fenced or (line and line[-1] in QUOTES)):
                break
            position = self._pending.find(CLOSE, position + 1)
        return position

    def _split_partial_tag(self) -> tuple[str, str]:
        """Return the pending text, holding back a possible start of the end tag."""
        sizes = range(len(CLOSE) - 1, 0, -1)
        half = next((size for size in sizes if self._pending.endswith(CLOSE[:size])), 0)
        end = len(self._pending) - half
        text, self._pending = self._pending[:end], self._pending[end:]
        return (text, "") if self._state == "thinking" else ("", text)

    def _sign(self, block: Mapping[str, Any]) -> None:
        """Add a piece of signed reasoning: thoughts, then their signature; redacted blocks arrive
        whole.

        A thought without its signature is useless.
        """
        if block.get("type") == "redacted_thinking":
            self._signed.append({"type": "redacted_thinking", "data": block.get("data", "")})
            return
        self._unsigned += block.get("thinking") or ""
        if signature := block.get("signature"):
            thought = {"type": "thinking", "thinking": self._unsigned, "signature": signature}
            self._signed.append(thought)
            self._unsigned = ""

    def finish(self) -> Shown:
        """Yield the text still held back: a partial tag, or half of a surrogate pair."""
        inline, text = (self._pending, "") if self._state == "thinking" else ("", self._pending)
        if self._state == "thinking" and self.unopened:  # no tag closed it: it was the reply
            self.unopened = False
            self._reasoning.add("", last=True)
            inline, text = "", "".join(self._reasoning.parts) + self._pending
            self._reasoning = _GrowingText()
        if thought := self._reasoning.add(inline, last=True):
            yield ReasoningDelta(thought)
        if visible := self._text.add(text, last=True):
            yield TextDelta(visible)

    @property
    def wordless(self) -> bool:
        """Whether there is no text and no call: reasoning at most."""
        return not (self._text.parts or self._calls)

    def reply(self, finish_reason: str | None, usage: Usage) -> Reply:
        """Return the complete reply for the provider's finish reason; None if the stream broke
        off."""
        reason = ending(finish_reason)
        text, is_unknown = self._text.whole, reason.startswith(UNKNOWN)
        calls = tuple(self._calls.sound(ended=is_unknown or reason in ENDED))
        if is_unknown and any(call.fault for call in calls):
            note = f"; the provider ended the answer with {reason}"
            calls = tuple(replace(c, fault=c.fault + note) if c.fault else c for c in calls)
        elif is_unknown and (calls or text):
            reason = "stop"
        reason = "tool_calls" if calls and reason in ENDED else reason
        return Reply(text, self._reasoning.whole, calls, usage, reason, tuple(self._signed))


def delta_of(chunk: Any) -> Delta:
    """Return the content that a chunk adds to the response."""
    if not chunk.choices:
        return Delta()
    delta = chunk.choices[0].delta
    calls = [_call(call.function, call.index, call.id) for call in delta.tool_calls or ()]
    legacy_call = getattr(delta, "function_call", None)  # the form before parallel calls
    if legacy_call is not None:
        calls.append(_call(legacy_call))
    return Delta(
        delta.content or "",
        getattr(delta, "reasoning_content", None) or "",
        tuple(calls),
        tuple(dict(block) for block in getattr(delta, "thinking_blocks", None) or ()),
    )


def _call(function: Any, index: int | None = None, identity: str | None = None) -> CallDelta:
    name = getattr(function, "name", None)
    return CallDelta(index, identity or "", name or "", getattr(function, "arguments", None) or "")
