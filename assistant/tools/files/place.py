"""Somewhere inside a root, held open: what is used is what was checked."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from assistant.errors import ToolError

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not blocking: opening a FIFO must not wait for its writer."""
MAX_BYTES = 20_000_000
"""The largest file a tool takes into memory."""
KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}


@dataclass(frozen=True, slots=True)
class Place:
    """An open directory and a name in it.

    `name` is None where the place is the directory itself. `missing` says that directories
    between the two are not there. Valid as long as `Access.at` holds it. `path` is where it
    really is, absolute, links followed; `shown` is that, relative to the workspace if inside.
    """

    directory: int
    name: str | None
    path: Path
    shown: str
    missing: bool = False

    @property
    def is_directory(self) -> bool:
        """Whether the place is a directory that is there."""
        return self.name is None

    def status(self) -> os.stat_result | None:
        """The place's own status, a link's not followed; None if nothing is there."""
        if self.name is None:
            return os.fstat(self.directory)
        return None if self.missing else status(self.name, self.directory)

    def read(self) -> bytes:
        """The bytes of the regular file here. Raises ToolError for anything else."""
        found = self.status()
        if found is None:
            raise ToolError(f"there is no file {self.shown}")
        check_regular(found, self.shown)
        assert self.name is not None
        with os.fdopen(os.open(self.name, REGULAR, dir_fd=self.directory), "rb") as file:
            check_regular(os.fstat(file.fileno()), self.shown)
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ToolError(f"{self.shown} grew over {MAX_BYTES:,} bytes while it was read")
        return data


def status(name: str, directory: int) -> os.stat_result | None:
    """The status of a name in an open directory, a link's not followed; None if it is missing."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def check_regular(found: os.stat_result, shown: str) -> None:
    """Raise ToolError unless this is a regular file of one name and a size that can be taken."""
    if not stat.S_ISREG(found.st_mode):
        raise ToolError(f"{shown} is {KINDS.get(stat.S_IFMT(found.st_mode), 'no file')}")
    if found.st_nlink > 1:
        raise ToolError(f"{shown} has another name elsewhere (a hard link)", "Copy it first")
    if found.st_size > MAX_BYTES:
        raise ToolError(
            f"{shown} has {found.st_size:,} bytes; the most is {MAX_BYTES:,}",
            "Look at a part of it with the shell: head, tail, sed -n",
        )
