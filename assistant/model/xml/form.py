"""Tool calls as XML in plain text, for models without tool calling of their own. Pure.

A call is written as it is meant, with nothing escaped, and CDATA where a value holds tags::

    <tool_call name="read_file">
    <path>notes.md</path>
    </tool_call>

The JSON form that many open models were trained on (`<tool_call>{"name": …, "arguments": …}`) is
understood too. What can be read in two ways is not guessed at: the call gets a fault and the
model sends it again.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.messages import ToolCall
from assistant.model.base import ToolSpec
from assistant.model.stream.arguments import decode_arguments
from assistant.quoting import without_calls

OPEN = re.compile(r"<tool_call(?:\s+name\s*=\s*[\"']?(?P<name>[\w.-]+)[\"']?)?\s*>", re.IGNORECASE)
SECTION = r"<!\[CDATA\[.*?(?:\]\]>|\Z)"
"""A CDATA section; one that is still open takes everything in."""
BORDER = re.compile(
    rf"{SECTION}|(?P<close></tool_call\s*>)|(?P<open>{OPEN.pattern})",
    re.DOTALL | re.IGNORECASE,
)
PARTIAL_OPEN = re.compile(
    "<" + "".join(f"(?:{letter}" for letter in "tool_call") + "[^<>]{0,100}" + ")?" * 9 + r"\Z",
    re.IGNORECASE,
)
PARAMETER = re.compile(r"\s*<([A-Za-z_][\w.-]*)\s*>")
CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
FENCE_BEFORE = re.compile(r"```(?:xml|tool_call|tool|text)\s*\Z")
HELD = re.compile(r"\s*(?:`{1,3}[a-z_]*\s*)?\Z")
AGAIN = "send the whole call again"


@dataclass(frozen=True, slots=True)
class Block:
    """A call as it stood in the text: the name in its tag, what is inside, and whether it ends."""

    name: str
    body: str
    closed: bool


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
calls end your reply: the results come in the next message. These are the tools:

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


def parse(block: Block, tools: Iterable[ToolSpec]) -> tuple[str, dict[str, Any]]:
    """The tool's name and the arguments. Raises ValueError, one line for the model."""
    if not block.name:
        return _parse_json(block.body)
    if block.body.lstrip().startswith("{"):
        return block.name, decode_arguments(block.body)
    schemas = next((t.parameters for t in tools if t.name == block.name), {})
    properties: Mapping[str, Any] = schemas.get("properties", {})
    values: dict[str, Any] = {}
    place = 0
    while block.body[place:].strip():
        name, text, place = _parameter(block.body, place, properties)
        if name in values:
            raise ValueError(f"<{name}> stands there twice; {AGAIN}")
        values[name] = _typed(text, properties.get(name, {}))
    return block.name, values


def is_whole(block: Block, tools: Iterable[ToolSpec]) -> bool:
    """The block parses: what comes next is not a part of it."""
    try:
        parse(block, tools)
    except ValueError:
        return False
    return True


def _parse_json(body: str) -> tuple[str, dict[str, Any]]:
    call = decode_arguments(body)
    name, arguments = call.get("name"), call.get("arguments", {})
    if isinstance(arguments, str):
        arguments = decode_arguments(arguments)
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise ValueError(f"the call names no tool; {AGAIN}")
    return name, arguments


def _parameter(body: str, place: int, known: Mapping[str, Any]) -> tuple[str, str, int]:
    """The parameter that begins at `place`: name, text, and where it ends."""
    start = PARAMETER.match(body, place)
    if start is None:
        found = " ".join(body[place:].split())[:40]
        raise ValueError(f"there is text outside of the parameters ({found!r}); {AGAIN}")
    name = start[1]
    following = "|".join(re.escape(other) for other in known) or r"[A-Za-z_][\w.-]*"
    border = re.compile(
        rf"{SECTION}|(?P<end></{re.escape(name)}\s*>)(?=\s*(?:<(?:{following})\s*>|\Z))",
        re.DOTALL,
    )
    for found_border in border.finditer(body, start.end()):
        if found_border["end"]:
            return name, body[start.end() : found_border.start()], found_border.end()
    raise ValueError(f"<{name}> is not closed, or its tags cross others; {AGAIN}")


def _typed(text: str, schema: Mapping[str, Any]) -> Any:
    plain = _unwrapped(text)
    if schema.get("type", "string") == "string":
        return plain
    try:
        return json.loads(plain)
    except ValueError:
        return plain


def _unwrapped(text: str) -> str:
    sections = CDATA.findall(text)
    if sections and not CDATA.sub("", text).strip():
        return "".join(sections)
    if "\n" not in text.strip():
        return text.strip()
    return re.sub(r"\A[ \t]*\n|\n[ \t]*\Z", "", text)


class CallFilter:
    """Takes the calls out of a text that grows, piece by piece, wherever a piece may end.

    What might still become the markup of a call is held back, so none of it is ever shown.
    `blocks` are the calls found so far.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.blocks: list[Block] = []
        self._tools = tools
        self._rest = ""
        self._name: str | None = None  # of the call that is open
        self._fenced = False  # it stands in a code fence
        self._behind_call = False
        self._shown = False

    def feed(self, piece: str) -> str:
        """Take a piece in; returns what can be shown."""
        self._rest += piece
        if self._name is not None and ">" not in piece:
            return ""  # no tag ends here: spare a long value the search
        shown = ""
        while True:
            if self._name is None:
                shown += self._prose()
            if self._name is None or not self._take(self._name):
                return shown

    def finish(self, *, ended: bool) -> str:
        """The text is over; returns what was held back. `ended` says it came to its own end."""
        rest, self._rest = self._rest, ""
        if self._name is None:
            return self._show("" if self._behind_call else rest)
        block = Block(self._name, rest, closed=True)
        whole = ended and is_whole(block, self._tools)
        self.blocks.append(block if whole else Block(block.name, rest, closed=False))
        return ""

    def _prose(self) -> str:
        """Show the text up to the next call, or up to what may become one."""
        if self._behind_call and not self._skip_gap():
            return ""
        found = OPEN.search(self._rest)
        if not found:
            held = _held_from(self._rest)
            shown, self._rest = self._rest[:held], self._rest[held:]
            return self._show(shown)
        before = self._rest[: found.start()].rstrip()
        self._name, self._rest = found["name"] or "", self._rest[found.end() :]
        self._fenced = FENCE_BEFORE.search(before) is not None
        return self._show(FENCE_BEFORE.sub("", before).rstrip())

    def _skip_gap(self) -> bool:
        """Drop the white space and the fence's end behind a call; False if more must come."""
        self._rest = self._rest.lstrip()
        if self._fenced and "```".startswith(self._rest[:3]):
            if len(self._rest) < 3:
                return False
            self._rest, self._fenced = self._rest[3:].lstrip(), False
        return bool(self._rest)

    def _take(self, name: str) -> bool:
        """Take the open call out, if its end is there: its tag, or the next call's."""
        for border in BORDER.finditer(self._rest):
            block = Block(name, self._rest[: border.start()], closed=True)
            if border["close"] or (border["open"] and is_whole(block, self._tools)):
                self.blocks.append(block)
                self._rest = self._rest[border.end() if border["close"] else border.start() :]
                self._name, self._behind_call = None, True
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
    """Where the end of the text begins that may become a call, its fence and space before it."""
    partial = PARTIAL_OPEN.search(text)
    place = partial.start() if partial else len(text)
    before = HELD.search(text[:place])
    return before.start() if before else place
