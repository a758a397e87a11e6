"""The bounds of a command, from the roots and the owner's rules there."""

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from assistant.config import state_dir
from assistant.disk import storage
from assistant.errors import ToolError
from assistant.tools.files.roots import Roots
from assistant.tools.sandbox.bounds import Bounds, system
from assistant.tools.shell.hiding import named_below

MOST_HIDDEN = 1_000
"""Denied places that a sandbox can hide; each is a mount of its own."""

Guard = tuple[Path, str]
"""What no command may create, and whether that is a `file` or a `directory`."""


def bounds(roots: Roots) -> Bounds:
    """What a command may touch. Raises ToolError if what is denied cannot be hidden from it."""
    rules, directories = roots.rules, roots.directories
    hidden = rules.hidden_from_commands()
    denied = named_below(directories, hidden)
    kept = named_below(directories, rules.kept_from_commands())
    if len(denied) + len(kept) > MOST_HIDDEN:
        raise ToolError(f"{len(denied) + len(kept):,} denied places are too many to be hidden")
    held = [path for path, _ in guards(roots) if _can_be_held(path) and path not in denied]
    return Bounds(
        directories,
        (*held, *_own_code(roots), *kept),
        (*_private(roots), *denied),
        system(),
    )


def guards(roots: Roots) -> list[Guard]:
    """What steers or remembers, and what a rule names, whether it is there or not."""
    return [*((path, _kind(path)) for path in roots.guards()), *_ruled(roots)]


def record(roots: Roots) -> Path:
    """The file that all commands of this workspace lock while they run."""
    name = hashlib.sha256(os.fsencode(roots.workspace.root)).hexdigest()[:16]
    place = state_dir() / "commands"
    storage.private_directory(place)
    return place / name


def _can_be_held(path: Path) -> bool:
    """Nothing can be put over a link; what it leads to is held by that place's own name."""
    return path.parent.is_dir() and not path.is_symlink()


def _kind(guard: Path) -> str:
    return "file" if guard.suffix or guard.name == "config" else "directory"


def _ruled(roots: Roots) -> Iterator[Guard]:
    rules = roots.rules
    for named in (rules.hidden_from_commands(), rules.kept_from_commands()):
        for path, folder in named.exact:
            if _within(roots, Path(path)):
                yield Path(path), "directory" if folder else "file"


def _private(roots: Roots) -> list[Path]:
    """Keys and the program's own files, where they are in sight and no root is in them."""
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", "/run")).resolve()
    return [
        path
        for path in (*roots.private, runtime)
        if path.exists()
        and _within(roots, path)
        and not any(root.is_relative_to(path) for root in roots.directories)
    ]


def _own_code(roots: Roots) -> list[Path]:
    """This program and its Python, where they stand inside a root."""
    own = (Path(__file__).resolve().parents[2], Path(sys.prefix).resolve())
    return [path for path in own if _within(roots, path)]


def _within(roots: Roots, path: Path) -> bool:
    return any(path.is_relative_to(root) for root in roots.directories)
