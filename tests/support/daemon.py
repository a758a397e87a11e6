"""Ending what a test has left running, without a process for it."""

from pathlib import Path

from assistant.memory.daemon import lifecycle
from assistant.workspace.folder import Workspace


def ended(root: Path) -> None:
    """End the memory daemon of a workspace; the process that waits for `ask` goes on."""
    lifecycle.stop(Workspace(root.resolve()), print)
