"""Who owns a workspace's index: exactly one process, a daemon or one that works by itself.

Ownership is a kernel lock on `.assistant/owner.lock`, which dies with its holder.
"""

import os
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from assistant import config
from assistant.disk import locking, storage
from assistant.disk.locking import Lock
from assistant.errors import DaemonError, StorageError
from assistant.memory.base import Progress, no_progress
from assistant.workspace.folder import Workspace

CLAIM_SECONDS = 20.0
"""How long a new owner waits for the old one to finish; longer than a daemon takes to notice that
its workspace was moved, or its socket removed."""
LOOK_SECONDS = 0.5
"""Between two looks at who holds it."""


def lock_path(workspace: Workspace) -> Path:
    """The file whose lock is the right to the index; on a disk where none can be made it lies in
    the user's own folder."""
    try:
        storage.private_directory(workspace.private)
        return storage.private_directory(workspace.locks) / "owner.lock"
    except StorageError:
        name = sha256(os.fsencode(workspace.root)).hexdigest()[:16]
        return storage.private_directory(config.state_dir() / "locks") / f"{name}.lock"


def claim(
    workspace: Workspace, seconds: float = CLAIM_SECONDS, progress: Progress = no_progress
) -> Lock:
    """The right to a workspace's index. Raises DaemonError if another process keeps it for so
    long; StorageError."""
    held = claim_unless(lambda: False, workspace, seconds, progress)
    assert held is not None
    return held


def claim_unless(
    needless: Callable[[], bool], workspace: Workspace, seconds: float, progress: Progress
) -> Lock | None:
    """As `claim`, but None once it is `needless`."""
    path, deadline = lock_path(workspace), time.monotonic() + seconds
    while (held := _tried(path, min(LOOK_SECONDS, seconds))) is None and not needless():
        process = locking.holder(path)
        if time.monotonic() >= deadline:
            raise DaemonError(
                f"process {process} works on the memory of {workspace.root}",
                "End the `assistant --no-daemon` that runs there, or `assistant daemon stop`",
            )
        progress(f"Waiting for process {process}, which works on this memory", 0, 0)
    return held


def _tried(path: Path, seconds: float) -> Lock | None:
    try:
        return locking.lock(path, seconds)
    except locking.LockHeld:
        return None
