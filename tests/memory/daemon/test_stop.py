"""A daemon ends when it is asked to, and is made to when it does not answer."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import assistant
from assistant.errors import DaemonError
from assistant.memory.base import Query
from assistant.memory.daemon import client, lifecycle, sockets
from assistant.workspace.folder import Workspace
from tests.memory.daemon.daemons import pid
from tests.memory.memory_contract import FACTS, found, remember


def test_a_daemon_that_answers_is_asked(memory: client.DaemonMemory, workspace: Workspace) -> None:
    said: list[str] = []
    remember(memory, FACTS[0])
    assert lifecycle.stop(workspace, said.append) is True
    assert lifecycle.stop(workspace, said.append) is False
    assert said == []
    assert found(memory, FACTS[0]) == [FACTS[0]]


@pytest.mark.slow
def test_a_hung_daemon_is_named_and_ended(
    memory: client.DaemonMemory, workspace: Workspace
) -> None:
    """Stopped as by a debugger: it neither answers nor takes SIGTERM."""
    remember(memory, FACTS[0])
    hung = pid(workspace)
    os.kill(hung, signal.SIGSTOP)
    with pytest.raises(DaemonError, match=f"process {hung}, has not responded for 30 s") as caught:
        memory.recall(Query("anything"))
    assert "daemon stop" in caught.value.cure
    said: list[str] = []
    assert lifecycle.stop(workspace, said.append) is True
    assert len(said) == 3
    assert str(hung) in said[0]
    assert said[1:] == [f"Ending process {hung} ({name})" for name in ("SIGTERM", "SIGKILL")]
    assert found(memory, FACTS[0]) == [FACTS[0]]


def test_a_daemon_without_a_socket_is_found_by_its_lock(
    memory: client.DaemonMemory, workspace: Workspace
) -> None:
    """Hung, and its runtime directory was removed."""
    remember(memory, FACTS[0])
    hung = pid(workspace)
    os.kill(hung, signal.SIGSTOP)
    for path in sockets.paths(workspace.root):
        path.unlink(missing_ok=True)
    said: list[str] = []
    assert lifecycle.stop(workspace, said.append) is True
    assert said == [f"Ending process {hung} ({name})" for name in ("SIGTERM", "SIGKILL")]


HOLD = """
import sys
from pathlib import Path
from assistant.memory.daemon import lifecycle
from assistant.workspace.folder import Workspace
held = lifecycle.claim(Workspace(Path(sys.argv[1])))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_process_that_is_no_daemon_is_named_and_left_alone(workspace: Workspace) -> None:
    root = Path(assistant.__file__).parent.parent
    command = [sys.executable, "-c", HOLD, str(workspace.root)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root
    ) as holding:
        assert holding.stdout
        holding.stdout.readline()
        said: list[str] = []
        with pytest.raises(DaemonError, match=f"process {holding.pid} is using") as caught:
            lifecycle.stop(workspace, said.append)
        assert "--no-daemon" in caught.value.cure
        assert (said, holding.poll()) == ([], None)
        holding.kill()
