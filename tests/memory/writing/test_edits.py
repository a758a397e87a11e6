"""The edits of a write on a draft: a line struck out, taken away, found again, refused."""

from datetime import date

import pytest

from assistant.errors import LedgerError
from assistant.memory.base import Passage
from assistant.memory.text.chunk import chunks_of, passage
from assistant.memory.writing import edits
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.edits import difference, find_fact, removals, strike
from assistant.memory.writing.markup import Splice
from assistant.workspace.folder import Workspace

DAY = date(2026, 11, 22)
FACTS = "- Ana lives in Porto\n- Carl has a boat\n- Ben keeps bees\n"
TEXT = f"# Memory\n\n## Remembered -- 2026-11-21\n\n{FACTS}"


@pytest.fixture
def draft(workspace: Workspace) -> Draft:
    (workspace.root / "MEMORY.md").write_text(TEXT)
    return Draft(workspace)


def shown(fact: str, text: str = TEXT) -> Passage:
    """The fact as recall showed it."""
    return next(passage(each) for each in chunks_of(text, "MEMORY.md") if fact in each.text)


def test_a_fact_is_struck_out_with_its_successor(draft: Draft) -> None:
    strike(draft, [shown("Ana")], "Ana lives in *Graz*", DAY)
    (line,) = [each for each in draft.text("MEMORY.md").splitlines() if "Porto" in each]
    assert line == r"- ~~Ana lives in Porto~~ (superseded 2026-11-22: Ana lives in \*Graz\*)"
    with pytest.raises(LedgerError, match="cannot be superseded"):
        strike(draft, [shown("Porto", draft.text("MEMORY.md"))], "Ana moved again", DAY)


def test_two_facts_are_not_struck_out_as_one(draft: Draft) -> None:
    with pytest.raises(LedgerError, match=r"there are several facts at MEMORY\.md:5"):
        strike(draft, [shown("Ana"), shown("Ben")], "Neither", DAY)


def test_a_fact_that_moved_is_found_and_one_that_changed_is_not(draft: Draft) -> None:
    old = shown("Ben")
    draft.edit("MEMORY.md", Splice(0, "", "Words above it.\n\n"))
    removals(draft, [old], lambda source, title: False)
    assert "bees" not in draft.text("MEMORY.md") and "Ana" in draft.text("MEMORY.md")
    with pytest.raises(LedgerError, match="has changed since it was shown"):
        removals(draft, [old], lambda source, title: False)


def test_headings_go_only_if_they_are_ours(draft: Draft) -> None:
    each = [shown(name) for name in ("Ana", "Ben", "Carl")]
    removals(draft, each, lambda source, title: title == "Remembered -- 2026-11-21")
    assert draft.text("MEMORY.md") == "# Memory\n"


def test_a_fact_is_stated_wherever_it_stands(draft: Draft, workspace: Workspace) -> None:
    (workspace.root / "memory").mkdir()
    (workspace.root / "memory/trips.md").write_text("- The train leaves at 7\n")
    (workspace.root / "memory/broken.md").write_bytes(b"\xff")
    sources = ["memory/broken.md", "memory/trips.md"]
    assert find_fact(draft, sources, "ben keeps bees.") == ("MEMORY.md", 7)
    assert find_fact(draft, sources, "The train leaves at 7") == ("memory/trips.md", 1)
    assert find_fact(draft, sources, "The train leaves at 8") is None
    draft.edit("memory/trips.md", Splice(0, "", "- Flo runs\n"))
    assert find_fact(draft, sources, "Flo runs") == ("memory/trips.md", 1)  # of a batch, each once


@pytest.mark.parametrize("fact", ["Crate 3-7 holds apples", "Pears crate 3-17 holds"])
def test_a_file_is_not_parsed_for_a_fact_whose_words_only_occur_in_others(
    fact: str, draft: Draft, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = "- Crate 3-17 holds apples\n- Crate 7-3 holds apples\n- The 3 crates hold pears\n"
    draft.edit("MEMORY.md", Splice(0, "", items))
    monkeypatch.setattr(edits, "chunks_of", lambda *_: pytest.fail("parsed"))
    assert find_fact(draft, [], fact) is None


@pytest.mark.parametrize(
    ("before", "after", "splice"),
    [
        ("a\nb\nc\n", "a\nx\nc\n", Splice(2, "b\n", "x\n")),
        ("a\n", "a\nb\n", Splice(2, "", "b\n")),
        ("a\na\n", "a\n", Splice(2, "a\n", "")),
        ("same\n", "same\n", Splice(5, "", "")),
    ],
)
def test_a_difference_is_of_whole_lines(before: str, after: str, splice: Splice) -> None:
    assert difference(before, after) == splice
    assert splice.apply(before) == after
