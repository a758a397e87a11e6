"""What OpenAI and Anthropic refuse in a list of messages, as their documentation and errors say.

`faults` looks at messages, `wire_faults` at the body of a chat-completions request; both return
one line a fault, so `assert faults(messages) == []`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any

from assistant.messages import Message, ToolCall
from assistant.model.provider.stream import TOOL_NAME


def faults(messages: Sequence[Message]) -> list[str]:
    """Everything either provider would refuse."""
    return [
        *_texts(messages),
        *_order(messages),
        *_calls(messages),
        *_answers(messages),
        *_ids(messages),
    ]


def wire_faults(body: Mapping[str, Any]) -> list[str]:
    """The same for a request as a server received it; a request must not end with the model."""
    messages = [_message(message) for message in body["messages"]]
    ends = messages[-1].role in ("user", "tool") if messages else False
    return [*faults(messages), *([] if ends else ["the last message is not for the model"])]


def _message(wire: Mapping[str, Any]) -> Message:
    content = wire.get("content") or ""
    if isinstance(content, list):
        content = "".join(block["text"] for block in content)
    calls = tuple(
        ToolCall(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in wire.get("tool_calls") or ()
    )
    return Message(wire["role"], content, calls, wire.get("tool_call_id"))


def _texts(messages: Sequence[Message]) -> Iterator[str]:
    for place, message in enumerate(messages):
        if not message.content.strip() and not message.tool_calls and message.role != "tool":
            yield f"message {place} says nothing"
        try:
            arguments = [dict(call.arguments) for call in message.tool_calls]
            (message.content + json.dumps(arguments, ensure_ascii=False)).encode()
        except (UnicodeEncodeError, TypeError) as error:
            yield f"message {place} cannot be sent: {error}"


def _order(messages: Sequence[Message]) -> Iterator[str]:
    head = list(takewhile(lambda message: message.role == "system", messages))
    rest = messages[len(head) :]
    if rest and rest[0].role != "user":
        yield f"the conversation begins with {rest[0].role}"
    for place, (before, after) in enumerate(pairwise(rest)):
        if before.role == after.role == "assistant":
            yield f"two answers in a row at {place + len(head)}"


def _calls(messages: Sequence[Message]) -> Iterator[str]:
    for place, message in enumerate(messages):
        if message.tool_calls and message.role != "assistant":
            yield f"message {place} of {message.role} has tool calls"
        for call in message.tool_calls:
            if not call.id:
                yield f"a call of message {place} has no id"
            if not TOOL_NAME.fullmatch(call.name):
                yield f"a call of message {place} has the name {call.name!r}"
            if not isinstance(call.arguments, Mapping):
                yield f"a call of message {place} has arguments that are no object"


def _answers(messages: Sequence[Message]) -> Iterator[str]:
    """Each call is answered once, at once; each tool message answers a call."""
    open_calls: set[str | None] = set()
    for place, message in enumerate(messages):
        if message.role == "tool":
            if message.tool_call_id not in open_calls:
                yield f"message {place} answers no open call ({message.tool_call_id})"
            open_calls.discard(message.tool_call_id)
            continue
        if open_calls:
            yield f"calls without an answer before message {place}: {sorted(map(str, open_calls))}"
        open_calls = {call.id for call in message.tool_calls}
    if open_calls:
        yield f"calls without an answer at the end: {sorted(map(str, open_calls))}"


def _ids(messages: Sequence[Message]) -> Iterator[str]:
    """Anthropic: ids are unique over the whole conversation."""
    seen: set[str] = set()
    for place, message in enumerate(messages):
        for call in message.tool_calls:
            if call.id in seen:
                yield f"message {place} uses the id {call.id} again"
            seen.add(call.id)
