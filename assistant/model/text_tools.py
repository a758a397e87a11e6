"""Tool calling as text in the prompt, for models without native tool calls.

Values in a call are written literally, without escapes, and in CDATA where they contain tags. Calls
are extracted from a reply as it streams, in this form and in the one that most open models were
trained on (Qwen, Hermes)::

    <tool_call name="read_file"><path>a.md</path></tool_call>
    <tool_call>{"name": "read_file", "arguments": {"path": "a.md"}}</tool_call>

Ambiguous calls are not guessed: the call gets a fault and the model sends it again.
"""

import json
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from assistant.errors import ModelError
from assistant.events import TextDelta
from assistant.messages import Message, Reply, ToolCall
from assistant.model.base import ChatModel, Piece, ToolSpec, Wrapper
from assistant.model.provider.failures import NO_TOOLS
from assistant.model.provider.stream import ENDED, TOOL_NAME, decode_arguments
from assistant.quoting import without_calls
from assistant.tables import table_of

HEAD, END = "<tool_call", "</tool_call>"
OPEN = re.compile(rf"{HEAD}(?:\s+name\s*=\s*[\"']?(?P<name>[\w.-]+)[\"']?)?\s*>", re.IGNORECASE)
SECTION = r"<!\[CDATA\[.*?(?:\]\]>|\Z)"
"""A CDATA section; an unclosed one extends to the end of the text."""
BORDER = re.compile(
    rf"{SECTION}|(?P<close></tool_call\s*>)|(?P<open>{OPEN.pattern.replace('?P<name>', '?:')})",
    re.DOTALL | re.IGNORECASE,
)
LONGEST_HEAD = 120
"""Maximum characters of a call's opening tag."""
PARAMETER = re.compile(r"\s*<([A-Za-z_][\w.-]*)\s*>")
CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
AGAIN = "send the whole call again"
ABOUT = frozenset({"name", "id", "type"})
ARGUMENTS = frozenset({"arguments", "parameters", "args", "input"})
"""Other keys of a JSON call, and the keys for its arguments."""
FENCE = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)]|>)\s+|>)*(?P<fence>`{3,}|~{3,})")
"""The start of a line that opens or closes a fence, also in a list or a quotation."""
QUOTATION = re.compile(r"\s*>")
FORMAT: str = table_of(__file__)["format"]
"""The prompt text on tools and the form of a call."""


@dataclass(frozen=True, slots=True)
class Block:
    """A call as written: the name in its tag, its body, and whether it is closed."""

    name: str
    body: str
    closed: bool


def parse(block: Block, tools: Sequence[ToolSpec]) -> tuple[str, dict[str, Any]]:
    """Return the tool's name and the arguments. Raises ValueError, one line for the model."""
    if block.name and block.body.lstrip().startswith("{"):
        return block.name, decode_arguments(block.body)
    if block.name:
        schema = next((tool.parameters for tool in tools if tool.name == block.name), {})
        properties: Mapping[str, Any] = schema.get("properties", {})
        values: dict[str, Any] = {}
        for key, text in _parameters(block.body, properties):
            if key in values:
                raise ValueError(f"<{key}> occurs twice; {AGAIN}")
            values[key] = _parse_value(text, properties.get(key, {}))
        return block.name, values
    call = decode_arguments(block.body)
    if isinstance(call.get("function"), dict):
        call = call["function"]
    name, keys = call.get("name"), set(call) - ABOUT
    if keys - ARGUMENTS or len(keys) > 1:
        raise ValueError(f'the arguments are not under "arguments"; {AGAIN}')
    arguments = call[keys.pop()] if keys else {}
    if isinstance(arguments, str):
        arguments = decode_arguments(arguments)
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise ValueError(f"the call names no tool; {AGAIN}")
    return name, arguments


def _parameters(body: str, known: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each parameter in a call's tag. Raises ValueError."""
    next_names = "|".join(map(re.escape, known)) or r"[A-Za-z_][\w.-]*"
    position = 0
    while body[position:].strip():
        start = PARAMETER.match(body, position)
        if start is None:
            text = " ".join(body[position:].split())[:40]
            raise ValueError(f"there is text outside of the parameters ({text!r}); {AGAIN}")
        name = start[1]
        end_pattern = re.compile(
            rf"{SECTION}|(?P<end></{re.escape(name)}\s*>)(?=\s*(?:<(?:{next_names})\s*>|\Z))",
            re.DOTALL,
        )
        ends = (match for match in end_pattern.finditer(body, start.end()) if match["end"])
        end = next(ends, None)
        if end is None:
            raise ValueError(f"<{name}> is not closed, or its tags cross others; {AGAIN}")
        yield name, body[start.end() : end.start()]
        position = end.end()


def _parse_value(text: str, schema: Mapping[str, Any]) -> Any:
    """Convert a parameter's text to its type in the tool's schema."""
    sections = CDATA.findall(text)
    if sections and not CDATA.sub("", text).strip():
        text = "".join(sections)
    elif "\n" not in text.strip():
        text = text.strip()
    else:
        text = re.sub(r"\A[ \t]*\n|\n[ \t]*\Z", "", text)
    if schema.get("type", "string") == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


class _Markdown:
    """Tracks a text's markdown; inside a fence, code span or quotation no call is meant."""

    def __init__(self) -> None:
        self._fence = ""
        self._line: list[str] = []

    def add(self, text: str) -> None:
        """Append text."""
        *lines, last = text.split("\n")
        for line in lines:
            self._end_line("".join([*self._line, line]))
            self._line = []
        self._line.append(last)

    def call_in(self, text: str) -> tuple[re.Match[str] | None, int]:
        """Continue up to the first unquoted opening tag in the text, otherwise to the last quoted
        one.

        Return the unquoted tag, and the offset up to which the text was tracked.
        """
        followed = 0
        for head in OPEN.finditer(text):
            self.add(text[followed : head.start()])
            followed = head.start()
            if not self.is_quoted():
                return head, followed
        return None, followed

    def is_quoted(self) -> bool:
        """Return whether the text ends inside a markdown fence, code span or quotation."""
        last = "".join(self._line)
        self._line = [last]
        in_span = len(re.findall("`+", last)) % 2
        return bool(self._fence or in_span or FENCE.match(last) or QUOTATION.match(last))

    def _end_line(self, line: str) -> None:
        fence = FENCE.match(line)
        remainder = line[fence.end() :] if fence else ""
        if fence and not self._fence:
            if fence["fence"][0] == "~" or "`" not in remainder:
                self._fence = fence["fence"]
        elif fence and fence["fence"].startswith(self._fence) and not remainder.strip():
            self._fence = ""


class CallFilter:
    """Extracts calls from streamed text; a quoted call, for example in a code fence, stays in the
    text.

    The prose before the first call is shown as it arrives. Text that might become the markup of a
    call is held back. Text from the first call on is parsed when it is complete; `blocks` are then
    its calls.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.blocks: list[Block] = []
        self._tools = tools
        self._shown = _Markdown()
        self._has_prose = False
        self._held = ""
        self._calls: list[str] = []

    def feed(self, piece: str) -> str:
        """Add a piece and return the text that can be shown."""
        if self._calls:
            self._calls.append(piece)
            return ""
        text = self._held + piece
        head, followed = self._shown.call_in(text)
        end = followed if head else _safe_length(text)
        self._has_prose |= bool(text[:end].strip())
        if head:
            self._calls.append(text[end:])
            return text[:end].rstrip()
        self._shown.add(text[followed:end])
        self._held = text[end:]
        return text[:end]

    def finish(self, *, ended: bool) -> str:
        """Parse the calls, and return the remaining text that can be shown: the prose after them.

        `ended` is True if the model stopped by itself, False if the stream broke off. A call
        without an end tag then counts as closed only if the model stopped and the call parses.
        """
        if not self._calls:
            return self._held
        text = "".join(self._calls)
        paragraphs = [prose for prose in self._read_calls(text, ended=ended) if prose]
        return "\n\n".join([""] * self._has_prose + paragraphs) if paragraphs else ""

    def _read_calls(self, text: str, *, ended: bool) -> Iterator[str]:
        """Parse the calls of a text; yield the prose around them."""
        while head := _Markdown().call_in(text)[0]:
            yield text[: head.start()].rstrip()
            call = Block(head["name"] or "", text[head.end() :], closed=True)
            end = self._end(text, head)
            if end is None:
                self.blocks.append(replace(call, closed=ended and self._is_whole(call)))
                return
            self.blocks.append(replace(call, body=text[head.end() : end.start()]))
            text = text[end.end() if end["close"] else end.start() :].lstrip()
            while text.lower().startswith(END):
                text = text[len(END) :].lstrip()
            if END.startswith(text.lower()):
                return  # the stream broke off in an end tag
        yield text

    def _end(self, text: str, head: re.Match[str]) -> re.Match[str] | None:
        """Find the end of a call: its end tag, or the next call's tag if the call parses."""
        for border in BORDER.finditer(text, head.end()):
            body = text[head.end() : border.start()]
            call = Block(head["name"] or "", body, closed=True)
            if border["close"] or (border["open"] and self._is_whole(call)):
                return border
        return None

    def _is_whole(self, block: Block) -> bool:
        """Return whether the block parses, so that the text after it is not part of it."""
        try:
            parse(block, self._tools)
        except ValueError:
            return False
        return True


def _safe_length(text: str) -> int:
    """Return the length of the text that cannot become part of a call, without trailing space."""
    position = text.rfind("<")
    tail = text[position:].lower()
    unfinished = len(tail) <= LONGEST_HEAD and ">" not in tail
    if position < 0 or not (HEAD.startswith(tail) or (unfinished and tail.startswith(HEAD))):
        position = len(text)
    return len(text[:position].rstrip())


def describe(tools: Sequence[ToolSpec]) -> str:
    """Return the description of the tools and of the call format for the prompt."""
    listed = "\n\n".join(_describe_tool(tool) for tool in tools)
    return f"{FORMAT}{listed}"


def _describe_tool(tool: ToolSpec) -> str:
    required = tool.parameters.get("required", ())
    lines = [f"## {tool.name}", tool.description]
    for name, schema in tool.parameters.get("properties", {}).items():
        kind = schema.get("type") or "string or other"
        need = "required" if name in required else "optional"
        lines.append(f"- {name} ({kind}, {need}) {schema.get('description', '')}".rstrip())
    return "\n".join(lines)


def render_call(call: ToolCall) -> str:
    """Render the call in the form that the model is told to write."""
    values = [f"<{name}>{_value(value)}</{name}>" for name, value in call.arguments.items()]
    return "\n".join([f'<tool_call name="{call.name}">', *values, "</tool_call>"])


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if "<" not in text and text == text.strip():
        return text
    return f"<![CDATA[{text.replace(']]>', ']]]]><![CDATA[>')}]]>"


def render_result(name: str, content: str) -> str:
    """Render a tool's result so that it can neither close its own tag nor open a call."""
    return f'<tool_result name="{name}">\n{without_calls(content)}\n</tool_result>'


class TextTools(Wrapper):
    """Offers tools to `model` in the prompt and parses its calls from the text.

    With `native` they are offered through the provider's tool calling, until it refuses them. Tool
    messages become text, and consecutive messages of one role are merged, since the chat templates
    of small models insist on one system message and alternating turns.
    """

    def __init__(self, model: ChatModel, *, native: bool = False) -> None:
        self._model = model
        self.tools_in_prompt = not native
        """Return whether tools are described in the prompt."""

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Generator[Piece, None, None]:
        """Stream the prose of the response; its calls are in the reply."""
        if not self.tools_in_prompt:
            try:
                yield from self._model.stream(messages, tools)
                return
            except ModelError as error:
                if not (tools and NO_TOOLS.search(error.message)):
                    raise
                self.tools_in_prompt = True
        calls = CallFilter(tools)
        texts: list[str] = []
        with closing(self._model.stream(as_text(messages, tools))) as pieces:
            for piece in pieces:
                match piece:
                    case TextDelta(text):
                        visible = calls.feed(text)
                    case Reply():
                        visible = calls.finish(ended=piece.finish_reason in ENDED)
                    case _:
                        yield piece
                        continue
                if visible:
                    texts.append(visible)
                    yield TextDelta(visible)
                if isinstance(piece, Reply):
                    calls_made = tuple(_call(block, tools) for block in calls.blocks)
                    ended = calls_made and piece.finish_reason in ENDED
                    reason = "tool_calls" if ended else piece.finish_reason
                    text = "".join(texts)
                    yield replace(piece, text=text, tool_calls=calls_made, finish_reason=reason)


def as_text(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> list[Message]:
    """Convert tools, calls and results to text, with one message per turn of a role."""
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    converted = [Message("system", describe(tools))] if tools else []
    for message in messages:
        if message.role == "tool":
            name = names.get(message.tool_call_id or "", "unknown")
            converted.append(Message("user", render_result(name, message.content)))
        else:
            texts = (message.content, *map(render_call, message.tool_calls))
            content = "\n\n".join(filter(None, texts))
            converted.append(replace(message, content=content, tool_calls=()))
    merged: list[Message] = []
    for role, consecutive in groupby(converted, key=lambda message: message.role):
        group = list(consecutive)
        content = "\n\n".join(message.content for message in group if message.content)
        pictures = tuple(picture for message in group for picture in message.pictures)
        merged.append(Message(role, content, cache=role == "system", pictures=pictures))
    return merged


def _call(block: Block, tools: Sequence[ToolSpec]) -> ToolCall:
    name = block.name if TOOL_NAME.fullmatch(block.name) else "unnamed"
    if not block.closed:
        return ToolCall("", name, fault=f"the call has no end; {AGAIN}")
    try:
        name, arguments = parse(block, tools)
    except ValueError as error:
        return ToolCall("", name, fault=str(error))
    if not TOOL_NAME.fullmatch(name):
        return ToolCall("", "unnamed", fault=f"there is no tool named {name!r}")
    return ToolCall("", name, arguments)
