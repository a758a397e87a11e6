"""The ledger on real files: what it writes, what it leaves alone, what it takes back."""

import multiprocessing
import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assistant.errors import LedgerError, StorageError
from assistant.memory.base import Fact, Origin, Remembered
from assistant.memory.text.chunk import chunks_of, passage
from assistant.memory.text.identity import fold
from assistant.memory.writing.ledger import Ledger
from assistant.workspace.folder import Workspace
from tests.memory.writing.addressed import AddressedLedger
from tests.support.chunking import chunk

TODAY = date(2026, 11, 21)
HEADING = "## Remembered -- 2026-11-21"


@pytest.fixture
def ledger(workspace: Workspace) -> AddressedLedger:
    return AddressedLedger(workspace, lambda: TODAY)


def memory(workspace: Workspace) -> str:
    return (workspace.root / "MEMORY.md").read_bytes().decode()


def write(workspace: Workspace, text: str, source: str = "MEMORY.md") -> None:
    path = workspace.root / source
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode())


def said(workspace: Workspace, status: str = "current") -> list[str]:
    found = chunk(memory(workspace), "MEMORY.md", count_tokens=len, max_tokens=10_000)
    return [each.plain for each in found if each.status == status]


def remember(ledger: AddressedLedger, *texts: str) -> tuple[Remembered, ...]:
    return ledger.remember([Fact(text) for text in texts])


def test_facts_go_under_their_dated_heading(workspace: Workspace, ledger: AddressedLedger) -> None:
    first, second = remember(ledger, "Likes tea", "Door code 4711")
    (captured,) = ledger.remember([Fact("Has a dog", section="Auto-captured")])
    (third,) = remember(ledger, "Lives in Berlin")
    assert memory(workspace) == (
        f"# Memory\n\n{HEADING}\n\n- Likes tea\n- Door code 4711\n- Lives in Berlin\n\n"
        "## Auto-captured -- 2026-11-21\n\n- Has a dog\n"
    )
    assert [first.line, second.line, third.line, captured.line] == [5, 6, 7, 10]
    assert {each.status for each in (first, second, third, captured)} == {"stored"}


def test_a_bullet_before_a_fact_is_no_word_of_it(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    written = remember(
        ledger, "- Oma has a key", " *  [ ] Tim drives", "• -5 degrees outside", "1. FC"
    )
    assert memory(workspace).endswith(
        "- Oma has a key\n- Tim drives\n- -5 degrees outside\n- 1\\. FC\n"
    )
    assert [each.text for each in written][:2] == ["Oma has a key", "Tim drives"]
    with pytest.raises(LedgerError):
        remember(ledger, "- ~~Oma has a key~~")


@pytest.mark.parametrize("again", ["likes TEA.", "Likes  tea", "“Likes tea”", "Likes tea!"])
def test_the_same_fact_is_answered_with_its_place(
    workspace: Workspace, ledger: AddressedLedger, again: str
) -> None:
    remember(ledger, "Likes tea")
    before = memory(workspace)
    (found,) = remember(ledger, again)
    assert (found.status, found.source, found.line) == ("exists", "MEMORY.md", 5)
    assert memory(workspace) == before


@pytest.mark.parametrize(
    "text",
    ["- Likes tea\n", "# A\n\nLikes tea.\n", "* **Likes** [tea](http://x)\n", "- Likes\n  tea\n",
     "```\nx\n```\n\n- x\n\n  y\n\n- Likes tea\n"],
)  # fmt: skip
def test_a_fact_that_any_memory_file_states_is_not_written_again(
    workspace: Workspace, ledger: AddressedLedger, text: str
) -> None:
    write(workspace, text, "memory/people.md")
    (found,) = remember(ledger, "likes tea")
    assert (found.status, found.source) == ("exists", "memory/people.md")
    lines = text.splitlines()[found.line - 1 :]
    assert fold("Likes tea").split()[0] in lines[0].lower()


@pytest.mark.parametrize(
    "text",
    ["- Likes tea, not coffee\n", "```\nLikes tea\n```\n\n- x", "<!-- Likes tea -->\n",
     "- Likes tea\n  - until 2019\n", "- Not true:\n  - Likes tea\n", "- ~~Likes tea~~\n",
     "# Likes tea\n", "- ~~Likes tea~~ (superseded 2026-01-01: Likes coffee)\n"],
)  # fmt: skip
def test_what_only_looks_like_the_fact_refuses_nothing(
    workspace: Workspace, ledger: AddressedLedger, text: str
) -> None:
    write(workspace, text, "memory/people.md")
    assert remember(ledger, "Likes tea")[0].status == "stored"


def test_near_twins_are_all_stored(workspace: Workspace, ledger: AddressedLedger) -> None:
    facts = [f"The door code of house {n} is {n + 4000}" for n in range(60)]
    assert {each.status for each in remember(ledger, *facts)} == {"stored"}
    assert said(workspace) == facts


def test_a_superseded_fact_is_struck_out_in_place(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    write(workspace, "# Memory\n\n- Lives in Berlin\n- Likes tea\n")
    (new,) = ledger.remember([Fact("Lives in Lisbon", replaces="MEMORY.md:3")])
    assert new.status == "superseded"
    assert memory(workspace) == (
        "# Memory\n\n- ~~Lives in Berlin~~ (superseded 2026-11-21: Lives in Lisbon)\n- Likes tea\n"
        f"\n{HEADING}\n\n- Lives in Lisbon\n"
    )
    assert said(workspace, "superseded") == ["Lives in Berlin"]
    (back,) = ledger.remember([Fact("Lives in Berlin", replaces=f"MEMORY.md:{new.line}")])
    assert back.status == "superseded"
    assert said(workspace) == ["Likes tea", "Lives in Berlin"]


def test_a_fact_in_another_file_is_superseded(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    write(workspace, "- Bo is 9\n", "memory/people.md")
    old = ledger.locate("memory/people.md:1")
    ledger.remember([Fact("Bo is 10", replaces=old.id)])
    people = workspace.root / "memory/people.md"
    assert people.read_text() == "- ~~Bo is 9~~ (superseded 2026-11-21: Bo is 10)\n"
    assert said(workspace) == ["Bo is 10"]
    ledger.undo()
    assert people.read_text() == "- Bo is 9\n"
    assert memory(workspace) == "# Memory\n"


@pytest.mark.parametrize(
    "target", ["MEMORY.md:1", "MEMORY.md:99", "nothing", "x.md:1", "MEMORY.md:7"]
)
def test_a_target_that_is_no_current_fact_is_refused(
    workspace: Workspace, ledger: AddressedLedger, target: str
) -> None:
    write(workspace, "# Memory\n\n- a\n\n```\nx\n```\n")
    before = memory(workspace)
    with pytest.raises(LedgerError):
        ledger.remember([Fact("first"), Fact("b", replaces=target)])
    assert memory(workspace) == before
    assert ledger.journals.log() == ()


def test_a_passage_that_changed_since_it_was_shown_is_left(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    write(workspace, "- Lives in Berlin\n")
    shown = ledger.locate("MEMORY.md:1")
    write(workspace, "- Lives in Bonn...\n")
    for attempt in (
        lambda: ledger.forget([shown]),
        lambda: ledger.remember([Fact("x", replaces="it")], replaced={"it": [shown]}),
    ):
        with pytest.raises(LedgerError, match="changed since"):
            attempt()
    assert memory(workspace) == "- Lives in Bonn...\n"


@pytest.mark.parametrize(
    "changed", ["- Lives in Berlin since 2019\n", "- Lives in Berlin\n  since 2019\n",
                "- Lives in Berlin\n\n  - since 2019\n", "```\n- Lives in Berlin\n```\n"],
)  # fmt: skip
def test_a_passage_that_became_a_part_of_another_is_left(
    workspace: Workspace, ledger: AddressedLedger, changed: str
) -> None:
    write(workspace, "- Lives in Berlin\n")
    shown = ledger.locate("MEMORY.md:1")
    write(workspace, changed)
    with pytest.raises(LedgerError, match="changed since"):
        ledger.forget([shown])
    assert memory(workspace) == changed


def test_a_piece_of_a_long_passage_is_removed_alone(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    sentences = [f"This is sentence number {number} of a long note. " for number in range(100)]
    write(workspace, "- " + "".join(sentences) + "\n- other\n")
    chunks = chunk(memory(workspace), "MEMORY.md", count_tokens=len, max_tokens=300)
    piece = replace(ledger.locate("MEMORY.md:1"), **{
        name: getattr(chunks[3], name) for name in ("id", "text", "start_char", "end_char")
    })  # fmt: skip
    ledger.forget([piece])
    assert piece.text not in memory(workspace)
    assert memory(workspace).replace(" ", "") == (
        "-" + "".join(sentences).replace(piece.text, "") + "\n-other\n"
    ).replace(" ", "")


def test_a_long_fact_is_not_written_twice(workspace: Workspace, ledger: AddressedLedger) -> None:
    fact = " ".join(f"word{number}" for number in range(1000))
    assert [each.status for each in remember(ledger, fact, fact.upper())] == ["stored", "exists"]


def test_a_passage_that_moved_is_found(workspace: Workspace, ledger: AddressedLedger) -> None:
    write(workspace, "- Lives in Berlin\n- b\n")
    shown = ledger.locate("MEMORY.md:1")
    write(workspace, "# New\n\n- a\n- Lives in Berlin\n- b\n")
    ledger.forget([shown])
    assert memory(workspace) == "# New\n\n- a\n- b\n"


def test_forget_takes_the_item_with_what_is_nested_and_nothing_else(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    write(workspace, "- a\n- b\n  more\n  - nested\n- c\n\ntext\n")
    gone = ledger.forget([ledger.locate("MEMORY.md:2")])
    assert memory(workspace) == "- a\n- c\n\ntext\n"
    assert gone.removed[0].text == "- b\n  more\n  - nested"
    ledger.undo()
    assert memory(workspace) == "- a\n- b\n  more\n  - nested\n- c\n\ntext\n"


def test_a_heading_of_ours_goes_with_its_last_fact_but_the_owners_stays(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    write(workspace, "# Memory\n\n## Remembered -- 2026-11-20\n\n- mine\n")
    (fact,) = remember(ledger, "ours")
    ledger.forget([ledger.locate(f"MEMORY.md:{fact.line}")])
    assert memory(workspace) == "# Memory\n\n## Remembered -- 2026-11-20\n\n- mine\n"
    ledger.forget([ledger.locate("MEMORY.md:5")])
    assert memory(workspace) == "# Memory\n\n## Remembered -- 2026-11-20\n\n"


def test_undo_walks_back_to_the_first_byte(workspace: Workspace, ledger: AddressedLedger) -> None:
    start = "\ufeff# Memory\r\n\r\n- Lives in Berlin\r\nno newline at the end"
    write(workspace, start)
    ledger.remember([Fact("a"), Fact("b")])
    ledger.remember([Fact("Lives in Lisbon", replaces="MEMORY.md:3")])
    ledger.forget([ledger.locate("MEMORY.md:8"), ledger.locate("MEMORY.md:9")])
    assert "\n" not in memory(workspace).replace("\r\n", "")
    texts = [ledger.undo()[0].text for _ in range(4)]
    assert texts == ["a\nb", "Lives in Lisbon", "b", "a"]
    assert memory(workspace) == start
    with pytest.raises(LedgerError, match="nothing to undo"):
        ledger.undo()


def test_undo_keeps_what_the_owner_wrote_elsewhere(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    remember(ledger, "a")
    write(workspace, "intro\n" + memory(workspace) + "- typed under it\n")
    ledger.undo()
    assert memory(workspace) == f"intro\n# Memory\n\n{HEADING}\n\n- typed under it\n"


def test_undo_of_forget_finds_its_place_again(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    write(workspace, "- a\n- b\n- c\n")
    ledger.forget([ledger.locate("MEMORY.md:2")])
    write(workspace, "new\n\n- a\n- c\n- d\n")
    ledger.undo()
    assert memory(workspace) == "new\n\n- a\n- b\n- c\n- d\n"


@pytest.mark.parametrize("line", [1, 3])
def test_undo_of_forget_at_an_end_of_the_file_finds_its_place_beside_what_was_typed_there(
    workspace: Workspace, ledger: AddressedLedger, line: int
) -> None:
    write(workspace, "- a\n- b\n- c\n")
    ledger.forget([ledger.locate(f"MEMORY.md:{line}")])
    write(workspace, f"- typed\n{memory(workspace)}- typed as well\n")
    ledger.undo()
    assert memory(workspace) == "- typed\n- a\n- b\n- c\n- typed as well\n"


def test_undo_of_forget_does_not_double_what_the_owner_put_back(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    ledger.remember([Fact("Likes tea"), Fact("Has a dog")])
    ledger.forget([ledger.locate("MEMORY.md:5")])
    write(workspace, memory(workspace) + "- likes tea!\n")
    typed = memory(workspace)
    assert ledger.undo()[0].text == "Likes tea"
    assert memory(workspace) == typed
    assert ledger.undo()[0].text == "Has a dog"


def test_undo_refuses_lines_that_the_owner_changed(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    remember(ledger, "a fact")
    changed = memory(workspace).replace("a fact", "my fact")
    write(workspace, changed)
    with pytest.raises(LedgerError, match="changed since"):
        ledger.undo()
    assert memory(workspace) == changed


def test_what_cannot_be_undone_is_named_and_passed_over_if_asked(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    remember(ledger, "Ada has a boat", "Ben has a tent")
    ledger.remember([Fact("Cleo has a map", together="t"), Fact("Dora has a bag", together="t")])
    ledger.forget([ledger.locate("MEMORY.md:5")])
    (bath,) = remember(ledger, "Eve lives in Bath")
    ledger.remember([Fact("Eve lives in Graz", replaces=f"MEMORY.md:{bath.line}")])
    write(workspace, memory(workspace).replace("Eve lives", "Eve stays"))
    reason = r"^“Eve lives in Graz” \(supersede\) cannot be undone: its lines in MEMORY\.md have"
    with pytest.raises(LedgerError, match=reason) as caught:
        ledger.undo()
    assert caught.value.cure.endswith("; `assistant memory undo --skip` passes over it")
    passed = ["Eve lives in Graz", "Eve lives in Bath"]
    undone = ledger.undo(skip=True)
    assert [entry.text for entry in undone] == [*passed, "Ada has a boat"]
    assert [(entry.passed, entry.undone) for entry in undone] == [(True, False)] * 2 + [
        (False, True)
    ]
    assert "- Ada has a boat\n- Ben has a tent\n" in memory(workspace)
    write(workspace, memory(workspace).replace("Cleo", "Clea").replace("Dora", "Dory"))
    passed += ["Dora has a bag", "Cleo has a map"]
    assert [entry.text for entry in ledger.undo(skip=True)] == [*passed, "Ben has a tent"]
    assert [entry.text for entry in ledger.undo(skip=True)] == [*passed, "Ada has a boat"]
    before = memory(workspace)
    with pytest.raises(LedgerError, match="nothing to undo"):
        ledger.undo(skip=True)
    assert memory(workspace) == before and "Eve stays in Graz" in before


def test_the_same_request_again_writes_nothing(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    facts = [Fact("a"), Fact("A."), Fact("b")]
    first = ledger.remember(facts, request="r1")
    after = memory(workspace)
    assert AddressedLedger(workspace, lambda: TODAY).remember(facts, request="r1") == first
    shown = [ledger.locate("MEMORY.md:5")]
    gone = ledger.forget(shown, request="r2")
    assert ledger.forget(shown, request="r2") == gone
    assert ledger.remember(facts, request="r1")[0].status == "stored"
    assert "- a\n" not in memory(workspace)
    undone = ledger.undo(request="r3")
    assert ledger.undo(request="r3") == undone
    assert memory(workspace) == after


def test_the_journal_tells_who_recorded_a_fact(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    origin = Origin("assistant", "s1", ("e1", "e2"))
    ledger.remember([Fact("Likes *tea*", origin=origin)])
    (entry,) = AddressedLedger(workspace).journals.log()
    assert (entry.action, entry.source, entry.text) == ("remember", "MEMORY.md", "Likes *tea*")
    assert entry.origin == origin
    assert AddressedLedger(workspace).journals.adding("Likes *tea*") == entry
    assert AddressedLedger(workspace).journals.adding("never said") is None


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b\u202e"])
def test_an_empty_fact_is_refused(workspace: Workspace, ledger: AddressedLedger, text: str) -> None:
    with pytest.raises(LedgerError, match="nothing to remember"):
        remember(ledger, text)
    assert memory(workspace) == "# Memory\n"


def test_a_file_that_is_not_utf8_is_named_and_kept(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    path = workspace.root / "MEMORY.md"
    path.write_bytes(b"caf\xe9\n")
    with pytest.raises(StorageError, match=r"MEMORY\.md is not UTF-8"):
        remember(ledger, "a")
    assert path.read_bytes() == b"caf\xe9\n"


def test_mode_and_symlink_stay(
    tmp_path: Path, workspace: Workspace, ledger: AddressedLedger
) -> None:
    path = workspace.root / "MEMORY.md"
    (tmp_path / "elsewhere").mkdir()
    real = tmp_path / "elsewhere" / "notes.md"
    path.rename(real)
    real.chmod(0o640)
    path.symlink_to(real)
    remember(ledger, "a")
    assert path.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "- a\n" in real.read_text()
    assert list(real.parent.iterdir()) == [real]


def test_a_missing_memory_file_is_made(workspace: Workspace, ledger: AddressedLedger) -> None:
    (workspace.root / "MEMORY.md").unlink()
    remember(ledger, "a")
    assert memory(workspace) == f"{HEADING}\n\n- a\n"


# Many at once


def _write_many(root: Path, process: int, facts: int) -> None:
    ledger = AddressedLedger(Workspace(root), lambda: TODAY)
    for number in range(facts):
        ledger.remember([Fact(f"Process {process} says {number}"), Fact(f"Shared fact {number}")])


def _at_once(root: Path, processes: int, facts: int) -> None:
    context = multiprocessing.get_context("fork")
    running = [
        context.Process(target=_write_many, args=(root, process, facts))
        for process in range(processes)
    ]
    for each in running:
        each.start()
    for each in running:
        each.join()
    assert [each.exitcode for each in running] == [0] * processes


@pytest.mark.parametrize(
    ("processes", "facts"), [(5, 20), pytest.param(20, 50, marks=pytest.mark.slow)]
)
def test_processes_that_write_at_once_lose_and_double_nothing(
    workspace: Workspace, processes: int, facts: int
) -> None:
    _at_once(workspace.root, processes, facts)
    expected = [f"Process {p} says {n}" for p in range(processes) for n in range(facts)]
    expected += [f"Shared fact {n}" for n in range(facts)]
    assert sorted(said(workspace)) == sorted(expected)
    assert len(AddressedLedger(workspace).journals.log(None)) == len(expected)


# Any document, any sequence of writes

LINES = (
    "# Memory", "## Remembered -- 2026-11-21", "- tea", "- tea", "* star", "  nested", "1. one",
    "words", "```", "<!-- c -->", "", "- a\n  - b", "> q", "- ~~old~~",
)  # fmt: skip
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["remember", "forget", "supersede", "undo"]),
        st.integers(0, 40),
        st.sampled_from(["tea", "Coffee", "# x", "- y", "~~z~~", "new `code`", "w1", "w2", "w3"]),
    ),
    min_size=1,
    max_size=6,
)


def _perform(ledger: AddressedLedger, text: str, operation: tuple[str, int, str]) -> bool:
    """Do one operation; False if it was refused."""
    action, number, fact = operation
    chunks = chunk(text, "MEMORY.md", count_tokens=len, max_tokens=10_000)
    place = f"MEMORY.md:{chunks[number % len(chunks)].start_line}" if chunks else "MEMORY.md:1"
    try:
        match action:
            case "remember":
                return ledger.remember([Fact(fact)])[0].status == "stored"
            case "supersede":
                return ledger.remember([Fact(fact, replaces=place)])[0].status == "superseded"
            case "forget":
                ledger.forget([ledger.locate(place)])
            case _:
                ledger.undo()
    except LedgerError:
        return False
    return True


@given(
    st.lists(st.sampled_from(LINES), max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
    OPERATIONS,
)
@settings(
    max_examples=int(os.environ.get("LEDGER_EXAMPLES", "80")),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_writes_leave_the_rest_and_are_undone_exactly(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[str],
    end: str,
    bom: bool,
    ended: bool,
    operations: Sequence[tuple[str, int, str]],
) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("any"))
    ledger = AddressedLedger(workspace, lambda: TODAY)
    start = ("\ufeff" if bom else "") + end.join(line.replace("\n", end) for line in lines)
    start += end if ended else ""
    write(workspace, start)
    (workspace.root / "MEMORY.md").chmod(0o604)
    states = [start]
    for operation in operations:
        before = memory(workspace)
        done = _perform(ledger, before.removeprefix("\ufeff"), operation)
        after = memory(workspace)
        if not done:
            assert after == before
        elif operation[0] == "undo":
            states.pop()
            assert after == states[-1]
        else:
            states.append(after)
            _check_the_rest(before, after, operation[0])
        assert after.startswith("\ufeff") == bom
    assert stat.S_IMODE((workspace.root / "MEMORY.md").stat().st_mode) == 0o604
    while len(states) > 1:
        states.pop()
        ledger.undo()
        assert memory(workspace) == states[-1]


def _check_the_rest(before: str, after: str, action: str) -> None:
    """Every line but those that the action is about is there still, in order."""
    if "\r\n" in before:
        assert after.count("\n") == after.count("\r\n")
    old, new = before.lstrip("\ufeff").split("\n"), after.lstrip("\ufeff").split("\n")
    if action == "remember":
        stripped = iter(line.rstrip("\r") for line in new)
        assert all(line.rstrip("\r") in stripped for line in old if line.strip())
    if action == "forget":
        kept = iter(old)
        assert all(line in kept for line in new if line)


OWNERS = """\
# Memory

## People

- Ada has the spare key

### Lena

## Work

I work at the harbour.

## Remembered -- 2026-05-08

- The boat is blue

### Boat
"""


@pytest.mark.parametrize(
    ("under", "above", "below"),
    [
        ("People", "- Ada has the spare key", ""),
        ("People › Lena", "### Lena\n", ""),
        ("Work", "## Work\n", "I work at the harbour."),
    ],
)
def test_a_fact_goes_under_the_owners_heading_with_its_day_behind_it(
    workspace: Workspace, under: str, above: str, below: str
) -> None:
    path = workspace.root / "MEMORY.md"
    path.write_text(OWNERS)
    ledger = Ledger(workspace, today=lambda: date(2026, 11, 21))
    assert ledger.headings() == ("People", "People › Lena", "Work")
    ledger.remember([Fact("Swims on Fridays", under=under, recorded="2026-11-20")])
    written = f"{above}\n- Swims on Fridays <!-- 2026-11-20 -->\n"
    assert written + (f"\n{below}" if below else "") in path.read_text()
    (swims,) = (c for c in chunks_of(path.read_text(), "MEMORY.md") if "Swims" in c.plain)
    assert (swims.plain, swims.date) == ("Swims on Fridays", "2026-11-20")
    assert swims.heading == ("Memory", *under.split(" › "))
    assert ledger.remember([Fact("swims on fridays")])[0].status == "exists"
    ledger.undo()
    assert path.read_text() == OWNERS


@pytest.mark.parametrize(
    ("under", "exact"), [("people", "People"), ("PEOPLE › lena", "People › Lena"), ("work", "Work")]
)
def test_a_heading_is_found_whatever_its_case(workspace: Workspace, under: str, exact: str) -> None:
    path, texts = workspace.root / "MEMORY.md", []
    for name in (under, exact):
        path.write_text(OWNERS)
        Ledger(workspace).remember([Fact("Swims on Fridays", under=name)])
        texts.append(path.read_text())
    assert texts[0] == texts[1]


def test_of_headings_that_differ_in_case_the_exact_one_is_taken(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    path.write_text("# Memory\n\n## it\n\n- Ada is in IT\n\n## IT\n\n- The router is new\n")
    Ledger(workspace).remember([Fact("Call it a day at five", under="it", recorded="2026-11-20")])
    assert "- Ada is in IT\n- Call it a day at five" in path.read_text()


def test_a_successor_goes_where_the_fact_stands_that_it_replaces(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    path.write_text(OWNERS)
    ledger = Ledger(workspace, today=lambda: date(2026, 11, 21))
    there = next(c for c in chunks_of(OWNERS, "MEMORY.md") if "spare key" in c.plain)
    new = Fact("Bo has the spare key", replaces="p", under="")
    ledger.remember([new], replaced={"p": [passage(there)]})
    assert "Bo has the spare key)\n- Bo has the spare key <!-- 2026-11-21 -->\n\n### Lena" in (
        path.read_text()
    )


def test_what_fits_under_no_heading_goes_under_its_day(workspace: Workspace) -> None:
    (workspace.root / "MEMORY.md").write_text(OWNERS)
    ledger = Ledger(workspace, today=lambda: date(2026, 11, 21))
    ledger.remember([Fact("Has a dog", "Auto-captured", under="Pets")])
    text = (workspace.root / "MEMORY.md").read_text()
    assert text.endswith("## Auto-captured -- 2026-11-21\n\n- Has a dog\n")


@pytest.mark.parametrize("deleted", [("Ada",), ("Bob", "Eve")])
def test_facts_written_together_are_undone_without_those_whose_lines_are_gone(
    ledger: AddressedLedger, workspace: Workspace, deleted: tuple[str, ...]
) -> None:
    before = memory(workspace)
    ledger.remember([Fact("The boat is blue")])
    boat = memory(workspace)
    names = ("Ada", "Bob", "Eve")
    ledger.remember([Fact(f"The key is with {name}", together="t") for name in names])
    lines = memory(workspace).splitlines(keepends=True)
    kept = [line for line in lines if not any(name in line for name in deleted)]
    write(workspace, "".join(kept))
    undone = ledger.undo(request="r")
    assert {entry.text.split()[-1]: entry.gone for entry in undone} == {
        name: name in deleted for name in names
    }
    assert ledger.undo(request="r") == undone
    assert memory(workspace) == boat
    assert [entry.text for entry in ledger.undo()] == ["The boat is blue"]
    assert memory(workspace) == before


def test_facts_written_together_whose_lines_are_all_gone_are_not_undone(
    ledger: AddressedLedger, workspace: Workspace
) -> None:
    before = memory(workspace)
    ledger.remember([Fact("The boat is blue", together="t"), Fact("Ada is tall", together="t")])
    write(workspace, before)
    with pytest.raises(LedgerError, match="changed since"):
        ledger.undo()


SHOP, BLOG = "Project: ~/code/shop", "Project: ~/code/blog"


@pytest.mark.parametrize(
    "order", [(SHOP, BLOG, "Remembered"), ("Project: ~/old/shop", SHOP, "Remembered", BLOG)]
)
@pytest.mark.parametrize("under", [False, True])
@pytest.mark.parametrize("head", ["", "## People\n\n- Lena sings\n\n## Remembered -- 2026-11-21\n"])
def test_a_fact_of_one_project_is_not_known_in_another(
    workspace: Workspace,
    ledger: AddressedLedger,
    order: Sequence[str],
    under: bool,
    head: str,
) -> None:
    write(workspace, f"# Memory\n\n{head}")

    def state(section: str, text: str = "Tests need TZ=UTC") -> Remembered:
        fact = Fact(text, section, under=section if under else None)
        return ledger.remember([fact])[0]

    general = order.index("Remembered")
    for number, section in enumerate(order):
        written = state(section)
        assert written.status == ("exists" if number > general else "stored")
        above = "\n".join(memory(workspace).splitlines()[: written.line - 1])
        heading = section if number <= general else "Remembered"
        assert above.rpartition("## ")[2].strip() == f"{heading} -- 2026-11-21"
        again = state(section, "tests need TZ=UTC.")
        assert (again.status, again.line) == ("exists", written.line)
    assert memory(workspace).count("- Tests need TZ=UTC\n") == general + 1


def test_a_line_of_another_project_hides_no_loss(
    workspace: Workspace, ledger: AddressedLedger
) -> None:
    text = "Tests need TZ=UTC"
    for section in (BLOG, SHOP):
        ledger.remember([Fact("It has a database", section), Fact(text, section)])
    line = memory(workspace).rstrip().count("\n") + 1
    ledger.forget([ledger.locate(f"MEMORY.md:{line}")])
    write(workspace, memory(workspace).replace("# Memory\n", "# Memory\n\nTyped.\n"))
    ledger.undo()
    assert memory(workspace).partition(SHOP)[2].count(text) == 1
    ledger.forget([ledger.locate(f"MEMORY.md:{line + 2}")])
    write(workspace, memory(workspace) + f"- {text}\n- typed\n")  # restored by hand
    ledger.undo()
    assert memory(workspace).partition(SHOP)[2].count(text) == 1


@pytest.mark.parametrize("under", [None, "", "Remembered", "Work"])
@pytest.mark.parametrize("section", ["Remembered", "Auto-captured", BLOG])
def test_what_replaces_a_fact_of_a_project_is_of_it_too(
    workspace: Workspace, ledger: AddressedLedger, section: str, under: str | None
) -> None:
    write(workspace, memory(workspace) + "\n## Work\n\n- Typed\n")
    (old,) = ledger.remember([Fact("Deploys happen on Fridays", SHOP)])
    new = Fact("Deploys happen on Mondays", section, f"MEMORY.md:{old.line}", under=under)
    (written,) = ledger.remember([new])
    above = "\n".join(memory(workspace).splitlines()[: written.line - 1])
    assert above.rpartition("## ")[2].startswith(BLOG if section == BLOG else SHOP)
