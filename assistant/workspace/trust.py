"""Which workspaces the owner trusts, since one that was cloned or unpacked could steer the model.

Trust is a list of real paths outside any workspace, so that no workspace can bring its own. `init`
grants it, and so does `assistant trust`. Until then recall works, but nothing from the workspace's
files enters a prompt.
"""

import json
from pathlib import Path

from assistant import config
from assistant.disk import locking, storage
from assistant.errors import StorageError
from assistant.workspace.folder import Workspace


def register() -> Path:
    """Return the file that lists the trusted workspaces."""
    return config.state_dir() / "trusted.json"


def is_trusted(workspace: Workspace) -> bool:
    """Return whether the owner trusts this workspace. Raises StorageError."""
    return str(workspace.root) in _trusted()


def grant(workspace: Workspace) -> bool:
    """Trust a workspace; return False if it was already trusted. Raises StorageError."""
    path = register()
    storage.private_directory(path.parent)
    with locking.lock(path.with_suffix(".lock")):
        trusted = _trusted()
        if str(workspace.root) in trusted:
            return False
        storage.replace(
            path, json.dumps(sorted({*trusted, str(workspace.root)}), indent=1).encode()
        )
    return True


def _trusted() -> list[str]:
    path = register()
    try:
        paths = json.loads(storage.read(path))
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise StorageError(
            f"{path} is damaged", "Remove it, then run `assistant trust` again"
        ) from error
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise StorageError(f"{path} is damaged", "Remove it, then run `assistant trust` again")
    return paths
