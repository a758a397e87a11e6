"""The places below some directories that the owner's rules name, to be hidden from a command."""

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from assistant.errors import ToolError
from assistant.tools.rules import Named

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
