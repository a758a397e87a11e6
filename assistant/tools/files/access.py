"""One tool's way to files: every file that a tool opens, lists or changes is reached through here.

A path is walked one name at a time from an open directory, symbolic links expanded by hand and
never followed by the kernel (`openat` with `O_NOFOLLOW`), so that what is used is what was
checked: `..`, links and directories swapped in between lead nowhere else. Each place on the way is
held against the owner's rules, whatever the path to it was called.
"""

import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assistant.errors import ToolError
from assistant.tools.base import Plan, ToolResult
from assistant.tools.files.descent import Descent
from assistant.tools.files.place import DIRECTORY, Place, status
from assistant.tools.files.roots import Roots
from assistant.tools.rules import DENIED

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
