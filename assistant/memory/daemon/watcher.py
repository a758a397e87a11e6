"""The file watcher: refreshes the index as soon as a memory file is saved.

An event is only a hint: `refresh` compares the files itself, and so does each recall.
Directories are watched, not files, since editors save by renaming a new file over the old one.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import ObservedWatch

from assistant.workspace.folder import INDEXED_FILES, Workspace

MEMORY = "memory"
CHANGES = ("created", "deleted", "moved", "modified")
"""Events that change a file, unlike opening or reading it."""


class Watcher(FileSystemEventHandler):
    """Calls `changed` whenever a memory file of the workspace may have changed, until `stop`."""

    def __init__(self, workspace: Workspace, changed: Callable[[], None]) -> None:
        """Start watching. Raises OSError if the system has no watches left."""
        self._root = workspace.root
        self._changed = changed
        self._observer = Observer()
        self._memory: ObservedWatch | None = None
        # not recursive, since the index is written to `.assistant/`
        self._schedule(self._root, recursive=False)
        self._observer.start()
        self._watch_memory()

    def stop(self) -> None:
        """End the watch; `changed` is not called again once this returns."""
        self._observer.stop()
        self._observer.join()

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Report a change of a memory file."""
        is_of_folder = event.is_directory and event.event_type == "modified"
        if event.event_type not in CHANGES or is_of_folder:
            return
        paths = [Path(str(path)) for path in (event.src_path, event.dest_path) if path]
        if self._root / MEMORY in paths:
            self._watch_memory()
        if any(self._is_memory(path) for path in paths):
            self._changed()

    def _is_memory(self, path: Path) -> bool:
        if path.parent == self._root:
            return path.name in INDEXED_FILES or path.name == MEMORY
        return path == self._root or path.is_relative_to(self._root / MEMORY)

    def _watch_memory(self) -> None:
        """Watch `memory/` if it exists; a directory that is created again needs a new watch."""
        if self._memory is not None:
            self._observer.unschedule(self._memory)
            self._memory = None
        with contextlib.suppress(OSError):  # it does not exist, or the system has no watches left
            self._memory = self._schedule(self._root / MEMORY, recursive=True)

    def _schedule(self, directory: Path, *, recursive: bool) -> ObservedWatch:
        return self._observer.schedule(self, str(directory), recursive=recursive)
