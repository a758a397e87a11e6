"""Messages and tools as a request holds them: OpenAI's form, which litellm takes. Pure."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal

from assistant.messages import Message, Picture, ToolCall
from assistant.model.base import ToolSpec

Json = dict[str, Any]

MOST_MARKS = 4
"""Anthropic takes at most four cache marks a request."""
PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""An id of a call that every provider takes: OpenAI's length, Anthropic's characters."""
UNSEEN = "[Of the pictures named above {} cannot be shown to you: say so if it matters.]"
UNTHOUGHT = " "
"""Stands for reasoning that a provider demands and that there is none of."""

Thoughts = Literal["never", "if any", "always"]


@dataclass(frozen=True, slots=True)
class Style:
    """What a provider wants of messages beside their text.

    `marks`: it takes cache marks. `signs`: it signs what was thought, and wants that back while a
    turn's calls go on. `thoughts`: whether it wants `reasoning_content` with all that the
    assistant said, or with its calls and what came of them once it has sent any. `own_ids`: its
    calls' ids say something to it. `sees`: it can be sent pictures.
    """

    marks: bool = False
    signs: bool = False
    thoughts: Thoughts = "never"
    own_ids: bool = False
    sees: bool = True


def wire_messages(messages: Sequence[Message], style: Style) -> list[Json]:
    """The messages of a request; those that say nothing are left out, as providers refuse them."""
    sent = [message for message in messages if not _says_nothing(message)]
    if not style.marks:
        sent = one_system_message(sent)
    marked = [number for number, each in enumerate(sent) if each.cache][-MOST_MARKS:]
    thoughtful = _thoughtful(sent, style.thoughts)
    running = max((n for n, each in enumerate(sent) if each.role == "user"), default=0)
    return [
        _message(message, style)
        | (_thought(message) if number in thoughtful else {})
        | (_signed(message) if style.signs and number > running else {})
        | (_mark(message, style) if number in marked and style.marks else {})
        for number, message in enumerate(sent)
    ]


def _thoughtful(sent: Sequence[Message], thoughts: Thoughts) -> set[int]:
    """Which of the messages show what was thought: calls, and the answers that came of them."""
    told = [number for number, each in enumerate(sent) if each.role == "assistant"]
    if thoughts == "always":
        return set(told)
    if thoughts == "never" or not any(sent[number].reasoning for number in told):
        return set()
    return {n for n in told if sent[n].tool_calls or (n and sent[n - 1].role == "tool")}


def lacks_signed(messages: Sequence[Message]) -> bool:
    """The turn's calls were made without a signed record of the thinking before them.

    A provider that signs then refuses to go on thinking in this turn.
    """
    last = next((each for each in reversed(messages) if each.role in ("user", "assistant")), None)
    return last is not None and bool(last.tool_calls) and not last.signed


def one_system_message(messages: Sequence[Message]) -> list[Message]:
    """The messages with those of the system at their head made one.

    The chat templates of some open models refuse a second; a prefix cached by its text stays one.
    """
    head = list(takewhile(lambda message: message.role == "system", messages))
    if len(head) < 2:
        return list(messages)
    whole = Message("system", "\n\n".join(message.content for message in head))
    return [whole, *messages[len(head) :]]


def wire_tool(spec: ToolSpec) -> Json:
    """A tool, as it is offered."""
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def _says_nothing(message: Message) -> bool:
    return not (message.content.strip() or message.tool_calls or message.role == "tool")


def _message(message: Message, style: Style) -> Json:
    wire: Json = {"role": message.role, "content": _content(message, style)}
    if message.tool_calls:
        wire["content"] = message.content if message.content.strip() else None
        wire["tool_calls"] = [_call(call, style) for call in message.tool_calls]
    if message.role == "tool":
        wire["tool_call_id"] = _id(message.tool_call_id or "", style)
    return wire


def _content(message: Message, style: Style) -> str | list[Json]:
    """The text, behind the pictures that belong to it; those that cannot be shown are named."""
    shown = [each for each in message.pictures if each.data and style.sees]
    missing = len(message.pictures) - len(shown)
    text = f"{message.content}\n{UNSEEN.format(missing)}" if missing else message.content
    return [*map(_picture, shown), {"type": "text", "text": text}] if shown else text


def _picture(picture: Picture) -> Json:
    data = base64.b64encode(picture.data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{picture.media};base64,{data}"}}


def _call(call: ToolCall, style: Style) -> Json:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    function = {"name": call.name, "arguments": arguments}
    return {"id": _id(call.id, style), "type": "function", "function": function}


def _id(identity: str, style: Style) -> str:
    """The id as this provider takes it: another one may have made it."""
    if style.own_ids or PLAIN_ID.fullmatch(identity):
        return identity
    return f"call_{hashlib.sha256(identity.encode()).hexdigest()[:24]}"


def _thought(message: Message) -> Json:
    return {"reasoning_content": message.reasoning or UNTHOUGHT}


def _signed(message: Message) -> Json:
    return {"thinking_blocks": [dict(block) for block in message.signed]} if message.signed else {}


def _mark(message: Message, style: Style) -> Json:
    control = {"cache_control": {"type": "ephemeral"}}
    if message.role == "tool" or not message.content.strip():
        return control
    content = _content(message, style)
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {"content": [*parts[:-1], parts[-1] | control]}
