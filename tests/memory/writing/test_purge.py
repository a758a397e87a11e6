"""Nothing is destroyed until all of it can be; nothing is left once it is; whoever dies between."""

import errno
import multiprocessing
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from assistant import config
from assistant.errors import AssistantError, LedgerError, SessionError, StorageError
from assistant.memory.base import Fact, Origin
from assistant.memory.writing.purge import Purge
from assistant.memory.writing.review import Review
from assistant.session import transcript
from assistant.session.entries import UserEntry
from assistant.workspace.folder import Workspace
from tests.memory.writing.addressed import AddressedLedger
from tests.memory.writing.saves import TODAY, memory, temporary
from tests.support.faults import FailingDisk, using

SAFE = "The *safe* code is zanzibar"
LINE = "- The \\*safe\\* code is zanzibar\n"


class Life:
    """A workspace in which a fact was left everywhere, and what forgets it."""

    def __init__(self, workspace: Workspace, scrub: Callable[[], None] | None = None) -> None:
        self.workspace = workspace
        self.ledger = AddressedLedger(workspace, lambda: TODAY)
        self.review = Review(self.ledger)
        self.scrubbed = 0
        self.purge = Purge(self.ledger, self.review, scrub or self._scrub)

    def _scrub(self) -> None:
        self.scrubbed += 1

    def lead(self) -> "Life":
        """Leave the fact in every store; it stands in line 6 now."""
        said = transcript.create(self.workspace.sessions)
        said.append(UserEntry(f"Remember: {SAFE}"))
        said.close()
        prompts = config.state_dir() / "prompts"
        prompts.parent.mkdir(parents=True, exist_ok=True)
        prompts.write_text(f"\n# 2026-11-21 10:00:00\n+{SAFE}\n")
        origin = Origin("owner", said.session, ("e1",))
        ledger = self.ledger
        ledger.remember([Fact("Near it"), Fact(SAFE, origin=origin), Fact("Below it")])
        ledger.remember([Fact("The code of the safe is another now", replaces="MEMORY.md:6")])
        ledger.undo()
        ledger.forget([ledger.locate("MEMORY.md:6")])
        ledger.undo()
        ledger.remember([Fact("Old one")])
        ledger.remember([Fact(SAFE, replaces="MEMORY.md:8")])
        path = self.workspace.root / "MEMORY.md"
        path.write_text(
            memory(self.workspace).replace("- Below it", f"- Below it <!-- for: {SAFE} -->")
        )
        ledger.observe("MEMORY.md")
        path.write_text(memory(self.workspace).replace(f" <!-- for: {SAFE} -->", ""))
        ledger.observe("MEMORY.md")
        for name in ("Ana", "Eve"):
            (held,) = self.review.hold([Fact(f"{name} says {SAFE}", origin=Origin("tool"))])
            if name == "Ana":
                self.review.refuse(held.id)
        return self

    def forget(self) -> tuple[str, ...]:
        shown = self.ledger.locate("MEMORY.md:6")
        return self.purge.forget([shown], sessions=True).cleared

    def holding(self) -> set[str]:
        """The files that hold the fact's telling word."""
        state = config.state_dir()
        there = [*self.workspace.root.rglob("*"), *state.rglob("*")]
        found = set()
        for path in (each for each in there if each.is_file()):
            data = path.read_bytes()
            data = zlib.decompress(data) if path.parent.name == "history" else data
            found |= {path.name} if b"zanzibar" in data else set()
        return found


def files(workspace: Workspace) -> dict[Path, bytes]:
    there = (path for path in workspace.root.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in there if path.suffix != ".lock"}


def test_no_byte_of_the_words_stays_and_the_rest_does(workspace: Workspace) -> None:
    life = Life(workspace).lead()
    assert len(life.holding()) >= 6
    assert life.forget() == ("memory", "journal", "history", "review", "sessions", "prompts")
    assert life.holding() == set()
    assert life.scrubbed == 1
    assert "Near it" in memory(workspace)
    entries = life.ledger.journals.log()
    assert (entries[0].action, entries[0].text) == ("forget", "")
    assert "Old one" in [entry.text for entry in entries]
    with pytest.raises(LedgerError, match="a purge, which cannot be undone"):
        life.ledger.undo()
    *passed, undone = life.ledger.undo(skip=True)
    assert [(entry.action, entry.passed) for entry in passed][:1] == [("forget", True)]
    assert undone.undone and life.holding() == set()
    life.purge.finish()
    assert life.scrubbed == 1, "nothing was left to finish"


def test_sessions_are_gone_through_only_if_asked(workspace: Workspace) -> None:
    life = Life(workspace).lead()
    life.purge.forget([life.ledger.locate("MEMORY.md:6")])
    assert {Path(name).suffix for name in life.holding()} == {".jsonl", ""}
    assert len(life.holding()) == 2


def test_a_fact_that_no_file_holds_is_purged_by_its_words(workspace: Workspace) -> None:
    """Forgotten before, or deleted by hand."""
    life = Life(workspace).lead()
    path = workspace.root / "MEMORY.md"
    path.write_text(memory(workspace).replace(LINE, "").replace(f": {LINE[2:-1]})", ")"))
    life.purge.forget([], past=["the safe code is zanzibar"], sessions=True)
    assert life.holding() == set()


def test_the_same_request_again_does_nothing(workspace: Workspace) -> None:
    life = Life(workspace).lead()
    shown = life.ledger.locate("MEMORY.md:6")
    done = life.purge.forget([shown], request="r")
    again = life.purge.forget([shown], request="r")
    assert (again.entry, again.purged, life.scrubbed) == (done.entry, True, 1)


def test_an_open_session_refuses_and_nothing_is_changed(workspace: Workspace) -> None:
    life = Life(workspace).lead()
    (session,) = (path.stem for path in workspace.sessions.glob("*.jsonl"))
    still_open = transcript.reopen(workspace.sessions, session)
    before = files(workspace)
    with pytest.raises(SessionError, match=f"{session} is open"):
        life.forget()
    assert files(workspace) == before
    still_open.close()
    life.forget()
    assert life.holding() == set()


def test_a_file_that_is_open_elsewhere_refuses_and_nothing_is_destroyed(
    workspace: Workspace,
) -> None:
    life = Life(workspace).lead()
    holding, text = life.holding(), memory(workspace)
    with (workspace.root / "MEMORY.md").open("ab"), pytest.raises(StorageError, match="is open"):
        life.forget()
    assert (life.holding(), memory(workspace)) == (holding, text)
    assert life.scrubbed == 0
    life.purge.finish()
    assert memory(workspace) == text, "it was refused, and does not wait"


def test_a_passage_that_changed_refuses_and_nothing_is_changed(workspace: Workspace) -> None:
    life = Life(workspace).lead()
    shown = life.ledger.locate("MEMORY.md:6")
    path = workspace.root / "MEMORY.md"
    path.write_text(memory(workspace).replace(LINE, "- The safe is empty\n"))
    before = files(workspace)
    with pytest.raises(LedgerError, match="changed since"):
        life.purge.forget([shown])
    assert files(workspace) == before


@pytest.mark.parametrize("for_good", [False, True])
def test_whatever_the_disk_refuses_nothing_is_destroyed_or_all_of_it(
    tmp_path: Path, for_good: bool
) -> None:
    refused = pending = 0
    for nth in range(1, 80):
        life = Life(_place(tmp_path, nth)).lead()
        holding, text = life.holding(), memory(life.workspace)
        with using(FailingDisk(nth, errno.ENOSPC, for_good=for_good)) as disk:
            try:
                life.forget()
            except StorageError:
                refused += 1
        assert temporary(life.workspace) == []
        if memory(life.workspace) == text:
            assert life.holding() == holding, "the file stands, and so does all else"
        if life.holding():
            pending += 1
            _finish(life.workspace, text)
        assert Life(life.workspace).holding() == set()
        if disk.calls < nth:
            break
    assert refused > 10
    assert pending > 5


def _place(tmp_path: Path, nth: int) -> Workspace:
    place = Workspace(tmp_path / str(nth))
    place.root.mkdir()
    (place.root / "MEMORY.md").write_text("# Memory\n")
    return place


def _finish(workspace: Workspace, text: str) -> None:
    """What the next owner of the index does, and then the user who was told of an error."""
    life = Life(workspace)
    life.purge.finish()
    if memory(workspace) == text:
        life.forget()


class DeadlyDisk(FailingDisk):
    """The process dies at its nth call."""

    def _fails(self) -> bool:
        if super()._fails():
            os._exit(9)
        return False


def _die(workspace: Workspace, nth: int) -> None:
    with using(DeadlyDisk(nth)):
        Life(workspace).forget()


def test_a_purge_that_is_killed_anywhere_is_finished_by_the_next(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    finished = 0
    for nth in range(1, 80):
        life = Life(_place(tmp_path, nth)).lead()
        text = memory(life.workspace)
        killed = context.Process(target=_die, args=(life.workspace, nth))
        killed.start()
        killed.join()
        after = Life(life.workspace)
        after.purge.finish()
        if memory(life.workspace) == text:
            assert after.holding() >= {"MEMORY.md", "journal.jsonl"}, "it had not begun"
        else:
            assert after.holding() == set(), nth
            finished += after.scrubbed
        if killed.exitcode == 0:
            break
    assert finished > 10


def test_an_index_that_fails_leaves_the_purge_to_be_finished(workspace: Workspace) -> None:
    def fail() -> None:
        raise StorageError("the index cannot be written")

    life = Life(workspace, fail).lead()
    with pytest.raises(AssistantError, match="cannot be written"):
        life.forget()
    assert life.holding() == {"journal.jsonl"}
    after = Life(workspace)
    after.purge.finish()
    assert (after.holding(), after.scrubbed) == (set(), 1)
    assert [entry.action for entry in after.ledger.journals.log(2)].count("forget") == 1
