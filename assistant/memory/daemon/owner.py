"""Who owns a workspace's index: exactly one process, a daemon or one that works by itself.

Ownership is a kernel lock on `.assistant/owner.lock`, which dies with its holder. Whoever wants it
asks a live daemon to yield, or starts one.
"""

import contextlib
import socket
import time

from assistant import locking, storage
from assistant.errors import DaemonError
from assistant.locking import Lock
from assistant.memory.daemon import sockets, wire
from assistant.workspace import Workspace

CLAIM_SECONDS = 20.0
"""How long a new owner waits for the old one to finish; longer than a daemon takes to notice that
its workspace was moved."""
YIELD_SECONDS = 60.0
"""How long a daemon may take over what it is doing before it yields."""


def claim(workspace: Workspace, seconds: float = CLAIM_SECONDS) -> Lock:
    """The right to a workspace's index. Raises DaemonError if another keeps it for so long."""
    storage.private_directory(workspace.private)
    path = workspace.private / "owner.lock"
    try:
        return locking.lock(path, seconds)
    except locking.LockHeld as error:
        raise DaemonError(
            f"process {locking.holder(path)} works on the memory of {workspace.root}",
            "End the `assistant --no-daemon` that runs there, or `assistant daemon stop`",
        ) from error


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
