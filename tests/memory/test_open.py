"""The ways in: over the daemon, or in this process."""

import os
from collections.abc import Iterator

import pytest

from assistant.errors import DaemonError
from assistant.memory.base import Keeper
from assistant.memory.daemon import client, lifecycle
from assistant.memory.open import open_in_process
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace
from tests.memory.daemon.daemons import running
from tests.memory.memory_contract import FACTS, found, remember


@pytest.fixture
def memory(workspace: Workspace) -> Iterator[client.DaemonMemory]:
    """A client's memory, whose daemon ends with the test."""
    connected = client.connect(workspace, {})
    yield connected
    connected.close()
    lifecycle.ask_to_yield(workspace)


def test_memory_in_this_process_takes_the_index_over_and_gives_it_back(
    memory: Keeper, workspace: Workspace
) -> None:
    remember(memory, FACTS[0])
    local = open_in_process(workspace, Settings())
    assert running(workspace) is None
    assert found(local, FACTS[0]) == [FACTS[0]]
    with pytest.raises(DaemonError, match=f"process {os.getpid()} is using") as caught:
        lifecycle.claim(workspace, 0.1)
    assert "--no-daemon" in caught.value.cure
    local.close()
    assert found(memory, FACTS[0]) == [FACTS[0]]
