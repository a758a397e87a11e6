"""Tool calls as XML in plain text, for models without tool calling of their own. Pure.

A call is written as it is meant, with nothing escaped, and CDATA where a value holds tags::

    <tool_call name="read_file">
    <path>notes.md</path>
    </tool_call>

What models write that were trained on other forms is read too: `calls.py`.
"""

import json
from collections.abc import Sequence
from typing import Any

from assistant.messages import ToolCall
from assistant.model.base import ToolSpec
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
