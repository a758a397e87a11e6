"""An export and what it restores."""

from datetime import date
from pathlib import Path
from zipfile import ZipFile

from assistant.importing import archive
from assistant.memory.base import Fact
from assistant.workspace.folder import Workspace
from tests.memory.writing.addressed import AddressedLedger


def test_only_links_that_stay_in_the_workspace_are_followed(
    workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace.root
    outside = tmp_path / "diary"
    outside.mkdir()
    (outside / "private.md").write_text("- private\n")
    (root / "notes").mkdir()
    (root / "notes" / "trip.md").write_text("- Porto in May\n")
    (root / "memory").mkdir()
    (root / "memory" / "trip.md").symlink_to(root / "notes" / "trip.md")
    (root / "memory" / "diary.md").symlink_to(outside / "private.md")
    (root / "memory" / "folder").symlink_to(outside)
    (root / "skills").mkdir()
    (root / "skills" / "private").symlink_to(outside)
    (root / "SOUL.md").symlink_to(outside / "private.md")
    names, links = archive.export(workspace, tmp_path / "mind.zip")
    assert names == ["MEMORY.md", "memory/trip.md", "notes/trip.md"]
    assert links == ["SOUL.md", "memory/diary.md", "memory/folder", "skills/private"]
    with ZipFile(tmp_path / "mind.zip") as packed:
        assert not any(b"private\n" in packed.read(name) for name in packed.namelist())
    archive.restore(tmp_path / "mind.zip", tmp_path / "new")
    assert (tmp_path / "new" / "memory" / "trip.md").read_text() == "- Porto in May\n"


def test_a_restored_workspace_still_knows_what_was_forgotten(
    workspace: Workspace, tmp_path: Path
) -> None:
    memory = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: date(2026, 11, 21))
    (fact,) = ledger.remember([Fact("The safe opens with 8812")])
    old = memory.read_bytes()
    ledger.forget([ledger.locate(f"MEMORY.md:{fact.line}")])
    archive.export(workspace, tmp_path / "mind.zip")
    archive.restore(tmp_path / "mind.zip", tmp_path / "new")
    (tmp_path / "new" / "MEMORY.md").write_bytes(old)  # a sync brings an old copy
    restored = AddressedLedger(Workspace(tmp_path / "new"))
    restored.observe("MEMORY.md")
    assert [line.text for line in restored.returned()] == ["The safe opens with 8812"]
