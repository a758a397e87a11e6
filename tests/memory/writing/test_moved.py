"""A workspace that is moved under an open connection gets nothing at its old place."""

import os
from pathlib import Path

import pytest

from assistant.disk import storage
from assistant.errors import AssistantError, StorageError
from assistant.memory.base import Fact, Origin
from assistant.memory.daemon.client import connect
from assistant.memory.writing.ledger import Ledger
from assistant.memory.writing.review import Review
from assistant.workspace import template
from assistant.workspace.folder import Workspace


@pytest.mark.parametrize("again", [False, True])
def test_nothing_is_written_where_it_was(workspace: Workspace, again: bool) -> None:
    ledger, moved = Ledger(workspace), workspace.root.with_name("moved")
    ledger.remember([Fact("Likes tea")])
    workspace.root.rename(moved)
    if again:
        workspace.root.mkdir()
    for _ in range(2):
        with pytest.raises(StorageError):
            ledger.remember([Fact("Has a dog")])
    assert workspace.root.exists() == again
    assert not (workspace.root / "MEMORY.md").exists()
    Ledger(Workspace(moved)).remember([Fact("Has a dog")])
    assert "tea" in (moved / "MEMORY.md").read_text() and "dog" in (moved / "MEMORY.md").read_text()


def test_no_daemon_begins_where_it_was_nor_serves_another_that_came_there(tmp_path: Path) -> None:
    place = template.create(tmp_path / "place").workspace
    memory = connect(place, {})
    memory.remember([Fact("Likes tea")])
    place.root.rename(tmp_path / "moved")
    with pytest.raises(AssistantError):
        memory.remember([Fact("Has a dog")])
    assert not place.root.exists()
    template.create(place.root)
    before = (place.root / "MEMORY.md").read_bytes()
    for waits in (False, True):
        with pytest.raises(StorageError, match="no longer the folder"):
            memory.remember([Fact("Has a dog", waits=waits)])
    memory.close()
    assert (place.root / "MEMORY.md").read_bytes() == before
    assert not (place.private / "review.jsonl").exists()


def test_what_waits_is_not_held_at_another_s_place(workspace: Workspace) -> None:
    review = Review(Ledger(workspace))
    workspace.root.rename(workspace.root.with_name("moved"))
    workspace.private.mkdir(parents=True)
    with pytest.raises(StorageError, match="no longer the folder"):
        review.hold([Fact("Has a dog")])
    assert list(workspace.private.iterdir()) == []


def test_no_folder_is_made_where_it_was(workspace: Workspace) -> None:
    commits = Ledger(workspace).commits
    workspace.root.rename(workspace.root.with_name("moved"))
    with pytest.raises(StorageError):
        commits.replace({"memory/a.md": ("", "- Has a dog\n")}, Origin())
    assert not workspace.root.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_root_made_belongs_to_the_owner_of_the_workspace(tmp_path: Path) -> None:
    place = template.create(tmp_path / "place").workspace
    for path in (place.root, *place.root.rglob("*")):
        os.chown(path, 4711, 4712)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("root's")
    place.index.mkdir()
    (place.index / "catalog.db").write_text("made by root")
    (place.private / "link").symlink_to(elsewhere)
    os.link(elsewhere, place.private / "name")
    storage.give_to_owner(place.private)
    assert (place.index / "catalog.db").stat().st_uid == place.index.stat().st_uid == 4711
    assert elsewhere.stat().st_uid == 0
