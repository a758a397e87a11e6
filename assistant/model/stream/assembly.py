"""A streamed reply, put together from its deltas: text, reasoning and tool calls."""

import json
import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from assistant.messages import Reply, ToolCall, Usage
from assistant.model.base import ReasoningPiece, TextPiece
from assistant.model.stream.thinking import ThinkingFilter

ENDED = frozenset({"stop", "tool_calls", "function_call"})
"""The finish reasons of a reply that came to its own end."""
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What OpenAI and Anthropic take as the name of a tool."""
SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call, as the wire has it: any part may be missing."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Delta:
    """One chunk of a stream."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[CallDelta, ...] = ()


class Assembly:
    """One reply in the making.

    A provider may merge parallel calls under one index (Ollama), repeat an id, leave it out, or
    cut the JSON. So a delta opens a new call if it brings a name and its id is a new one or, when
    it has none, if the call before it is already whole; and a call is only ever run if its name
    and its arguments are sound. `taken` are the ids of the calls before this reply: each call
    gets an id of its own.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._thinking = ThinkingFilter()
        self._text = _Text()
        self._reasoning = _Text()
        self._calls: list[_Call] = []

    def add(self, delta: Delta) -> Iterator[TextPiece | ReasoningPiece]:
        """Take a chunk in; yields what can be shown of it."""
        inline, text = self._thinking.feed(delta.text)
        if thought := self._reasoning.add(delta.reasoning + inline):
            yield ReasoningPiece(thought)
        if shown := self._text.add(text):
            yield TextPiece(shown)
        for call in delta.calls:
            self._add_call(call)

    def finish(self) -> Iterator[TextPiece | ReasoningPiece]:
        """What was still held back: half a tag, or half a character whose other half never came."""
        inline, text = self._thinking.finish()
        if thought := self._reasoning.add(inline) + self._reasoning.flush():
            yield ReasoningPiece(thought)
        if shown := self._text.add(text) + self._text.flush():
            yield TextPiece(shown)

    @property
    def empty(self) -> bool:
        """Nothing came."""
        return not (self._text.parts or self._reasoning.parts or self._calls)

    def reply(self, finish_reason: str | None, usage: Usage) -> Reply:
        """The whole reply. Without a finish reason it is taken as cut: `incomplete`."""
        ended = finish_reason in ENDED
        return Reply(
            _or_nothing(self._text.whole),
            _or_nothing(self._reasoning.whole),
            tuple(self._sound(call, ended) for call in self._calls),
            usage,
            finish_reason or "incomplete",
        )

    def _add_call(self, delta: CallDelta) -> None:
        call = self._open(delta)
        if call is None:
            index = delta.index if delta.index is not None else len(self._calls)
            call = _Call(index, delta.id or "", delta.name or "")
            self._calls.append(call)
        call.id = call.id or delta.id or ""
        call.name = call.name or delta.name or ""
        call.arguments.append(delta.arguments)

    def _open(self, delta: CallDelta) -> "_Call | None":
        """The call this delta goes on with, or None if it begins another."""
        same = [call for call in self._calls if delta.index in (None, call.index)]
        if not same:
            return None
        last = same[-1]
        if delta.id and (named := [call for call in same if call.id == delta.id]):
            return named[-1]
        if not delta.name or not last.name:
            return last
        return None if last.whole or (delta.id and last.id) else last

    def _sound(self, call: "_Call", ended: bool) -> ToolCall:
        identity = call.id if call.id and call.id not in self._taken else f"call_{uuid.uuid4().hex}"
        self._taken.add(identity)
        if not TOOL_NAME.fullmatch(call.name):
            name = re.sub(r"[^A-Za-z0-9_-]+", "_", call.name)[:64] or "unnamed"
            return ToolCall(identity, name, fault=f"there is no tool named {call.name!r}")
        try:
            return ToolCall(identity, call.name, decode_arguments(call.text, ended=ended))
        except ValueError as error:
            return ToolCall(identity, call.name, fault=str(error))


def _or_nothing(text: str) -> str:
    """Providers refuse a message of white space alone."""
    return text if text.strip() else ""


def decode_arguments(text: str, *, ended: bool = True) -> dict[str, Any]:
    """The arguments of a call. No text means none, if the reply has `ended` of itself.

    Raises ValueError, one line for the model, unless they are one JSON object.
    """
    if not text.strip():
        if not ended:
            raise ValueError("the reply was cut off before the arguments; send the call again")
        return {}
    try:
        value: Any = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the arguments are not valid JSON ({error}); send the call again") from (
            error
        )
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("the arguments must be one JSON object; send the call again")
    if SURROGATE.search(clean := json.dumps(value, ensure_ascii=False)):
        value = json.loads(mend(clean))
    return dict(value)


def mend(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates, which no file takes, replaced."""
    if not SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@dataclass(slots=True)
class _Call:
    index: int
    id: str
    name: str
    arguments: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return mend("".join(self.arguments))

    @property
    def whole(self) -> bool:
        """Its arguments are already one JSON object: what follows cannot belong to them."""
        try:
            return bool(self.text.strip()) and decode_arguments(self.text) is not None
        except ValueError:
            return False


@dataclass(slots=True)
class _Text:
    """A text that grows; a character cut in two is held back until its other half is there."""

    parts: list[str] = field(default_factory=list)
    held: str = ""

    def add(self, piece: str) -> str:
        text = self.held + piece
        self.held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return self._keep(mend(text[: len(text) - len(self.held)]))

    def flush(self) -> str:
        held, self.held = self.held, ""
        return self._keep(mend(held))

    @property
    def whole(self) -> str:
        return "".join(self.parts)

    def _keep(self, text: str) -> str:
        if text:
            self.parts.append(text)
        return text


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
