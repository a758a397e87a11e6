"""One tool's way to files: every file that a tool opens, lists or changes is reached through here.

A path is walked one name at a time from an open directory, symbolic links expanded by hand and
never followed by the kernel (`openat` with `O_NOFOLLOW`), so that what is used is what was
checked: `..`, links and directories swapped in between lead nowhere else. Each place on the way is
held against the owner's rules, whatever the path to it was called.
"""

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assistant.errors import ToolError
from assistant.tools.base import Plan, ToolResult
from assistant.tools.files.roots import Roots
from assistant.tools.rules import DENIED

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


UP = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Descent:
    """An open directory, and the names that led to it from an open start.

    Takes over `start`, a directory's descriptor. Each step may raise OSError.
    """

    def __init__(self, start: int) -> None:
        self._start = start
        self.directory = start
        self.names: list[str] = []
        self._passed: list[tuple[int, int]] = [_identity(start)]

    def down(self, name: str) -> None:
        """Into a directory here, which must not be a link."""
        self._move(os.open(name, DIRECTORY, dir_fd=self.directory))
        self.names.append(name)
        self._passed.append(_identity(self.directory))

    def up(self) -> None:
        """Back to the directory this one was reached from."""
        self.names.pop()
        self._passed.pop()
        try:
            above = os.open("..", UP, dir_fd=self.directory)
        except PermissionError:  # a directory that may be listed and not passed through
            above = self._again()
        if _identity(above) != self._passed[-1]:
            os.close(above)
            raise OSError(errno.ESTALE, "it was moved in the meantime")
        self._move(above)

    def close(self) -> None:
        """Let go of what is open."""
        self._move(self._start)
        os.close(self._start)

    def __enter__(self) -> "Descent":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _again(self) -> int:
        """The directory that the names lead to, opened from the start."""
        here = os.dup(self._start)
        for name in self.names:
            try:
                below = os.open(name, DIRECTORY, dir_fd=here)
            finally:
                os.close(here)
            here = below
        return here

    def _move(self, directory: int) -> None:
        if self.directory != self._start:
            os.close(self.directory)
        self.directory = directory


def _identity(directory: int) -> tuple[int, int]:
    found = os.fstat(directory)
    return found.st_dev, found.st_ino


MAX_LINKS = 40
"""Symbolic links on one path, Linux's own limit."""


class Access:
    """What one tool may reach: within the roots, and by the owner's rules for it."""

    def __init__(self, roots: Roots, tool: str) -> None:
        self.roots = roots
        self.tool = tool

    @contextmanager
    def at(self, path: str, made: list[Path] | None = None) -> Iterator[Place]:
        """The place a path leads to. Raises ToolError if it is outside, denied or unreachable.

        With a list `made`, missing directories on the way are made and added to it.
        """
        walk = _Walk(self.roots, self.tool, path)
        try:
            yield walk.to_end(made)
        except OSError as error:
            raise ToolError(f"{path} cannot be used: {error.strerror}") from error
        finally:
            walk.close()

    def reading(self, path: str, work: Callable[[Place], ToolResult]) -> Plan:
        """The plan of looking at what is at a path, by `work`. Raises ToolError as `at` does."""
        with self.at(path) as place:
            planned = place.path

        def run() -> ToolResult:
            with self.at(path) as place:
                if place.path != planned:
                    raise ToolError(f"{path} leads elsewhere than a moment ago", "Try again")
                return work(place)

        return Plan(run, places=(str(planned),))

    def listed(self, place: Place) -> list["os.DirEntry[str]"]:
        """What is in an open directory, by name, less what is denied."""
        denied = self.roots.rules.denied(self.tool)
        with os.scandir(place.directory) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        return [
            entry
            for entry in entries
            if not denied.holds(
                f"{place.path}/{entry.name}", directory=entry.is_dir(follow_symlinks=False)
            )
        ]


class _Walk:
    """One walk along a path, from a root to where it leads."""

    def __init__(self, roots: Roots, tool: str, path: str) -> None:
        self._roots = roots
        self._denied = roots.rules.denied(tool)
        self._path = path
        self._links = 0
        self._pending: deque[str] = deque()
        self._descent: Descent | None = None

    def close(self) -> None:
        if self._descent is not None:
            self._descent.close()

    def to_end(self, made: list[Path] | None) -> Place:
        if "\0" in self._path:
            raise ToolError("a path holds no NUL character")
        here = self._enter(self._path)
        while self._pending:
            name = self._pending.popleft()
            if name in ("", "."):
                continue
            if name == "..":
                self._up(here)
                continue
            found = status(name, here.directory)
            if found is None:
                if made is None or not any(self._pending):
                    return self._place(here, name, *self._pending)
                made.append(Path(self._allowed(here, name)))
                os.mkdir(name, dir_fd=here.directory)
                here.down(name)
            elif stat.S_ISLNK(found.st_mode):
                here = self._follow(here, name)
            elif stat.S_ISDIR(found.st_mode):
                self._allowed(here, name)
                here.down(name)
            elif any(self._pending):
                raise ToolError(f"{self._path}: {name} is no directory")
            else:
                return self._place(here, name)
        return self._place(here)

    def _enter(self, target: str) -> Descent:
        """Start over at the root that an absolute path, or the workspace's relative one, names."""
        entry = self._roots.entry(target)
        if entry is None:
            raise self._outside()
        self._root, names = entry
        self._pending.extendleft(reversed(names))
        self.close()
        self._descent = Descent(os.open(self._root, DIRECTORY))
        return self._descent

    def _follow(self, here: Descent, name: str) -> Descent:
        self._allowed(here, name)
        self._links += 1
        if self._links > MAX_LINKS:
            raise ToolError(f"{self._path} goes through too many symbolic links")
        target = os.readlink(name, dir_fd=here.directory)
        if target.startswith("/"):
            return self._enter(target)
        self._pending.extendleft(reversed(target.split("/")))
        return here

    def _up(self, here: Descent) -> None:
        if not here.names:
            raise self._outside()
        here.up()

    def _place(self, here: Descent, *names: str) -> Place:
        """The place that the names below the open directory lead to, all but one missing."""
        if ".." in names:
            raise ToolError(f"{self._path}: there is no directory {names[0]}")
        rest = [name for name in names if name not in ("", ".")]
        path = self._allowed(here, *rest, directory=not rest)
        name = rest[-1] if rest else None
        return Place(here.directory, name, Path(path), self._roots.shown(path), len(rest) > 1)

    def _allowed(self, here: Descent, *names: str, directory: bool = True) -> str:
        """Where the names lead to. Raises ToolError if that is denied or closed."""
        path = "/".join([str(self._root).rstrip("/"), *here.names, *names]) or "/"
        if self._denied.holds(path, directory=directory):
            raise ToolError(DENIED)
        if self._roots.closed(path):
            raise ToolError(f"{self._roots.shown(path)} is private: tools do not reach it")
        return path

    def _outside(self) -> ToolError:
        allowed = ", ".join(str(root) for root in self._roots.directories)
        return ToolError(f"{self._path} is outside of what file tools may touch: {allowed}")
