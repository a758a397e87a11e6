"""Saves by others: which facts they took away that nobody wanted to lose."""

import random
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from assistant.errors import LedgerError
from assistant.memory.annotations import mattering
from assistant.memory.base import Fact, Mark, Passage
from assistant.workspace.folder import Workspace
from tests.memory.writing.addressed import AddressedLedger
from tests.memory.writing.saves import TODAY, memory, save

SAVES = ("in place", "rename")


def _typing(
    path: Path, how: str, lines: Iterator[str], stop: threading.Event, written: threading.Event
) -> list[str]:
    """An owner who loads the file, types a line and saves, again and again; after 50 saves they
    pause until a fact is written, whatever time the disk takes."""
    typed = []
    chance = random.Random(3)
    saves = 0
    while not stop.is_set():
        saves = 0 if written.is_set() else saves + 1
        if saves > 50:
            written.wait()
        written.clear()
        line = next(lines)
        text = path.read_text(encoding="utf-8")
        if not text:  # another editor's in-place save is under way
            continue
        save(path, text + f"{line}\n", how)
        typed.append(line)
        stop.wait(0.01 + chance.random() * 0.1)
    return typed


@pytest.mark.parametrize("how", SAVES)
@pytest.mark.parametrize("runs", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_no_line_that_the_owner_types_is_lost(workspace: Workspace, how: str, runs: int) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    stop, written = threading.Event(), threading.Event()
    typed: list[str] = []
    lines = (f"typed {number}" for number in range(10**6))
    owner = threading.Thread(target=lambda: typed.extend(_typing(path, how, lines, stop, written)))
    owner.start()
    try:
        facts = [f"Fact {number} of many" for number in range(runs)]
        for fact in facts:
            ledger.remember([Fact(fact)])
            written.set()
    finally:
        stop.set()
        written.set()
        owner.join()
    ledger.observe("MEMORY.md")
    left = memory(workspace).splitlines()
    assert [line for line in typed if line not in left] == []
    offered = {entry.text for entry in ledger.erased()}
    standing = {line.removeprefix("- ") for line in left}
    assert [fact for fact in facts if fact not in standing | offered] == []


def _stale(path: Path, write: Callable[[], object]) -> str:
    """What an editor holds that loaded the file before a write."""
    buffer = path.read_text(encoding="utf-8")
    write()
    return buffer


@pytest.mark.parametrize("how", SAVES)
def test_a_fact_that_a_stale_save_erased_is_offered_and_not_written_back(
    workspace: Workspace, how: str
) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    for number in range(10):
        buffer = _stale(path, lambda n=number: ledger.remember([Fact(f"Lost {n} in the fog")]))
        save(path, buffer + f"typed {number}\n", how)
        ledger.observe("MEMORY.md")
    assert [entry.text for entry in ledger.erased()] == [f"Lost {n} in the fog" for n in range(10)]
    assert "Lost" not in memory(workspace)
    first, second, *_ = [entry.id for entry in ledger.erased()]
    (back,) = ledger.restore([first])
    assert (back.status, back.text) == ("stored", "Lost 0 in the fog")
    ledger.dismiss([second])
    assert [entry.text for entry in ledger.erased()] == [
        f"Lost {n} in the fog" for n in range(2, 10)
    ]
    assert [f"typed {n}" in memory(workspace) for n in range(10)] == [True] * 10


def test_restored_facts_go_back_below_their_headings_and_one_undo_takes_them_back(
    workspace: Workspace,
) -> None:
    path, days = workspace.root / "MEMORY.md", [TODAY - timedelta(days=3)]
    ledger = AddressedLedger(workspace, lambda: days[-1])
    path.write_text("# Memory\n\n## People\n\n### Lena\n\n- Lena sings\n\n## Places\n\n- Porto\n")
    stale = _stale(
        path,
        lambda: ledger.remember(
            [Fact("Lena sails", under="People › Lena"), Fact("Has a dog"), Fact("Likes tea")]
        ),
    )
    written = path.read_text()
    save(path, stale + "typed\n", "in place")
    ledger.observe("MEMORY.md")
    days.append(TODAY)
    ledger.restore([entry.id for entry in ledger.erased()])
    assert "- Lena sings\n- Lena sails" in memory(workspace)
    assert memory(workspace).replace("typed\n", "") == written
    undone = ledger.undo()
    assert [entry.text for entry in undone] == ["Likes tea", "Has a dog", "Lena sails"]
    assert memory(workspace) == stale + "typed\n"


@pytest.mark.parametrize("nested", ["", "  - since May\n"])
@pytest.mark.parametrize("given", [(), ("travel",)])
def test_a_restored_fact_has_the_marks_that_it_was_given_since(
    workspace: Workspace, given: tuple[str, ...], nested: str
) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    facts = [Fact("Has a dog"), Fact("Has a *nut* allergy", matters_for=given), Fact("Likes tea")]
    stale = _stale(path, lambda: ledger.remember(facts))
    path.write_text(memory(workspace).replace("- Likes", f"{nested}- Likes"))
    ledger.observe("MEMORY.md")

    def fact(name: str) -> Passage:
        lines = memory(workspace).splitlines()
        number = next(number for number, line in enumerate(lines, start=1) if name in line)
        return ledger.locate(f"MEMORY.md:{number}")

    ledger.mark([Mark(fact("nut"), core="core"), Mark(fact("tea"), core="not core")])
    ledger.mark([Mark(fact("nut"), matters_for=("pharmacy", "cakes"))])
    ledger.mark([Mark(fact("nut"), core="not core"), Mark(fact("dog"), core="core")])
    ledger.undo()
    written = memory(workspace)
    assert "allergy <!-- core --> <!-- for: pharmacy, cakes -->\n" in written
    save(path, stale, "in place")
    ledger.observe("MEMORY.md")
    ledger.restore([entry.id for entry in ledger.erased()])
    assert memory(workspace) == written.replace(nested, "")
    ledger.undo()
    assert memory(workspace) == stale


@pytest.mark.parametrize("given", [(), ("travel",)])
@pytest.mark.parametrize("last", ["", " <!-- core --> <!-- for: cakes --> <!-- 2026-01-02 -->"])
@pytest.mark.parametrize("how", SAVES)
def test_a_restored_fact_has_the_comments_that_its_owner_typed(
    workspace: Workspace, how: str, last: str, given: tuple[str, ...]
) -> None:
    path = workspace.root / "MEMORY.md"
    path.write_text("# Memory\n\n## Mila\n\n- Mila sings\n")
    ledger = AddressedLedger(workspace, lambda: TODAY)
    allergy = Fact("Mila has an allergy", under="Mila", matters_for=given)
    stale = _stale(path, lambda: ledger.remember([allergy, Fact("Likes tea")]))
    line = next(line for line in memory(workspace).splitlines() if "allergy" in line)
    for new in ("- Mila has an allergy <!-- not core -->", f"- Mila has an allergy{last}"):
        save(path, memory(workspace).replace(line, new), how)
        ledger.observe("MEMORY.md")
        line = new
    written = memory(workspace)
    save(path, stale, how)
    ledger.observe("MEMORY.md")
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.restore([entry.id for entry in ledger.erased()])
    assert memory(workspace) == written


def test_the_next_write_notices_what_nobody_observed(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    buffer = _stale(path, lambda: ledger.remember([Fact("Likes tea")]))
    save(path, buffer + "typed\n", "in place")
    ledger.remember([Fact("Has a dog")])
    assert [entry.text for entry in AddressedLedger(workspace).erased()] == ["Likes tea"]


def test_a_stale_save_with_nothing_typed_takes_our_heading_along(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    buffer = _stale(path, lambda: ledger.remember([Fact("Likes tea")]))
    save(path, buffer, "in place")
    ledger.observe("MEMORY.md")
    assert [entry.text for entry in ledger.erased()] == ["Likes tea"]


def test_a_fact_that_came_and_went_before_shows_nothing(workspace: Workspace) -> None:
    """A copy from before holds it too: it proves nothing of what was written in between."""
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("Likes tea"), Fact("Sings")])
    copy = memory(workspace)
    ledger.remember([Fact("Has a dog")])
    save(path, memory(workspace).replace("- Likes tea\n", ""), "in place")
    ledger.observe("MEMORY.md")
    ledger.remember([Fact("Likes tea")])
    save(path, copy, "in place")
    ledger.observe("MEMORY.md")
    assert [entry.text for entry in ledger.erased()] == ["Has a dog"]


def test_a_heading_that_came_and_went_before_shows_nothing(workspace: Workspace) -> None:
    """A buffer from before holds it too: under the one of the same day the next fact came."""
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("Likes tea")])
    loaded = memory(workspace)
    ledger.forget([ledger.locate(f"MEMORY.md:{loaded.splitlines().index('- Likes tea') + 1}")])
    ledger.remember([Fact("Has a dog")])
    save(path, loaded + "typed\n", "in place")
    ledger.observe("MEMORY.md")
    assert [entry.text for entry in ledger.erased()] == ["Has a dog"]


def _edits() -> dict[str, Callable[[str], str]]:
    return {
        "the line": lambda text: text.replace("- The last fact\n", ""),
        "the line, and types": lambda text: text.replace("- The last fact\n", "") + "typed\n",
        "the section": lambda text: text[: text.index("## Remembered")] + "typed\n",
        "all": lambda text: "",
        "by rewording": lambda text: text.replace("The last fact", "The very last fact"),
        "by striking": lambda text: text.replace("The last fact", "~~The last fact~~"),
    }


@pytest.mark.parametrize("how", SAVES)
@pytest.mark.parametrize("what", _edits())
def test_what_the_owner_saw_and_deleted_is_not_offered(
    workspace: Workspace, what: str, how: str
) -> None:
    """However it is deleted, once a save has held the fact; and at once, by the line itself."""
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("An older fact"), Fact("The last fact")])
    save(path, memory(workspace) + "\nI was here\n", how)
    ledger.observe("MEMORY.md")
    save(path, _edits()[what](memory(workspace)), how)
    ledger.observe("MEMORY.md")
    offered = 2 if what in {"the section", "all"} else 0  # so does an older copy
    assert len(ledger.erased()) == offered


@pytest.mark.parametrize("what", ["the line", "the line, and types", "by rewording", "by striking"])
@pytest.mark.parametrize("heading", ["ours", "older", "emptied"])
def test_a_deletion_in_the_first_save_after_the_write_is_understood(
    workspace: Workspace, what: str, heading: str
) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    if heading != "ours":
        ledger.remember([Fact("An older fact")])
        gone = "- An older fact\n" if heading == "emptied" else ""
        save(path, "intro\n" + memory(workspace).replace(gone, ""), "in place")
        ledger.observe("MEMORY.md")
    ledger.remember([Fact("The last fact")])
    save(path, _edits()[what](memory(workspace)), "in place")
    ledger.observe("MEMORY.md")
    ambiguous = what.startswith("the line") and heading != "ours"  # so does an older copy
    assert len(ledger.erased()) == (1 if ambiguous else 0)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("- Mrs Weber moved the dentist to Wednesday\n", 0),
        ("- Dentist: half past ten, on Wednesday\n", 0),
        ("- Dentist on Wednesday\n- Ask for Mrs Weber\n", 0),
        ("- Something else that was typed\n", 1),  # so does whoever has an older copy
    ],
)
def test_a_line_rewritten_by_hand_is_an_edit_unless_the_copy_is_older(
    workspace: Workspace, line: str, offered: int
) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("An older fact")])
    ledger.observe("MEMORY.md")
    copy = memory(workspace)
    ledger.remember([Fact("The dentist is on Tuesday at nine")])
    save(path, memory(workspace).replace("- The dentist is on Tuesday at nine\n", line), "in place")
    ledger.observe("MEMORY.md")
    assert len(ledger.erased()) == offered
    ledger.remember([Fact("The dentist is in Hull")])
    save(path, copy, "in place")
    ledger.observe("MEMORY.md")
    assert "The dentist is in Hull" in [entry.text for entry in ledger.erased()]


def test_whatever_stands_in_its_place_between_other_lines_is_an_edit(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("An older fact")])
    save(path, memory(workspace) + "\n## Mine\n\n- A note\n", "in place")
    ledger.observe("MEMORY.md")
    ledger.remember([Fact("The dentist is on Tuesday at nine")])
    text = memory(workspace).replace("The dentist is on Tuesday at nine", "See the calendar")
    save(path, text, "in place")
    ledger.observe("MEMORY.md")
    assert ledger.erased() == ()


def test_a_later_fact_in_the_save_shows_that_the_earlier_was_deleted(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("An older fact")])
    ledger.remember([Fact("A later fact")])
    save(path, memory(workspace).replace("- An older fact\n", "") + "typed\n", "in place")
    ledger.observe("MEMORY.md")
    assert ledger.erased() == ()


@pytest.mark.parametrize("first", ["ours", "the owner's"])
def test_a_forgotten_fact_that_is_not_back_shows_that_the_editor_loaded_what_came_before(
    workspace: Workspace, first: str
) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    if first == "ours":
        ledger.remember([Fact("Soon forgotten"), Fact("Stays"), Fact("Deleted")])
    else:
        save(path, memory(workspace) + "- Soon forgotten\n", "in place")
        ledger.remember([Fact("Deleted")])
    where = memory(workspace).split("\n").index("- Soon forgotten") + 1
    ledger.forget([ledger.locate(f"MEMORY.md:{where}")])
    save(path, memory(workspace).replace("- Deleted\n", "") + "typed\n", "in place")
    ledger.observe("MEMORY.md")
    assert ledger.erased() == ()


def test_a_line_struck_out_later_shows_that_the_editor_loaded_what_came_before(
    workspace: Workspace,
) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("New")])
    save(path, "- Old\n\n" + memory(workspace), "in place")
    ledger.observe("MEMORY.md")
    ledger.remember([Fact("Deleted")])
    where = memory(workspace).split("\n").index("- Old") + 1
    ledger.remember([Fact("New", replaces=f"MEMORY.md:{where}")])
    save(path, memory(workspace).replace("- Deleted\n", ""), "in place")
    ledger.observe("MEMORY.md")
    assert ledger.erased() == ()


def test_what_the_ledger_itself_removed_is_not_offered(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("To forget"), Fact("To replace"), Fact("To undo")])
    ledger.undo()
    ledger.forget([ledger.locate("MEMORY.md:5")])
    ledger.remember([Fact("Replaced", replaces="MEMORY.md:5")])
    save(path, memory(workspace) + "typed\n", "in place")
    ledger.observe("MEMORY.md")
    assert ledger.erased() == ()


@pytest.mark.parametrize("how", SAVES)
@pytest.mark.parametrize("since", [1, 3])
@pytest.mark.parametrize("edited", ["nothing", "between", "in the copy", "both"])
def test_what_an_older_copy_takes_away_is_offered(
    workspace: Workspace, how: str, since: int, edited: str
) -> None:
    """Syncthing's winner, a backup, `git checkout`: whatever the owner had seen of it before."""
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("Older"), Fact("Deleted by hand")], request="at once")
    save(path, memory(workspace).replace("- Deleted by hand\n", ""), how)
    ledger.observe("MEMORY.md")
    copy = memory(workspace) + ("- typed elsewhere\n" if edited in {"in the copy", "both"} else "")
    facts = [f"Learnt {number}" for number in range(since)]
    ledger.remember([Fact(fact) for fact in facts])
    if edited in {"between", "both"}:
        save(path, memory(workspace) + "- typed here\n", how)
        ledger.observe("MEMORY.md")
    save(path, copy, how)
    ledger.observe("MEMORY.md")
    told = since > 1 or edited != "both"  # one fact seen, gone with a line typed: a deletion
    assert [entry.text for entry in ledger.erased()] == (facts if told else [])


def test_a_text_that_the_owner_saved_once_is_known_again(workspace: Workspace) -> None:
    """Between that text and the fact lies an edit by hand, so that no write of ours began at it."""
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("Older")])
    copy = memory(workspace) + "- typed\n"
    for text in (copy, f"{copy}- typed later\n"):
        save(path, text, "in place")
        ledger.observe("MEMORY.md")
    ledger.remember([Fact("Learnt")])
    save(path, memory(workspace) + "- typed last\n", "in place")
    ledger.observe("MEMORY.md")
    again = AddressedLedger(workspace, lambda: TODAY)
    save(path, copy, "in place")
    again.observe("MEMORY.md")
    assert [entry.text for entry in again.erased()] == ["Learnt"]


def test_what_comes_back_and_goes_again_is_offered_again(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("Older")])
    copy = memory(workspace)
    ledger.remember([Fact("Learnt"), Fact("Learnt too")])
    for text, lost in ((copy, 2), (memory(workspace), 0), (copy + "typed\n", 2), ("", 3)):
        save(path, text, "in place")
        ledger.observe("MEMORY.md")
        assert len(ledger.erased()) == lost
    with pytest.raises(LedgerError, match="older copy"):
        ledger.undo()


@pytest.mark.parametrize("how", SAVES)
@pytest.mark.parametrize(
    ("before", "after"),
    [((), ("gifts",)), (("gifts",), ()), (("gifts", "music"), ("travel",)), (("music",),) * 2],
)
def test_a_deleted_fact_that_comes_back_is_watched_again_whatever_it_matters_for(
    workspace: Workspace, before: tuple[str, ...], after: tuple[str, ...], how: str
) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)

    def saved(text: str) -> list[str]:
        save(path, text, how)
        ledger.observe("MEMORY.md")
        return [entry.text for entry in ledger.erased()]

    ledger.remember([Fact("Older")])
    copy = memory(workspace)
    ledger.remember([Fact("Spielt Harfe", matters_for=before), Fact("Learnt too")])
    whole = memory(workspace)
    line = next(line for line in whole.split("\n") if "Harfe" in line)
    assert saved(f"{whole}typed\n") == []
    assert saved(memory(workspace).replace(f"{line}\n", "")) == []
    assert saved(whole.replace(line, mattering("- Spielt Harfe", after))) == []
    assert saved(f"{copy}typed\n") == ["Spielt Harfe", "Learnt too"]


def test_what_was_struck_out_before_a_fact_was_written_anew_says_nothing_of_it(
    workspace: Workspace,
) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("Lives in Lisbon")])
    where = memory(workspace).split("\n").index("- Lives in Lisbon") + 1
    ledger.remember([Fact("Lives in Ghent", replaces=f"MEMORY.md:{where}")])
    copy = memory(workspace)
    ledger.remember([Fact("Lives in Lisbon"), Fact("Has a tram pass")])
    where = memory(workspace).split("\n").index("- Has a tram pass") + 1
    ledger.remember([Fact("Walks", replaces=f"MEMORY.md:{where}")])
    save(path, memory(workspace) + "typed\n", "in place")
    ledger.observe("MEMORY.md")
    assert ledger.erased() == ()
    save(path, copy, "in place")
    ledger.observe("MEMORY.md")
    offered = [entry.text for entry in ledger.erased()]
    assert offered == ["Lives in Lisbon", "Walks"]


@pytest.mark.parametrize("cut", [0.0, 0.4, 0.8])
def test_a_save_that_was_cut_short_leaves_no_lasting_verdict(
    workspace: Workspace, cut: float
) -> None:
    """What counts is the save that follows: whole or stale, in two steps."""
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    path.write_text("- The owner's\n\n## Theirs\n\nEnd\n")
    ledger.remember([Fact("Older"), Fact("Old")])
    ledger.forget([ledger.locate("MEMORY.md:1")])
    stale = memory(workspace)
    ledger.remember([Fact("Learnt", section="Theirs")])
    for whole in (memory(workspace), stale + "typed\n"):
        for text in (whole[: int(len(whole) * cut)], whole):
            save(path, text, "in place")
            ledger.observe("MEMORY.md")
    assert [entry.text for entry in ledger.erased()] == ["Learnt"]


@pytest.mark.parametrize("how", ["forgotten", "deleted"])
def test_an_erased_fact_written_again_is_not_offered_for_what_it_was_before(
    workspace: Workspace, how: str
) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    buffer = _stale(path, lambda: ledger.remember([Fact("Likes tea")]))
    save(path, buffer + "typed\n", "rename")
    ledger.observe("MEMORY.md")
    assert len(ledger.erased()) == 1
    (again,) = ledger.remember([Fact("Likes tea")])
    save(path, memory(workspace) + "typed again\n", "rename")
    ledger.observe("MEMORY.md")
    if how == "forgotten":
        ledger.forget([ledger.locate(f"{again.source}:{again.line}")])
    else:
        save(path, memory(workspace).replace("- Likes tea\n", ""), "rename")
        ledger.observe("MEMORY.md")
    assert ledger.erased() == ()


def test_a_fact_moved_to_another_file_is_not_offered(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    buffer = _stale(path, lambda: ledger.remember([Fact("Likes tea")]))
    save(path, buffer + "typed\n", "rename")
    (workspace.root / "AGENTS.md").write_text("* likes tea!\n")
    ledger.observe("MEMORY.md")
    assert ledger.erased() == ()


def test_a_file_that_is_no_text_keeps_no_offer_from_the_owner(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    buffer = _stale(path, lambda: ledger.remember([Fact("Likes tea")]))
    save(path, buffer + "typed\n", "rename")
    (workspace.root / "memory").mkdir(exist_ok=True)
    (workspace.root / "memory" / "old.md").write_bytes("- Caf\u00e9 des Arts\n".encode("latin-1"))
    ledger.observe("MEMORY.md")
    assert [entry.text for entry in ledger.erased()] == ["Likes tea"]
