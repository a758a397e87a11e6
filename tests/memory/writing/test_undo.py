"""An edit is taken back to the byte, or where its lines stand now, or not at all."""

import pytest

from assistant.errors import LedgerError
from assistant.memory.base import Fact
from assistant.memory.text.identity import digest
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.edits import reversal
from assistant.memory.writing.journal import Edit
from assistant.memory.writing.markup import Splice
from assistant.workspace.folder import Workspace
from tests.memory.writing.addressed import AddressedLedger
from tests.memory.writing.saves import TODAY

TEXT = "# Memory\n\n- one\n- two\n- three\n- four\n"


@pytest.fixture
def added(workspace: Workspace) -> Edit:
    """A fact written below `two`."""
    return _edited(workspace, Splice(TEXT.index("- three"), "", "- new\n"))


@pytest.fixture
def removed(workspace: Workspace) -> Edit:
    """`three` taken away."""
    return _edited(workspace, Splice(TEXT.index("- three"), "- three\n", ""))


def _edited(workspace: Workspace, splice: Splice) -> Edit:
    (workspace.root / "MEMORY.md").write_text(TEXT)
    return Draft(workspace).edit("MEMORY.md", splice)


def undone(text: str, edit: Edit, gone: str = "") -> str:
    return reversal(text, digest(text), edit, gone).apply(text)


def test_a_file_as_it_was_left_is_restored_to_the_byte(added: Edit, removed: Edit) -> None:
    assert undone(TEXT.replace("- three", "- new\n- three"), added) == TEXT
    assert undone(TEXT.replace("- three\n", ""), removed, "- three\n") == TEXT


def test_an_added_line_is_found_where_it_stands_now(added: Edit) -> None:
    moved = "# Memory\n\nWords of the owner's.\n\n- new\n\n- two\n- three\n"
    assert "new" not in undone(moved, added)
    assert "Words of the owner's." in undone(moved, added)
    marked = moved.replace("- new", "- new <!-- for: gifts -->")
    assert undone(marked, added) == undone(moved, added)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (TEXT, "have been changed since"),
        (f"{TEXT}- new\n\nAnd:\n\n- new\n", "occur there more than once"),
    ],
)
def test_an_added_line_that_is_gone_or_doubled_is_refused(added: Edit, text: str, why: str) -> None:
    with pytest.raises(LedgerError, match=why):
        undone(text, added)


def test_a_removed_line_goes_back_between_its_neighbours(removed: Edit) -> None:
    now = "# Memory\n\n- zero\n- one\n- two\n- four\n- five\n"
    assert undone(now, removed, "- three\n") == now.replace("- four", "- three\n- four")
    with pytest.raises(LedgerError, match=r"the lines around it in MEMORY\.md have changed"):
        undone("# Memory\n\n- another\n- life\n", removed, "- three\n")


@pytest.mark.parametrize(
    ("before", "gone", "now", "then"),
    [
        ("- one\n- two", "- two", "- one", "- one\n- two"),
        ("- one\n- two\n", "- two\n", "- one", "- one\n- two\n"),
        ("- one\n- two", "- two", "- one\n- later\n", "- one\n- two\n- later\n"),
        ("- one\n- two\n", "- two\n", "- one\n\nTyped.\n", "- one\n\n- two\n\nTyped.\n"),
        ("One.\nTwo.\nAll.\n", "Two.\n", "Zero.\n\nOne.\nAll.\n", "Zero.\n\nOne.\nTwo.\nAll.\n"),
        ("- one\r\n- two", "- two", "- zero\r\n- one", "- zero\r\n- one\r\n- two"),
    ],
)
def test_what_goes_back_is_joined_to_no_other_line(
    workspace: Workspace, before: str, gone: str, now: str, then: str
) -> None:
    file = workspace.root / "MEMORY.md"
    file.write_bytes(before.encode())
    edit = Draft(workspace).edit("MEMORY.md", Splice(before.index(gone), gone, ""))
    assert undone(now, edit, gone) == then


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("below", ["", "\n## Garden\n\n- roses\n"])
def test_a_fact_goes_back_below_its_heading_that_stands_again(
    workspace: Workspace, end: str, below: str
) -> None:
    path = workspace.root / "MEMORY.md"
    path.write_text(f"# Memory\n{below}".replace("\n", end), newline="")
    ledger = AddressedLedger(workspace, lambda: TODAY)
    (ana,) = ledger.remember([Fact("Ana sails")])
    before = ledger.journals.log()[0].id
    ledger.forget([ledger.locate(f"MEMORY.md:{ana.line}")])
    forgotten = ledger.journals.log()[0].id
    ledger.remember([Fact("Ben rows")])
    ledger.undo([forgotten])
    text = path.read_bytes().decode()
    assert text.count("## Remembered -- ") == 1 and text.count("\n") == text.count(end)
    assert text.endswith(f"{end}{end}- Ben rows{end}- Ana sails{end}")
    ledger.undo([before])
    assert "Ana" not in path.read_text() and "Ben" in path.read_text()


def test_a_rewritten_last_line_stays_apart_from_what_was_typed_below_it(
    workspace: Workspace,
) -> None:
    before, gone, new = "- one\nolder words", "older words", "newer words\n"
    (workspace.root / "MEMORY.md").write_text(before)
    edit = Draft(workspace).edit("MEMORY.md", Splice(before.index(gone), gone, new))
    assert undone(f"- one\n{new}- typed\n", edit, gone) == f"{before}\n- typed\n"
