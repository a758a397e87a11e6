"""Tool calling for models that have none of their own: tools and calls as text, in the prompt.

A call is written as it is meant, with nothing escaped, and CDATA where a value holds tags. Calls
are taken out of a reply as it grows, in this form and in the one that most open models were
trained on (Qwen, Hermes)::

    <tool_call name="read_file"><path>a.md</path></tool_call>
    <tool_call>{"name": "read_file", "arguments": {"path": "a.md"}}</tool_call>

What can be read in two ways is not guessed at: the call gets a fault and the model sends it again.
"""

import copy
import json
import re
import uuid
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Self

from assistant.errors import ModelError
from assistant.messages import Message, Reply, ToolCall
from assistant.model.base import ChatModel, Piece, TextPiece, ToolSpec
from assistant.model.provider.calls import TOOL_NAME, decode_arguments
from assistant.model.provider.failures import NO_TOOLS
from assistant.model.provider.stream import ENDED
from assistant.quoting import without_calls

HEAD, END = "<tool_call", "</tool_call>"
OPEN = re.compile(rf"{HEAD}(?:\s+name\s*=\s*[\"']?(?P<name>[\w.-]+)[\"']?)?\s*>", re.IGNORECASE)
SECTION = r"<!\[CDATA\[.*?(?:\]\]>|\Z)"
"""A CDATA section; one that is still open takes everything in."""
BORDER = re.compile(
    rf"{SECTION}|(?P<close></tool_call\s*>)|(?P<open>{OPEN.pattern.replace('?P<name>', '?:')})",
    re.DOTALL | re.IGNORECASE,
)
LONGEST_HEAD = 120
"""Characters of a tag that begins a call."""
PARAMETER = re.compile(r"\s*<([A-Za-z_][\w.-]*)\s*>")
CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
AGAIN = "send the whole call again"
ABOUT = frozenset({"name", "id", "type"})
ARGUMENTS = frozenset({"arguments", "parameters", "args", "input"})
"""What JSON has beside a call's arguments, and what they are called in it."""
FENCE = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)]|>)\s+|>)*(?P<fence>`{3,}|~{3,})")
"""The head of a line that opens or closes a fence, in a list or a quotation as well."""
QUOTATION = re.compile(r"\s*>")


@dataclass(frozen=True, slots=True)
class Block:
    """A call as it stood in the text: the name in its tag, what is inside, and whether it ends."""

    name: str
    body: str
    closed: bool


def parse(block: Block, tools: Sequence[ToolSpec]) -> tuple[str, dict[str, Any]]:
    """The tool's name and the arguments. Raises ValueError, one line for the model."""
    if block.name and block.body.lstrip().startswith("{"):
        return block.name, decode_arguments(block.body)
    if block.name:
        schema = next((tool.parameters for tool in tools if tool.name == block.name), {})
        known: Mapping[str, Any] = schema.get("properties", {})
        values: dict[str, Any] = {}
        for key, text in _parameters(block.body, known):
            if key in values:
                raise ValueError(f"<{key}> stands there twice; {AGAIN}")
            values[key] = _typed(text, known.get(key, {}))
        return block.name, values
    call = decode_arguments(block.body)
    if isinstance(call.get("function"), dict):
        call = call["function"]
    name, keys = call.get("name"), set(call) - ABOUT
    if keys - ARGUMENTS or len(keys) > 1:
        raise ValueError(f'the arguments do not stand under "arguments"; {AGAIN}')
    arguments = call[keys.pop()] if keys else {}
    if isinstance(arguments, str):
        arguments = decode_arguments(arguments)
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise ValueError(f"the call names no tool; {AGAIN}")
    return name, arguments


def _parameters(body: str, known: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The parameters in a call's tag, each a name and a text. Raises ValueError."""
    following = "|".join(map(re.escape, known)) or r"[A-Za-z_][\w.-]*"
    position = 0
    while body[position:].strip():
        start = PARAMETER.match(body, position)
        if start is None:
            text = " ".join(body[position:].split())[:40]
            raise ValueError(f"there is text outside of the parameters ({text!r}); {AGAIN}")
        name = start[1]
        border = re.compile(
            rf"{SECTION}|(?P<end></{re.escape(name)}\s*>)(?=\s*(?:<(?:{following})\s*>|\Z))",
            re.DOTALL,
        )
        ends = (match for match in border.finditer(body, start.end()) if match["end"])
        end = next(ends, None)
        if end is None:
            raise ValueError(f"<{name}> is not closed, or its tags cross others; {AGAIN}")
        yield name, body[start.end() : end.start()]
        position = end.end()


def _typed(text: str, schema: Mapping[str, Any]) -> Any:
    """A parameter's value, by its type in the tool's schema."""
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


class _Quoting:
    """Whether the text so far ends inside of a fence, a code span or a quotation of markdown."""

    def __init__(self) -> None:
        self._fence = ""
        self._line = ""

    def feed(self, text: str) -> None:
        """Take some more text in."""
        first, *lines = text.split("\n")
        self._line += first
        for line in lines:
            fence = FENCE.match(self._line)
            rest = self._line[fence.end() :] if fence else ""
            if fence and not self._fence:
                if fence["fence"][0] == "~" or "`" not in rest:
                    self._fence = fence["fence"]
            elif fence and fence["fence"].startswith(self._fence) and not rest.strip():
                self._fence = ""
            self._line = line

    def after(self, text: str) -> Self:
        """As it will be after some more text."""
        ahead = copy.copy(self)
        ahead.feed(text)
        return ahead

    @property
    def quoted(self) -> bool:
        """What stands here is shown, not meant."""
        in_span = len(re.findall("`+", self._line)) % 2
        return bool(
            self._fence or in_span or FENCE.match(self._line) or QUOTATION.match(self._line)
        )


class CallFilter:
    """Takes the calls out of a text; one that is quoted, in a code fence say, is a part of it.

    What might still become the markup of a call is held back, so none of it is ever shown.
    `blocks` are the calls found so far.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.blocks: list[Block] = []
        self._tools = tools
        self._rest = ""
        self._open: Block | None = None  # the call that is open, its body still empty
        self._quoting = _Quoting()
        self._behind_call = False
        self._shown = False

    def feed(self, piece: str) -> str:
        """Take a piece in; returns what can be shown."""
        self._rest += piece
        if self._open is not None and ">" not in piece:
            return ""  # no tag ends here: spare a long value the search
        shown = ""
        while True:
            if self._open is None:
                shown += self._prose()
            if self._open is None or not self._take(self._open):
                return shown

    def finish(self, *, ended: bool) -> str:
        """The text is over; returns what was held back. `ended` says it came to its own end."""
        rest, self._rest = self._rest, ""
        if self._open is None:
            return self._show("" if self._behind_call else rest)
        block = replace(self._open, body=rest, closed=True)
        self.blocks.append(replace(block, closed=ended and self._is_whole(block)))
        return ""

    def _is_whole(self, block: Block) -> bool:
        """The block parses: what comes next is not a part of it."""
        try:
            parse(block, self._tools)
        except ValueError:
            return False
        return True

    def _prose(self) -> str:
        """Show the text up to the next call, or up to what may become one."""
        shown = ""
        while not self._behind_call or self._skip_gap():
            head = OPEN.search(self._rest)
            if not head:
                return shown + self._say(_held_from(self._rest))
            if self._quoting.after(self._rest[: head.start()]).quoted:
                shown += self._say(head.end())
                continue
            shown += self._show(self._rest[: head.start()].rstrip())
            self._rest, self._quoting = self._rest[head.end() :], _Quoting()
            self._open = Block(head["name"] or "", "", False)
            return shown
        return shown

    def _say(self, end: int) -> str:
        """Show the text up to there."""
        text, self._rest = self._rest[:end], self._rest[end:]
        self._quoting.feed(text)
        return self._show(text)

    def _skip_gap(self) -> bool:
        """Drop the white space behind a call, and ends of nothing; False if more must come."""
        self._rest = self._rest.lstrip()
        while self._rest.lower().startswith(END):
            self._rest = self._rest[len(END) :].lstrip()
        return not END.startswith(self._rest.lower())

    def _take(self, opened: Block) -> bool:
        """Take the open call out, if its end is there: its tag, or the next call's."""
        for border in BORDER.finditer(self._rest):
            block = replace(opened, body=self._rest[: border.start()], closed=True)
            if border["close"] or (border["open"] and self._is_whole(block)):
                self.blocks.append(block)
                self._rest = self._rest[border.end() if border["close"] else border.start() :]
                self._open, self._behind_call = None, True
                return True
        return False

    def _show(self, text: str) -> str:
        """What is shown of a piece of prose; behind a call it starts a new paragraph."""
        if not text:
            return ""
        gap = "\n\n" if self._behind_call and self._shown else ""
        self._behind_call, self._shown = False, True
        return gap + text


def _held_from(text: str) -> int:
    """Where the end of the text begins that may become a call, with the space before it."""
    position = text.rfind("<")
    tail = text[position:].lower()
    unfinished = len(tail) <= LONGEST_HEAD and ">" not in tail
    if position < 0 or not (HEAD.startswith(tail) or (unfinished and tail.startswith(HEAD))):
        position = len(text)
    return len(text[:position].rstrip())


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


class TextTools:
    """Offers tools to `model` in the prompt and reads its calls out of the text.

    With `native` they are offered by the provider's own tool calling, until it refuses them. Tool
    messages become text, and messages of one role in a row become one, since the chat templates of
    small models insist on turns.
    """

    def __init__(self, model: ChatModel, *, native: bool = False) -> None:
        self._model = model
        self.in_prompt = not native
        """Whether tools stand in the prompt, and not beside it."""

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

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Generator[Piece, None, None]:
        """Stream the prose of the answer; its calls are in the reply."""
        if not self.in_prompt:
            try:
                yield from self._model.stream(messages, tools)
                return
            except ModelError as error:
                if not (tools and NO_TOOLS.search(error.message)):
                    raise
                self.in_prompt = True
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
