"""The programs that can be connected, as `programs.toml` describes them, and our entries in each
one's configuration."""

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assistant.disk import storage
from assistant.errors import UsageError
from assistant.integrations import jsonc, toml
from assistant.integrations.edits import Edit, Entry, Hook, OwnFile
from assistant.tables import table_of

SERVER = "assistant"
"""The name of our server in every program."""


@dataclass(frozen=True, slots=True)
class Launch:
    """The command that starts this memory, and its workspace."""

    command: str
    workspace: Path

    def server(self, program: str) -> list[str]:
        """Return the server's arguments."""
        return ["-w", str(self.workspace), "mcp", "--as", program]

    def hook(self, event: str, program: str) -> list[str]:
        """Return the command of a hook, as a list of arguments."""
        return [self.command, "-w", str(self.workspace), "hook", event, "--for", program]


@dataclass(frozen=True, slots=True)
class File:
    """A file of a program's configuration, and our entries in it."""

    path: Path
    edits: Sequence[Edit]


@dataclass(frozen=True, slots=True)
class Program:
    """A program, as a table of `programs.toml`."""

    name: str
    title: str
    afterwards: str
    file: str
    key: Sequence[str]
    server: Mapping[str, Any]
    nested: str = ""
    hooks: str = ""
    events: Mapping[str, int] = field(default_factory=dict)
    version: int | None = None
    plugin: str = ""

    def files(self, launch: Launch) -> list[File]:
        """Return the files of its configuration, with the entries that connect it."""
        places = _places()
        path = Path(self.file.format_map(places))
        files: dict[Path, list[Edit]] = {path: [self._entry(launch, path)]}
        if self.hooks:
            files.setdefault(Path(self.hooks.format_map(places)), []).extend(self._hooks(launch))
        return [File(path, edits) for path, edits in files.items()]

    def _entry(self, launch: Launch, path: Path) -> Entry:
        key, arguments = [*self.key], launch.server(self.name)
        with suppress(OSError, ValueError):  # reported when the file is changed
            text = path.read_text("utf-8-sig") if self.nested else ""
            if jsonc.value(text, (*key, self.nested)) is not None:
                key.append(self.nested)
        if isinstance(self.server["command"], list):
            server = {**self.server, "command": [launch.command, *arguments]}
        else:
            server = {**self.server, "command": launch.command, "args": arguments}
        return Entry((*key, SERVER), server, toml if path.suffix == ".toml" else jsonc)

    def _hooks(self, launch: Launch) -> list[Edit]:
        if self.plugin:
            plugin = Path(__file__).with_name(self.plugin).read_text("utf-8")
            command = json.dumps(launch.hook("EVENT", self.name))
            return [OwnFile(plugin.replace("__COMMAND__", command))]
        hooks: list[Edit] = []
        for event, timeout in self.events.items():
            words = launch.hook(event, self.name)
            item: dict[str, Any] = {"command": shlex.join(words)}
            if not self.version:
                item = {"hooks": [{**item, "type": "command", "timeout": timeout}]}
            hooks.append(Hook(("hooks", event), item, shlex.join(words[3:]), self.version))
        return hooks


PROGRAMS = {name: Program(name, **values) for name, values in table_of(__file__).items()}


def named(name: str) -> Program:
    """Return the program of this name. Raises UsageError."""
    if name not in PROGRAMS:
        raise UsageError(
            f"{name!r} is not a program that can be connected", f"Name one of {', '.join(PROGRAMS)}"
        )
    return PROGRAMS[name]


def _places() -> dict[str, Path]:
    """Return the folders and files that the table names in braces."""
    home, config = Path.home(), _home("XDG_CONFIG_HOME", ".config")
    claude, opencode = _home("CLAUDE_CONFIG_DIR", ".claude"), config / "opencode" / "opencode.jsonc"
    mac = home / "Library" / "Application Support"
    return {
        "home": home,
        "config": config,
        "claude": claude,
        "claude_json": claude if os.environ.get("CLAUDE_CONFIG_DIR") else home,
        "codex": _home("CODEX_HOME", ".codex"),
        "opencode": opencode if opencode.exists() else opencode.with_suffix(".json"),
        "desktop": mac if sys.platform == "darwin" else config,
    }


def _home(variable: str, fallback: str) -> Path:
    """Return a program's folder, from its environment variable or in the home directory."""
    chosen = os.environ.get(variable)
    return storage.expanded(chosen) if chosen else Path.home() / fallback
