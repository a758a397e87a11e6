"""What a foreign tool answered, as the model reads it: text, and a word on what is none."""

import json
from collections.abc import Iterator
from typing import Any

from assistant.quoting import neutralised, one_line
from assistant.tools.base import ToolResult

SHOWN = 80


def result_of(answer: Any) -> ToolResult:
    """A result of the `mcp` library's as one of ours."""
    text = "\n".join(_parts(answer.content))
    if not text.strip() and answer.structured_content is not None:
        text = json.dumps(answer.structured_content, ensure_ascii=False, default=str)
    said = neutralised(text)
    first = one_line(said.strip().partition("\n")[0])[:SHOWN]
    return ToolResult(said, error=bool(answer.is_error), compact=first)


def _parts(content: Any) -> Iterator[str]:
    for each in content:
        match each.type:
            case "text":
                yield each.text
            case "image" | "audio":
                yield f"[{each.type}, {each.mime_type}, {len(each.data):,} characters: not shown]"
            case "resource_link":
                yield f"[resource: {each.uri}]"
            case "resource" if hasattr(each.resource, "text"):
                yield each.resource.text
            case _:
                yield f"[{each.type}: not shown]"
