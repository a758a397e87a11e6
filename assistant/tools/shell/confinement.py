"""What a command may touch, from the roots and the owner's rules there."""

import errno
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from assistant.config import state_dir
from assistant.disk import programs, storage
from assistant.errors import ToolError
from assistant.tools.files.roots import Roots
from assistant.tools.places import EXECUTED_FILES
from assistant.tools.rules import Named
from assistant.tools.sandbox.process import Bounds, system

GONE = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM)
"""Why a directory may not be listed without harm: a command cannot list it either."""


def named_below(directories: Sequence[Path], named: Named) -> list[Path]:
    """The real paths of what is named, and every other name in there of a file that is.

    Raises ToolError where that cannot be told.
    """
    if not named:
        return []

    def holds(entry: "os.DirEntry[str]") -> bool:
        return named.holds(entry.path, directory=entry.is_dir())

    found = {os.path.realpath(path) for path, _ in named.exact if os.path.lexists(path)}
    for root in directories:
        found |= {os.path.realpath(entry.path) for entry in _below(root, holds) if holds(entry)}
    return sorted(map(Path, found | _hard_links(found, directories)))


def _hard_links(paths: Iterable[str | Path], directories: Sequence[Path]) -> set[str]:
    """Every name in the directories of a file at or below the paths that has more than one."""
    status = (status for path in paths for _, status in _files(path))
    inodes = {(each.st_dev, each.st_ino) for each in status if each.st_nlink > 1}
    found = (file for root in directories for file in (_files(root) if inodes else ()))
    return {path for path, status in found if (status.st_dev, status.st_ino) in inodes}


def _files(path: str | Path) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files at or below a path."""
    if not Path(path).is_dir():
        yield str(path), Path(path).lstat()
        return
    for entry in _below(path, lambda _: False):
        if entry.is_file(follow_symlinks=False):
            yield entry.path, entry.stat(follow_symlinks=False)


def _below(
    directory: str | Path, closed: Callable[["os.DirEntry[str]"], bool]
) -> Iterator["os.DirEntry[str]"]:
    """All that is below a directory, but for what is in directories that are closed."""
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
"""Denied places that a sandbox can hide; each is a mount of its own."""

Guard = tuple[Path, str]
"""What no command may create, and whether that is a `file` or a `directory`."""


def bounds(roots: Roots) -> Bounds:
    """What a command may touch. Raises ToolError if what is denied cannot be hidden from it."""
    rules, directories = roots.rules, roots.directories
    denied = named_below(directories, rules.hidden_from_commands())
    kept = named_below(directories, rules.kept_from_commands())
    if len(denied) + len(kept) > MOST_HIDDEN:
        raise ToolError(f"{len(denied) + len(kept):,} denied places are too many to be hidden")
    # Nothing can be put over a link; what it leads to is held by that place's own name.
    held = [
        path
        for path, _ in guards(roots)
        if path.parent.is_dir() and not path.is_symlink() and path not in denied
    ]
    # The other names, hard links, of files that are held; git's own share theirs with clones.
    files = {path for path in held if path.exists() and path.name != ".git"}
    others = map(Path, _hard_links(files, directories))
    denied += [path for path in others if files.isdisjoint((path, *path.parents))]
    own_code = (Path(__file__).resolve().parents[2], Path(sys.prefix).resolve())
    protected = (*held, *(path for path in own_code if _within(roots, path)), *kept)
    return Bounds(directories, protected, (*_private(roots), *denied), system())


def guards(roots: Roots) -> list[Guard]:
    """What steers or remembers, and what a rule names, whether it is there or not."""
    submodules = [path for root in roots.directories for path in _submodules(root)]
    found = [
        (path, "file" if path.suffix or path.name in EXECUTED_FILES else "directory")
        for path in (*roots.guards(), *submodules)
    ]
    for named in (roots.rules.hidden_from_commands(), roots.rules.kept_from_commands()):
        found += [
            (Path(path), "directory" if folder else "file")
            for path, folder in named.exact
            if _within(roots, Path(path))
        ]
    return found


def _submodules(root: Path) -> Iterator[Path]:
    """The `.git` of each submodule: `git status` above does what the files in there say."""
    index = root / ".git/index"
    if index.is_file():
        for path in _linked_in(root, index.stat().st_mtime_ns):
            yield path / ".git"
            yield from _submodules(path)


@lru_cache(maxsize=64)
def _linked_in(root: Path, changed: int) -> tuple[Path, ...]:
    """The submodules that a repository's index names, as it is since `changed`."""
    git = programs.find("git", [root])
    if git is None:
        return ()
    done = subprocess.run(
        [git, "-C", root, "-c", "core.fsmonitor=false", "ls-files", "--stage", "-z"],
        env=programs.environment([root]),
        capture_output=True,
        check=False,
    )
    lines = (each.partition(b"\t") for each in done.stdout.split(b"\0"))
    return tuple(root / os.fsdecode(name) for mode, _, name in lines if mode.startswith(b"160000"))


def record(roots: Roots) -> Path:
    """The file that all commands of this workspace lock while they run."""
    name = hashlib.sha256(os.fsencode(roots.workspace.root)).hexdigest()[:16]
    place = state_dir() / "commands"
    storage.private_directory(place)
    return place / name


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


def _within(roots: Roots, path: Path) -> bool:
    return any(path.is_relative_to(root) for root in roots.directories)
