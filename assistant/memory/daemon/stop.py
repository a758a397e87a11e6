"""How a daemon is ended: asked, waited for, and at last made to."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from assistant.disk import locking
from assistant.errors import DaemonError
from assistant.memory.daemon import owner, sockets, wire
from assistant.workspace.folder import Workspace

YIELD_SECONDS = 60.0
"""How long a daemon may take over what it is doing before it yields."""
END_SECONDS = 5.0
"""How long a process may take to end after a signal."""
Tell = Callable[[str], None]
"""Takes a line for the owner, who waits."""


def ask_to_yield(workspace: Workspace) -> bool:
    """Have the workspace's daemon finish what it does and end; False if none runs.

    Raises DaemonError if it does not end, or does not answer.
    """
    connection = sockets.connect(workspace.root)
    if connection is None:
        return False
    with connection:
        try:
            connection.sendall(wire.request("yield", wire.YIELD, {}))
            wait_until_gone(connection)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was about to end
        except TimeoutError as error:
            raise sockets.silent(connection) from error
    return True


def wait_until_gone(connection: socket.socket) -> None:
    """Return when the daemon has let go of the index. Raises DaemonError if it does not."""
    deadline = time.monotonic() + YIELD_SECONDS
    connection.settimeout(sockets.SILENCE_SECONDS)
    try:
        while time.monotonic() < deadline:
            if not connection.recv(65536):
                return
    except ConnectionResetError:
        return
    except TimeoutError as error:
        raise sockets.silent(connection) from error
    process = sockets.peer(connection).process
    raise DaemonError(
        f"the memory daemon, process {process}, is busy and did not yield within "
        f"{YIELD_SECONDS:.0f} s",
        "Try again when it has finished, or end it with `assistant daemon stop`",
    )


def stop(workspace: Workspace, tell: Tell) -> bool:
    """End the workspace's daemon: asked first, then by signals. False if none runs.

    Raises DaemonError if another process of ours owns the index, or nothing ends it.
    """
    process = _process(workspace)
    if process is None:
        return False
    try:
        if ask_to_yield(workspace):
            return True
    except DaemonError as error:
        tell(error.message)
    for number in (signal.SIGTERM, signal.SIGKILL):
        tell(f"Ending process {process} ({number.name})")
        try:
            os.kill(process, number)
        except ProcessLookupError:
            return True
        if _is_free(workspace):
            return True
    raise DaemonError(f"process {process} does not end", "Restart the machine")


def _process(workspace: Workspace) -> int | None:
    """The daemon's process; None if no daemon runs. Raises DaemonError for another owner."""
    connection = sockets.connect(workspace.root)
    if connection is not None:
        with connection:
            return sockets.peer(connection).process
    if _is_free(workspace, 0):
        return None
    process = locking.holder(owner.lock_path(workspace))
    if process is None or not _is_daemon(process):
        raise DaemonError(
            f"process {process or '?'} works on the memory of {workspace.root}, and is no daemon",
            "End the `assistant --no-daemon` that runs there",
        )
    return process


def _is_free(workspace: Workspace, seconds: float = END_SECONDS) -> bool:
    """Whether nobody owns the index, at the latest after so long."""
    path = owner.lock_path(workspace)
    if not path.exists():
        return True
    try:
        locking.lock(path, seconds).release()
    except locking.LockHeld:
        return False
    return True


def _is_daemon(process: int) -> bool:
    """Whether a process runs the daemon's module: a number may have passed on to another."""
    listed = Path(f"/proc/{process}/cmdline")
    try:
        command = listed.read_bytes().replace(b"\0", b" ")
    except OSError:
        command = subprocess.run(
            ["ps", "-o", "command=", "-p", str(process)], capture_output=True, check=False
        ).stdout
    return b"-m assistant.memory.daemon " in command
