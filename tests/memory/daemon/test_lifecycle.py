"""One process owns an index at a time; who waits is told for whom."""

import pytest

from assistant.errors import DaemonError
from assistant.memory.daemon.lifecycle import claim, lock_path
from assistant.workspace.folder import Workspace


def test_the_right_to_an_index_is_had_once_and_given_back(workspace: Workspace) -> None:
    told: list[str] = []
    held = claim(workspace)
    with pytest.raises(DaemonError, match=r"process \d+ is using the memory of"):
        claim(workspace, 0.1, lambda what, done, total: told.append(what))
    assert claim(workspace, 5, is_needless=lambda: True) is None
    assert held is not None
    held.release()
    again = claim(workspace, 0.1)
    assert again is not None
    again.release()
    assert lock_path(workspace).parent == workspace.private
    assert all("which is using this memory" in each for each in told)
