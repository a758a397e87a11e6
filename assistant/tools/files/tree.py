"""The files below a place, however deep, in order; what a tool may not reach is left out."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from assistant.display import counted
from assistant.errors import ToolError
from assistant.tools.files.access import Access
from assistant.tools.files.descent import Descent
from assistant.tools.files.place import Place, check_regular
from assistant.tools.rules import Named

SKIPPED = frozenset(
    {".assistant", ".git", ".hg", ".venv", "__pycache__", "node_modules", ".mypy_cache"}
)
"""Directories nobody means to search; they can be, by naming them as the path."""


@dataclass(slots=True)
class Tree:
    """The regular files at or below a place, for one tool.

    `shut` counts directories that could not be opened, `withheld` places that the owner wants to
    be asked for. What is denied is not counted.
    """

    access: Access
    place: Place
    shut: int = 0
    withheld: int = 0
    _denied: Named = field(init=False)
    _asked: Named = field(init=False)

    def __post_init__(self) -> None:
        rules, tool = self.access.roots.rules, self.access.tool
        self._denied, asked = rules.denied(tool), rules.asked(tool)
        agreed = asked.holds(str(self.place.path), directory=self.place.is_directory)
        self._asked = Named() if agreed else asked

    def files(self) -> Iterator[tuple[str, int]]:
        """Each file's path from the place, empty for the place itself, and its open directory.

        Raises ToolError if nothing is there.
        """
        found = self.place.status()
        if found is None:
            raise ToolError(f"there is no {self.place.shown}")
        if self.place.name is None:
            with Descent(os.dup(self.place.directory)) as descent:
                yield from self._below(descent)
        else:
            check_regular(found, self.place.shown)
            yield "", self.place.directory

    def notes(self) -> list[str]:
        """What was left out, for the model to know."""
        notes = []
        if self.shut:
            folders = counted(self.shut, "directory", "directories")
            notes.append(f"[{folders} could not be opened.]")
        if self.withheld:
            places = counted(self.withheld, "place")
            notes.append(f"[{places} left out: the owner is asked for it if you name it as path.]")
        return notes

    def _below(self, descent: Descent) -> Iterator[tuple[str, int]]:
        waiting: list[Iterator[str]] = []
        entered = True
        while entered or waiting:
            if entered:
                folders, files = self._listed(descent)
                prefix = "".join(f"{name}/" for name in descent.names)
                yield from ((prefix + name, descent.directory) for name in files)
                waiting.append(iter(folders))
            name = next(waiting[-1], None)
            entered = name is not None and self._entered(descent, name)
            if name is None:
                waiting.pop()
                if waiting:
                    descent.up()

    def _entered(self, descent: Descent, name: str) -> bool:
        try:
            descent.down(name)
        except OSError:
            self.shut += 1
            return False
        return True

    def _listed(self, descent: Descent) -> tuple[list[str], list[str]]:
        """The names of the folders and of the files in the open directory that may be reached."""
        above = "/".join([str(self.place.path).rstrip("/"), *descent.names])
        folders: list[str] = []
        files: list[str] = []
        with os.scandir(descent.directory) as entries:
            for entry in entries:
                path = f"{above}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED and self._reached(path, directory=True):
                        folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False) and self._reached(path, directory=False):
                    files.append(entry.name)
        return sorted(folders), sorted(files)

    def _reached(self, path: str, *, directory: bool) -> bool:
        if self._denied.holds(path, directory=directory) or self.access.roots.closed(path):
            return False
        if self._asked.holds(path, directory=directory):
            self.withheld += 1
            return False
        return True
