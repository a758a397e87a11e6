"""The names that sync programs give to copies of a file."""

import pytest

from assistant.workspace.folder import Workspace, original_of


@pytest.mark.parametrize(
    "name",
    [
        "MEMORY.sync-conflict-20261122-101010-ABCDEFG.md",
        "MEMORY (Ada's conflicted copy 2026-11-22).md",
        "MEMORY (conflicted copy 2026-11-22 101010).md",
        "MEMORY (In Konflikt stehende Kopie von Ada 2026-11-22).md",
        "MEMORY (Copie en conflit de Ada 2026-11-22).md",
        "MEMORY (Case Conflict 1).md",
        "MEMORY_conflict-20261122-101010.md",
        "MEMORY_conflict-ada-20261122-101010.md",
        "MEMORY.md.orig",
        "MEMORY 2.md",
        "MEMORY (1).md",
        "MEMORY-DESKTOP-AB12CD3.md",
    ],
)
def test_a_copy_is_known_by_its_name(name: str) -> None:
    assert original_of(name) == "MEMORY.md"


@pytest.mark.parametrize(
    "name",
    ["MEMORY.md", "memory/Chapter 2.md", "memory/Plan (1).md", "memory/conflict-of-interest.md",
     "memory/Konflikt (alt).md", "MEMORY-archive.md", "memory/MEMORY 2.md"],
)  # fmt: skip
def test_what_an_owner_may_call_a_note_is_none(name: str) -> None:
    assert original_of(name) is None


def test_copies_below_memory_are_those_of_its_markdown_files(workspace: Workspace) -> None:
    folder = workspace.root / "memory"
    folder.mkdir()
    copies = {"n.md.rej", "n.md.sync-conflict-20260101-120000-AAAAAAA", "n.md.orig"}
    for name in {*copies, "n.md", "n.png.orig", "plan.txt"}:
        (folder / name).write_text("x")
    assert set(workspace.copies()) == {f"memory/{name}" for name in copies}
    assert set(workspace.survey().odd) == set(workspace.copies())
