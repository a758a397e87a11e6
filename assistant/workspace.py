"""A workspace: the folder of markdown files that is the assistant's mind, and its paths."""

import os
from dataclasses import dataclass
from pathlib import Path

from assistant.errors import WorkspaceError

ALWAYS_FILES = ("IDENTITY.md", "SOUL.md", "USER.md")
"""In the prompt whole, every turn."""
INDEXED_FILES = ("MEMORY.md", "AGENTS.md", "HEARTBEAT.md")
"""Chunked and recalled; `memory/**/*.md` as well."""
MEMORY_FILE = "MEMORY.md"


@dataclass(frozen=True, slots=True)
class Workspace:
    """The paths of a workspace. `root` is absolute, symbolic links resolved."""

    root: Path

    @property
    def private(self) -> Path:
        """`.assistant/`, mode 0700: what the program keeps about this workspace."""
        return self.root / ".assistant"

    @property
    def index(self) -> Path:
        """The derived index. Deleting it loses nothing."""
        return self.private / "index"

    @property
    def sessions(self) -> Path:
        """One JSON-lines file a session."""
        return self.private / "sessions"

    @property
    def journal(self) -> Path:
        """Every acknowledged memory write, one a line."""
        return self.private / "journal.jsonl"

    @property
    def history(self) -> Path:
        """Images of what destructive writes removed."""
        return self.private / "history"

    @property
    def skills(self) -> Path:
        """One folder a skill."""
        return self.root / "skills"

    def sources(self) -> list[str]:
        """The memory files there are, relative to the root in POSIX form, sorted."""
        found = [name for name in INDEXED_FILES if (self.root / name).is_file()]
        nested = (self.root / "memory").rglob("*.md")
        found += [path.relative_to(self.root).as_posix() for path in nested if path.is_file()]
        return sorted(found)


def default_root() -> Path:
    """`ASSISTANT_WORKSPACE`, or `~/.assistant/workspace`."""
    chosen = os.environ.get("ASSISTANT_WORKSPACE")
    return Path(chosen).expanduser() if chosen else Path.home() / ".assistant" / "workspace"


def find(directory: Path | None = None) -> Workspace:
    """The workspace at `directory`, else the default one. Raises WorkspaceError."""
    root = directory or default_root()
    if not root.is_dir():
        raise WorkspaceError(f"there is no workspace at {root}", f"Run `assistant init {root}`")
    if not any((root / name).exists() for name in (*ALWAYS_FILES, *INDEXED_FILES)):
        raise WorkspaceError(
            f"{root} holds none of a workspace's files", f"Run `assistant init {root}`"
        )
    return Workspace(root.resolve())
