"""One workspace on several machines: a journal each, and nothing of one that another would use."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assistant.memory.base import Fact, Query
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.local import LocalMemory
from assistant.settings.tree import Settings
from assistant.workspace import machine
from assistant.workspace.folder import Workspace
from assistant.workspace.stores import unlisted

On = Callable[[str], LocalMemory]


@pytest.fixture
def on(
    workspace: Workspace,
    embedder: PolyglotEmbedder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> On:
    """Opens the workspace's memory on a machine of this name."""

    def opened(name: str) -> LocalMemory:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name / "state"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name / "cache"))
        return LocalMemory(workspace, Settings(), embedder)

    return opened


def test_machines_take_turns_and_throw_nothing_away(workspace: Workspace, on: On) -> None:
    for number in range(2):
        for name in ("laptop", "desktop"):
            memory = on(name)
            memory.remember([Fact(f"The {name} wrote {number}")])
            before = memory.status()
            assert before.embedded_total <= 2 * number + 2
            assert not any("rebuilt" in notice for notice in before.notices)
            memory.close()
    memory = on("laptop")
    told = [entry.text for entry in memory.log()]
    assert told == ["The desktop wrote 1", "The laptop wrote 1", "The desktop wrote 0",
                    "The laptop wrote 0"]  # fmt: skip
    assert len(list(workspace.private.glob("journal*.jsonl"))) == 2
    assert memory.undo()[0].text == "The laptop wrote 1"
    found = memory.recall(Query("The desktop wrote 0")).passages
    memory.purge([each for each in found if each.text == "- The desktop wrote 0"])
    held = b"".join(path.read_bytes() for path in workspace.private.glob("journal*.jsonl"))
    assert b"desktop wrote 0" not in held and b"desktop wrote 1" in held
    memory.close()
    assert unlisted(workspace) == []


def test_what_is_one_machines_lies_outside_a_synced_folder(workspace: Workspace, on: On) -> None:
    (workspace.root / ".stfolder").mkdir()
    machine.is_synced.cache_clear()
    memory = on("laptop")
    memory.remember([Fact("Tides turn at noon")])
    assert memory.recall(Query("tides")).passages
    memory.close()
    names = {path.name for path in workspace.private.iterdir()}
    assert names == {"journal.jsonl", "machine"}
    assert (workspace.index / "catalog.db").exists()
    assert workspace.root not in workspace.index.parents
    assert unlisted(workspace) == []
