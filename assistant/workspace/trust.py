"""The workspaces that the owner trusts, since a cloned or unpacked one could steer the model.

Trust is a list of real paths outside any workspace, so that no workspace can bring its own. `init`
grants it, and so does `assistant trust`. Without trust recall works, but nothing from the
workspace's files enters a prompt.
"""

from pathlib import Path

from assistant import config
from assistant.disk import notebook
from assistant.workspace.folder import Workspace

CURE = "Remove it, then run `assistant trust` again"


def register() -> Path:
    """Return the file that lists the trusted workspaces."""
    return config.state_dir() / "trusted.json"


def is_trusted(workspace: Workspace) -> bool:
    """Return whether the owner trusts this workspace. Raises StorageError."""
    return str(workspace.root) in notebook.load(register(), list[str], CURE)


def grant(workspace: Workspace) -> bool:
    """Trust a workspace; return False if it was already trusted. Raises StorageError."""
    with notebook.changing(register(), list[str], CURE) as trusted:
        is_new = str(workspace.root) not in trusted
        trusted += [str(workspace.root)] * is_new
    return is_new
