"""The programs that can be connected, and the entries for each one's configuration."""

import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistant.disk import storage
from assistant.errors import UsageError
from assistant.integrations import jsonc, toml
from assistant.integrations.edits import Edit, Entry, Hook, OwnFile
from assistant.tables import table_of

SERVER = "assistant"
"""The name of our server in every program."""
PROMPT_SECONDS, END_SECONDS = 5, 30
"""Timeouts that the programs set for our hooks."""


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

    def at(self, event: str, program: str, **more: Any) -> tuple[dict[str, Any], str]:
        """Return a hook's entry, with its command as a shell line, and the end of that line, which
        identifies it."""
        words = self.hook(event, program)
        return {"command": shlex.join(words), **more}, shlex.join(words[3:])


@dataclass(frozen=True, slots=True)
class File:
    """A file of a program's configuration, and our entries in it."""

    path: Path
    edits: Sequence[Edit]


@dataclass(frozen=True, slots=True)
class Program:
    """A program, its files, and what to tell the owner after connecting it."""

    name: str
    title: str
    files: Callable[[Launch], list[File]]
    afterwards: str


def named(name: str) -> Program:
    """Return the program of this name. Raises UsageError."""
    if name not in PROGRAMS:
        raise UsageError(
            f"{name!r} is not a program that can be connected", f"Name one of {', '.join(PROGRAMS)}"
        )
    return PROGRAMS[name]


def _home(variable: str, fallback: str) -> Path:
    """Return a program's folder, from its environment variable or in the home directory."""
    chosen = os.environ.get(variable)
    return storage.expanded(chosen) if chosen else Path.home() / fallback


def _config() -> Path:
    return _home("XDG_CONFIG_HOME", ".config")


def _server(launch: Launch, program: str) -> dict[str, Any]:
    return {"command": launch.command, "args": launch.server(program)}


def _groups(launch: Launch, program: str, events: dict[str, int]) -> list[Edit]:
    """Return hooks in the form that most programs share: each in a separate group."""
    edits: list[Edit] = []
    for event, seconds in events.items():
        command, mark = launch.at(event, program, type="command", timeout=seconds)
        edits.append(Hook(("hooks", event), {"hooks": [command]}, mark))
    return edits


EVENTS = {
    "SessionStart": PROMPT_SECONDS,
    "UserPromptSubmit": PROMPT_SECONDS,
    "PreCompact": END_SECONDS,
    "SessionEnd": END_SECONDS,
}
CODEX_EVENTS = EVENTS | {"SessionEnd": 3}
"""Codex allows only 3 s at the end of a session."""
GEMINI_EVENTS = {
    "SessionStart": 1000 * PROMPT_SECONDS,
    "BeforeAgent": 1000 * PROMPT_SECONDS,
    "SessionEnd": 1000 * END_SECONDS,
}
"""In milliseconds; PreCompress is sent at each prompt, even if nothing is compressed."""
QWEN_EVENTS = EVENTS | {"Stop": END_SECONDS}
"""`qwen -p` does not report the end of a session."""


def _claude_code(launch: Launch) -> list[File]:
    name, chosen = "claude-code", os.environ.get("CLAUDE_CONFIG_DIR")
    settings = _home("CLAUDE_CONFIG_DIR", ".claude")
    own = (settings if chosen else Path.home()) / ".claude.json"
    # otherwise the model does not see the tools until it searches for them
    server = {"type": "stdio", **_server(launch, name), "alwaysLoad": True}
    return [
        File(own, [Entry(("mcpServers", SERVER), server)]),
        File(settings / "settings.json", _groups(launch, name, EVENTS)),
    ]


def _codex(launch: Launch) -> list[File]:
    home, name = _home("CODEX_HOME", ".codex"), "codex"
    server = _server(launch, name) | {
        "required": True
    }  # otherwise it starts before the tools are listed
    return [
        File(home / "config.toml", [Entry(("mcp_servers", SERVER), server, toml)]),
        File(home / "hooks.json", _groups(launch, name, CODEX_EVENTS)),
    ]


def _gemini_cli(launch: Launch) -> list[File]:
    settings, name = Path.home() / ".gemini" / "settings.json", "gemini-cli"
    entry = Entry(("mcpServers", SERVER), _server(launch, name))
    return [File(settings, [entry, *_groups(launch, name, GEMINI_EVENTS)])]


def _qwen_code(launch: Launch) -> list[File]:
    settings, name = Path.home() / ".qwen" / "settings.json", "qwen-code"
    server = _server(launch, name) | {"alwaysLoadTools": True}  # as for Claude Code
    return [
        File(settings, [Entry(("mcpServers", SERVER), server), *_groups(launch, name, QWEN_EVENTS)])
    ]


def _cursor(launch: Launch) -> list[File]:
    home, name = Path.home() / ".cursor", "cursor"
    hooks: list[Edit] = [
        Hook(("hooks", event), *launch.at(event, name), version=1)
        for event in ("sessionStart", "beforeSubmitPrompt", "preCompact", "sessionEnd")
    ]
    return [
        File(home / "mcp.json", [Entry(("mcpServers", SERVER), _server(launch, name))]),
        File(home / "hooks.json", hooks),
    ]


def _opencode(launch: Launch) -> list[File]:
    home, name = _config() / "opencode", "opencode"
    with_comments = home / "opencode.jsonc"
    settings = with_comments if with_comments.exists() else home / "opencode.json"
    server = {"type": "local", "command": [launch.command, *launch.server(name)]}
    path = ["mcp", SERVER]
    with suppress(OSError, ValueError):  # reported when the file is changed
        if jsonc.value(settings.read_text("utf-8-sig"), ("mcp", "servers")) is not None:
            path.insert(1, "servers")  # as in later versions
    plugin = Path(__file__).with_name("opencode_plugin.js").read_text("utf-8")
    hooks = OwnFile(plugin.replace("__COMMAND__", json.dumps(launch.hook("EVENT", name))))
    return [
        File(settings, [Entry(path, server)]),
        File(home / "plugins" / "assistant-memory.js", [hooks]),
    ]


def _claude_desktop(launch: Launch) -> list[File]:
    mac = Path.home() / "Library" / "Application Support"
    home = (mac if sys.platform == "darwin" else _config()) / "Claude"
    entry = Entry(("mcpServers", SERVER), _server(launch, "claude-desktop"))
    return [File(home / "claude_desktop_config.json", [entry])]


def _zed(launch: Launch) -> list[File]:
    entry = Entry(("context_servers", SERVER), _server(launch, "zed"))
    return [File(_config() / "zed" / "settings.json", [entry])]


_FILES = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini-cli": _gemini_cli,
    "qwen-code": _qwen_code,
    "cursor": _cursor,
    "opencode": _opencode,
    "claude-desktop": _claude_desktop,
    "zed": _zed,
}
_data = table_of(__file__)
PROGRAMS = {name: Program(name, files=_FILES[name], **texts) for name, texts in _data.items()}
