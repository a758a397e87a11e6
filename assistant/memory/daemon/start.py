"""How a daemon is started: detached, and waited for until it listens."""

import os
import selectors
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import assistant
from assistant import config, storage
from assistant.errors import DaemonError
from assistant.memory.daemon import sockets, wire
from assistant.workspace import Workspace

START_SECONDS = 60.0
"""How long a daemon may take until it listens; it loads nothing heavy before."""


def start(workspace: Workspace, raw: Mapping[str, Any], digest: str) -> None:
    """Start a daemon, detached, and return when it listens.

    Raises what kept it from starting: ConfigError, StorageError, DaemonError.
    """
    log = sockets.log_path(workspace.root)
    storage.private_directory(log.parent)
    settings = {name: raw[name] for name in config.MEMORY_SECTIONS if name in raw}
    order = wire.line(wire.Order(str(workspace.root), digest, settings))
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
    if failure := wire.parse(word, wire.Answer).error:
        raise wire.raised(failure)
