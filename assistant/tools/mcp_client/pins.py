"""What the owner has agreed to: which servers may start, and what their tools were said to be.

It is kept outside any workspace, so that none can agree in its owner's place. A server's tools are
kept as they are when it is first met; what it says otherwise later is held back until approved.
"""

import difflib
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from assistant import config
from assistant.disk import locking, storage
from assistant.errors import StorageError
from assistant.model.base import ToolSpec
from assistant.quoting import COMMENT, neutralised
from assistant.tools.mcp_client.servers import Server

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


@dataclass(frozen=True, slots=True)
class Pin:
    """What is kept of a server.

    `agreed` is the digest of the entry that may start; `tools` what its tools are approved as, None
    before it was met; `seen` what it said last, where that is something else; `files` the digests
    of its command line's files that lie where tools can write.
    """

    agreed: str = ""
    tools: dict[str, Definition] | None = None
    seen: dict[str, Definition] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    @property
    def held(self) -> dict[str, str]:
        """The tools that are held back, each with its difference."""
        return changes(self.tools or {}, self.seen)

    @property
    def offered(self) -> dict[str, Definition]:
        """The tools that are as they were approved."""
        return {name: each for name, each in (self.tools or {}).items() if name not in self.held}


class Pins:
    """The file of pins."""

    def __init__(self) -> None:
        self._path = config.state_dir() / "mcp.json"

    def of(self, server: Server) -> Pin:
        """What is kept of a server. Raises StorageError."""
        return self._all().get(server.key, Pin())

    def may_start(self, server: Server) -> bool:
        """Whether the owner wants it: it is theirs, or they agreed to this very entry, and its
        files are as they were."""
        agreed = not server.origin or self.of(server).agreed == server.digest
        return agreed and not self.changed(server)

    def changed(self, server: Server) -> list[str]:
        """The files of its command line that are others than was agreed to. Of the owner's own
        server a file counts as agreed to when it is first started."""
        known, now = self.of(server).files, server.files
        return [path for path in now if known.get(path, server.origin or now[path]) != now[path]]

    def agree(self, server: Server, shown: Pin) -> None:
        """The owner has been shown the entry and what is held back, and agrees to just these.

        Raises StorageError if something else is held back by now.
        """

        def approved(pin: Pin) -> Pin:
            if pin.seen != shown.seen:
                raise StorageError(f"{server.name} has changed since it was shown", "Look again")
            tools = {**(pin.tools or {}), **pin.seen} if pin.tools is not None else None
            return Pin(server.digest, tools, files=server.files)

        self._change(server, approved)

    def met(self, server: Server, now: Definitions) -> Pin:
        """Compare what a server says now with what is kept; at the first time, keep it."""

        def compared(pin: Pin) -> Pin:
            pin = replace(pin, files={**server.files, **pin.files})
            if pin.tools is None:
                return replace(pin, tools=dict(now), seen={})
            return replace(pin, seen=dict(now) if changes(pin.tools, now) else {})

        return self._change(server, compared)

    def _change(self, server: Server, change: Callable[[Pin], Pin]) -> Pin:
        storage.private_directory(self._path.parent)
        with locking.lock(self._path.with_suffix(".lock")):
            pins = self._all()
            before = pins.get(server.key, Pin())
            after = change(before)
            if after != before:
                storage.replace(self._path, msgspec.json.encode({**pins, server.key: after}))
        return after

    def _all(self) -> dict[str, Pin]:
        try:
            return msgspec.json.decode(storage.read(self._path), type=dict[str, Pin])
        except FileNotFoundError:
            return {}
        except msgspec.MsgspecError as error:
            raise StorageError(
                f"{self._path} is damaged", "Remove it, and approve the servers anew"
            ) from error
