"""What `forget` takes away: what is named, or chosen; never what is only like it."""

import json
import os
from contextlib import closing
from pathlib import Path

import pexpect
import pytest

from assistant.memory.base import Fact, Origin
from assistant.memory.open import open_memory
from assistant.workspace.folder import Workspace
from tests.cli.conftest import ASSISTANT, Run

DENTIST, MEMORY = "My dentist is in Hull", "MEMORY.md"


@pytest.fixture
def line(place: Path, run: Run) -> int:
    run("remember", "-", stdin=f"{DENTIST}\nTom's dentist is in Hull on Mondays\n")
    return 1 + (place / MEMORY).read_text().splitlines().index(f"- {DENTIST}")


def test_yes_takes_only_what_is_named(place: Path, run: Run, line: int) -> None:
    before = (place / MEMORY).read_text()
    for wrong in (
        "My doctor is in York",
        "dentist is in Hull",
        "is in Hull on Mondays",
        f"NOTES.md:{line}",
        "MEMORY.md:9999",
        "0123456789abcdef",
    ):
        done = run("forget", wrong, "--yes")
        assert done.returncode == 1, wrong
        assert done.stderr.startswith("assistant: "), wrong
    refused = run("forget", "where is my dentist?", "--yes", "--purge").stderr
    assert f"MEMORY.md:{line} - {DENTIST}" in refused
    assert (place / MEMORY).read_text() == before
    assert run("forget", "my", "dentist is in Hull.", "--yes").returncode == 0
    assert (place / MEMORY).read_text() == before.replace(f"- {DENTIST}\n", "")


def test_a_fact_that_no_file_says_is_purged_by_its_words(place: Path, run: Run, line: int) -> None:
    assert run("forget", f"MEMORY.md:{line}", "--yes").returncode == 0
    assert b"My dentist is in Hull" in (place / ".assistant/journal.jsonl").read_bytes()
    done = run("forget", "my dentist is in hull", "--purge", "--yes")
    assert (done.returncode, done.stdout) == (0, "Forgotten for good.\n")
    assert b"My dentist is in Hull" not in (place / ".assistant/journal.jsonl").read_bytes()
    assert "Tom's dentist is in Hull on Mondays" in (place / MEMORY).read_text()
    log = run("memory", "log").stdout
    assert "(a fact, forgotten for good)" in log
    for unknown in ("My dentist is in Hull", "the moon is a lamp"):
        again = run("forget", unknown, "--purge", "--yes")
        assert again.returncode == 1
    assert run("memory", "log").stdout == log


def test_several_are_shown_to_choose_from(place: Path, run: Run, line: int) -> None:
    refused = run("forget", "dentist in Hull", "--json")
    assert refused.returncode == 2
    candidates = json.loads(refused.stdout)["candidates"]
    assert {each["text"] for each in candidates} == {
        f"- {DENTIST}",
        "- Tom's dentist is in Hull on Mondays",
    }
    child = pexpect.spawn(
        str(ASSISTANT),
        ["-w", str(place), "forget", "dentist is in Hull"],
        env=dict(os.environ),
        encoding="utf-8",
        timeout=600,
        dimensions=(24, 100),
    )
    child.expect(r"1\. MEMORY\.md:\d+ - .*2\. MEMORY\.md:\d+ - (\S+)")
    taken = child.match[1]
    child.expect("which one")
    child.send("2\r")
    child.expect("Forgotten")
    child.expect(pexpect.EOF)
    left = (place / MEMORY).read_text()
    assert ("Tom" in left, DENTIST in left) == (taken == "My", taken != "My")


@pytest.mark.parametrize("words", ["dentist is in Hull", DENTIST])
def test_a_purge_says_that_it_is_for_good_and_is_asked_about(
    place: Path, line: int, words: str
) -> None:
    before = (place / MEMORY).read_text()
    child = pexpect.spawn(
        str(ASSISTANT),
        ["-w", str(place), "forget", "--purge", words],
        env=dict(os.environ),
        encoding="utf-8",
        timeout=600,
        dimensions=(24, 100),
    )
    if words != DENTIST:
        child.expect("which one")
        child.send("2\r")
    child.expect("No undo brings it back")
    child.send("n\r")
    child.expect("Nothing was forgotten")
    child.expect(pexpect.EOF)
    assert (place / MEMORY).read_text() == before


@pytest.mark.parametrize("words", ["herz", "MEDIKAMENT", "übel", "Papas Herz"])
def test_a_fact_with_the_word_in_a_longer_one_is_offered_first(
    place: Path, run: Run, words: str
) -> None:
    others = "\n".join(
        f"{name} heißt Herr {name}" for name in ("Vogt", "Grau", "Kurt", "Ott", "Lux")
    )
    fact = "Papas Herzmedikament steht neben den Kübeln"
    run("remember", "-", stdin=f"{others}\n{fact}\n")
    for command in (["forget"], ["memory", "core", "add"]):
        offered = run(*command, words)
        assert offered.returncode
        first = (offered.stdout + offered.stderr).split(" - ")[1]
        assert first.startswith(fact), offered


def test_json_is_printed_whatever_comes_of_it(place: Path, run: Run, line: int) -> None:
    for words, status in (("dentist is in Hull", 1), ("the moon is a lamp", 1)):
        refused = run("forget", words, "--yes", "--json")
        assert refused.returncode == status and refused.stderr.startswith("assistant: ")
        assert "candidates" in json.loads(refused.stdout)
    done = json.loads(run("forget", DENTIST, "--yes", "--json").stdout)
    assert [each["text"] for each in done["removed"]] == [f"- {DENTIST}"]
    reminder = json.loads(run("remind", "tomorrow at 9 call the bank", "--json").stdout)
    assert reminder["source"] == "HEARTBEAT.md" and reminder["line"] > 1


def test_what_a_review_decides_is_printed_as_json(place: Path, run: Run) -> None:
    with closing(open_memory(Workspace(place), {}, no_daemon=True)) as memory:
        tool = Origin("tool", "s1", ("e1",))
        who = ("Ana", "Ben", "Cleo", "Dora")
        memory.remember([Fact(f"{name} sails", origin=tool) for name in who])
        ana, ben, *_ = (held.id for held in memory.waiting())
    decided = run("memory", "review", "--accept", ana, "--refuse", ben, "--json")
    decided_json = json.loads(decided.stdout)
    assert decided_json["refused"] == [ben]
    assert [fact["status"] for fact in decided_json["accepted"]] == ["stored"]
    assert decided_json["accepted"][0]["source"] == MEMORY
    rest = json.loads(run("memory", "review", "--accept-all", "--json").stdout)
    assert len(rest["accepted"]) == 2 and rest["refused"] == []
    assert run("memory", "review", "--refuse", ben).returncode == 1
    undone = run("memory", "undo")  # what one command accepted, and no more
    assert undone.stdout.count("Undone: ") == 2 and "Ana sails" in (place / MEMORY).read_text()


def test_a_refusal_is_told_and_taken_back(place: Path, run: Run) -> None:
    with closing(open_memory(Workspace(place), {}, no_daemon=True)) as memory:
        memory.remember([Fact(f"{name} sails", waits=True) for name in ("Ana", "Ben")])
        ana, ben = (held.id for held in memory.waiting())
    assert run("memory", "review", "--refuse", ana).stdout == "Refused: Ana sails\n"
    waits = "it waits for `assistant memory review` again"
    assert run("memory", "undo").stdout == f"Undone: no longer refused: Ana sails · {waits}\n"
    both = run("memory", "review", "--refuse", ana, "--refuse", ben)
    assert both.stdout == "Refused: Ana sails\nRefused: Ben sails\n"
    assert run("memory", "undo").stdout.count(waits) == 2


def test_all_that_goes_with_a_line_is_shown(place: Path, run: Run) -> None:
    kept = "# People\n\n- Bo swims\n"
    nested = "- Papa: Werner\n  - takes Marcumar\n  - Dr. Sommer is his cardiologist\n"
    (place / MEMORY).write_text(kept + nested)
    done = run("forget", "MEMORY.md:6", "--yes")
    assert (place / MEMORY).read_text() == kept
    assert all(f"  {line}\n" in done.stderr for line in nested.splitlines()), done.stderr
    assert run("memory", "undo").returncode == 0
    child = pexpect.spawn(
        str(ASSISTANT),
        ["-w", str(place), "forget", "MEMORY.md:4"],
        env=dict(os.environ),
        encoding="utf-8",
        timeout=600,
        dimensions=(24, 60),
    )
    child.expect("Forget it")
    assert all(line in child.before for line in nested.splitlines()), child.before
    child.send("n\r")
    child.expect("Nothing was forgotten")
    child.expect(pexpect.EOF)
