"""A streamed reply, put together from litellm's chunks: text, reasoning and tool calls.

litellm's stream takes an adapter's chunks apart and puts them together again. On that way a finish
is lost where the adapter says that more may come (Gemini's always does), and one is made up where
there was none. So what the adapter says is overheard.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from assistant.characters import mend
from assistant.messages import Reply, Usage
from assistant.model.base import ReasoningPiece, TextPiece
from assistant.model.provider.calls import CallDelta, Calls

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
        arguments = sum(len(call.arguments) + len(call.name) for call in self.calls)
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


OPEN, CLOSE = "<think>", "</think>"
QUOTES = "`\"'“‘"


class ThinkingFilter:
    """Tells reasoning from the reply in a text that grows, wherever a piece may end.

    Open models served without a reasoning parser write it into the text, before `</think>`. Some
    chat templates write `<think>` at the end of the prompt: then the text has the end alone, and
    `turned` says that what came before it was no reply. A model that does so does it again: with
    `unopened` its text is reasoning from the first word, and `turned` says at the end that nothing
    closed it, and it was the reply.
    """

    def __init__(self, *, unopened: bool = False) -> None:
        self.unopened = unopened
        self.turned = False
        self._state: Literal["head", "thinking", "unsure", "gap", "reply"] = "head"
        self._pending = ""
        self._replied: list[str] = []

    def feed(self, piece: str) -> tuple[str, str]:
        """Take a piece in; returns what is reasoning of it and what is reply."""
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
                return self._without_half_a_tag()
            reasoning, self._pending = self._pending[:end], self._pending[end + len(CLOSE) :]
            self.turned = self._state == "unsure"
            self.unopened = self.unopened or self.turned
            self._state = "gap"
        if self._state == "gap":
            self._pending = self._pending.lstrip()
            self._state = "reply" if self._pending else "gap"
        reply, self._pending = self._pending, ""
        return reasoning, reply

    def finish(self) -> tuple[str, str]:
        """What was held back."""
        pending, self._pending = self._pending, ""
        if self._state != "thinking":
            return "", pending
        self.turned, self.unopened = self.unopened, False
        return ("", pending) if self.turned else (pending, "")

    def _end(self) -> int:
        """Where the reasoning ends in the pending text; -1 if it does not.

        One that nothing has opened is no mention of it in a text about tags.
        """
        end = self._pending.find(CLOSE)
        while end >= 0 and self._state == "unsure":
            text = "".join(self._replied) + self._pending[:end]
            line = text.rpartition("\n")[2]
            fenced = text.count("```") % 2 or line.count("`") % 2
            if not (OPEN in text or fenced or (line and line[-1] in QUOTES)):
                break
            end = self._pending.find(CLOSE, end + 1)
        return end

    def _without_half_a_tag(self) -> tuple[str, str]:
        """The pending text; what may be the beginning of its end stays."""
        sizes = range(len(CLOSE) - 1, 0, -1)
        half = next((size for size in sizes if self._pending.endswith(CLOSE[:size])), 0)
        end = len(self._pending) - half
        text, self._pending = self._pending[:end], self._pending[end:]
        if self._state == "thinking":
            return text, ""
        self._replied.append(text)
        return "", text


class Assembly:
    """One reply in the making.

    `taken` are the ids that calls may not have. `unopened`, once it is over, says that the
    reasoning was closed without having been opened; given at the start, that this model is known
    to do so.
    """

    def __init__(self, taken: Iterable[str] = (), *, unopened: bool = False) -> None:
        self._thinking = ThinkingFilter(unopened=unopened)
        self._text = _GrowingText()
        self._reasoning = _GrowingText()
        self._signed: list[Mapping[str, Any]] = []
        self._unsigned = ""
        self._calls = Calls(taken)
        self._size = 0

    @property
    def unopened(self) -> bool:
        """The reasoning was closed without having been opened."""
        return self._thinking.unopened

    def add(self, delta: Delta) -> Shown:
        """Take a chunk in; yields what can be shown of it."""
        self._size += delta.size
        for block in delta.blocks:
            self._sign(block)
        inline, text = self._thinking.feed(delta.text)
        if self._thinking.turned:
            self._thinking.turned = False
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
        if self._thinking.turned:
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

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        chunk = next(self._chunks)
        if isinstance(chunk, dict):
            self._finish.reason = chunk.get("finish_reason") or self._finish.reason
        elif choices := getattr(chunk, "choices", None):
            reason = getattr(choices[0], "finish_reason", None)
            self._finish.reason = reason or self._finish.reason
            _mend(getattr(choices[0], "delta", None))
        return chunk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chunks, name)


def _mend(delta: Any) -> None:
    """Make a text of content that is a list of parts, or a refusal."""
    content = getattr(delta, "content", None)
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        delta.content = "".join(text for text in texts if isinstance(text, str))
    elif not content and isinstance(refusal := getattr(delta, "refusal", None), str):
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
    return CallDelta(index, identity or "", name or "", getattr(function, "arguments", None) or "")


def close(response: Any) -> None:
    """Close the HTTP response under a stream, wherever the provider's adapter keeps it."""
    stream = getattr(response, "completion_stream", None)
    for holder in (stream, getattr(stream, "streaming_response", None)):
        end = getattr(holder, "close", None)
        if end is not None:
            with contextlib.suppress(ValueError):
                end()
