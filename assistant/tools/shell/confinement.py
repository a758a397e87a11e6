"""What a command may touch, from the roots and the owner's rules there."""

import errno
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from assistant.config import state_dir
from assistant.disk import storage
from assistant.errors import ToolError
from assistant.tools.files.roots import EXECUTED, Roots
from assistant.tools.rules import Named
from assistant.tools.sandbox.bounds import Bounds, system

GONE = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM)
"""Why a directory may not be listed without harm: a command cannot list it either."""

Inode = tuple[int, int]


def named_below(directories: Sequence[Path], named: Named) -> list[Path]:
    """The real paths of what is named, and every other name in there of a file that is.

    Raises ToolError where that cannot be told.
    """
    if not named:
        return []
    found = {os.path.realpath(path) for path, _ in named.exact if os.path.lexists(path)}
    for root in map(str, directories):
        found.update(_named(root, named))
    inodes = {inode for path in found for inode in _linked(path)}
    if inodes:
        found.update(_names_of(inodes, directories))
    return sorted(Path(path) for path in found)


def _named(directory: str, named: Named) -> Iterator[str]:
    waiting = [directory]
    while waiting:
        for entry in _entries(waiting.pop()):
            if named.holds(entry.path, directory=entry.is_dir()):
                yield os.path.realpath(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)


def _linked(path: str) -> Iterator[Inode]:
    """The files at or below a path that have more than one name."""
    yield from (inode for _, inode, names in _files(path) if names > 1)


def _names_of(inodes: set[Inode], directories: Sequence[Path]) -> Iterator[str]:
    for root in directories:
        yield from (path for path, inode, _ in _files(str(root)) if inode in inodes)


def _files(path: str) -> Iterator[tuple[str, Inode, int]]:
    """The regular files at or below a path: path, inode, and how many names it has."""
    if not Path(path).is_dir():
        found = Path(path).lstat()
        yield path, (found.st_dev, found.st_ino), found.st_nlink
        return
    waiting = [path]
    while waiting:
        for entry in _entries(waiting.pop()):
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                found = entry.stat(follow_symlinks=False)
                yield entry.path, (found.st_dev, found.st_ino), found.st_nlink


def _entries(directory: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError as error:
        if error.errno in GONE:
            return []
        raise ToolError(f"what is denied below {directory[:80]}… cannot be hidden") from error


MOST_HIDDEN = 1_000
"""Denied places that a sandbox can hide; each is a mount of its own."""

FILES = (
    frozenset(EXECUTED)
    - {".direnv", ".husky", ".vscode", ".idea", ".devcontainer"}
    - {*(".claude", ".cursor", ".codex")}
)
"""Guards that are files, though their names have no suffix."""
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
    denied += _other_names(held, directories)
    return Bounds(
        directories,
        (*held, *_own_code(roots), *kept),
        (*_private(roots), *denied),
        system(),
    )


def _other_names(held: Sequence[Path], directories: Sequence[Path]) -> list[Path]:
    """The other names, hard links, of files that are held; git's own share theirs with clones."""
    files = {path for path in held if path.exists() and path.name != ".git"}
    inodes = {inode for path in files for inode in _linked(str(path))}
    found = map(Path, _names_of(inodes, directories) if inodes else ())
    return [path for path in found if files.isdisjoint((path, *path.parents))]


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
    return "file" if guard.suffix or guard.name in FILES else "directory"


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
