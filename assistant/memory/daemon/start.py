"""How a daemon is started: detached, and waited for until it listens."""

import os
import selectors
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import assistant
from assistant import config
from assistant.disk import storage
from assistant.errors import DaemonError
from assistant.memory.base import Progress, no_progress
from assistant.memory.daemon import sockets, wire
from assistant.workspace.folder import Workspace

START_SECONDS = 60.0
"""How long a daemon may take until it listens; it loads nothing heavy before."""
ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}
"""glibc gives each thread room of its own, and keeps what indexing left in it: 20 MB of a thousand
facts. Threads that take turns at Python's lock need no more than one."""


def start(
    workspace: Workspace, raw: Mapping[str, Any], digest: str, progress: Progress = no_progress
) -> None:
    """Start a daemon, detached, and return when it listens, or another does.

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
        _await_ready(ready.fileno(), log, progress)


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
        env=ONE_ARENA | os.environ,
        cwd=home,
        pass_fds=(ready,),
        start_new_session=True,
        check=False,
    )


def _await_ready(ready: int, log: Path, progress: Progress) -> None:
    """Read the daemon's words: what it waits for, then an empty answer or what kept it back."""
    said = b""
    with selectors.DefaultSelector() as selector:
        selector.register(ready, selectors.EVENT_READ)
        while selector.select(START_SECONDS) and (piece := os.read(ready, 65536)):
            *lines, said = (said + piece).split(b"\n")
            for answer in (wire.parse(line, wire.Answer) for line in lines):
                if answer.error:
                    raise wire.raised(answer.error)
                if not answer.progress:
                    return
                progress(*answer.progress)
    raise DaemonError("the memory daemon could not start", f"Its log is {log}")
