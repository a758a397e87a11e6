"""One process owns an index at a time; who waits is told for whom."""

import pytest

from assistant.errors import DaemonError
from assistant.memory.daemon.lifecycle import claim, claim_unless, lock_path
from assistant.workspace.folder import Workspace


def test_the_right_to_an_index_is_had_once_and_given_back(workspace: Workspace) -> None:
    told: list[str] = []
    held = claim(workspace)
    with pytest.raises(DaemonError, match=r"process \d+ works on the memory of"):
        claim(workspace, 0.1, lambda what, done, total: told.append(what))
    assert claim_unless(lambda: True, workspace, 5, lambda *_: None) is None
    held.release()
    claim(workspace, 0.1).release()
    assert lock_path(workspace).parent == workspace.private
    assert all("which works on this memory" in each for each in told)
