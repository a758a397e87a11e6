"""A streamed reply, put together from its deltas: text, reasoning and tool calls."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from assistant.messages import Reply, ToolCall, Usage
from assistant.model.base import ReasoningPiece, TextPiece
from assistant.model.provider.stream.calls import CallDelta, Calls
from assistant.model.provider.stream.characters import GrowingText
from assistant.model.provider.stream.ending import ENDED, TOO_LONG, UNKNOWN, ending
from assistant.model.provider.stream.signed import SignedThinking
from assistant.model.provider.stream.thinking import ThinkingFilter

MOST_CHARACTERS = 1_000_000
"""Of one answer, with its reasoning and its calls: twice what the longest models write at once."""

Shown = Iterator[TextPiece | ReasoningPiece]


@dataclass(frozen=True, slots=True)
class Delta:
    """One chunk of a stream. `blocks` are pieces of a signed record of the reasoning."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[CallDelta, ...] = ()
    blocks: tuple[Mapping[str, Any], ...] = ()

    @property
    def size(self) -> int:
        """Its characters; none in a chunk that only keeps the stream alive."""
        arguments = sum(len(call.arguments) + len(call.name or "") for call in self.calls)
        return len(self.text) + len(self.reasoning) + arguments


class Assembly:
    """One reply in the making.

    `tools` are the names that calls may have, `taken` the ids that they may not. `unopened`, once
    it is over, says that the reasoning was closed without having been opened; given at the start,
    that this model is known to do so.
    """

    def __init__(
        self, tools: Collection[str] = (), taken: Iterable[str] = (), *, unopened: bool = False
    ) -> None:
        self._thinking = ThinkingFilter(unopened=unopened)
        self._text = GrowingText()
        self._reasoning = GrowingText()
        self._signed = SignedThinking()
        self._calls = Calls(tools, taken)
        self._size = 0
        self.unopened = False

    def add(self, delta: Delta) -> Shown:
        """Take a chunk in; yields what can be shown of it."""
        self._size += delta.size
        self._signed.add(delta.blocks)
        inline, text = self._thinking.feed(delta.text)
        if self._thinking.turned and not self.unopened:
            self.unopened = True
            self._reasoning.parts += self._text.parts
            self._text = GrowingText()
        if thought := self._reasoning.add(delta.reasoning + inline):
            yield ReasoningPiece(thought)
        if shown := self._text.add(text):
            yield TextPiece(shown)
        for call in delta.calls:
            self._calls.add(call)

    def finish(self) -> Shown:
        """What was still held back: half a tag, or half a character whose other half never came."""
        inline, text = self._thinking.finish()
        if self._thinking.turned and not self.unopened:  # it was closed nowhere: it is the reply
            text = self._reasoning.whole + self._reasoning.flush() + text
            self._reasoning = GrowingText()
        if thought := self._reasoning.add(inline) + self._reasoning.flush():
            yield ReasoningPiece(thought)
        if shown := self._text.add(text) + self._text.flush():
            yield TextPiece(shown)

    @property
    def wordless(self) -> bool:
        """Nothing came that the owner is told, or that is done: reasoning at most."""
        return not (self._text.parts or self._calls)

    @property
    def too_long(self) -> bool:
        """More came than an answer can have; no more should be read."""
        return self._size > MOST_CHARACTERS

    def reply(self, finish_reason: str | None, usage: Usage) -> Reply:
        """The whole reply, by the provider's word for its end; None: it broke off."""
        reason = TOO_LONG if self.too_long else ending(finish_reason)
        text, unknown = _or_nothing(self._text.whole), reason.startswith(UNKNOWN)
        calls = tuple(self._calls.sound(ended=unknown or reason in ENDED))
        if unknown and any(call.fault for call in calls):
            calls = tuple(_ended_by(reason, call) for call in calls)
        elif unknown and (calls or text):
            reason = "stop"
        return Reply(
            text,
            _or_nothing(self._reasoning.whole),
            calls,
            usage,
            "tool_calls" if calls and reason in ENDED else reason,
            self._signed.blocks,
        )


def _ended_by(word: str, call: ToolCall) -> ToolCall:
    """A call with the word at which it ended, if it is not whole."""
    said = f"{call.fault}; the provider ended the answer with {word}"
    return replace(call, fault=said) if call.fault else call


def _or_nothing(text: str) -> str:
    """Providers refuse a message of white space alone."""
    return text if text.strip() else ""
