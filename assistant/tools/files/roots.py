"""The directories that file tools may touch, and the way into them that cannot be led astray.

A path is walked one name at a time from an open directory, symbolic links expanded by hand and
never followed by the kernel (`openat` with `O_NOFOLLOW`), so that what is used is what was
checked: `..`, links and directories swapped in between lead nowhere else.
"""

import os
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from assistant.config import cache_dir, config_file, state_dir
from assistant.errors import ToolError
from assistant.workspace import ALWAYS_FILES, INDEXED_FILES, Workspace

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not blocking: opening a FIFO must not wait for its writer."""

MAX_LINKS = 40
"""Symbolic links on one path, Linux's own limit."""
MAX_BYTES = 20_000_000
"""The largest file a tool takes into memory."""

STEERING = (*ALWAYS_FILES, *INDEXED_FILES, "memory", "skills", "assistant.toml")
"""What steers or remembers, by its first name below the workspace."""
HOOKS = (".git/hooks", ".git/config")
"""What git runs, or takes orders from, outside any sandbox."""
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
    """Somewhere inside a root: an open directory and a name in it.

    `name` is None where the place is the directory itself. `missing` says that directories
    between the two are not there. Valid within `Roots.at`. `path` is where it really is, links
    resolved; `shown` is that, relative to the workspace if it is inside.
    """

    directory: int
    name: str | None
    path: Path
    shown: str
    missing: bool = False

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


class Roots:
    """The workspace, and the directories the owner added.

    The program's own directories inside them are closed: `.assistant/`, its configuration with
    the secrets, its state with the record of trust, its cache with the models it runs.
    """

    def __init__(self, workspace: Workspace, added: Sequence[Path] = ()) -> None:
        self.workspace = workspace
        self.directories = (workspace.root, *(path.resolve() for path in added))
        own = (config_file().parent, state_dir(), cache_dir())
        self.private = (workspace.private, *(path.resolve() for path in own))

    @contextmanager
    def at(self, path: str, made: list[Path] | None = None) -> Iterator[Place]:
        """The place a path leads to. Raises ToolError if that is outside, or cannot be reached.

        With a list `made`, missing directories on the way are made and added to it.
        """
        with ExitStack() as held:
            try:
                yield _Walk(self, path, held).to_end(made)
            except OSError as error:
                raise ToolError(f"{path} cannot be used: {error.strerror}") from error

    def entry(self, path: str) -> tuple[Path, list[str]] | None:
        """The root a path starts from and the names that lead on, or None if it is outside."""
        start = Path(path).expanduser() if path.startswith("~") else Path(path)
        if not start.is_absolute():
            return self.workspace.root, path.split("/")
        for spelled in (start, Path(os.path.realpath(start))):
            for root in sorted(self.directories, key=lambda each: -len(each.parts)):
                if spelled.is_relative_to(root):
                    return root, list(spelled.parts[len(root.parts) :])
        return None

    def guarded(self, path: Path) -> bool:
        """Whether a real path is of those that steer or remember, or that git takes orders from."""
        return any(_within(path, each) for each in self.guards())

    def guards(self) -> list[Path]:
        """The files and directories, there or not, whose change always asks."""
        return [
            *(self.workspace.root / name for name in STEERING),
            *(root / hook for root in self.directories for hook in HOOKS),
        ]

    def closed(self, path: Path) -> bool:
        """Whether a real path belongs to the program itself."""
        return any(_within(path, each) for each in self.private)

    def shown(self, path: Path) -> str:
        """A real path as the model is shown it: relative to the workspace where it is inside."""
        inside = path.is_relative_to(self.workspace.root)
        return path.relative_to(self.workspace.root).as_posix() if inside else str(path)


class _Walk:
    """One walk along a path, from a root to where it leads."""

    def __init__(self, roots: Roots, path: str, held: ExitStack) -> None:
        self._roots = roots
        self._path = path
        self._held = held
        self._links = 0
        self._pending: deque[str] = deque()
        if "\0" in path:
            raise ToolError("a path holds no NUL character")
        self._enter(path)

    def to_end(self, made: list[Path] | None) -> Place:
        while self._pending:
            name = self._pending.popleft()
            if name in ("", "."):
                continue
            if name == "..":
                self._up()
                continue
            found = status(name, self._stack[-1])
            if found is None:
                if made is None or not any(self._pending):
                    return self._place(name, *self._pending)
                made.append(self._place(name).path)
                os.mkdir(name, dir_fd=self._stack[-1])
                self._down(name)
            elif stat.S_ISLNK(found.st_mode):
                self._follow(name)
            elif stat.S_ISDIR(found.st_mode):
                self._down(name)
            elif any(self._pending):
                raise ToolError(f"{self._path}: {name} is no directory")
            else:
                return self._place(name)
        return self._place()

    def _enter(self, target: str) -> None:
        """Start over at the root that an absolute path, or the workspace's relative one, names."""
        entry = self._roots.entry(target)
        if entry is None:
            raise self._outside()
        self._root, names = entry
        self._pending.extendleft(reversed(names))
        self._stack = [os.open(self._root, DIRECTORY)]
        self._held.callback(os.close, self._stack[0])
        self._names: list[str] = []

    def _follow(self, name: str) -> None:
        self._links += 1
        if self._links > MAX_LINKS:
            raise ToolError(f"{self._path} goes through too many symbolic links")
        target = os.readlink(name, dir_fd=self._stack[-1])
        if target.startswith("/"):
            self._enter(target)
        else:
            self._pending.extendleft(reversed(target.split("/")))

    def _up(self) -> None:
        if not self._names:
            raise self._outside()
        self._names.pop()
        self._stack.pop()

    def _down(self, name: str) -> None:
        self._stack.append(os.open(name, DIRECTORY, dir_fd=self._stack[-1]))
        self._held.callback(os.close, self._stack[-1])
        self._names.append(name)

    def _place(self, *names: str) -> Place:
        """The place that the names below the open directory lead to, all but one missing."""
        if ".." in names:
            raise ToolError(f"{self._path}: there is no directory {names[0]}")
        rest = [name for name in names if name not in ("", ".")]
        path = self._root.joinpath(*self._names, *rest)
        if self._roots.closed(path):
            raise ToolError(f"{self._roots.shown(path)} is private to the program")
        name = rest[-1] if rest else None
        return Place(self._stack[-1], name, path, self._roots.shown(path), len(rest) > 1)

    def _outside(self) -> ToolError:
        allowed = ", ".join(str(root) for root in self._roots.directories)
        return ToolError(f"{self._path} is outside of what file tools may touch: {allowed}")


def _within(path: Path, parent: Path) -> bool:
    """Whether a path is `parent` or below it, in capitals or not: some disks fold the case."""
    folded, above = (tuple(part.casefold() for part in each.parts) for each in (path, parent))
    return folded[: len(above)] == above
