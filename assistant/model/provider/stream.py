"""Reasoning that a server leaves in the text, before `</think>` at its head.

Open models served without a reasoning parser write so. Some chat templates write `<think>` at the
end of the prompt: then the text has the end alone, and what came before it was no reply. Pure.
"""

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from assistant.characters import mend
from assistant.messages import Reply, Usage
from assistant.model.base import ReasoningPiece, TextPiece
from assistant.model.provider.calls import CallDelta, Calls

OPEN, CLOSE = "<think>", "</think>"
QUOTES = "`\"'“‘"


class _State(Enum):
    HEAD = auto()  # it is not known yet how the text begins
    THINKING = auto()
    GAP = auto()  # between the reasoning and the reply
    REPLY = auto()


class ThinkingFilter:
    """Tells reasoning from the reply in a text that grows, wherever a piece may end.

    `turned` says that the reply so far was reasoning: its end came without a start. A model that
    does so does it again: with `unopened` its text is reasoning from the first word, and `turned`
    says at the end, if none of it was closed, that it was the reply.
    """

    def __init__(self, *, unopened: bool = False) -> None:
        self.turned = False
        self._unopened = unopened
        self._closed = False
        self._state = _State.HEAD
        self._held = ""
        self._said: list[str] = []

    def feed(self, piece: str) -> tuple[str, str]:
        """Take a piece in; returns what is reasoning of it and what is reply."""
        self._held += piece
        reasoning = ""
        if self._state is _State.HEAD and not self._begins():
            return "", ""
        if self._state is _State.THINKING:
            reasoning = self._thought()
        elif self._state is _State.REPLY and not self._closed:
            turned = self._end_without_a_start()
            if turned is None:
                return "", self._said_of_held()
            reasoning = turned
        if self._state is _State.GAP:
            self._held = self._held.lstrip()
            self._state = _State.REPLY if self._held else _State.GAP
        if self._state is not _State.REPLY:
            return reasoning, ""
        reply, self._held = self._held, ""
        return reasoning, reply

    def finish(self) -> tuple[str, str]:
        """What was held back."""
        held, self._held = self._held, ""
        if self._state is not _State.THINKING:
            return "", held
        self.turned = self._unopened
        return ("", held) if self._unopened else (held, "")

    def _begins(self) -> bool:
        """Whether it is known how the text begins."""
        start = self._held.lstrip()
        if start.startswith(OPEN):
            self._held, self._state = start.removeprefix(OPEN), _State.THINKING
            self._unopened, self._closed = False, True
        elif not OPEN.startswith(start):
            self._state = _State.THINKING if self._unopened else _State.REPLY
        return self._state is not _State.HEAD

    def _thought(self) -> str:
        """What is reasoning of the text held; what may be the beginning of its end stays."""
        reasoning, closed, rest = self._held.partition(CLOSE)
        if closed:
            self._held, self._state, self._closed = rest, _State.GAP, True
            return reasoning
        known = len(self._held) - _partial(self._held, CLOSE)
        reasoning, self._held = self._held[:known], self._held[known:]
        return reasoning

    def _end_without_a_start(self) -> str | None:
        """The text before an end of reasoning in the reply, if there is one; it is taken out."""
        place = self._held.find(CLOSE)
        while place >= 0:
            before = self._held[:place]
            if self._ends_reasoning(before):
                self._held = self._held[place + len(CLOSE) :]
                self._state, self._closed, self.turned = _State.GAP, True, True
                return before
            place = self._held.find(CLOSE, place + 1)
        return None

    def _said_of_held(self) -> str:
        """The reply in the text held; what may be the beginning of an end stays."""
        known = len(self._held) - _partial(self._held, CLOSE)
        reply, self._held = self._held[:known], self._held[known:]
        self._said.append(reply)
        return reply

    def _ends_reasoning(self, before: str) -> bool:
        """Whether an end that stands here is one, and not a mention of it in a text about tags."""
        said = "".join(self._said) + before
        line = said.rpartition("\n")[2]
        quoted = line[-1:] and line[-1] in QUOTES
        fenced = said.count("```") % 2 or line.count("`") % 2
        return not (OPEN in said or quoted or fenced)


def _partial(text: str, tag: str) -> int:
    """How many characters at the end of the text may be the beginning of the tag."""
    return next((size for size in range(len(tag) - 1, 0, -1) if text.endswith(tag[:size])), 0)


MOST_CHARACTERS = 1_000_000
"""Of one answer, with its reasoning and its calls: twice what the longest models write at once."""

# Why an answer ended, in one vocabulary: providers and servers have some sixty words for it.

ENDED = frozenset({"stop", "tool_calls"})
"""The answer came to its own end."""
TOO_LONG = "too_long"
"""The answer was cut here: it had no end."""
MALFORMED = "malformed_call"
"""The model made a call that its provider could not read, and did not pass on."""
UNKNOWN = "“"
"""A word that is not known begins with this."""
QUOTED_LENGTH = 60
"""Characters that are quoted of a provider's word."""
MEANINGS = {
    MALFORMED: r"malformed|unexpected_tool_call|too_many_tool_calls|missing_thought_signature",
    "tool_calls": r"tool_calls?$|tool_use$|function_call$",
    "content_filter": r"filter|safety|toxic|sensitive|refusal|recitation|blocklist|prohibited|spii"
    r"|guardrail|language$|other$|_other$|no_image|escalation|model_armor|moderation|policy",
    "incomplete": r"error|abort|cancel|incomplete|time_?(?:out|_limit)|insufficient|overload"
    r"|unspecified|fail|interrupt|pause_turn|(?:un)?load$|repetition",
    "length": r"length|max_|_max$|limit|context|compaction",
    "stop": r"stop|eos|end$|end_turn|done|complete|finish|success",
}
"""What the words have in them; the first that fits counts. A provider's new word is mostly made of
known ones. Any other is passed on if the answer lacks something, else it says that it ended."""
_ODD = re.compile(r"[^a-z0-9_.: -]")

Shown = Iterator[TextPiece | ReasoningPiece]


def ending(reason: str | None) -> str:
    """The provider's word as `Reply.finish_reason` has it; one that is not known is quoted. None:
    the stream broke off."""
    if not reason:
        return "incomplete"
    word = reason.lower()
    known = (meaning for meaning, words in MEANINGS.items() if re.search(words, word))
    return next(known, f"{UNKNOWN}{_ODD.sub('', word)[:QUOTED_LENGTH]}”")


@dataclass(frozen=True, slots=True)
class Delta:
    """What a chunk adds. `blocks` are pieces of a signed record of the reasoning (Anthropic's)."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[CallDelta, ...] = ()
    blocks: tuple[Mapping[str, Any], ...] = ()

    @property
    def size(self) -> int:
        """Its characters; none in a chunk that only keeps the stream alive."""
        arguments = sum(len(call.arguments) + len(call.name or "") for call in self.calls)
        return len(self.text) + len(self.reasoning) + arguments


@dataclass(slots=True)
class _GrowingText:
    """A text that grows; a character cut in two is held back until its other half is there."""

    parts: list[str] = field(default_factory=list)
    held: str = ""

    def add(self, piece: str, *, last: bool = False) -> str:
        """Take a piece in; returns what can be shown of it."""
        text = self.held + piece
        self.held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" and not last else ""
        if shown := mend(text[: len(text) - len(self.held)]):
            self.parts.append(shown)
        return shown

    @property
    def whole(self) -> str:
        """The text so far; empty for white space alone, which providers refuse in a message."""
        text = "".join(self.parts)
        return text if text.strip() else ""


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
        self._text = _GrowingText()
        self._reasoning = _GrowingText()
        self._signed: list[Mapping[str, Any]] = []
        self._unsigned = ""
        self._calls = Calls(tools, taken)
        self._size = 0
        self.unopened = False

    def add(self, delta: Delta) -> Shown:
        """Take a chunk in; yields what can be shown of it."""
        self._size += delta.size
        for block in delta.blocks:
            self._sign(block)
        inline, text = self._thinking.feed(delta.text)
        if self._thinking.turned and not self.unopened:
            self.unopened = True
            self._reasoning.parts += self._text.parts
            self._text = _GrowingText()
        if thought := self._reasoning.add(delta.reasoning + inline):
            yield ReasoningPiece(thought)
        if shown := self._text.add(text):
            yield TextPiece(shown)
        for call in delta.calls:
            self._calls.add(call)

    def _sign(self, block: Mapping[str, Any]) -> None:
        """Take in a piece of the signed record: thoughts, then their signature; sealed ones whole.

        A thought without its signature is worth nothing.
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
        """What was still held back: half a tag, or half a character whose other half never came."""
        inline, text = self._thinking.finish()
        if self._thinking.turned and not self.unopened:  # it was closed nowhere: it is the reply
            self._reasoning.add("", last=True)
            text = "".join(self._reasoning.parts) + text
            self._reasoning = _GrowingText()
        if thought := self._reasoning.add(inline, last=True):
            yield ReasoningPiece(thought)
        if shown := self._text.add(text, last=True):
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
        text, unknown = self._text.whole, reason.startswith(UNKNOWN)
        calls = tuple(self._calls.sound(ended=unknown or reason in ENDED))
        if unknown and any(call.fault for call in calls):
            said = f"; the provider ended the answer with {reason}"
            calls = tuple(replace(c, fault=c.fault + said) if c.fault else c for c in calls)
        elif unknown and (calls or text):
            reason = "stop"
        reason = "tool_calls" if calls and reason in ENDED else reason
        return Reply(text, self._reasoning.whole, calls, usage, reason, tuple(self._signed))


class Finish:
    """The reason, in the provider's words, why the answer ended; None as long as it has not."""

    def __init__(self) -> None:
        self.reason: str | None = None


class _Tap:
    """An adapter's chunks, mended where litellm would drop something, and overheard."""

    def __init__(self, chunks: Iterator[Any], finish: Finish) -> None:
        self._chunks = chunks
        self._finish = finish
        self._numbered = False
        """Whether something of the first answer came, so that others are told from it."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        chunk = next(self._chunks)
        if isinstance(chunk, dict):
            self._finish.reason = chunk.get("finish_reason") or self._finish.reason
            return chunk
        self._keep_to_one(chunk)
        if choices := getattr(chunk, "choices", None):
            reason = getattr(choices[0], "finish_reason", None)
            self._finish.reason = reason or self._finish.reason
            _mend_choice(choices[0])
        return chunk

    def _keep_to_one(self, chunk: Any) -> None:
        """Leave only the answer that was begun first: nobody asked for others."""
        choices = getattr(chunk, "choices", None) or ()
        numbers = [getattr(choice, "index", None) or 0 for choice in choices]
        self._numbered = self._numbered or 0 in numbers
        if choices and self._numbered:
            numbered = zip(numbers, choices, strict=True)
            chunk.choices = [choice for number, choice in numbered if number == 0]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chunks, name)


def _mend_choice(choice: Any) -> None:
    """Make a delta of a message that came whole as the one event of a stream; make a text of
    content that is a list of parts, or a refusal."""
    message = getattr(choice, "message", None)
    if isinstance(message, dict) and getattr(choice, "delta", None) is None:
        from openai.types.chat.chat_completion_chunk import ChoiceDelta  # litellm has loaded it

        calls = [call for call in message.get("tool_calls") or () if isinstance(call, dict)]
        numbered = [call | {"index": number} for number, call in enumerate(calls)]
        choice.delta = ChoiceDelta.construct(**message | {"tool_calls": numbered or None})
    delta: Any = getattr(choice, "delta", None)
    parts = getattr(delta, "content", None)
    if isinstance(parts, list):
        texts = (part.get("text") for part in parts if isinstance(part, dict))
        delta.content = "".join(text for text in texts if isinstance(text, str))
    elif not parts and isinstance(refusal := getattr(delta, "refusal", None), str):
        delta.content = refusal


def tapped(response: Any, finish: Finish) -> Any:
    """The response, its adapter overheard; some adapters are made when the first chunk is."""
    chunks: Any = getattr(response, "completion_stream", None)
    make: Any = getattr(response, "make_call", None)
    if hasattr(chunks, "__next__"):
        response.completion_stream = _Tap(chunks, finish)
    elif chunks is None and make is not None:
        response.make_call = lambda **given: _Tap(iter(make(**given)), finish)
    return response


def delta_of(chunk: Any) -> Delta:
    """What a chunk adds to the answer."""
    if not chunk.choices:
        return Delta()
    delta = chunk.choices[0].delta
    calls = [_call(call.function, call.index, call.id) for call in delta.tool_calls or ()]
    old = getattr(delta, "function_call", None)  # before there were several a reply
    if old is not None:
        calls.append(_call(old))
    return Delta(
        delta.content or "",
        getattr(delta, "reasoning_content", None) or "",
        tuple(calls),
        tuple(dict(block) for block in getattr(delta, "thinking_blocks", None) or ()),
    )


def _call(function: Any, index: int | None = None, identity: str | None = None) -> CallDelta:
    name = getattr(function, "name", None)
    return CallDelta(index, identity, name, getattr(function, "arguments", None) or "")


def close(response: Any) -> None:
    """Close the HTTP response under a stream, wherever the provider's adapter keeps it."""
    stream = getattr(response, "completion_stream", None)
    for holder in (stream, getattr(stream, "streaming_response", None)):
        end = getattr(holder, "close", None)
        if end is not None:
            with contextlib.suppress(ValueError):
                end()
