"""What was forgotten and comes back with an older copy is named, and forgotten again on a word."""

from pathlib import Path

import pytest

from assistant.errors import LedgerError
from assistant.memory.base import Fact, Mark, Passage, Returned
from assistant.memory.writing.purge import Purge
from assistant.memory.writing.review import Review
from assistant.workspace.folder import Workspace
from tests.memory.writing.addressed import AddressedLedger
from tests.memory.writing.saves import TODAY, memory, save

TEA, SAFE = "Likes tea", "The safe opens with zanzibar-17"


def opened(workspace: Workspace) -> AddressedLedger:
    return AddressedLedger(workspace, lambda: TODAY)


def at(ledger: AddressedLedger, fact: str) -> Passage:
    lines = memory(ledger._workspace).split("\n")
    return ledger.locate(f"MEMORY.md:{lines.index(f'- {fact}') + 1}")


def told(workspace: Workspace) -> list[tuple[str, bool]]:
    return [(each.text, each.purged) for each in opened(workspace).returned()]


@pytest.mark.parametrize("how", ["in place", "rename"])
@pytest.mark.parametrize("purged", [False, True])
def test_a_stale_save_that_brings_a_fact_back_is_told(
    workspace: Workspace, purged: bool, how: str
) -> None:
    ledger = opened(workspace)
    ledger.remember([Fact("Older"), Fact(SAFE), Fact(TEA)])
    loaded = memory(workspace)

    def forget() -> None:
        if purged:
            Purge(ledger, Review(ledger), lambda: None).forget([at(ledger, SAFE)])
        else:
            ledger.forget([at(ledger, SAFE)])

    forget()
    assert told(workspace) == []
    save(workspace.root / "MEMORY.md", f"- typed\n\n{loaded}", how)
    ledger.observe("MEMORY.md")
    (back,) = ledger.returned()
    place = memory(workspace).split("\n").index(f"- {SAFE}") + 1
    assert back == Returned(back.id, "MEMORY.md", place, SAFE, purged)
    forget()
    assert told(workspace) == []
    if purged:
        kept = [path for path in workspace.root.rglob("*") if path.is_file()]
        assert not [path for path in kept if b"zanzibar" in path.read_bytes()]


def test_what_came_back_and_is_meant_is_not_told_again(workspace: Workspace) -> None:
    ledger = opened(workspace)
    ledger.remember([Fact(TEA), Fact(SAFE)])
    loaded = memory(workspace)
    ledger.forget([at(ledger, TEA)])
    save(workspace.root / "MEMORY.md", loaded, "in place")
    with pytest.raises(LedgerError, match="no erased fact"):
        ledger.restore([ledger.returned()[0].id])
    ledger.dismiss([ledger.returned()[0].id])
    assert told(workspace) == []


def test_what_its_owner_wants_again_is_not_told(workspace: Workspace) -> None:
    ledger = opened(workspace)
    ledger.remember([Fact(TEA), Fact(SAFE)])
    ledger.forget([at(ledger, TEA)])
    ledger.remember([Fact(TEA)])
    ledger.forget([at(ledger, SAFE)])
    ledger.undo()
    assert told(workspace) == []
    ledger.mark([Mark(at(ledger, TEA), matters_for=("gifts",))])
    assert "<!-- for: gifts -->" in (workspace.root / "MEMORY.md").read_text()
    assert told(workspace) == []


def test_a_line_that_stood_twice_and_was_forgotten_once_is_not_told(workspace: Workspace) -> None:
    path: Path = workspace.root / "MEMORY.md"
    path.write_text(f"- {TEA}\n- Sings\n- {TEA}\n")
    ledger = opened(workspace)
    ledger.forget([at(ledger, TEA)])
    assert told(workspace) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("MEMORY.md", "- Likes tea."),
        ("MEMORY.md", "- [ ] Likes tea"),
        ("MEMORY.md", "* [x] LIKES TEA! <!-- 2025-01-31 -->"),
        ("memory/old.md", "Likes tea"),
    ],
)
def test_it_is_known_in_another_file_and_with_other_marks(
    workspace: Workspace, name: str, line: str
) -> None:
    ledger = opened(workspace)
    ledger.remember([Fact(TEA), Fact(SAFE)])
    ledger.forget([at(ledger, TEA)])
    path = workspace.root / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"# Notes\n\n{line}\n- Likes tea sets\n")
    (back,) = opened(workspace).returned()
    assert (back.address, back.cure) == (f"{name}:3", f"assistant forget {name}:3")


def test_what_stands_in_another_file_or_was_told_again_and_moved_is_not_told(
    workspace: Workspace,
) -> None:
    (workspace.root / "memory").mkdir(exist_ok=True)
    (workspace.root / "memory" / "people.md").write_text(f"- {TEA}.\n")
    ledger = opened(workspace)
    ledger.remember([Fact(SAFE)])
    (workspace.root / "MEMORY.md").write_text(f"{memory(workspace)}- {TEA}\n")
    ledger.forget([at(ledger, TEA)])
    assert told(workspace) == []
    ledger.forget([at(ledger, SAFE)])
    ledger.remember([Fact(SAFE)])
    (workspace.root / "MEMORY.md").rename(workspace.root / "memory" / "2026.md")
    assert told(workspace) == []
