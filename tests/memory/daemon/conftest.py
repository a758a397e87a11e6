"""Whatever daemon a test starts ends with it."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.memory.daemon import client, sockets
from assistant.workspace.folder import Workspace


@pytest.fixture(autouse=True)
def end_of_daemon(workspace: Workspace) -> Iterator[None]:
    """Kill what still runs, whether it answers or not."""
    yield
    connection = sockets.connect(workspace.root)
    if connection is not None:
        with connection:
            os.kill(sockets.peer(connection).process, signal.SIGKILL)


@pytest.fixture
def memory(workspace: Workspace) -> Iterator[client.DaemonMemory]:
    """A client's memory, empty."""
    connected = client.connect(workspace, {})
    yield connected
    connected.close()


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime directory of a name short enough for a socket's path."""
    with tempfile.TemporaryDirectory() as directory:
        monkeypatch.setenv("XDG_RUNTIME_DIR", directory)
        yield Path(directory)
