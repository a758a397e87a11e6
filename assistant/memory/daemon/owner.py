"""Who owns a workspace's index: exactly one process, a daemon or one that works by itself.

Ownership is a kernel lock on `.assistant/owner.lock`, which dies with its holder. Whoever wants it
asks a live daemon to yield, or starts one.
"""

import contextlib
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assistant import storage
from assistant.errors import DaemonError
from assistant.memory.daemon import sockets, wire
from assistant.workspace import Workspace

if TYPE_CHECKING:
    from filelock import FileLock


CLAIM_SECONDS = 20.0
"""How long a new owner waits for the old one to finish; longer than a daemon takes to notice that
its workspace was moved."""
YIELD_SECONDS = 60.0
"""How long a daemon may take over what it is doing before it yields."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The held right to a workspace's index."""

    path: Path
    lock: "FileLock"
    inode: int

    def stands(self) -> bool:
        """False once the lock's file was removed or replaced: another may own the index now."""
        try:
            return self.path.stat().st_ino == self.inode
        except OSError:
            return False

    def release(self) -> None:
        """Let another process have the index."""
        self.lock.release()


def claim(workspace: Workspace, seconds: float = CLAIM_SECONDS) -> Claim:
    """The right to a workspace's index. Raises DaemonError if another keeps it for so long."""
    from filelock import Timeout  # 0.1 s: not for clients

    storage.private_directory(workspace.private)
    path = workspace.private / "owner.lock"
    lock = storage.lock(path)
    with storage.reported("locked", path):
        try:
            lock.acquire(timeout=seconds)
        except Timeout as error:
            raise DaemonError(
                f"another process works on the memory of {workspace.root}",
                "End the `assistant --no-daemon` that runs there, or `assistant daemon stop`",
            ) from error
    return Claim(path, lock, path.stat().st_ino)


def ask_to_yield(workspace: Workspace) -> bool:
    """Have the workspace's daemon finish what it does and end; False if none runs.

    Raises DaemonError if it does not end.
    """
    connection = sockets.connect(workspace.root)
    if connection is None:
        return False
    with connection, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(wire.request("yield", wire.YIELD, {}))
        wait_until_gone(connection)
    return True


def wait_until_gone(connection: socket.socket) -> None:
    """Return when the daemon has let go of the index. Raises DaemonError if it does not."""
    deadline = time.monotonic() + YIELD_SECONDS
    try:
        while (left := deadline - time.monotonic()) > 0:
            connection.settimeout(left)
            if not connection.recv(65536):
                return
    except ConnectionResetError:
        return
    except TimeoutError:
        pass
    raise DaemonError(
        f"the memory daemon is busy and did not yield within {YIELD_SECONDS:.0f} s",
        "Try again when it has finished, or end its process",
    )
