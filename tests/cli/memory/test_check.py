"""Damage, conflicts and what is not text: named, mended where that can be, and nothing is lost."""

import json
from pathlib import Path

import pytest

from assistant.cli.memory_text import undone_lines
from assistant.memory.base import Fact
from assistant.workspace.folder import Workspace
from tests.cli.conftest import Run
from tests.memory.writing.addressed import AddressedLedger

CONFLICT = "- Ours\n<<<<<<< HEAD\n- Lives in Bath\n=======\n- Lives in York\n>>>>>>> laptop\n"


@pytest.mark.slow
def test_a_damaged_journal_stops_nothing_and_is_mended(place: Path, run: Run) -> None:
    for fact in ("Ada has the kayak", "Ben has the tent"):
        assert run("remember", fact).returncode == 0
    journal = place / ".assistant" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:2], b'{"type":"write", spoilt swordfish}\n', *lines[2:]]))
    assert run("remember", "Cleo has the map").returncode == 0
    assert "line 3 damaged" in run("memory", "status").stdout
    found = run("memory", "check", "--json")
    assert found.returncode == 0
    (finding,) = json.loads(found.stdout)
    assert (finding["part"], finding["mended"]) == ("journal", True)
    (place / ".assistant" / "review.jsonl").write_text("{spoilt\n\n[]\n")
    left = place / ".assistant" / ".journal.jsonl.abc.assistant-tmp"
    left.write_text("a killed write")
    found = run("memory", "check").stdout.splitlines()
    assert len(found) == 2
    assert "repaired: review.jsonl: line 1, 3 damaged" in found[0]
    assert str(left.name) in found[1] and not left.exists()
    assert "No problems found" in run("memory", "check").stdout
    assert len(json.loads(run("memory", "log", "--json").stdout)) == 3
    assert run("memory", "undo").stdout == "Undone: no longer in MEMORY.md: Cleo has the map\n"


def test_what_one_command_wrote_is_undone_as_one_and_each_line_says_what_is_true(
    place: Path, run: Run
) -> None:
    before = (place / "MEMORY.md").read_text()
    assert run("remember", "-", stdin="Ada has the kayak\nBen has the tent\n").returncode == 0
    assert run("memory", "undo").stdout.splitlines() == [
        "Undone: no longer in MEMORY.md: Ben has the tent",
        "Undone: no longer in MEMORY.md: Ada has the kayak",
    ]
    assert (place / "MEMORY.md").read_text() == before


def test_a_purge_is_not_passed_over_to_undo_what_came_before(place: Path, run: Run) -> None:
    for fact in ("Ada has the kayak", "Ben has the tent"):
        run("remember", fact)
    assert run("forget", "Ben has the tent", "--purge", "--yes").returncode == 0
    before = (place / "MEMORY.md").read_text()
    for _ in range(2):
        refused = run("memory", "undo")
        assert refused.returncode == 1
        assert "the latest write was a purge, which cannot be undone" in refused.stderr
        run("remember", "Cleo has the map")
        assert "Cleo has the map" in run("memory", "undo").stdout
    assert (place / "MEMORY.md").read_text() == before and "Ada has the kayak" in before
    assert "`assistant memory undo --skip` passes over it" in run("memory", "undo").stderr
    assert run("memory", "undo", "--skip").stdout.splitlines() == [
        "Passed over: forget in MEMORY.md: for good",
        "Undone: no longer in MEMORY.md: Ada has the kayak",
    ]


def test_a_fact_that_another_write_states_too_stays_and_undo_says_so(workspace: Workspace) -> None:
    ledger = AddressedLedger(workspace)
    olds = ledger.remember([Fact("Lives in Bath"), Fact("Works in Bath")])
    for old in olds:
        ledger.remember([Fact("Is in Graz", replaces=f"MEMORY.md:{old.line}")])
    lines = [line for _ in olds for entry in ledger.undo() for line in undone_lines(entry)]
    assert lines == [
        "what it superseded is current again; still in MEMORY.md: Is in Graz",
        "no longer in MEMORY.md: Is in Graz · what it superseded is current again",
    ]


@pytest.mark.parametrize("first", [0, 1])
def test_an_undone_fact_says_what_it_superseded_and_no_other_does(
    workspace: Workspace, first: int
) -> None:
    ledger = AddressedLedger(workspace)
    ledger.remember([Fact("Lives in Bath")])
    line = ledger.remember([Fact("Lives in Bath")])[0].line
    facts = [
        Fact("Lives in Graz", replaces=f"MEMORY.md:{line}", together="s"),
        Fact("Petersen in der Domkirkegaten", together="s"),
    ]
    ledger.remember([facts[first], facts[1 - first]])
    lines = [line for entry in ledger.undo() for line in undone_lines(entry)]
    assert sorted(lines) == [
        "no longer in MEMORY.md: Lives in Graz · what it superseded is current again",
        "no longer in MEMORY.md: Petersen in der Domkirkegaten",
    ]


def test_a_conflict_is_no_fact_and_is_not_written_into(place: Path, run: Run) -> None:
    path = place / "MEMORY.md"
    path.write_text(CONFLICT)
    said = json.loads(run("recall", "Lives in York", "--json").stdout)["passages"]
    texts = [each["text"] for each in said]
    assert any("York" in text for text in texts)
    assert not any(mark in text for text in texts for mark in ("<<<", "===", ">>>"))
    for command in (("remember", "Ada has the kayak"), ("forget", "Lives in Bath", "--yes")):
        refused = run(*command)
        assert refused.returncode == 1
        assert "merge conflict (line 2)" in refused.stderr and "<<<<<<<" in refused.stderr
    assert path.read_text() == CONFLICT
    for command in ("status", "check"):
        assert (
            "MEMORY.md has an unresolved merge conflict (line 2)" in run("memory", command).stdout
        )
    path.write_text("```\n" + CONFLICT + "```\n")
    assert run("remember", "Ada has the kayak").returncode == 0


@pytest.mark.parametrize("byte", [b"\0", b"\xe9"])
def test_what_is_no_text_is_read_as_far_as_it_goes_and_never_written(
    place: Path, run: Run, byte: bytes
) -> None:
    path = place / "MEMORY.md"
    held = b"- Ada has the kayak\n- Ben " + byte + b" has the tent\n"
    path.write_bytes(held)
    assert "kayak" in run("recall", "kayak").stdout
    refused = run("remember", "Cleo has the map")
    assert refused.returncode == 1
    assert "MEMORY.md is no" in refused.stderr
    assert path.read_bytes() == held


def test_a_comment_that_is_never_closed_hides_nothing(place: Path, run: Run) -> None:
    path = place / "MEMORY.md"
    facts = "- The boiler is a Vaillant\n- Ada has it\n"
    lines = f"# Memory\n\n<!-- What\nthis file\n\n## Home\n\n{facts}"
    path.write_text(lines)
    (passage,) = json.loads(run("recall", "the boiler", "-k", "1", "--json").stdout)["passages"]
    assert passage["text"] == "- The boiler is a Vaillant"
    assert passage["heading"][-1] == "Home"
    assert run("remember", "Cleo has the map").returncode == 0
    assert path.read_text().startswith(lines)
    assert run("memory", "core", "add", "Ada has it").returncode == 1
    assert "The boiler is a Vaillant" in run("recall", "the boiler").stdout
    told = "MEMORY.md has a comment that is never closed (line 3)"
    for command in (("memory", "status"), ("memory", "check"), ("doctor",)):
        assert told in run(*command).stdout
    path.write_text(path.read_text().replace("this file", "this file -->"))
    assert told not in run("memory", "check").stdout
