"""What the tests of the ledger share: a workspace's memory, and how others save it."""

from datetime import date
from pathlib import Path

from assistant.disk import storage
from assistant.workspace.folder import Workspace

TODAY = date(2026, 11, 21)


def memory(workspace: Workspace) -> str:
    """What MEMORY.md says."""
    return (workspace.root / "MEMORY.md").read_bytes().decode()


def temporary(workspace: Workspace) -> list[Path]:
    """The temporary files that were left."""
    return list(workspace.root.rglob(f"*{storage.TEMPORARY}"))


def save(path: Path, text: str, how: str) -> None:
    """Save as an editor does: "in place" or by "rename"."""
    if how == "in place":
        path.write_text(text, encoding="utf-8")
        return
    beside = path.with_name("MEMORY.md~")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
