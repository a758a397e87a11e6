"""A new workspace, made of the files that every one begins with."""

import os
from dataclasses import dataclass
from pathlib import Path

from assistant.disk import storage
from assistant.errors import StorageError, WorkspaceError
from assistant.workspace.folder import Workspace


@dataclass(frozen=True, slots=True)
class Created:
    """What `create` did: the files it added, and those it found and left alone."""

    workspace: Workspace
    added: tuple[str, ...]
    kept: tuple[str, ...]


def create(root: Path) -> Created:
    """Make a workspace at `root` from the template; adds what is missing, overwrites nothing.

    Raises WorkspaceError if there can be none.
    """
    root = root.expanduser()
    if root.exists() and not root.is_dir():
        raise WorkspaceError(f"{root} is a file", "Name a folder")
    try:
        root.mkdir(parents=True, exist_ok=True)
        place = Workspace(root.resolve())
        missing = [
            source for source in _template() if not os.path.lexists(place.root / source.name)
        ]
        for source in missing:
            storage.replace(place.root / source.name, source.read_bytes())
        _make_private(place.private)
    except (OSError, StorageError) as error:
        raise WorkspaceError(
            f"no workspace can be made at {root}: {_reason(error)}", "Choose another folder with -w"
        ) from error
    added = tuple(source.name for source in missing)
    kept = tuple(source.name for source in _template() if source.name not in added)
    return Created(place, added, kept)


def _template() -> list[Path]:
    """The files of the template: in the package when installed, else in the source checkout."""
    package = Path(__file__).parents[1]
    places = (package / "_template", package.parent / "workspace")
    return sorted(next(place for place in places if place.is_dir()).glob("*.md"))


def _make_private(path: Path) -> None:
    """`.assistant/`, for its owner only, and out of git's sight."""
    storage.private_directory(path).chmod(storage.PRIVATE_DIRECTORY)
    if not (path / ".gitignore").exists():
        storage.replace(path / ".gitignore", b"*\n")


def _reason(error: OSError | StorageError) -> str:
    return error.message if isinstance(error, StorageError) else error.strerror or str(error)
