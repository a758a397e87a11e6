"""An export and what it restores."""

from datetime import date
from pathlib import Path
from zipfile import ZipFile

from assistant.importing import archive
from assistant.memory.base import Fact
from assistant.workspace.folder import Workspace
from tests.memory.writing.addressed import AddressedLedger


def test_links_are_left_out_and_named(workspace: Workspace, tmp_path: Path) -> None:
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
    (root / "memory" / "gone").symlink_to("nowhere")
    (root / "memory" / "loop").symlink_to("loop")
    (root / "notizen").symlink_to("memory")
    (root / "skills").mkdir()
    (root / "skills" / "private").symlink_to(outside)
    (root / "SOUL.md").symlink_to(outside / "private.md")
    names, links = archive.export(workspace, tmp_path / "mind.zip")
    assert names == ["MEMORY.md", "notes/trip.md"]
    assert set(links) == {
        *("SOUL.md", "memory/diary.md", "memory/folder", "memory/gone", "memory/loop"),
        *("memory/trip.md", "notizen", "skills/private"),
    }
    assert set(links.values()) == {"a link"}
    with ZipFile(tmp_path / "mind.zip") as packed:
        assert not any(b"private\n" in packed.read(name) for name in packed.namelist())
    archive.restore(tmp_path / "mind.zip", tmp_path / "new")
    assert (tmp_path / "new" / "notes" / "trip.md").read_text() == "- Porto in May\n"
    assert not (tmp_path / "new" / "memory").exists()


def test_no_file_is_in_an_archive_twice(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.root / "notes").mkdir()
    (workspace.root / "notes" / "2026.md").write_text("- Porto in May\n")
    (workspace.root / "memory").symlink_to("notes")
    names, left_out = archive.export(workspace, tmp_path / "mind.zip")
    assert names == ["MEMORY.md", "notes/2026.md"]
    assert left_out == {"memory": "a link", "memory/2026.md": "a link"}


def test_a_memory_that_is_a_link_into_the_workspace_is_packed(
    workspace: Workspace, tmp_path: Path
) -> None:
    (workspace.root / "notes").mkdir()
    (workspace.root / "MEMORY.md").rename(workspace.root / "notes" / "M.md")
    (workspace.root / "MEMORY.md").symlink_to("notes/M.md")
    names, left_out = archive.export(workspace, tmp_path / "mind.zip")
    assert (names, left_out) == (["MEMORY.md", "notes/M.md"], {})


def test_any_name_is_restored_or_named_as_left_out(workspace: Workspace, tmp_path: Path) -> None:
    kept = ("a\nb.md", "a\x1b[31m.txt", "a\\b.md", "CON", "a?*<>|.txt", "end. ", f"{'ü' * 120}.txt")
    refused = ("M\udcfcller.txt", "a:b.md", "..\\out.md")
    for name in (*kept, *refused):
        (workspace.root / name).write_text("text")
    names, left_out = archive.export(workspace, tmp_path / "mind.zip")
    assert (set(names), set(left_out)) == ({"MEMORY.md", *kept}, {*refused})
    assert left_out["M\udcfcller.txt"] == "its name is not UTF-8"
    assert archive.restore(tmp_path / "mind.zip", tmp_path / "new") == names
    assert all((tmp_path / "new" / name).read_text() == "text" for name in kept)


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
