"""Creates a workspace: the initial files, and git to version and merge them."""

import os
from dataclasses import dataclass
from pathlib import Path

from assistant.disk import programs, storage
from assistant.errors import StorageError, WorkspaceError
from assistant.tables import table_of
from assistant.workspace.folder import Workspace


@dataclass(frozen=True, slots=True)
class Created:
    """The result of `create`: the added files, and those that already existed."""

    workspace: Workspace
    added: tuple[str, ...]
    kept: tuple[str, ...]


def create(root: Path) -> Created:
    """Create a workspace at `root` from the template, keeping existing files.

    Raises WorkspaceError on failure.
    """
    root = storage.expanded(root)
    if root.exists() and not root.is_dir():
        raise WorkspaceError(f"{root} is a file", "Name a folder")
    try:
        root.mkdir(parents=True, exist_ok=True)
        workspace = Workspace(root.resolve())
        missing = [
            source for source in _template() if not os.path.lexists(workspace.root / source.name)
        ]
        for source in missing:
            storage.replace(workspace.root / source.name, source.read_bytes())
        _make_private(workspace.private)
    except (OSError, StorageError) as error:
        raise WorkspaceError(
            f"no workspace can be created at {root}: {_reason(error)}",
            "Choose another folder with -w",
        ) from error
    added = tuple(source.name for source in missing)
    existing = tuple(source.name for source in _template() if source.name not in added)
    return Created(workspace, added, existing)


def _template() -> list[Path]:
    """Return the template's files: from the package if installed, otherwise from the source
    checkout."""
    package = Path(__file__).parents[1]
    folders = (package / "_template", package.parent / "workspace")
    return sorted(next(folder for folder in folders if folder.is_dir()).glob("*.md"))


def is_untouched(path: Path) -> bool:
    """Return whether a file of a workspace is as `create` makes it, empty or missing."""
    words = storage.read_or_empty(path).split()
    same = (source for source in _template() if source.name == path.name)
    return not words or any(source.read_bytes().split() == words for source in same)


def _make_private(path: Path) -> None:
    """Create `.assistant/`, accessible only to its owner, and ignored by git."""
    storage.private_directory(path).chmod(storage.PRIVATE_DIRECTORY)
    if not (path / ".gitignore").exists():
        storage.replace(path / ".gitignore", b"*\n")


def _reason(error: OSError | StorageError) -> str:
    return error.message if isinstance(error, StorageError) else error.strerror or str(error)


DRIVER = "assistant"


def set_up_git(workspace: Workspace, program: Path) -> list[str]:
    """Create a repository if there is none, and let `program` merge memory files in it.

    Return what was done, a line each. Raises WorkspaceError without git.
    """
    inside = programs.git(workspace.root, "rev-parse", "--git-dir")
    if inside is None:
        raise WorkspaceError("git is not installed", "Install it, and run this again")
    actions = []
    if inside.returncode:
        _git(workspace, "init", "--quiet")
        actions.append("made a git repository")
    table = table_of(__file__)
    attributes = [f"{name} merge={DRIVER}" for name in table["united"]]
    for name, lines in ((".gitignore", table["ignored"]), (".gitattributes", attributes)):
        if _add_lines(workspace.root / name, lines):
            actions.append(f"wrote {name}")
    command = f"'{program}' memory merge %O %A %B %P"
    _git(workspace, "config", f"merge.{DRIVER}.name", "Memory, fact by fact")
    _git(workspace, "config", f"merge.{DRIVER}.driver", command)
    return [*actions, "memory files are merged fact by fact"]


def _add_lines(path: Path, lines: list[str]) -> bool:
    """Add missing lines to a file; return whether any were missing."""
    text = storage.read_or_empty(path).decode("utf-8", "surrogateescape")
    missing = [line for line in lines if line not in text.splitlines()]
    if not missing:
        return False
    before = text if text.endswith("\n") or not text else f"{text}\n"
    updated = before + "".join(f"{line}\n" for line in missing)
    storage.replace(path, updated.encode("utf-8", "surrogateescape"))
    return True


def _git(workspace: Workspace, *arguments: str) -> None:
    """Run git. Raises WorkspaceError if it fails."""
    result = programs.git(workspace.root, *arguments)
    if result and result.returncode:
        reason = result.stderr.decode("utf-8", "replace").strip()
        raise WorkspaceError(f"git failed: {reason}", "Fix that first")
