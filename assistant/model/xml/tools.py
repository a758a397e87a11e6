"""Tool calling for models that have none of their own: the XML form as a `ChatModel` around one."""

import uuid
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from typing import Protocol

from assistant.errors import ModelError
from assistant.messages import Message, Reply, ToolCall
from assistant.model.base import ChatModel, Piece, TextPiece, ToolSpec
from assistant.model.provider.failures import NO_TOOLS
from assistant.model.provider.stream.calls import TOOL_NAME
from assistant.model.provider.stream.ending import ENDED
from assistant.model.xml.calls import Block, parse
from assistant.model.xml.filter import CallFilter
from assistant.model.xml.form import describe, render_call, render_result
from assistant.model.xml.values import AGAIN


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
                    yield _with_calls(piece, "".join(shown), calls.blocks, tools)


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
    told = [Message("system", describe(tools), cache=True)] if tools else []
    return list(_merged([*told, *(_as_text(message, names) for message in messages)]))


def _as_text(message: Message, names: dict[str, str]) -> Message:
    if message.role == "tool":
        name = names.get(message.tool_call_id or "", "unknown")
        return Message("user", render_result(name, message.content))
    calls = [render_call(call) for call in message.tool_calls]
    text = "\n\n".join(part for part in (message.content, *calls) if part)
    return replace(message, content=text, tool_calls=())


def _merged(messages: Sequence[Message]) -> Iterator[Message]:
    for role, said in groupby(messages, key=lambda message: message.role):
        if role == "system":
            yield from said
            continue
        run = list(said)
        text = "\n\n".join(message.content for message in run if message.content)
        shown = tuple(picture for message in run for picture in message.pictures)
        yield Message(role, text, pictures=shown)


def _with_calls(
    reply: Reply, text: str, blocks: Sequence[Block], tools: Sequence[ToolSpec]
) -> Reply:
    calls = tuple(_call(block, tools) for block in blocks)
    reason = "tool_calls" if calls and reply.finish_reason in ENDED else reply.finish_reason
    return replace(reply, text=text, tool_calls=calls, finish_reason=reason)


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
