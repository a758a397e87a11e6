"""How providers stream a reply: the wire formats that `tests.support.provider` speaks."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from assistant.messages import Reply, ToolCall, Usage

Json = dict[str, Any]


def sse(*events: Json | str) -> tuple[bytes, ...]:
    """Server-sent events, one a part: an object as JSON, a text as it stands."""
    texts = (event if isinstance(event, str) else json.dumps(event) for event in events)
    return tuple(f"data: {text}\n\n".encode() for text in texts)


def chunk(delta: Json, finish: str | None = None, **more: Any) -> Json:
    """One object of OpenAI's stream: `chat.completion.chunk`."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "test",
        "choices": [choice],
        **more,
    }


def openai(reply: Reply) -> Iterator[bytes]:
    """The reply as OpenAI streams it; arguments of a tool call come in two pieces."""
    events: list[Json | str] = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"reasoning_content": word}) for word in words(reply.reasoning)]
    events += [chunk({"content": word}) for word in words(reply.text)]
    for index, call in enumerate(reply.tool_calls):
        text = json.dumps(dict(call.arguments))
        head = {"name": call.name, "arguments": text[:3]}
        start = {"index": index, "id": call.id, "type": "function", "function": head}
        rest = {"index": index, "function": {"arguments": text[3:]}}
        events += [chunk({"tool_calls": [start]}), chunk({"tool_calls": [rest]})]
    events.append(chunk({}, "tool_calls" if reply.tool_calls else reply.finish_reason))
    if reply.usage != Usage():
        events.append(chunk({}) | {"choices": [], "usage": _openai_usage(reply.usage)})
    yield from sse(*events, "[DONE]")


def _openai_usage(usage: Usage) -> Json:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def anthropic(reply: Reply) -> Iterator[bytes]:
    """The reply as Anthropic streams it: one content block after the other."""
    usage = reply.usage
    counts = {
        "input_tokens": usage.input_tokens - usage.cached_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": 0,
    }
    message: Json = {"id": "msg_1", "type": "message", "role": "assistant", "model": "test"}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": counts}
    yield named({"type": "message_start", "message": message})
    for index, (start, deltas) in enumerate(_blocks(reply)):
        yield named({"type": "content_block_start", "index": index, "content_block": start})
        for delta in deltas:
            yield named({"type": "content_block_delta", "index": index, "delta": delta})
        yield named({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": "tool_use" if reply.tool_calls else "end_turn", "stop_sequence": None}
    counts = {"output_tokens": usage.output_tokens}
    yield named({"type": "message_delta", "delta": stop, "usage": counts})
    yield named({"type": "message_stop"})


def _blocks(reply: Reply) -> Iterator[tuple[Json, list[Json]]]:
    if reply.reasoning:
        thoughts = [{"type": "thinking_delta", "thinking": word} for word in words(reply.reasoning)]
        signed = [
            {"type": "signature_delta", "signature": block["signature"]} for block in reply.signed
        ]
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, *signed]
    if reply.text:
        texts = [{"type": "text_delta", "text": word} for word in words(reply.text)]
        yield {"type": "text", "text": ""}, texts
    for call in reply.tool_calls:
        text = json.dumps(dict(call.arguments))
        parts = [
            {"type": "input_json_delta", "partial_json": part} for part in (text[:3], text[3:])
        ]
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}, parts


def named(event: Json) -> bytes:
    """A server-sent event that says its type twice, as Anthropic's do."""
    return f"event: {event['type']}\n".encode() + sse(event)[0]


def responses(reply: Reply) -> Iterator[bytes]:
    """The reply as OpenAI's newer interface streams it: one item of output after the other.

    A tool `NAMESPACE.NAME` is called as one of a namespace.
    """
    items: list[Json] = []
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "content": content})
    for call in reply.tool_calls:
        space, _, name = call.name.rpartition(".")
        item: Json = {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id}
        item |= {"name": name, "arguments": json.dumps(dict(call.arguments))}
        items.append(item | ({"namespace": space} if space else {}))
    counts = {"input_tokens": reply.usage.input_tokens, "output_tokens": reply.usage.output_tokens}
    usage = counts | {"total_tokens": sum(counts.values())}
    about = {"id": "resp_1", "object": "response", "status": "completed", "output": items}
    yield named({"type": "response.created", "response": about | {"output": []}})
    for index, item in enumerate(items):
        for kind in ("added", "done"):
            event = {"type": f"response.output_item.{kind}", "output_index": index, "item": item}
            yield named(event)
    yield named({"type": "response.completed", "response": about | {"usage": usage}})


def ollama(reply: Reply) -> Iterator[bytes]:
    """The reply as Ollama streams it: a JSON object a line, each tool call whole."""
    deltas: list[Json] = [{"content": "", "thinking": word} for word in words(reply.reasoning)]
    deltas += [{"content": word} for word in words(reply.text)]
    for call in reply.tool_calls:
        function = {"name": call.name, "arguments": dict(call.arguments)}
        deltas.append({"content": "", "tool_calls": [{"function": function}]})
    for delta in deltas:
        yield _line({"message": {"role": "assistant", **delta}, "done": False})
    usage = {"prompt_eval_count": reply.usage.input_tokens, "eval_count": reply.usage.output_tokens}
    last = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    yield _line(last | usage)


def _line(event: Json) -> bytes:
    return json.dumps({"model": "test", "created_at": "2026-01-01T00:00:00Z", **event}).encode() + (
        b"\n"
    )


def gemini(reply: Reply) -> Iterator[bytes]:
    """The reply as Gemini streams it: parts of a candidate; the last chunk names the finish."""
    parts: list[Json] = [{"text": word, "thought": True} for word in words(reply.reasoning)]
    parts += [{"text": word} for word in words(reply.text)]
    parts += [{"functionCall": _function(call)} for call in reply.tool_calls]
    usage = reply.usage
    counts = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens,
        "cachedContentTokenCount": usage.cached_tokens,
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
    }
    for part in parts:
        yield from sse(candidate(part))
    yield from sse(candidate({"text": ""}, "STOP") | {"usageMetadata": counts})


def candidate(part: Json | None, finish: str = "") -> Json:
    """One object of Gemini's stream."""
    content = {"parts": [part] if part else [], "role": "model"}
    ended = {"finishReason": finish} if finish else {}
    return {"candidates": [{"content": content, "index": 0, **ended}], "modelVersion": "test"}


def _function(call: ToolCall) -> Json:
    return {"name": call.name, "args": dict(call.arguments)}


def words(text: str) -> list[str]:
    """The pieces a text is streamed in; together they are the text."""
    return re.findall(r"\s*\S+|\s+$", text)


WIRES: Mapping[str, Callable[[Reply], Iterable[bytes]]] = {
    "/chat/completions": openai,
    "/responses": responses,
    "/messages": anthropic,
    "/api/chat": ollama,
    ":streamGenerateContent": gemini,
}
