"""A write that was begun by a process that died."""

from pathlib import Path

import pytest

from assistant.disk import storage
from assistant.disk.storage import Disk
from assistant.memory.base import Fact, Origin
from assistant.memory.text.identity import digest
from assistant.memory.writing.journal import Edit, Journal, Write
from assistant.memory.writing.transaction import Commits
from assistant.workspace.folder import Workspace
from tests.memory.writing.addressed import AddressedLedger
from tests.memory.writing.saves import TODAY, memory, save, temporary
from tests.support.faults import using


@pytest.mark.parametrize("landed", [True, False])
def test_what_a_dead_writer_began_is_settled_from_the_file(
    workspace: Workspace, landed: bool
) -> None:
    before = memory(workspace)
    after = before + "- Likes tea\n"
    edit = Edit("MEMORY.md", len(before), "", "- Likes tea\n", digest(before), digest(after))
    journal = Journal(workspace.journal)
    storage.private_directory(workspace.private)
    journal.begin(Write("w1", "2026-11-21T10:00:00+00:00", "remember", "Likes tea", edits=(edit,)))
    if landed:  # and the owner has typed since
        (workspace.root / "MEMORY.md").write_text(after + "typed\n")
    (workspace.root / f".MEMORY.md.abc{storage.TEMPORARY}").write_bytes(b"half")
    ledger = AddressedLedger(workspace, lambda: TODAY)
    assert ledger.journals.log() == (), "it was not acknowledged"
    ledger.remember([Fact("Has a dog")])
    assert [entry.text for entry in ledger.journals.log()] == ["Has a dog", "Likes tea"][
        : 1 + landed
    ]
    assert temporary(workspace) == []


@pytest.mark.parametrize("torn", [True, False])
def test_a_file_that_a_dead_writer_was_writing_into_is_completed(
    workspace: Workspace, torn: bool
) -> None:
    """A file with other names is written into; the copy beside it says what it was to be."""
    path = workspace.root / "MEMORY.md"
    path.with_name("link").hardlink_to(path)
    before = memory(workspace)
    after = "intro\n" + before
    edit = Edit("MEMORY.md", 0, "", "intro\n", digest(before), digest(after))
    storage.private_directory(workspace.private)
    journal = Journal(workspace.journal)
    journal.begin(Write("w1", "2026-11-21T10:00:00+00:00", "amend", "+1", edits=(edit,)))
    (workspace.root / f".MEMORY.md.abc{storage.TEMPORARY}").write_text(after)
    path.write_text(after[:3] + before[3:] if torn else "saved by the owner since\n")
    AddressedLedger(workspace, lambda: TODAY).remember([Fact("Has a dog")])
    assert memory(workspace).startswith(after if torn else "saved by the owner since\n")
    assert temporary(workspace) == []
    assert path.samefile(path.with_name("link"))


def test_a_damaged_image_keeps_nobody_from_writing(workspace: Workspace) -> None:
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("Likes tea"), Fact("Has a dog")])
    before = memory(workspace)
    acknowledged = workspace.journal.read_text()
    ledger.forget([ledger.locate("MEMORY.md:5")])
    begun = workspace.journal.read_text().removeprefix(acknowledged).splitlines(keepends=True)[0]
    workspace.journal.write_text(acknowledged + begun)  # it was not acknowledged
    (workspace.root / "MEMORY.md").write_text(f"{before}- typed\n")
    (image,) = workspace.history.iterdir()
    image.write_bytes(b"damaged")
    later = AddressedLedger(workspace, lambda: TODAY)
    later.remember([Fact("Sings")])
    assert "- typed\n- Sings\n" in memory(workspace)


def test_a_write_over_several_new_files_that_broke_off_is_completed(workspace: Workspace) -> None:
    commits = Commits(workspace)
    texts = {f"memory/n{number}.md": f"- fact {number}\n" for number in range(5)}
    commits.replace({name: ("", text) for name, text in texts.items()}, Origin("owner"))
    begun = workspace.journal.read_text().splitlines(keepends=True)[:-1]
    workspace.journal.write_text("".join(begun))  # it was not acknowledged
    for name in list(texts)[2:]:
        (workspace.root / name).unlink()
    later = Commits(workspace)
    with later.locked():
        assert {name: (workspace.root / name).read_text() for name in texts} == texts
    assert not later.journal.pending()


class _SavedJustBefore(Disk):
    """An editor adds a line to a file just before it is replaced for the first time."""

    def __init__(self) -> None:
        self.line = "- typed\n"

    def exchange(self, source: Path, target: Path) -> bool:
        if self.line:
            save(target, target.read_text() + self.line, "rename")
            self.line = ""
        return super().exchange(source, target)


@pytest.mark.parametrize("saved", [False, True])
def test_all_edits_of_the_file_that_a_dead_writer_did_not_reach_are_made(
    workspace: Workspace, saved: bool
) -> None:
    people = workspace.root / "memory/people.md"
    people.parent.mkdir()
    people.write_text(before := "- Bo is 9\n- Al is 7\n")
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember(
        [
            Fact("Bo is 10", replaces="memory/people.md:1"),
            Fact("Al is 8", replaces="memory/people.md:2"),
        ]
    )
    after = people.read_text()
    begun = workspace.journal.read_text().splitlines(keepends=True)[:-1]
    workspace.journal.write_text("".join(begun))  # it was not acknowledged
    people.write_text(before)
    with using(_SavedJustBefore() if saved else Disk()):
        ledger.remember([Fact("Has a dog")])
    assert people.read_text() == after + "- typed\n" * saved
    assert after.count("superseded") == 2
