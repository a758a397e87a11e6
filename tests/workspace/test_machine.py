"""One workspace on several machines: a journal each, and nothing of one that another would use."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assistant.memory.base import Fact, Query
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.local import LocalMemory
from assistant.memory.writing.copies import Copies
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


def test_what_another_machine_forgot_goes_when_its_copy_is_merged(
    workspace: Workspace, on: On
) -> None:
    file = workspace.root / "MEMORY.md"
    laptop = on("laptop")
    for fact in ("The tide is high", "The buoy is red", "The quay is wet"):
        laptop.remember([Fact(fact)])
    laptop.close()
    before = file.read_text()
    desktop = on("desktop")
    for fact in ("tide is high", "buoy is red"):
        desktop.forget(desktop.locate(f"The {fact}").passages)
    desktop.close()
    (workspace.root / "MEMORY.sync-conflict-20261122-101010-ABCDEFG.md").write_text(
        file.read_text().replace("- The quay is wet\n", "- The desktop wrote\n")
    )
    file.write_text(before.replace("- The buoy is red\n", ""))
    laptop = on("laptop")
    laptop.remember([Fact("The buoy is red")])  # again, since it was forgotten
    laptop.close()
    copies = Copies(workspace)
    copies.take_in(copies.plan())
    text = file.read_text()
    assert "The tide is high" not in text
    for fact in ("The buoy is red", "The quay is wet", "The desktop wrote"):
        assert text.count(f"- {fact}\n") == 1, text
