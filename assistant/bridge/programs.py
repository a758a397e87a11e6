"""The programs that can be connected: where each is configured, and what it is told there."""

import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistant.bridge.edits import Default, Edit, Entry, Hook, Nested, Table, Whole
from assistant.errors import UsageError

SERVER = "assistant"
"""What the server is called in every program."""
PROMPT_SECONDS, END_SECONDS = 5, 30
"""How long a program waits for a hook at most."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How this memory is started: the command, and of which workspace."""

    command: str
    workspace: Path

    def server(self, program: str) -> list[str]:
        """The arguments of the server."""
        return ["-w", str(self.workspace), "mcp", "--as", program]

    def hook(self, event: str, program: str) -> list[str]:
        """The command at an event, in words."""
        return [self.command, "-w", str(self.workspace), *_hook(event, program)]

    def hook_line(self, event: str, program: str) -> str:
        """The same as a line of shell."""
        return shlex.join(self.hook(event, program))


@dataclass(frozen=True, slots=True)
class File:
    """A file of a program's configuration, and what is wanted in it."""

    path: Path
    edits: Sequence[Edit]


@dataclass(frozen=True, slots=True)
class Program:
    """A program: its name here, what people call it, its files, and what to say afterwards."""

    name: str
    title: str
    files: Callable[[Launch], list[File]]
    afterwards: str


def named(name: str) -> Program:
    """The program of this name. Raises UsageError."""
    if name not in PROGRAMS:
        raise UsageError(
            f"{name!r} is no program that can be connected", f"One of {', '.join(PROGRAMS)}"
        )
    return PROGRAMS[name]


def _hook(event: str, program: str) -> list[str]:
    return ["hook", event, "--for", program]


def _mark(event: str, program: str) -> str:
    return shlex.join(_hook(event, program))


def _home(variable: str, fallback: str) -> Path:
    """A program's own folder, by its variable or in the home."""
    chosen = os.environ.get(variable)
    return Path(chosen).expanduser() if chosen else Path.home() / fallback


def _config() -> Path:
    return _home("XDG_CONFIG_HOME", ".config")


def _server(launch: Launch, program: str) -> dict[str, Any]:
    return {"command": launch.command, "args": launch.server(program)}


def _groups(launch: Launch, program: str, events: dict[str, int]) -> list[Edit]:
    """Hooks in the form of Claude Code, which Codex shares: each in a group of its own."""
    edits: list[Edit] = []
    for event, seconds in events.items():
        command = {
            "type": "command",
            "command": launch.hook_line(event, program),
            "timeout": seconds,
        }
        edits.append(Hook(("hooks", event), {"hooks": [command]}, _mark(event, program)))
    return edits


EVENTS = {
    "SessionStart": PROMPT_SECONDS,
    "UserPromptSubmit": PROMPT_SECONDS,
    "PreCompact": END_SECONDS,
    "SessionEnd": END_SECONDS,
}
CODEX_EVENTS = EVENTS | {"SessionEnd": 3}
"""Codex allows the end of a session no more."""


def _claude_code(launch: Launch) -> list[File]:
    name, chosen = "claude-code", os.environ.get("CLAUDE_CONFIG_DIR")
    settings = _home("CLAUDE_CONFIG_DIR", ".claude")
    own = (settings if chosen else Path.home()) / ".claude.json"
    # Else its tools are deferred: its model does not know of them until it looks for some.
    server = {"type": "stdio", **_server(launch, name), "alwaysLoad": True}
    return [
        File(own, [Entry(("mcpServers", SERVER), server)]),
        File(settings / "settings.json", _groups(launch, name, EVENTS)),
    ]


def _codex(launch: Launch) -> list[File]:
    home, name = _home("CODEX_HOME", ".codex"), "codex"
    server = _server(launch, name) | {"required": True}  # else it begins before they are listed
    return [
        File(home / "config.toml", [Table(("mcp_servers", SERVER), server)]),
        File(home / "hooks.json", _groups(launch, name, CODEX_EVENTS)),
    ]


def _cursor(launch: Launch) -> list[File]:
    home, name = Path.home() / ".cursor", "cursor"
    hooks: list[Edit] = [
        Hook(("hooks", event), {"command": launch.hook_line(event, name)}, _mark(event, name))
        for event in ("sessionStart", "beforeSubmitPrompt", "preCompact", "sessionEnd")
    ]
    return [
        File(home / "mcp.json", [Entry(("mcpServers", SERVER), _server(launch, name))]),
        File(home / "hooks.json", [Default(("version",), 1), *hooks]),
    ]


def _opencode(launch: Launch) -> list[File]:
    home, name = _config() / "opencode", "opencode"
    with_comments = home / "opencode.jsonc"
    settings = with_comments if with_comments.exists() else home / "opencode.json"
    server = {"type": "local", "command": [launch.command, *launch.server(name)]}
    plugin = Path(__file__).with_name("opencode_plugin.js").read_text("utf-8")
    hooks = Whole(plugin.replace("__COMMAND__", json.dumps(launch.hook("EVENT", name))))
    return [
        File(settings, [Nested(("mcp", SERVER), server, ("mcp", "servers", SERVER))]),
        File(_free(home / "plugins", hooks), [hooks]),
    ]


def _free(folder: Path, own: Whole) -> Path:
    """Where a file of ours stands, or can: not in the place of one of the owner's."""
    path = folder / "assistant.js"
    theirs = path.exists() and not own.is_of(path.read_text("utf-8", "replace"))
    return folder / "assistant-memory.js" if theirs else path


def _claude_desktop(launch: Launch) -> list[File]:
    mac = Path.home() / "Library" / "Application Support"
    home = (mac if sys.platform == "darwin" else _config()) / "Claude"
    entry = Entry(("mcpServers", SERVER), _server(launch, "claude-desktop"))
    return [File(home / "claude_desktop_config.json", [entry])]


def _zed(launch: Launch) -> list[File]:
    entry = Entry(("context_servers", SERVER), _server(launch, "zed"))
    return [File(_config() / "zed" / "settings.json", [entry])]


PROGRAMS = {
    each.name: each
    for each in (
        Program(
            "claude-code",
            "Claude Code",
            _claude_code,
            "Start Claude Code anew; /mcp and /hooks there show what it was given.",
        ),
        Program(
            "codex",
            "Codex",
            _codex,
            "Start Codex anew and open /hooks there: it runs no hook until you have trusted it.",
        ),
        Program(
            "cursor",
            "Cursor",
            _cursor,
            "Start Cursor anew, and switch the server on in its settings, under MCP.",
        ),
        Program("opencode", "OpenCode", _opencode, "Start OpenCode anew."),
        Program(
            "claude-desktop",
            "Claude Desktop",
            _claude_desktop,
            "Start Claude Desktop anew. It has no hooks: ask it to recall, or to remember.",
        ),
        Program(
            "zed",
            "Zed",
            _zed,
            "Zed takes it up by itself. It has no hooks: ask it to recall, or to remember.",
        ),
    )
}
