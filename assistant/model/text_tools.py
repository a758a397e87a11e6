"""Tool calling for models that have none of their own: tools and calls as text, in the prompt.

A call is written as it is meant, with nothing escaped, and CDATA where a value holds tags::

    <tool_call name="read_file">
    <path>notes.md</path>
    </tool_call>

`text_calls.py` reads it.
"""

import json
import uuid
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from typing import Any, Protocol

from assistant.errors import ModelError
from assistant.messages import Message, Reply, ToolCall
from assistant.model.base import ChatModel, Piece, TextPiece, ToolSpec
from assistant.model.provider.calls import TOOL_NAME
from assistant.model.provider.failures import NO_TOOLS
from assistant.model.provider.stream import ENDED
from assistant.model.text_calls import AGAIN, Block, CallFilter, parse
from assistant.quoting import without_calls


def describe(tools: Sequence[ToolSpec]) -> str:
    """What the model is told of the tools and of the form of a call."""
    listed = "\n\n".join(_described(tool) for tool in tools)
    return f"""\
# Tools

To use a tool, write a call in exactly this form, in your reply, with nothing around it:

<tool_call name="TOOL">
<PARAMETER>value</PARAMETER>
</tool_call>

Write each value as it is and escape nothing; put a value that holds tags in <![CDATA[ ]]>. A \
line break just inside a tag is not part of the value. Lists and objects are JSON. After your \
calls end your reply: the results come in the next message. A call that you only show, in a code \
fence or between backticks, is not made. These are the tools:

{listed}"""


def _described(tool: ToolSpec) -> str:
    required = tool.parameters.get("required", ())
    lines = [f"## {tool.name}", tool.description]
    for name, schema in tool.parameters.get("properties", {}).items():
        kind = schema.get("type") or "string or other"
        need = "required" if name in required else "optional"
        lines.append(f"- {name} ({kind}, {need}) {schema.get('description', '')}".rstrip())
    return "\n".join(lines)


def render_call(call: ToolCall) -> str:
    """The call in the form the model is told to write."""
    values = [f"<{name}>{_value(value)}</{name}>" for name, value in call.arguments.items()]
    return "\n".join([f'<tool_call name="{call.name}">', *values, "</tool_call>"])


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if "<" not in text and text == text.strip():
        return text
    return f"<![CDATA[{text.replace(']]>', ']]]]><![CDATA[>')}]]>"


def render_result(name: str, content: str) -> str:
    """A tool's result, which cannot close its own tag nor open a call."""
    return f'<tool_result name="{name}">\n{without_calls(content)}\n</tool_result>'


class ToolModel(ChatModel, Protocol):
    """A model that knows whether it can be offered tools."""

    @property
    def calls_tools(self) -> bool: ...


class _Around:
    """What is said of a model, of one that is wrapped."""

    _model: ChatModel

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def context_window(self) -> int | None:
        """The model's window."""
        return self._model.context_window

    @property
    def extracts(self) -> bool:
        """Whether the model extracts facts."""
        return self._model.extracts

    @property
    def sees(self) -> bool:
        """Whether the model may be sent pictures."""
        return self._model.sees


class XmlTools(_Around):
    """Offers tools to `model` in the prompt and reads its calls out of the text.

    Tool messages become text, and messages of one role in a row become one, since the chat
    templates of small models insist on turns.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Generator[Piece, None, None]:
        """Stream the prose of the answer; its calls are in the reply."""
        calls = CallFilter(tools)
        shown: list[str] = []
        with closing(self._model.stream(as_text(messages, tools))) as pieces:
            for piece in pieces:
                match piece:
                    case TextPiece(text):
                        visible = calls.feed(text)
                    case Reply():
                        visible = calls.finish(ended=piece.finish_reason in ENDED)
                    case _:
                        yield piece
                        continue
                if visible:
                    shown.append(visible)
                    yield TextPiece(visible)
                if isinstance(piece, Reply):
                    made = tuple(_call(block, tools) for block in calls.blocks)
                    ended = made and piece.finish_reason in ENDED
                    reason = "tool_calls" if ended else piece.finish_reason
                    text = "".join(shown)
                    yield replace(piece, text=text, tool_calls=made, finish_reason=reason)


class AutoTools(_Around):
    """Offers tools by the provider's own tool calling, and as XML once it refuses them."""

    _model: ToolModel

    def __init__(self, model: ToolModel) -> None:
        self._model = model
        self._xml = XmlTools(model)
        self.refused = False
        """Whether the provider would take no tools, so that they stand in the prompt."""

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Generator[Piece, None, None]:
        """Stream the answer in the form the model takes."""
        if not self.refused and self._model.calls_tools:
            try:
                yield from self._model.stream(messages, tools)
                return
            except ModelError as error:
                if not (tools and NO_TOOLS.search(error.message)):
                    raise
                self.refused = True
        yield from self._xml.stream(messages, tools)


def as_text(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> list[Message]:
    """The messages with tools, calls and results as text, one message a turn of a role."""
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    plain = [Message("system", describe(tools), cache=True)] if tools else []
    for message in messages:
        if message.role == "tool":
            name = names.get(message.tool_call_id or "", "unknown")
            plain.append(Message("user", render_result(name, message.content)))
        else:
            texts = (message.content, *map(render_call, message.tool_calls))
            content = "\n\n".join(filter(None, texts))
            plain.append(replace(message, content=content, tool_calls=()))
    merged: list[Message] = []
    for role, run in groupby(plain, key=lambda message: message.role):
        same = list(run)
        if role == "system":
            merged += same
            continue
        content = "\n\n".join(message.content for message in same if message.content)
        pictures = tuple(picture for message in same for picture in message.pictures)
        merged.append(Message(role, content, pictures=pictures))
    return merged


def _call(block: Block, tools: Sequence[ToolSpec]) -> ToolCall:
    identity = f"call_{uuid.uuid4().hex}"
    name = block.name if TOOL_NAME.fullmatch(block.name) else "unnamed"
    if not block.closed:
        return ToolCall(identity, name, fault=f"the call has no end; {AGAIN}")
    try:
        name, arguments = parse(block, tools)
    except ValueError as error:
        return ToolCall(identity, name, fault=str(error))
    if not TOOL_NAME.fullmatch(name):
        return ToolCall(identity, "unnamed", fault=f"there is no tool named {name!r}")
    return ToolCall(identity, name, arguments)
