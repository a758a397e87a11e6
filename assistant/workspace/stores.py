"""Every store: each location where something is kept, and whether it contains the owner's words.

`forget --purge`, `doctor` and the docs use this list. Add every new store here.
"""

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assistant import config
from assistant.disk.storage import TEMPORARY
from assistant.workspace.folder import Workspace

PROMPTS = ".prompts"
"""The suffix of the files, beside transcripts, with the prompts that were sent."""
PICTURES = ".pictures"
"""The suffix of the folders, beside transcripts, with their pictures."""
Base = Literal["workspace", "state", "cache", "config"]
"""The folder that a store's patterns are relative to: the workspace, or the program's own folder in
the user's state, cache or config directory (XDG)."""
Words = Literal["always", "sessions", "owner", "none"]
"""Whose words a store contains, and when a purge removes them: always; with --sessions; never,
since they are the owner's own; or there are none."""


@dataclass(frozen=True, slots=True)
class Store:
    """A location where something is kept. `patterns` are globs below the base; `keeps` describes
    it."""

    name: str
    base: Base
    patterns: tuple[str, ...]
    keeps: str
    words: Words

    def files(self, workspace: Workspace) -> Iterator[Path]:
        """Yield the files of the store, for a workspace."""
        base = root(workspace, self.base)
        for pattern in self.patterns:
            yield from (path for path in base.glob(pattern) if path.is_file())


STORES = (
    Store("memory", "workspace", ("MEMORY.md", "AGENTS.md", "HEARTBEAT.md", "memory/**/*.md"),
          "facts, and what superseded them", "always"),
    Store("profile", "workspace", ("IDENTITY.md", "SOUL.md", "USER.md", "RULES.md", "PRIVACY.md",
          "TOOLS.md", "BOOTSTRAP.md", "skills/**/*", "assistant.toml"),
          "what you tell the assistant about itself and yourself", "owner"),
    Store("journal", "workspace", (".assistant/journal*.jsonl",),
          "every write to memory, with what `undo` needs", "always"),
    Store("owner", "workspace", (".assistant/machine",),
          "which machine writes journal.jsonl", "none"),
    Store("machine", "state", ("machine",),
          "a random id of this machine", "none"),
    Store("history", "workspace", (".assistant/history/*",),
          "lines that writes removed from the files", "always"),
    Store("forgotten", "workspace", (".assistant/forgotten.key",),
          "the key of the digests that recognise forgotten lines", "none"),
    Store("review", "workspace", (".assistant/review.jsonl",),
          "facts that wait for you", "always"),
    Store("servers", "state", ("mcp.json", "mcp.lock"),
          "the approved definitions of MCP servers' tools", "none"),
    Store("merged", "workspace", (".assistant/merged/*",),
          "conflict copies whose facts were merged", "always"),
    Store("checkpoints", "workspace", (".assistant/checkpoints/*/manifest.jsonl",
          ".assistant/checkpoints/*/files/*"),
          "files as they were before a turn of a chat changed them, for 14 days", "always"),
    Store("index", "workspace", (".assistant/index/**/*",),
          "chunks, words and vectors of the files", "always"),
    Store("synced index", "cache", ("index/**/*",),
          "the same, for workspaces that other machines share", "always"),
    Store("synced locks", "state", ("locks/**/*",),
          "process ids, for such workspaces", "none"),
    Store("vectors", "cache", ("vectors/*/*",),
          "embedding vectors, by digests of the texts", "always"),
    Store("map", "workspace", (".assistant/map.html",),
          "the page written by `memory map`", "always"),
    Store("sessions", "workspace", (".assistant/sessions/*.jsonl",
          ".assistant/sessions/*.prompts", ".assistant/sessions/*.pictures/*"),
          "conversations, their pictures, and the prompts that were sent", "sessions"),
    Store("bootstrap", "workspace", (".assistant/bootstrap-*.md",),
          "the instructions of your first conversation, kept after it", "owner"),
    Store("prompts", "state", ("prompts",),
          "what you typed in the chat", "sessions"),
    Store("reading", "workspace", (".assistant/reading.json",),
          "which sessions were read for facts, and what it cost", "none"),
    Store("imported", "workspace", (".assistant/imported.json",),
          "which conversations and facts were imported, by digests", "none"),
    Store("heartbeat", "workspace", (".assistant/heartbeat.json", ".assistant/heartbeat/*"),
          "which tasks were done when, by digests, and what they cost", "none"),
    Store("events", "workspace", (".assistant/events/*.json", ".assistant/events/*.begun",
          ".assistant/events/*.failed"),
          "events until they are answered; `.failed` were interrupted", "owner"),
    Store("event marks", "workspace", (".assistant/events/taken", ".assistant/events/token"),
          "which events were accepted, by digests; the token for requests to `listen`", "none"),
    Store("findings", "workspace", (".assistant/findings",),
          "faults that `doctor` found, until a chat has mentioned them", "none"),
    Store("locks", "workspace", (".assistant/*.lock", ".assistant/sessions/*.lock",
          ".assistant/events/*.lock",
          ".assistant/sessions/.append", ".assistant/sessions/.adopt", ".assistant/daemon.sock",
          ".assistant/.gitignore", ".assistant/new", ".assistant/day"),
          "process ids, and markers without words", "none"),
    Store("locks elsewhere", "state", ("locks/*",),
          "process ids, for memories on a read-only disk", "none"),
    Store("commands", "state", ("commands/*",),
          "an empty file that the commands of a workspace lock while they run", "none"),
    Store("logs", "state", ("logs/*",),
          "the memory daemon's log; never a query or a fact", "none"),
    Store("hooks", "state", ("hooks/*",),
          "which passages conversations of other programs have got, by ids", "none"),
    Store("connections", "state", ("connections/**/*",),
          "other programs' settings as they were before a connection", "none"),
    Store("trust", "state", ("trusted.json", "trusted.lock"),
          "the workspaces that you trust", "none"),
    Store("models", "cache", ("models/**/*",),
          "compiled embedding models", "none"),
    Store("settings", "config", ("*",),
          "settings, and secrets that you registered", "owner"),
)  # fmt: skip


def root(workspace: Workspace, base: Base) -> Path:
    """Return the folder that a store's patterns start from."""
    match base:
        case "workspace":
            return workspace.root
        case "state":
            return config.state_dir()
        case "cache":
            return config.cache_dir()
        case "config":
            return config.config_file().parent


def unlisted(workspace: Workspace) -> list[Path]:
    """Return files in the program's own folders that belong to no store."""
    listed = {path for store in STORES for path in store.files(workspace)}
    own_folders = (workspace.private, config.state_dir(), config.cache_dir())
    present = (path for folder in own_folders for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in present if path not in listed)


RESTING = 60.0
"""Seconds after which a temporary file counts as abandoned."""


def killed_writes(workspace: Workspace) -> Iterator[Path]:
    """Yield the leftovers of killed writes, which may contain words. Hold the ledger's lock."""
    pattern = f".*{TEMPORARY}"
    under_ledger_lock = itertools.chain(
        workspace.root.glob(pattern),
        (workspace.root / "memory").rglob(pattern),
        workspace.private.glob(f".journal*{TEMPORARY}"),
        workspace.history.glob(pattern),
    )
    yield from under_ledger_lock
    for path in workspace.private.rglob(pattern):  # other writers use locks of their own
        try:
            is_stale = time.time() - path.stat().st_mtime > RESTING
        except FileNotFoundError:
            continue
        if is_stale:
            yield path
