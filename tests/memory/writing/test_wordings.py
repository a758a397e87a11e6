"""A purge knows a fact by what was written, whatever its owner has made of the line since."""

import pytest

from assistant.memory.base import Fact, Origin
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.purge import cited, wordings
from assistant.memory.writing.words import Words
from assistant.workspace.folder import Workspace
from tests.memory.writing.addressed import AddressedLedger
from tests.memory.writing.saves import memory

SAFE = "The safe opens with zanzibar-17"


@pytest.fixture
def ledger(workspace: Workspace) -> AddressedLedger:
    ledger = AddressedLedger(workspace)
    ledger.remember([Fact("Ben sails"), Fact(SAFE, origin=Origin("owner", "s1", ("e1", "e2")))])
    return ledger


def known(workspace: Workspace, ledger: AddressedLedger, line: int) -> set[str]:
    passage = ledger.locate(f"MEMORY.md:{line}")
    return set(wordings([passage], [], ledger.commits.journal, Draft(workspace)))


@pytest.mark.parametrize("now", ["The safe opens with a new word", "It hangs in the shed, ask Ada"])
def test_a_reworded_line_is_known_by_what_it_was(
    workspace: Workspace, ledger: AddressedLedger, now: str
) -> None:
    path = workspace.root / "MEMORY.md"
    path.write_text(memory(workspace).replace(SAFE, now))
    assert known(workspace, ledger, 6) == {now, SAFE}


def test_a_fact_that_stands_is_nobodys_past(workspace: Workspace, ledger: AddressedLedger) -> None:
    path = workspace.root / "MEMORY.md"
    path.write_text(memory(workspace) + "- The safe opens with zanzibar-18\n")
    assert known(workspace, ledger, 7) == {"The safe opens with zanzibar-18"}


def test_the_entries_that_a_fact_was_taken_from_are_told(ledger: AddressedLedger) -> None:
    assert cited(Words([SAFE.upper()]), ledger.commits.journal) == {"s1": ("e1", "e2")}
