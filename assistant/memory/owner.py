"""Who owns a workspace's index: exactly one process, a daemon or one that works by itself.

Ownership is a kernel lock on `.assistant/owner.lock`, which dies with its holder. Whoever wants it
asks a live daemon to yield, or starts one.
"""

import contextlib
import json
import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import assistant
from assistant import config, storage
from assistant.errors import DaemonError
from assistant.memory import sockets, wire
from assistant.memory.base import Memory, Notify, Progress, no_notices, no_progress
from assistant.workspace import Workspace

if TYPE_CHECKING:
    from filelock import FileLock

    from assistant.settings import Settings

CLAIM_SECONDS = 20.0
"""How long a new owner waits for the old one to finish; longer than a daemon takes to notice that
its workspace was moved."""
YIELD_SECONDS = 60.0
"""How long a daemon may take over what it is doing before it yields."""
TAKE_OVERS, TAKE_OVER_SECONDS = 5, 1.0
"""How often a daemon is asked to yield that others start again, and the wait in between."""
START_SECONDS = 60.0
"""How long a daemon may take until it listens; it loads nothing heavy before."""


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


def open_in_process(
    workspace: Workspace,
    settings: "Settings",
    progress: Progress = no_progress,
    notify: Notify = no_notices,
) -> Memory:
    """Memory in this process, which owns the index until `close`; a live daemon is seen off.

    Raises DaemonError if the owner keeps it, EmbedderError, StorageError.
    """
    from assistant.memory import opening  # loads onnxruntime: not for clients

    held = _take_over(workspace)
    try:
        return opening.open_memory(workspace, settings, progress, notify, held.release)
    except BaseException:
        held.release()
        raise


def _take_over(workspace: Workspace) -> Claim:
    """The claim, once whatever daemon runs has yielded; an open chat may start it again."""
    for _ in range(TAKE_OVERS):
        ask_to_yield(workspace)
        with contextlib.suppress(DaemonError):
            return claim(workspace, TAKE_OVER_SECONDS)
    return claim(workspace)


def ask_to_yield(workspace: Workspace) -> bool:
    """Have the workspace's daemon finish what it does and end; False if none runs.

    Raises DaemonError if it does not end.
    """
    connection = sockets.connect(workspace.root)
    if connection is None:
        return False
    with connection, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(wire.line(id="yield", op=wire.YIELD, params={}))
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


def start(workspace: Workspace, raw: Mapping[str, Any], digest: str) -> None:
    """Start a daemon, detached, and return when it listens.

    Raises what kept it from starting: ConfigError, StorageError, DaemonError.
    """
    log = sockets.log_path(workspace.root)
    storage.private_directory(log.parent)
    settings = {name: raw[name] for name in config.MEMORY_SECTIONS if name in raw}
    order = wire.line(workspace=str(workspace.root), digest=digest, settings=settings)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as ready, log.open("ab") as output:
        try:
            _spawn(writing, order, output.fileno())
        finally:
            os.close(writing)
        _await_ready(ready.fileno(), log)


def _spawn(ready: int, order: bytes, output: int) -> None:
    """Run the daemon's module; it leaves this process behind and outlives it."""
    # Its directory is the package's, so that the same code runs wherever the client was started.
    home = Path(assistant.__file__).parent.parent
    command = [sys.executable, "-m", "assistant.memory.daemon", str(ready)]
    subprocess.run(
        command,
        input=order,
        stdout=output,
        stderr=output,
        cwd=home,
        pass_fds=(ready,),
        start_new_session=True,
        check=False,
    )


def _await_ready(ready: int, log: Path) -> None:
    """Read the daemon's word: an empty object, or the error that kept it from starting."""
    word = b""
    with selectors.DefaultSelector() as selector:
        selector.register(ready, selectors.EVENT_READ)
        while selector.select(START_SECONDS) and (piece := os.read(ready, 65536)):
            word += piece
    if not word.endswith(b"\n"):
        raise DaemonError("the memory daemon could not start", f"Its log is {log}")
    told = json.loads(word)
    if "error" in told:
        raise wire.raised(told["error"])
