"""Derives what a command may access from the roots and the owner's rules."""

import errno
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from assistant.config import state_dir
from assistant.disk import programs, storage
from assistant.errors import ToolError
from assistant.tools.files.access import Roots
from assistant.tools.places import EXECUTED, EXECUTED_FILES
from assistant.tools.policy import Named
from assistant.tools.sandbox.process import Bounds, system

GONE = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM)
"""Errors for which a directory may be skipped, since a command cannot list it either."""


def named_below(directories: Sequence[Path], named: Named) -> list[Path]:
    """Return the real paths that the rules name, including hard links to those files.

    Raises ToolError if a directory cannot be searched.
    """
    if not named:
        return []

    def holds(entry: "os.DirEntry[str]") -> bool:
        return named.holds(entry.path, directory=entry.is_dir())

    paths = {os.path.realpath(path) for path, _ in named.exact if os.path.lexists(path)}
    for root in directories:
        paths |= {os.path.realpath(entry.path) for entry in _below(root, holds) if holds(entry)}
    return sorted(map(Path, paths | _hard_links(paths, directories)))


def _hard_links(paths: Iterable[str | Path], directories: Sequence[Path]) -> set[str]:
    """Return every name in the directories of a multiply linked file at or below the paths."""
    status = (status for path in paths for _, status in _files(path))
    inodes = {(entry.st_dev, entry.st_ino) for entry in status if entry.st_nlink > 1}
    files = (file for root in directories for file in (_files(root) if inodes else ()))
    return {path for path, status in files if (status.st_dev, status.st_ino) in inodes}


def _files(path: str | Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the regular files at or below a path, without those that vanish meanwhile, such as
    another command's placeholders."""
    if not Path(path).is_dir():
        with suppress(FileNotFoundError):
            yield str(path), Path(path).lstat()
        return
    for entry in _below(path, lambda _: False):
        if entry.is_file(follow_symlinks=False):
            with suppress(FileNotFoundError):
                yield entry.path, entry.stat(follow_symlinks=False)


def _below(
    directory: str | Path, closed: Callable[["os.DirEntry[str]"], bool]
) -> Iterator["os.DirEntry[str]"]:
    """Yield every entry below a directory, without descending into closed directories."""
    waiting = [str(directory)]
    while waiting:
        directory = waiting.pop()
        try:
            with os.scandir(directory) as listed:
                entries = list(listed)
        except OSError as error:
            if error.errno in GONE:
                continue
            raise ToolError(f"what is denied below {directory[:80]}… cannot be hidden") from error
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False) and not closed(entry):
                waiting.append(entry.path)


MOST_HIDDEN = 1_000
"""Maximum number of denied paths that a sandbox hides; each is a separate mount."""

Guard = tuple[Path, str]
"""A path that no command may create, and whether it is a `file` or a `directory`."""


def bounds(roots: Roots, readable: Iterable[str] = ()) -> Bounds:
    """Return what a command may access; `readable` are further paths that it may read.

    Raises ToolError if denied paths cannot be hidden from it.
    """
    directories = roots.directories
    denied, read_only = (
        named_below(directories, named) for named in roots.rules.kept_from_commands()
    )
    if len(denied) + len(read_only) > MOST_HIDDEN:
        raise ToolError(f"{len(denied) + len(read_only):,} denied paths are too many to be hidden")
    # A link cannot be mounted over; its target is guarded under its own name.
    guarded = [
        path
        for path, _ in guards(roots)
        if path.parent.is_dir() and not path.is_symlink() and path not in denied
    ]
    # Hard links to guarded files, but not to those of git and of other folders that share them.
    files = {path for path in guarded if path.exists() and not _is_shared(path)}
    others = map(Path, _hard_links(files, directories))
    denied += [path for path in others if files.isdisjoint((path, *path.parents))]
    own_code = (Path(__file__).resolve().parents[2], Path(sys.prefix).resolve())
    protected = (*guarded, *(path for path in own_code if _within(roots, path)), *read_only)
    more = (path for name in readable if (path := storage.expanded(name)).exists())
    hidden = (*_private(roots), *denied)
    return Bounds(directories, protected, hidden, (*system(), *more), roots.home)


def _is_shared(path: Path) -> bool:
    return path.name.startswith(".") and path.name not in EXECUTED and path.is_dir()


def guards(roots: Roots) -> list[Guard]:
    """Return the paths that steer or remember, and those that a rule names, existing or not."""
    submodules = [path for root in roots.directories for path in _submodules(root)]
    result = [
        (path, "file" if path.suffix or path.name in EXECUTED_FILES else "directory")
        for path in (*roots.guards(), *submodules)
    ]
    for named in roots.rules.kept_from_commands():
        result += [
            (Path(path), "directory" if folder else "file")
            for path, folder in named.exact
            if _within(roots, Path(path))
        ]
    return result


def _submodules(root: Path) -> Iterator[Path]:
    """Yield the `.git` of each submodule, whose files `git status` in the parent obeys."""
    index = root / ".git/index"
    if index.is_file():
        for path in _submodule_paths(root, index.stat().st_mtime_ns):
            yield path / ".git"
            yield from _submodules(path)


@lru_cache(maxsize=64)
def _submodule_paths(root: Path, changed: int) -> tuple[Path, ...]:
    """Return the submodules in a repository's index; `changed` is its mtime, for the cache key."""
    listed = programs.git(root, "-c", "core.fsmonitor=false", "ls-files", "--stage", "-z")
    if listed is None:
        return ()
    lines = (line.partition(b"\t") for line in listed.stdout.split(b"\0"))
    return tuple(root / os.fsdecode(name) for mode, _, name in lines if mode.startswith(b"160000"))


def record(roots: Roots) -> Path:
    """Return the file that all commands of this workspace lock while they run."""
    name = hashlib.sha256(os.fsencode(roots.workspace.root)).hexdigest()[:16]
    folder = state_dir() / "commands"
    storage.private_directory(folder)
    return folder / name


def _private(roots: Roots) -> list[Path]:
    """Return keys and the program's own files that are below a root and contain none."""
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", "/run")).resolve()
    return [
        path
        for path in (*roots.private, runtime)
        if path.exists()
        and _within(roots, path)
        and not any(root.is_relative_to(path) for root in roots.directories)
    ]


def _within(roots: Roots, path: Path) -> bool:
    return any(path.is_relative_to(root) for root in roots.directories)
