"""Confined access to files: where tools may go, and how they open, list and change files.

Tools may access the workspace and the directories that the owner added, except what is closed
inside them. A path is resolved, checked against these roots and the owner's rules, and then walked
one name at a time from an open root with `openat` and `O_NOFOLLOW`. So the file used is the file
checked, even if a directory is swapped for a link in between.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assistant.config import cache_dir, config_file, state_dir
from assistant.disk import storage
from assistant.disk.storage import DIRECTORY, REGULAR, status_in
from assistant.errors import ToolError
from assistant.settings.sections import PolicySettings
from assistant.tools.base import Plan, ToolResult
from assistant.tools.places import EXECUTED, KEYS, executed_at_home, is_executed
from assistant.tools.policy import DENIED, Rules, folded
from assistant.workspace.folder import ALWAYS_FILES, INDEXED_FILES, Workspace

STEERING = (*ALWAYS_FILES, *INDEXED_FILES, "memory", "skills", "assistant.toml")
"""Files that steer or remember, by their first name below the workspace."""
GIT = (".git", "HEAD")
"""What makes a directory a repository (`HEAD` a bare one), whose files git obeys."""


class Roots:
    """The workspace, the directories that the owner added, and the owner's rules for them.

    `kept` directories, which hold skills, can be read like the others, but every change to them
    needs approval. `steering` names more files of the workspace that steer; `notes` maps the names
    by which recall cites the owner's notes to their folders.

    Closed inside them are the program's own directories (`.assistant/`, its configuration with the
    secrets, its state with the record of trust, its cache with the models it runs), and the paths
    of keys in a home directory.
    """

    def __init__(
        self,
        workspace: Workspace,
        added: Sequence[Path] = (),
        policy: PolicySettings | None = None,
        kept: Sequence[Path] = (),
        steering: Sequence[str] = (),
        notes: Mapping[str, Path] | None = None,
    ) -> None:
        self._policy = policy
        self._notes = notes or {}
        self._steering = tuple(dict.fromkeys((*STEERING, *steering)))
        self.workspace = workspace
        self._kept = tuple(path.resolve() for path in kept)
        self.directories = (workspace.root, *(path.resolve() for path in added), *self._kept)
        self.rules = Rules(policy, self.directories)
        own = (config_file().parent, state_dir(), cache_dir())
        keys = [(Path.home() / name).resolve() for name in KEYS]
        added_keys = {key for key in keys for root in self.directories if root.is_relative_to(key)}
        self.private = (
            workspace.private,
            *(path.resolve() for path in own),
            *(key for key in keys if key not in added_keys),
        )
        self._closed = [_prefix(path) for path in self.private]

    def guarded(self, path: str | Path) -> bool:
        """Return whether a real path steers or remembers, or is executed by other programs."""
        return bool(self.executed(path)) or _within(path, map(_prefix, self.guards()))

    def remembers(self, path: str | Path) -> bool:
        """Return whether a real path is one of the workspace's files that steer or remember."""
        return _within(path, (_prefix(self.workspace.root / name) for name in self._steering))

    def executed(self, path: str | Path) -> str:
        """Return the name in a real path below a root that other programs execute; otherwise
        empty."""
        path, home = Path(path), Path.home().resolve()
        roots = [root for root in self.directories if path.is_relative_to(root)]
        if not roots:
            return ""
        root = max(roots, key=lambda directory: len(directory.parts))
        is_at_home = home.is_relative_to(root) and path.is_relative_to(home) and path != home
        if is_at_home and executed_at_home(path.relative_to(home).parts[0]):
            return path.relative_to(home).parts[0]
        return next(filter(is_executed, path.relative_to(root).parts), "")

    @property
    def home(self) -> Path | None:
        """The owner's home, if it is in a root."""
        home = Path.home().resolve()
        return home if any(home.is_relative_to(root) for root in self.directories) else None

    def guards(self) -> list[Path]:
        """Return the files and directories, existing or not, whose change always needs approval."""
        existing = (
            path
            for root in self.directories
            if root != self.home and root.is_dir()  # for a home see `Bounds.home`
            for path in sorted(root.iterdir())
            if is_executed(path.name)
            and path != self.workspace.private
            and not any(directory.is_relative_to(path) for directory in self.directories)
        )
        names = (root / name for root in self.directories for name in (*GIT, *EXECUTED))
        steering = (self.workspace.root / name for name in self._steering)
        return list(dict.fromkeys((*steering, *names, *existing, *self._kept)))

    def closed(self, path: str | Path) -> bool:
        """Return whether a real path belongs to the program itself, or holds keys."""
        return _within(path, self._closed)

    def denies(self, tool: str, source: str) -> bool:
        """Return whether a file that recall cites is denied to a tool, as written or as resolved.

        For notes, a rule's relative paths are relative to their folder.
        """
        name, _, note = source.partition(":")
        folder = self._notes.get(name) if note else None
        rules, unresolved = (
            (self._rules_of_notes, folder / note)
            if folder
            else (self.rules, self.workspace.root / source)
        )
        denied = rules.denied(tool)
        return any(
            denied.holds(str(path), directory=False) for path in (unresolved, unresolved.resolve())
        )

    @cached_property
    def _rules_of_notes(self) -> Rules:
        return Rules(self._policy, tuple(self._notes.values()))

    def shown(self, path: str | Path) -> str:
        """Return a real path as the model sees it: relative to the workspace if inside it."""
        text, root = str(path), str(self.workspace.root)
        return "." if text == root else text.removeprefix(f"{root}/")


def _within(path: str | Path, prefixes: Iterable[str]) -> bool:
    """Return whether a path is one of these or below it, ignoring case, as some disks do."""
    return f"{folded(str(path))}/".startswith(tuple(prefixes))


def _prefix(path: Path) -> str:
    return f"{folded(str(path)).rstrip('/')}/"


MAX_BYTES = 20_000_000
"""Maximum size of a file that a tool reads into memory."""
KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link to itself",
}


@dataclass(frozen=True, slots=True)
class Location:
    """An open directory and a name in it.

    `name` is None if the location is the directory itself. `missing` says that directories between
    the two do not exist. Valid only within the `Access.at` that made it. `path` is the real
    absolute path; `shown` is relative to the workspace if inside it.
    """

    directory: int
    name: str | None
    path: Path
    shown: str
    missing: bool = False

    def status(self) -> os.stat_result | None:
        """Return the location's own status, without following a link; None if it does not exist."""
        if self.name is None:
            return os.fstat(self.directory)
        return None if self.missing else status_in(self.directory, self.name)

    def read(self) -> bytes:
        """Return the bytes of the regular file here. Raises ToolError for anything else."""
        file_status = self.status()
        if file_status is None:
            raise ToolError(f"there is no file {self.shown}")
        check_regular(file_status, self.shown)
        assert self.name is not None
        with os.fdopen(os.open(self.name, REGULAR, dir_fd=self.directory), "rb") as file:
            check_regular(os.fstat(file.fileno()), self.shown)
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ToolError(f"{self.shown} grew over {MAX_BYTES:,} bytes while it was read")
        return data


def check_regular(file_status: os.stat_result, shown: str) -> None:
    """Raise ToolError unless this is a regular file with one name and of at most MAX_BYTES."""
    if not stat.S_ISREG(file_status.st_mode):
        raise ToolError(f"{shown} is {KINDS.get(stat.S_IFMT(file_status.st_mode), 'not a file')}")
    if file_status.st_nlink > 1:
        raise ToolError(f"{shown} has another name elsewhere (a hard link)", "Copy it first")
    if file_status.st_size > MAX_BYTES:
        raise ToolError(
            f"{shown} has {file_status.st_size:,} bytes; the most is {MAX_BYTES:,}",
            "Look at a part of it with the shell: head, tail, sed -n",
        )


class Access:
    """The files that one tool may access: within the roots, under the owner's rules for it."""

    def __init__(self, roots: Roots, tool: str) -> None:
        self.roots = roots
        self.tool = tool

    @contextmanager
    def at(self, path: str, made: list[Path] | None = None) -> Iterator[Location]:
        """Open the location of a path.

        With a list `made`, missing directories on the way are created and appended to it. Raises
        ToolError if the path is outside, denied or unreachable.
        """
        root, names = self._resolve(path)
        try:
            with ExitStack() as stack:
                yield self._walk(stack, root, names, made)
        except OSError as error:
            raise ToolError(f"{path} cannot be used: {error.strerror}") from error

    def reading(self, path: str, work: Callable[[Location], ToolResult]) -> Plan:
        """Return a plan that runs `work` on a path. Raises ToolError as `at` does."""
        with self.at(path) as location:
            planned = location.path

        def run() -> ToolResult:
            with self.at(path) as location:
                if location.path != planned:
                    raise ToolError(f"{path} points elsewhere than a moment ago", "Try again")
                return work(location)

        return Plan(run, paths=(str(planned),))

    def _resolve(self, path: str) -> tuple[Path, tuple[str, ...]]:
        """Return the root that contains a path and the remaining names, every link resolved."""
        if "\0" in path:
            raise ToolError("a path cannot contain a NUL character")
        unresolved = self.roots.workspace.root / storage.expanded(path)
        real = Path(os.path.realpath(unresolved))
        inside = [root for root in self.roots.directories if real.is_relative_to(root)]
        if not inside:
            allowed = ", ".join(map(str, self.roots.directories))
            raise ToolError(f"{path} is outside what file tools may access: {allowed}")
        denied = self.roots.rules.denied(self.tool)
        spellings = {str(unresolved), os.path.normpath(unresolved), str(real)}
        if any(denied.holds(spelling, directory=real.is_dir()) for spelling in spellings):
            raise ToolError(DENIED)
        if self.roots.closed(real):
            raise ToolError(f"{self.roots.shown(real)} is private: tools cannot access it")
        root = max(inside, key=lambda directory: len(directory.parts))
        return root, real.relative_to(root).parts

    def _walk(
        self, stack: ExitStack, root: Path, names: tuple[str, ...], made: list[Path] | None
    ) -> Location:
        """Open the location of the names below the root, following no link."""
        path, shown = root.joinpath(*names), self.roots.shown(root.joinpath(*names))
        parent = os.open(root, DIRECTORY)
        stack.callback(os.close, parent)
        for depth, name in enumerate(names, start=1):
            entry = status_in(parent, name)
            if depth == len(names) and (entry is None or not stat.S_ISDIR(entry.st_mode)):
                return Location(parent, name, path, shown)
            if entry is None and made is None:
                return Location(parent, names[-1], path, shown, missing=True)
            if entry is None and made is not None:
                os.mkdir(name, dir_fd=parent)
                made.append(root.joinpath(*names[:depth]))
            elif entry and not stat.S_ISDIR(entry.st_mode):
                raise ToolError(f"{shown}: {name} is not a directory")
            parent = os.open(name, DIRECTORY, dir_fd=parent)
            stack.callback(os.close, parent)
        return Location(parent, None, path, shown)
