"""File events → "something may have changed". A hint and no more: `refresh` looks for itself.

Watched are directories, never files: editors save by renaming a new file over the old one. Events
of reading are left out, or the index's own reads would wake it for ever.
"""

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Literal

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch
from watchdog.observers.polling import PollingObserver

from assistant.disk.watching import CHANGES, MOUNTS, file_system
from assistant.workspace.folder import INDEXED_FILES, Workspace

Polling = Literal["auto", "always", "never"]

DEBOUNCE_SECONDS = 0.05
"""An editor's save is a burst of events; one refresh answers it."""
POLL_SECONDS = 1.0
NETWORK_FILE_SYSTEMS = {
    "9p", "afs", "cifs", "drvfs", "fuse.sshfs", "fuse.rclone", "glusterfs", "lustre", "ncpfs",
    "nfs", "nfs4", "smb3", "smbfs", "vboxsf", "virtiofs",
}  # fmt: skip
"""Where a change made by another machine raises no event here (9p, drvfs: Windows' disks)."""
MEMORY = "memory"


class Watch:
    """A running watch of a workspace. `polling` says how it looks."""

    def __init__(
        self, workspace: Workspace, on_dirty: Callable[[], None], poll_seconds: float | None
    ) -> None:
        self.polling = poll_seconds is not None
        self._root = workspace.root
        self._on_dirty = on_dirty
        self._dirty = threading.Event()
        self._stopping = threading.Event()
        self._observer: BaseObserver = (
            Observer() if poll_seconds is None else PollingObserver(timeout=poll_seconds)
        )
        self._handler = _Handler(self._seen)
        self._nested: ObservedWatch | None = None
        # Two watches, not one that recurses: `.assistant/`, where we write, is not looked at.
        self._schedule(self._root, recursive=False)
        self._observer.start()
        self._follow_memory()
        self._thread = threading.Thread(target=self._tell, name="watcher", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the watch; `on_dirty` is not called again once this returns."""
        self._stopping.set()
        self._dirty.set()
        self._observer.stop()
        self._observer.join()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _seen(self, event: FileSystemEvent) -> None:
        paths = [PurePath(str(path)) for path in (event.src_path, event.dest_path) if path]
        if self._root / MEMORY in paths:
            self._follow_memory()
        if any(self._matters(path) for path in paths):
            self._dirty.set()

    def _matters(self, path: PurePath) -> bool:
        inside = path.relative_to(self._root).parts if path.is_relative_to(self._root) else ()
        if not inside:
            return True  # the workspace itself moved, or an event that tells us too little
        return inside[0] == MEMORY or (len(inside) == 1 and inside[0] in INDEXED_FILES)

    def _follow_memory(self) -> None:
        """Watch `memory/` if it is there; a directory made anew needs a new watch."""
        if self._nested is not None:
            self._observer.unschedule(self._nested)
            self._nested = None
        with contextlib.suppress(OSError):  # gone again, or the limit of watches is reached
            self._nested = self._schedule(self._root / MEMORY, recursive=True)

    def _schedule(self, directory: Path, *, recursive: bool) -> ObservedWatch:
        return self._observer.schedule(
            self._handler, str(directory), recursive=recursive, event_filter=CHANGES
        )

    def _tell(self) -> None:
        while self._dirty.wait() and not self._stopping.wait(DEBOUNCE_SECONDS):
            self._dirty.clear()
            self._on_dirty()


class _Handler(FileSystemEventHandler):
    def __init__(self, seen: Callable[[FileSystemEvent], None]) -> None:
        self._seen = seen

    def on_any_event(self, event: FileSystemEvent) -> None:
        self._seen(event)


def watch(
    workspace: Workspace,
    on_dirty: Callable[[], None],
    polling: Polling = "auto",
    poll_seconds: float = POLL_SECONDS,
) -> Watch:
    """Call `on_dirty` from a thread soon after a memory file may have changed, until `stop`.

    `auto` polls on file systems whose events do not tell all, and where events cannot be had (the
    system's limit of watches is reached). Raises OSError then, if polling is `never`.
    """
    if polling == "always" or (polling == "auto" and on_network(workspace.root)):
        return Watch(workspace, on_dirty, poll_seconds)
    try:
        return Watch(workspace, on_dirty, None)
    except OSError:
        if polling == "never":
            raise
        return Watch(workspace, on_dirty, poll_seconds)


def on_network(path: Path, mounts: Path = MOUNTS) -> bool:
    """Whether a path lies on a file system that others may change unseen, as Linux knows it."""
    return file_system(path, mounts) in NETWORK_FILE_SYSTEMS
