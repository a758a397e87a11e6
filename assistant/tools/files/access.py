"""One tool's way to files: every file that a tool opens, lists or changes is reached through here.

A path is resolved, held against the roots and the owner's rules, and then walked one name at a
time from an open root with `openat` and `O_NOFOLLOW`. So what is used is what was checked: a
directory that is swapped for a link in between leads nowhere else.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
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
    stat.S_IFLNK: "a symbolic link to itself",
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
        root, names = self._resolved(path)
        try:
            with ExitStack() as opened:
                yield self._walked(opened, root, names, made)
        except OSError as error:
            raise ToolError(f"{path} cannot be used: {error.strerror}") from error

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

    def _resolved(self, path: str) -> tuple[Path, tuple[str, ...]]:
        """The root that a path leads into and the names from there on, every link followed."""
        if "\0" in path:
            raise ToolError("a path holds no NUL character")
        spelled = self.roots.workspace.root / (Path(path).expanduser() if path[:1] == "~" else path)
        real = Path(os.path.realpath(spelled))
        inside = [root for root in self.roots.directories if real.is_relative_to(root)]
        if not inside:
            allowed = ", ".join(map(str, self.roots.directories))
            raise ToolError(f"{path} is outside of what file tools may touch: {allowed}")
        denied = self.roots.rules.denied(self.tool)
        ways = {str(spelled), os.path.normpath(spelled), str(real)}
        if any(denied.holds(way, directory=real.is_dir()) for way in ways):
            raise ToolError(DENIED)
        if self.roots.closed(real):
            raise ToolError(f"{self.roots.shown(real)} is private: tools do not reach it")
        root = max(inside, key=lambda each: len(each.parts))
        return root, real.relative_to(root).parts

    def _walked(
        self, opened: ExitStack, root: Path, names: tuple[str, ...], made: list[Path] | None
    ) -> Place:
        """The place that the names lead to from the root, no link followed."""
        path, shown = root.joinpath(*names), self.roots.shown(root.joinpath(*names))
        here = os.open(root, DIRECTORY)
        opened.callback(os.close, here)
        for number, name in enumerate(names, start=1):
            found = status(name, here)
            if number == len(names) and (found is None or not stat.S_ISDIR(found.st_mode)):
                return Place(here, name, path, shown)
            if found is None and made is None:
                return Place(here, names[-1], path, shown, missing=True)
            if found is None and made is not None:
                os.mkdir(name, dir_fd=here)
                made.append(root.joinpath(*names[:number]))
            elif found and not stat.S_ISDIR(found.st_mode):
                raise ToolError(f"{shown}: {name} is no directory")
            here = os.open(name, DIRECTORY, dir_fd=here)
            opened.callback(os.close, here)
        return Place(here, None, path, shown)
