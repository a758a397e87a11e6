"""Response bodies that are not the stream that was asked for. Pure.

Some servers answer whole where a stream was asked for; and a provider may send an error in the
middle of an answer whose status was 200.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

TAIL = 16_384
"""Bytes at the end of an answer that are searched for an error."""
ERROR_EVENT = re.compile(rb"event:\s*error")
STATUSES = {
    "rate_limit": 429,
    "too_many_requests": 429,
    "exhausted": 429,
    "overloaded": 503,
    "unavailable": 503,
    "quota": 402,
    "billing": 402,
    "auth": 401,
    "api_key": 401,
    "permission": 403,
    "context_length": 413,
    "too_large": 413,
    "not_found": 404,
    "timeout": 504,
    "invalid": 400,
    "bad_request": 400,
}
"""HTTP status by a part of an error's type or code; the first match counts."""


@dataclass(frozen=True, slots=True)
class StreamedError:
    """An error in the middle of an answer: its message, and the HTTP status it stands for."""

    message: str
    status: int


def error_in(tail: bytes) -> StreamedError | None:
    """Find the error among the last lines of an answer: server-sent events, or lines of JSON."""
    lines = [line.strip() for line in tail.splitlines()]
    for before, line in reversed(list(zip([b"", *lines], lines, strict=False))):
        data = line.removeprefix(b"data:").strip()
        if error := _error(data, named=ERROR_EVENT.fullmatch(before) is not None):
            return error
    return None


def _error(line: bytes, *, named: bool) -> StreamedError | None:
    """The error in a line. `named`: the line before says that it is one."""
    if not named and b"error" not in line:
        return None
    try:
        event = json.loads(line)
    except ValueError:
        return StreamedError(line.decode("utf-8", "replace"), 500) if named and line else None
    match event:
        case {"error": dict() as error} | {"choices": [{"error": dict() as error}, *_]}:
            pass
        case {"error": str(text)} if text:
            return StreamedError(text, 500)
        case {"object": "error"} | {"type": "error"}:
            error = event
        case dict() if named:
            error = event
        case _:
            return None
    message = error.get("message") or error.get("detail") or error.get("type") or "no reason given"
    names = [error.get(key) for key in ("code", "status_code", "status", "type")]
    return StreamedError(str(message), next(filter(None, map(_status, names)), 500))


def _status(name: Any) -> int | None:
    text = str(name).lower()
    if text.isdigit():
        return int(text) if 400 <= int(text) < 600 else None
    return next((status for part, status in STATUSES.items() if part in text), None)


def as_events(body: bytes) -> bytes | None:
    """Return a whole answer as the server-sent events of a stream; None for an unknown form.

    OpenAI's, Anthropic's and Gemini's forms are known, and an error in any of them.
    """
    try:
        answer = json.loads(body)
    except ValueError:
        return None
    match answer:
        case {"error": _} | {"candidates": list()}:
            return _event(answer)
        case {"choices": [{"message": dict()}, *_]}:
            return b"".join(map(_event, _openai(answer))) + b"data: [DONE]\n\n"
        case {"type": "message", "content": list()}:
            return b"".join(map(_event, _anthropic(answer)))
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
    if isinstance(calls := delta.get("tool_calls"), list):
        delta["tool_calls"] = [call | {"index": number} for number, call in enumerate(calls)]
    shared = answer | {"object": "chat.completion.chunk"}
    usage = shared.pop("usage", None)
    for part, finish in ((delta, None), ({}, choice.get("finish_reason"))):
        yield shared | {"choices": [{"index": 0, "delta": part, "finish_reason": finish}]}
    if usage:
        yield shared | {"choices": [], "usage": usage}


def _anthropic(answer: Json) -> Iterator[Json]:
    usage = answer.get("usage") or {}
    yield {"type": "message_start", "message": answer | {"content": [], "stop_reason": None}}
    for index, block in enumerate(answer["content"]):
        deltas: list[Json] = []
        match block:
            case {"type": "text", "text": text}:
                block = block | {"text": ""}
                deltas = [{"type": "text_delta", "text": text}]
            case {"type": "tool_use", "input": arguments}:
                block = block | {"input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": json.dumps(arguments)}]
            case {"type": "thinking", "thinking": thought}:
                deltas = [{"type": "thinking_delta", "thinking": thought}]
                if signature := block.get("signature"):
                    deltas.append({"type": "signature_delta", "signature": signature})
                block = block | {"thinking": "", "signature": ""}
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": answer.get("stop_reason"), "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": usage}
    yield {"type": "message_stop"}
