"""Encodes messages and effort for a request in OpenAI's form, which litellm accepts. Pure."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assistant.messages import Message, ToolCall
from assistant.settings.sections import ModelSettings

Json = dict[str, Any]

MOST_MARKS = 4
"""Maximum number of cache marks in a request to Anthropic."""
PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""A call ID that every provider accepts: OpenAI's length, Anthropic's characters."""
UNSEEN = "[Of the pictures named above {} cannot be shown to you: say so if it matters.]"
UNTHOUGHT = " "
"""Placeholder for missing reasoning that a provider demands."""

BY_SWITCH = ("deepseek", "moonshot", "zai", "volcengine")
"""Providers whose requests turn thinking on and off with `thinking.type`."""
SERVERS = ("hosted_vllm", "lm_studio", "llamafile")
"""vLLM, llama.cpp and similar servers, whose chat templates have a switch."""
BY_EFFORT = re.compile(r"(?:.*/)?(?:gpt-|o\d)")
"""OpenAI's models, also behind a proxy, which have an effort but no switch."""


@dataclass(frozen=True, slots=True)
class Style:
    """The provider's requirements for messages besides their text.

    `claude`: it accepts cache marks, signs reasoning, and needs it sent back during a turn's calls.
    `thoughts`: it needs `reasoning_content` with every assistant message. `own_ids`: the IDs of its
    calls carry meaning. `sees`: it accepts pictures.
    """

    claude: bool = False
    thoughts: bool = False
    own_ids: bool = False
    sees: bool = True


def wire_messages(messages: Sequence[Message], style: Style) -> list[Json]:
    """Encode the messages of a request, without empty ones, which providers refuse."""
    sent = [m for m in messages if m.content.strip() or m.tool_calls or m.role == "tool"]
    marked = [number for number, message in enumerate(sent) if message.cache][-MOST_MARKS:]
    start = _turn_start(sent)
    wire = []
    for number, message in enumerate(sent):
        wire_message = _message(message, style)
        if style.thoughts and message.role == "assistant":
            wire_message["reasoning_content"] = message.reasoning or UNTHOUGHT
        if style.claude and number > start and message.signed:
            wire_message["thinking_blocks"] = [dict(block) for block in message.signed]
        if style.claude and number in marked:
            wire_message |= _mark(message, style)
        wire.append(wire_message)
    return wire


def lacks_signed(messages: Sequence[Message]) -> bool:
    """Return whether the turn's calls were made without signed reasoning before them.

    A provider that signs then refuses to continue thinking in this turn.
    """
    turn = messages[_turn_start(messages) :]
    last = next((message for message in reversed(turn) if message.role == "assistant"), None)
    return last is not None and bool(last.tool_calls) and not last.signed


def _turn_start(messages: Sequence[Message]) -> int:
    """Return the index where the turn begins.

    A message of the user role right after a tool's result, such as its picture, continues the turn.
    """
    starts = (
        number
        for number, message in enumerate(messages)
        if message.role == "user" and messages[number - 1].role != "tool"
    )
    return max(starts, default=0)


def _message(message: Message, style: Style) -> Json:
    wire: Json = {"role": message.role, "content": _content(message, style)}
    if message.tool_calls:
        wire["content"] = message.content if message.content.strip() else None
        wire["tool_calls"] = [_call(call, style) for call in message.tool_calls]
    if message.role == "tool":
        wire["tool_call_id"] = _id(message.tool_call_id or "", style)
    return wire


def _content(message: Message, style: Style) -> str | list[Json]:
    """Return the text, after its pictures; pictures that cannot be shown are only named."""
    visible = [picture for picture in message.pictures if picture.data and style.sees]
    missing = len(message.pictures) - len(visible)
    text = f"{message.content}\n{UNSEEN.format(missing)}" if missing else message.content
    if not visible:
        return text
    urls = (
        f"data:{picture.media};base64,{base64.b64encode(picture.data).decode()}"
        for picture in visible
    )
    pictures = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return [*pictures, {"type": "text", "text": text}]


def _call(call: ToolCall, style: Style) -> Json:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    function = {"name": call.name, "arguments": arguments}
    return {"id": _id(call.id, style), "type": "function", "function": function}


def _id(identity: str, style: Style) -> str:
    """Return an ID that this provider accepts, since another provider may have made it."""
    if style.own_ids or PLAIN_ID.fullmatch(identity):
        return identity
    return f"call_{hashlib.sha256(identity.encode()).hexdigest()[:24]}"


def _mark(message: Message, style: Style) -> Json:
    """Return the fields that add a cache mark to a message."""
    control = {"cache_control": {"type": "ephemeral"}}
    if message.role == "tool" or not message.content.strip():
        return control
    content = _content(message, style)
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {"content": [*parts[:-1], parts[-1] | control]}


def thinking_parameters(settings: ModelSettings, provider: str) -> Json:
    """Return the parameters that `model.effort` adds to a request; none if it is unset."""
    effort = settings.effort
    if effort is None or (provider == "anthropic" and effort == "none"):
        return {}  # Claude thinks only on request
    model = (settings.name or "").partition("/")[2]
    is_custom_server = (
        provider == "openai" and settings.api_base is not None and not BY_EFFORT.match(model)
    )
    thinks = effort != "none"
    by_effort = thinks
    if provider in BY_SWITCH:
        body: Json = {"thinking": {"type": "enabled" if thinks else "disabled"}}
        by_effort = thinks and provider == "deepseek"  # the others accept only one of the two
    elif provider == "openrouter":
        body = {"reasoning": {"effort": effort} if thinks else {"enabled": False}}
        by_effort = False
    elif is_custom_server or provider in SERVERS:
        body = {"chat_template_kwargs": {"enable_thinking": thinks}}
    else:  # litellm converts it for the provider, or drops it if the model does not support it
        return {"reasoning_effort": effort}
    request: Json = {"extra_body": body}
    if by_effort:
        request |= {"reasoning_effort": effort, "allowed_openai_params": ["reasoning_effort"]}
    return request
