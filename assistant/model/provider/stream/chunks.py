"""litellm's chunks as deltas, and the finish reason that litellm keeps to itself.

Its stream takes an adapter's chunks apart and puts them together again. On that way a finish is
lost where the adapter says that more may come (Gemini's always does), and one is made up where
there was none. So what the adapter says is overheard.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from assistant.model.provider.stream.assembly import Delta
from assistant.model.provider.stream.calls import CallDelta


class Finish:
    """The reason, in the provider's words, why the answer ended; None as long as it has not."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def hear(self, chunk: Any) -> None:
        """Take the reason from an adapter's chunk, if it has one."""
        self.reason = _reason(chunk) or self.reason

    def settle(self, response: Any) -> None:
        """Where nothing could be overheard: what litellm's stream itself has received."""
        if self.reason is None:
            self.reason = getattr(response, "received_finish_reason", None)


class _Tap:
    """An adapter's chunks as they are, and overheard."""

    def __init__(self, chunks: Iterator[Any], finish: Finish) -> None:
        self._chunks = chunks
        self._finish = finish
        self._numbered = False
        """Whether something of the first answer came, so that others are told from it."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        chunk = next(self._chunks)
        self._keep_to_one(chunk)
        self._finish.hear(chunk)
        _take_message(chunk)
        _join_parts(chunk)
        return chunk

    def _keep_to_one(self, chunk: Any) -> None:
        """Leave only the answer that was begun first: nobody asked for others."""
        choices = getattr(chunk, "choices", None)
        if not choices:
            return
        numbers = [getattr(each, "index", None) or 0 for each in choices]
        self._numbered = self._numbered or 0 in numbers
        if self._numbered:
            numbered = zip(numbers, choices, strict=True)
            chunk.choices = [each for number, each in numbered if number == 0]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chunks, name)


def tapped(response: Any, finish: Finish) -> Any:
    """The response, its adapter overheard; some adapters are made when the first chunk is."""
    chunks: Any = getattr(response, "completion_stream", None)
    make: Any = getattr(response, "make_call", None)
    if hasattr(chunks, "__next__"):
        response.completion_stream = _Tap(chunks, finish)
    elif chunks is None and make is not None:
        response.make_call = lambda **given: _Tap(iter(make(**given)), finish)
    return response


def _take_message(chunk: Any) -> None:
    """Make a delta of the message that some send whole as the one event of a stream."""
    first = _first(chunk)
    message = getattr(first, "message", None)
    if not isinstance(message, dict) or getattr(first, "delta", None) is not None:
        return
    from openai.types.chat.chat_completion_chunk import ChoiceDelta  # litellm has loaded it

    calls = [call for call in message.get("tool_calls") or () if isinstance(call, dict)]
    numbered = [call | {"index": number} for number, call in enumerate(calls)]
    first.delta = ChoiceDelta.construct(**message | {"tool_calls": numbered or None})


def _join_parts(chunk: Any) -> None:
    """Make a text of content that comes as a list of parts, or as a refusal, which litellm would
    drop."""
    delta: Any = getattr(_first(chunk), "delta", None)
    parts = getattr(delta, "content", None)
    if isinstance(parts, list):
        texts = (part.get("text") for part in parts if isinstance(part, dict))
        delta.content = "".join(text for text in texts if isinstance(text, str))
    elif not parts and isinstance(refusal := getattr(delta, "refusal", None), str):
        delta.content = refusal


def _reason(chunk: Any) -> str | None:
    if isinstance(chunk, dict):
        return chunk.get("finish_reason") or None
    return getattr(_first(chunk), "finish_reason", None)


def _first(chunk: Any) -> Any:
    """The answer in an adapter's chunk; None in one that is about usage alone."""
    choices = getattr(chunk, "choices", None)
    return choices[0] if choices else None


def delta_of(chunk: Any) -> Delta:
    """What a chunk adds to the answer."""
    if not chunk.choices:
        return Delta()
    delta = chunk.choices[0].delta
    calls = [_call(call.function, call.index, call.id) for call in delta.tool_calls or ()]
    old = getattr(delta, "function_call", None)  # before there were several a reply
    if old is not None:
        calls.append(_call(old))
    blocks = getattr(delta, "thinking_blocks", None) or ()
    return Delta(
        delta.content or "",
        getattr(delta, "reasoning_content", None) or "",
        tuple(calls),
        tuple(dict(block) for block in blocks),
    )


def _call(function: Any, index: int | None = None, identity: str | None = None) -> CallDelta:
    name = getattr(function, "name", None)
    arguments = getattr(function, "arguments", None) or ""
    return CallDelta(index, identity, name, arguments)


def close(response: Any) -> None:
    """Close the HTTP response under a stream, wherever the provider's adapter keeps it."""
    stream = getattr(response, "completion_stream", None)
    for holder in (stream, getattr(stream, "streaming_response", None)):
        end = getattr(holder, "close", None)
        if end is not None:
            with contextlib.suppress(ValueError):
                end()
