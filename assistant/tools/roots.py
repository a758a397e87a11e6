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

from assistant.config import config_file
from assistant.errors import ToolError
from assistant.workspace import ALWAYS_FILES, INDEXED_FILES, Workspace

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not blocking: opening a FIFO must not wait for its writer."""

MAX_LINKS = 40
"""Symbolic links on one path, Linux's own limit."""
MAX_BYTES = 20_000_000
"""The largest file a tool takes into memory."""

STEERING = frozenset(
    name.casefold()
    for name in (*ALWAYS_FILES, *INDEXED_FILES, "memory", "skills", "assistant.toml")
)
"""What steers or remembers, by its first name below the workspace."""
HOOKS = ((".git", "hooks"), (".git", "config"))
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

    `name` is None where the place is the directory itself. Valid within `Roots.at`. `path` is
    where it really is, links resolved; `shown` is that, relative to the workspace if inside it.
    """

    directory: int
    name: str | None
    path: Path
    shown: str
    guarded: bool

    def status(self) -> os.stat_result | None:
        """The place's own status, a link's not followed; None if nothing is there."""
        if self.name is None:
            return os.fstat(self.directory)
        try:
            return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read(self) -> bytes:
        """The bytes of the regular file here. Raises ToolError for anything else."""
        found = self.status()
        if found is None:
            raise ToolError(f"there is no file {self.shown}")
        check_regular(found, self.shown)
        assert self.name is not None
        descriptor = opened(self.name, REGULAR, self.directory, self.shown)
        with os.fdopen(descriptor, "rb") as file:
            check_regular(os.fstat(descriptor), self.shown)
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ToolError(f"{self.shown} grew over {MAX_BYTES:,} bytes while it was read")
        return data


def check_regular(found: os.stat_result, shown: str) -> None:
    """Raise ToolError unless this is a regular file of one name and a size that can be taken."""
    if not stat.S_ISREG(found.st_mode):
        raise ToolError(f"{shown} is {KINDS.get(stat.S_IFMT(found.st_mode), 'no file')}")
    if found.st_nlink > 1:
        raise ToolError(f"{shown} has another name elsewhere (a hard link)", "Copy it first")
    if found.st_size > MAX_BYTES:
        raise ToolError(
            f"{shown} has {found.st_size:,} bytes; the most is {MAX_BYTES:,}",
            "Look at a part of it with shell: head, tail, sed -n",
        )


def opened(name: str, flags: int, directory: int, shown: str) -> int:
    """An open descriptor. Raises ToolError in the words of the system."""
    try:
        return os.open(name, flags, dir_fd=directory)
    except OSError as error:
        raise ToolError(f"{shown} cannot be opened: {error.strerror}") from error


class Roots:
    """The workspace, and the directories the owner added."""

    def __init__(self, workspace: Workspace, added: Sequence[Path] = ()) -> None:
        self.workspace = workspace.root
        self.directories = (workspace.root, *(path.resolve() for path in added))
        self.private = (workspace.private, config_file().parent.resolve())

    @contextmanager
    def at(self, path: str, *, make_parents: bool = False) -> Iterator[Place]:
        """The place a path leads to. Raises ToolError if that is outside, or cannot be reached."""
        with ExitStack() as held:
            try:
                yield self._walk(path, make_parents, held)
            except OSError as error:
                raise ToolError(f"{path}: {error.strerror}") from error

    def guarded(self, path: Path) -> bool:
        """Whether a real path is of those that steer or remember, or that git runs."""
        for root in self.directories:
            if path.is_relative_to(root):
                parts = path.relative_to(root).parts
                if any(parts[: len(hook)] == hook for hook in HOOKS):
                    return True
        if not path.is_relative_to(self.workspace):
            return False
        parts = path.relative_to(self.workspace).parts
        return bool(parts) and parts[0].casefold() in STEERING

    def shown(self, path: Path) -> str:
        """A real path as the model is shown it: relative to the workspace where it is inside."""
        inside = path.is_relative_to(self.workspace)
        return path.relative_to(self.workspace).as_posix() if inside else str(path)

    def _walk(self, path: str, make_parents: bool, held: ExitStack) -> Place:
        root, pending = self._entry(path, path)
        stack = [self._open_root(root, held)]
        names: list[str] = []
        links = 0
        while pending:
            name = pending.popleft()
            if name in ("", "."):
                continue
            if name == "..":
                if not names:
                    raise ToolError(self._outside(path))
                stack.pop()
                names.pop()
                continue
            found = _status(name, stack[-1])
            if found is None and (not pending or not make_parents):
                return self._missing(path, root, names, name, pending, stack[-1])
            if found is None:
                os.mkdir(name, dir_fd=stack[-1])
            elif stat.S_ISLNK(found.st_mode):
                links += 1
                if links > MAX_LINKS:
                    raise ToolError(f"{path} goes through too many symbolic links")
                target = os.readlink(name, dir_fd=stack[-1])
                if target.startswith("/"):
                    root, rest = self._entry(target, path)
                    stack, names = [self._open_root(root, held)], []
                    pending = rest + pending
                else:
                    pending = deque(target.split("/")) + pending
                continue
            elif not stat.S_ISDIR(found.st_mode):
                if any(part not in ("", ".") for part in pending):
                    raise ToolError(f"{path}: {name} is not a directory")
                return self._place(root, names, stack[-1], name)
            stack.append(opened(name, DIRECTORY, stack[-1], path))
            held.callback(os.close, stack[-1])
            names.append(name)
        return self._place(root, names, stack[-1], None)

    def _entry(self, target: str, path: str) -> tuple[Path, deque[str]]:
        """The root a path starts from, and the names that lead on from it."""
        if "\0" in target:
            raise ToolError("a path holds no NUL character")
        start = Path(target).expanduser() if target.startswith("~") else Path(target)
        if not start.is_absolute():
            return self.workspace, deque(target.split("/"))
        for spelled in (start, Path(os.path.realpath(start))):
            for root in sorted(self.directories, key=lambda each: -len(each.parts)):
                if spelled.parts[: len(root.parts)] == root.parts:
                    return root, deque(spelled.parts[len(root.parts) :])
        raise ToolError(self._outside(path))

    def _open_root(self, root: Path, held: ExitStack) -> int:
        descriptor = os.open(root, DIRECTORY)
        held.callback(os.close, descriptor)
        return descriptor

    def _missing(
        self,
        path: str,
        root: Path,
        names: list[str],
        name: str,
        pending: deque[str],
        directory: int,
    ) -> Place:
        if pending:
            raise ToolError(f"there is no directory {'/'.join([*names, name])}", f"In {path}")
        return self._place(root, names, directory, name)

    def _place(self, root: Path, names: list[str], directory: int, name: str | None) -> Place:
        path = root.joinpath(*names, *([name] if name is not None else []))
        if any(path.is_relative_to(private) for private in self.private):
            raise ToolError(f"{self.shown(path)} is private to the program", "Leave it alone")
        return Place(directory, name, path, self.shown(path), self.guarded(path))

    def _outside(self, path: str) -> str:
        allowed = ", ".join(str(root) for root in self.directories)
        return f"{path} is outside of what file tools may touch: {allowed}"


def _status(name: str, directory: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
