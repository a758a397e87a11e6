"""The owner's approvals: which servers may start, and the approved definitions of their tools.

Approvals are stored outside any workspace, so that none can approve itself. A server's tools are
pinned on first contact; later differences are held back until approved.
"""

import difflib
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from assistant import config
from assistant.disk import notebook
from assistant.display import in_words
from assistant.errors import StorageError
from assistant.model.base import ToolSpec
from assistant.quoting import COMMENT, neutralised
from assistant.tables import table_of
from assistant.tools.mcp_client.servers import Server

LONGEST_NAME = 64
"""Maximum length of a tool name that providers accept."""
CURE = "Remove it, then approve the servers again"
LONGEST_TEXT, LONGEST_SCHEMA = 1_024, 16_000
"""Maximum characters of a description and of a schema in a prompt."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool as its server describes it, in the server's words."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rendered(self) -> str:
        """The definition in canonical form, whatever the order of its keys."""
        whole = {"name": self.name, "description": self.description, "inputSchema": self.schema}
        return json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False, default=str)


_data = table_of(__file__)
RESOURCES, PROMPTS = (Definition(name, **_data[name]) for name in ("resources", "prompts"))
"""Offered as tools of a server that has any resources or prompts, unless it has a tool of that
name."""

Definitions = Mapping[str, Definition]
"""Definitions by the server's tool names."""


def changes(approved: Definitions, now: Definitions) -> dict[str, str]:
    """Return each new or changed tool with the difference. A removed tool is not a change."""
    return {
        name: _difference(approved.get(name), definition)
        for name, definition in now.items()
        if name not in approved or approved[name] != definition
    }


def _difference(before: Definition | None, after: Definition) -> str:
    old = before.rendered.split("\n") if before else []
    lines = difflib.unified_diff(old, after.rendered.split("\n"), "approved", "now", lineterm="")
    return "\n".join(in_words(lines))


def tool_name(server: str, tool: str) -> str:
    """Return the model's name for a tool: `mcp_SERVER_TOOL`, in the characters that providers
    accept."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", f"mcp_{server}_{tool}")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def spec(name: str, definition: Definition) -> ToolSpec:
    """Return the tool as offered to the model: without hidden characters, truncated to the
    limits."""
    description = neutralised(COMMENT.sub("", definition.description)).strip()
    schema = _clean(definition.schema)
    if len(json.dumps(schema, default=str)) > LONGEST_SCHEMA or schema.get("type") != "object":
        schema = {"type": "object"}
    return ToolSpec(name, description[:LONGEST_TEXT], schema)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return neutralised(COMMENT.sub("", value))
    if isinstance(value, Mapping):
        return {str(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, slots=True)
class Pin:
    """The record of one server.

    `agreed` is the digest of the approved entry; `tools` are the approved definitions, None before
    the first contact; `seen` are its latest definitions, where they differ; `files` are the digests
    of the code files and folders that it runs and that tools can write.
    """

    agreed: str = ""
    tools: dict[str, Definition] | None = None
    seen: dict[str, Definition] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    @property
    def held_back(self) -> dict[str, str]:
        """The tools that are held back, each with its difference."""
        return changes(self.tools or {}, self.seen)

    @property
    def offered(self) -> dict[str, Definition]:
        """The tools that are unchanged since their approval."""
        return {
            name: definition
            for name, definition in (self.tools or {}).items()
            if self.seen.get(name, definition) == definition
        }


class Pins:
    """The file of pins."""

    def __init__(self) -> None:
        self._path = config.state_dir() / "mcp.json"

    def of(self, server: Server) -> Pin:
        """Return the record of a server. Raises StorageError."""
        return notebook.load(self._path, dict[str, Pin], CURE).get(server.key, Pin())

    def may_start(self, server: Server) -> bool:
        """Return whether a server may start: it is the owner's or its entry is approved, and its
        files are unchanged. Its new files are then recorded as approved."""
        pin, current = self.of(server), server.files
        if (server.origin and pin.agreed != server.digest) or self.changed(server, current):
            return False
        if not pin.files.keys() >= current.keys():
            self._change(server, lambda pin: replace(pin, files={**current, **pin.files}))
        return True

    def changed(self, server: Server, current: Mapping[str, str] | None = None) -> list[str]:
        """Return the files and folders of the server's code whose `current` digests differ from
        the approved ones.

        One that was never approved counts as unchanged if the owner configured the server,
        otherwise as changed.
        """
        approved, current = self.of(server).files, server.files if current is None else current
        return [
            path
            for path in current
            if approved.get(path, server.origin or current[path]) != current[path]
        ]

    def agree(self, server: Server, shown: Pin) -> None:
        """Record that the owner approves the entry and the held-back tools as shown.

        Raises StorageError if other tools are held back by now.
        """

        def approved(pin: Pin) -> Pin:
            if pin.seen != shown.seen:
                raise StorageError(f"{server.name} has changed since it was shown", "Look again")
            tools = {**(pin.tools or {}), **pin.seen} if pin.tools is not None else None
            return Pin(server.digest, tools, files=server.files)

        self._change(server, approved)

    def met(self, server: Server, now: Definitions) -> Pin:
        """Compare a server's current tools with the pinned ones; pin them on first contact."""

        def compared(pin: Pin) -> Pin:
            pin = replace(pin, files={**server.files, **pin.files})
            if pin.tools is None:
                return replace(pin, tools=dict(now), seen={})
            ours = {name: now[name] for name in now if now[name] in (RESOURCES, PROMPTS)}
            tools = {**ours, **pin.tools}  # the program, not the server, describes these
            return replace(pin, tools=tools, seen=dict(now) if changes(tools, now) else {})

        return self._change(server, compared)

    def _change(self, server: Server, change: Callable[[Pin], Pin]) -> Pin:
        with notebook.changing(self._path, dict[str, Pin], CURE) as pins:
            pins[server.key] = change(pins.get(server.key, Pin()))
        return pins[server.key]
