"""An answer that came whole, though a stream was asked for, as the events of that stream. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

Json = dict[str, Any]


def as_events(body: bytes) -> bytes | None:
    """The server-sent events that say the same; None for what is no answer of a known form.

    OpenAI's, Anthropic's and Gemini's forms are known, and an error in any of them.
    """
    try:
        answer = json.loads(body)
    except ValueError:
        return None
    match answer:
        case {"error": _}:
            return _event(answer)
        case {"choices": [{"message": dict()}, *_]}:
            return b"".join(map(_event, _openai(answer))) + b"data: [DONE]\n\n"
        case {"type": "message", "content": list()}:
            return b"".join(map(_event, _anthropic(answer)))
        case {"candidates": list()}:
            return _event(answer)
        case [*parts] if all(isinstance(part, dict) for part in parts):
            return b"".join(map(_event, parts))  # Gemini's, which was asked for no events
        case _:
            return None


def _event(data: Mapping[str, Any]) -> bytes:
    name = data.get("type")
    head = f"event: {name}\n" if isinstance(name, str) else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _openai(answer: Json) -> Iterator[Json]:
    choice = answer["choices"][0]
    delta = dict(choice["message"])
    calls = delta.get("tool_calls")
    if isinstance(calls, list):
        delta["tool_calls"] = [call | {"index": number} for number, call in enumerate(calls)]
    shared = answer | {"object": "chat.completion.chunk"}
    usage = shared.pop("usage", None)
    first = {"index": 0, "delta": delta, "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": choice.get("finish_reason")}
    yield shared | {"choices": [first]}
    yield shared | {"choices": [last]}
    if usage:
        yield shared | {"choices": [], "usage": usage}


def _anthropic(answer: Json) -> Iterator[Json]:
    usage = answer.get("usage") or {}
    yield {"type": "message_start", "message": answer | {"content": [], "stop_reason": None}}
    for index, block in enumerate(answer["content"]):
        start, deltas = _block(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": answer.get("stop_reason"), "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": usage}
    yield {"type": "message_stop"}


def _block(block: Json) -> tuple[Json, list[Json]]:
    """How a content block starts, and what follows of it."""
    match block:
        case {"type": "text", "text": text}:
            return block | {"text": ""}, [{"type": "text_delta", "text": text}]
        case {"type": "tool_use", "input": given}:
            part = {"type": "input_json_delta", "partial_json": json.dumps(given)}
            return block | {"input": {}}, [part]
        case {"type": "thinking", "thinking": thought}:
            deltas = [{"type": "thinking_delta", "thinking": thought}]
            if signature := block.get("signature"):
                deltas.append({"type": "signature_delta", "signature": signature})
            return block | {"thinking": "", "signature": ""}, deltas
        case _:
            return block, []
