"""What `scripts/eval` measures with: probes, turns, kept vectors, and the half it does not show."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assistant.errors import UsageError
from assistant.memory.base import Passage
from scripts.evaluation import baselines, probes, report, suites
from scripts.evaluation.catalogue import PLANS
from scripts.evaluation.kept import KeptEmbedder
from scripts.evaluation.misses import misses
from scripts.evaluation.probes import Measure
from scripts.evaluation.report import Row
from scripts.evaluation.room import Room, opened
from scripts.evaluation.suites import Asked
from tests.support.hashing import HashingEmbedder

STALE = next(plan for plan in PLANS if plan.name == "stale")
MEMORY = "# Memory\n\n- The ferry sails at noon\n- Ada keeps bees\n- Bees need fondant\n"


@pytest.fixture
def room() -> Iterator[Room]:
    with opened({"MEMORY.md": MEMORY}, HashingEmbedder()) as found:
        yield found


def passage(text: str) -> Passage:
    return Passage(text, text, text, "MEMORY.md", 1, 1, 0, len(text))


def test_evidence_is_each_fact_in_any_of_its_wordings() -> None:
    evidence = (("four", "4"), ("blue",))
    found = [passage("nothing"), passage("it is 4"), passage("and blue")]
    assert probes.covered(found, evidence) == 1
    assert probes.covered(found[:2], evidence) == 0.5
    assert probes.place(found, evidence) == 2
    assert probes.place(found[:1], evidence) is None


def test_recall_is_scored_by_the_first_passage_and_by_eight(room: Room) -> None:
    one, two = Asked("ferry", (("sails at noon",),)), Asked("bees", (("Ada",), ("sails",)))
    assert list(probes.ranked().score(room, one)) == [1, 1]
    assert probes.ranked().score(room, two)[1] >= 0.5
    assert list(probes.complete().score(room, one)) == [1]
    assert probes.within(1, 500).score(room, one) == [0, 1]


def test_a_turn_is_what_the_model_is_sent(room: Room) -> None:
    got = room.turn("when does the ferry sail?", ("who keeps bees?", "Your friend does."))
    assert "The ferry sails at noon" in got.sent and got.tokens > 0
    assert "who keeps bees?" in got.sent and "Your friend does." in got.sent
    assert list(room.place.sessions.glob("*.jsonl")) == []


def test_baselines_are_asked_the_same_questions(room: Room) -> None:
    asked = Asked("when does the ferry sail?", (("sails at noon",),))
    for name in baselines.NAMES:
        beside = replace(room, ranking=name)
        assert list(probes.ranked().score(beside, asked)) == [1, 1]
        assert probes.turn().score(beside, asked)[0] == 1


def test_a_vector_is_kept_and_never_made_twice(tmp_path: Path) -> None:
    first, second = HashingEmbedder(), HashingEmbedder()
    made = KeptEmbedder(first, tmp_path).embed(["one", "two", "one"])
    kept = KeptEmbedder(second, tmp_path)
    assert np.array_equal(kept.embed(["two", "one"]), made[[1, 0]])
    assert (first.embedded, second.embedded) == (2, 0)
    assert kept.embed([]).shape == (0, first.dimension)
    assert kept.max_tokens == first.max_tokens


def test_a_row_shows_both_halves_and_what_was_recorded() -> None:
    share, tokens = Measure("first"), Measure("tokens", tokens=True)
    whole = Row("a", share, (np.ones(4), np.zeros(2)))
    assert whole.line([0.5, 0.25]) == (
        "| a | first | 4 + 2 | 100.0 (100.0–100.0) | 0.0 (0.0–0.0) | – | – | – | 50.0 · 25.0 |"
    )
    one = Row("a", tokens, (np.array([120.0, 120.0]),))
    assert one.line(None) == "| a | tokens | 2 | 120 (120–120) | – | – | – | – | – |"


def test_figures_of_other_suites_stay_as_they_were_recorded(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    report.record([Row("a", Measure("first"), (np.ones(2), np.zeros(2)))], path)
    report.record([Row("b", Measure("first"), (np.ones(2),))], path)
    assert report.recorded(path) == {"a": {"first": [1, 0]}, "b": {"first": [1]}}


def test_what_is_missed_is_never_shown_of_the_held_out_half() -> None:
    told = list(misses(STALE, HashingEmbedder()))
    shown = {each.split("\n")[0] for each in told}
    development, held_out = (
        {each.question for each in suites.questions("stale", half)} for half in suites.HALVES
    )
    assert shown and shown <= development
    assert not shown & held_out


def test_a_suite_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UsageError, match=r"nowhere/development\.jsonl cannot be read"):
        suites.questions("nowhere", "development")
