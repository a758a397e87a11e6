"""What a server says its tools are: kept by hash, compared with what it said before. Pure."""

import difflib
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assistant.model.base import ToolSpec
from assistant.quoting import COMMENT, neutralised

LONGEST_NAME = 64
"""What providers take of a tool's name."""
LONGEST_TEXT, LONGEST_SCHEMA = 1_024, 16_000
"""Characters of a description and of a schema that a prompt carries."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool as its server describes it; the words are the server's."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rendered(self) -> str:
        """All of it in one form, whatever the order it came in."""
        whole = {"name": self.name, "description": self.description, "inputSchema": self.schema}
        return json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False, default=str)

    @property
    def digest(self) -> str:
        """What is equal for the same definition."""
        return hashlib.sha256(self.rendered.encode("utf-8", "replace")).hexdigest()


Definitions = Mapping[str, Definition]
"""By the names that the server has for them."""


def changes(known: Definitions, now: Definitions) -> dict[str, str]:
    """Each tool that is new or described otherwise, with the difference. One that went is none."""
    return {
        name: _difference(known.get(name), each)
        for name, each in now.items()
        if name not in known or known[name].digest != each.digest
    }


def _difference(before: Definition | None, after: Definition) -> str:
    old = before.rendered.split("\n") if before else []
    lines = difflib.unified_diff(old, after.rendered.split("\n"), "approved", "now", lineterm="")
    return "\n".join(lines)


def tool_name(server: str, tool: str) -> str:
    """What the model calls a tool by: `mcp_SERVER_TOOL`, in the characters that providers take."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", f"mcp_{server}_{tool}")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def spec(name: str, definition: Definition) -> ToolSpec:
    """The tool as the model is offered it: nothing hidden in it, and not longer than it may be."""
    said = neutralised(COMMENT.sub("", definition.description)).strip()
    schema = _clean(definition.schema)
    if len(json.dumps(schema, default=str)) > LONGEST_SCHEMA or schema.get("type") != "object":
        schema = {"type": "object"}
    return ToolSpec(name, said[:LONGEST_TEXT], schema)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return neutralised(COMMENT.sub("", value))
    if isinstance(value, Mapping):
        return {str(key): _clean(each) for key, each in value.items()}
    return [_clean(each) for each in value] if isinstance(value, list | tuple) else value
