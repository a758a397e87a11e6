"""Messages, tools and effort as a request holds them: OpenAI's form, which litellm takes. Pure."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from assistant.messages import Message, ToolCall
from assistant.model.base import ToolSpec
from assistant.settings.sections import ModelSettings

Json = dict[str, Any]

MOST_MARKS = 4
"""Anthropic takes at most four cache marks a request."""
PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""An id of a call that every provider takes: OpenAI's length, Anthropic's characters."""
UNSEEN = "[Of the pictures named above {} cannot be shown to you: say so if it matters.]"
UNTHOUGHT = " "
"""Stands for reasoning that a provider demands and that there is none of."""

BY_SWITCH = ("deepseek", "moonshot", "zai", "volcengine")
"""Their requests turn thinking on and off by `thinking.type`."""
SERVERS = ("hosted_vllm", "lm_studio", "llamafile")
"""vLLM, llama.cpp and their like: their chat templates know a switch."""
BY_EFFORT = re.compile(r"(?:.*/)?(?:gpt-|o\d)")
"""OpenAI's models, also behind a proxy: they have an effort and no switch."""


@dataclass(frozen=True, slots=True)
class Style:
    """What a provider wants of messages beside their text.

    `marks`: it takes cache marks. `signs`: it signs what was thought, and wants that back while a
    turn's calls go on. `thoughts`: it wants `reasoning_content` with all that the assistant said.
    `own_ids`: its calls' ids say something to it. `sees`: it can be sent pictures.
    """

    marks: bool = False
    signs: bool = False
    thoughts: bool = False
    own_ids: bool = False
    sees: bool = True


def wire_messages(messages: Sequence[Message], style: Style) -> list[Json]:
    """The messages of a request; those that say nothing are left out, as providers refuse them."""
    sent = [message for message in messages if not _says_nothing(message)]
    if not style.marks:
        sent = one_system_message(sent)
    marked = [number for number, message in enumerate(sent) if message.cache][-MOST_MARKS:]
    running = max((n for n, message in enumerate(sent) if message.role == "user"), default=0)
    wire = []
    for number, message in enumerate(sent):
        made = _message(message, style)
        if style.thoughts and message.role == "assistant":
            made["reasoning_content"] = message.reasoning or UNTHOUGHT
        if style.signs and number > running and message.signed:
            made["thinking_blocks"] = [dict(block) for block in message.signed]
        if number in marked and style.marks:
            made |= _mark(message, style)
        wire.append(made)
    return wire


def lacks_signed(messages: Sequence[Message]) -> bool:
    """The turn's calls were made without a signed record of the thinking before them.

    A provider that signs then refuses to go on thinking in this turn.
    """
    last = next(
        (message for message in reversed(messages) if message.role in ("user", "assistant")), None
    )
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
    """The id as this provider takes it: another one may have made it."""
    if style.own_ids or PLAIN_ID.fullmatch(identity):
        return identity
    return f"call_{hashlib.sha256(identity.encode()).hexdigest()[:24]}"


def _mark(message: Message, style: Style) -> Json:
    control = {"cache_control": {"type": "ephemeral"}}
    if message.role == "tool" or not message.content.strip():
        return control
    content = _content(message, style)
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {"content": [*parts[:-1], parts[-1] | control]}


def thinking_parameters(settings: ModelSettings, provider: str) -> Json:
    """What `model.effort` adds to a request; nothing if it is unset."""
    effort = settings.effort
    if effort is None or (provider == "anthropic" and effort == "none"):
        return {}  # Claude thinks only if it is told to
    model = (settings.name or "").partition("/")[2]
    own = provider == "openai" and settings.api_base is not None and not BY_EFFORT.match(model)
    thinks = effort != "none"
    by_effort = thinks
    if provider in BY_SWITCH:
        body: Json = {"thinking": {"type": "enabled" if thinks else "disabled"}}
        by_effort = thinks and provider == "deepseek"  # the others take one of the two
    elif provider == "openrouter":
        body = {"reasoning": {"effort": effort} if thinks else {"enabled": False}}
        by_effort = False
    elif own or provider in SERVERS:
        body = {"chat_template_kwargs": {"enable_thinking": thinks}}
    else:  # litellm makes this the provider's own, or drops it where the model has none
        return {"reasoning_effort": effort}
    request: Json = {"extra_body": body}
    if by_effort:
        request |= {"reasoning_effort": effort, "allowed_openai_params": ["reasoning_effort"]}
    return request
