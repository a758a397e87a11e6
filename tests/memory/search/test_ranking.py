"""The linear score of a few signals, and when the best of them is too weak."""

from datetime import date

import numpy as np
import pytest

from assistant.memory.search import ranking
from assistant.memory.search.ranking import SIGNALS, WEIGHTS, Matrix
from assistant.memory.text.times.dates import periods
from assistant.memory.text.times.period import period

TODAY = date(2026, 11, 21)


def matrix(**signals: float) -> Matrix:
    """One row with these signals, the others 0."""
    row = [signals.get(name, 0.0) for name in SIGNALS]
    return np.array([row], dtype=np.float32)


def test_shares_sum_up_to_the_score() -> None:
    row = matrix(dense=0.5, bm25=1.2, name=1.0, asks=1.0)
    (shares,) = ranking.shares(row)
    assert sum(shares.values()) == pytest.approx(float(ranking.score(row)[0]), abs=1e-3)
    assert set(shares) == {"dense", "bm25", "name", "asks"}
    assert shares["asks"] < 0 < shares["name"]


def test_a_signal_without_a_weight_counts_nothing() -> None:
    row = matrix(dense=0.5, bm25=1.0)
    assert ranking.score(row, {"dense": 2.0})[0] == pytest.approx(1.0)
    assert ranking.shares(row, {"dense": 2.0}) == [{"dense": 1.0}]


def test_every_signal_but_a_question_speaks_for_a_chunk() -> None:
    assert {name for name, weight in WEIGHTS.items() if weight < 0} == {"asks"}


@pytest.mark.parametrize(
    ("dense", "bm25", "unknown", "weak"),
    [
        (0.45, 1.0, 0.0, False),
        (0.25, 0.0, 0.0, False),
        (0.05, 0.1, 0.0, True),
        (0.05, 2.0, 0.0, False),  # a code that stands there word for word
        (0.40, 0.5, 1.0, True),  # nobody of that name is known
        (0.62, 0.0, 1.0, False),
    ],
)
def test_weakness_is_told_by_absolute_measures(
    dense: float, bm25: float, unknown: float, weak: bool
) -> None:
    found = np.concatenate([matrix(), matrix(dense=dense, bm25=bm25)])
    assert (ranking.strength(found, unknown) < 0) is weak


def test_less_is_asked_of_a_cosine_in_a_language_the_model_hardly_knows() -> None:
    found = matrix(dense=0.03, bm25=0.2)
    assert ranking.strength(found, 0.0) < 0 < ranking.strength(found, 0.0, understood=0.15)


def test_in_a_script_that_the_model_does_not_know_words_speak_alone() -> None:
    near, said = matrix(dense=0.09, bm25=0.2), matrix(dense=0.0, bm25=0.6)
    assert ranking.strength(near, 0.0, understood=0.1) < 0
    assert ranking.strength(said, 0.0, understood=0.1) > 0
    assert ranking.strength(said, 0.0, understood=0.1, general=True) < 0


def test_in_another_language_words_tell_whether_memory_may_answer_what_anybody_could() -> None:
    half, most = matrix(dense=0.3, bm25=0.6, covered=0.25), matrix(dense=0.3, bm25=0.6, covered=0.6)
    assert ranking.strength(half, 0.0, general=0.8, abroad=True) < 0
    assert ranking.strength(most, 0.0, general=0.8, abroad=True) > 0
    assert ranking.strength(most, 0.0, general=0.8) < 0
    unsaid = matrix(dense=0.28)
    assert ranking.strength(unsaid, 0.0, abroad=True) < 0 < ranking.strength(unsaid, 0.0)


def test_nothing_found_is_weak() -> None:
    assert ranking.strength(np.empty((0, len(SIGNALS)), dtype=np.float32), 0.0) < 0


@pytest.mark.parametrize(
    ("query", "recorded", "mentions", "least", "most"),
    [
        ("on 13 October 2023", date(2023, 10, 13), (), 1.0, 1.0),
        ("on 13 October 2023", date(2023, 10, 15), (), 0.6, 0.7),
        ("on 13 October 2023", date(2023, 10, 12), (), 0.0, 0.0),
        ("on 13 October 2023", date(2023, 12, 24), (), 0.0, 0.01),
        ("on 13 October 2023", date(2023, 10, 20), ("2023-10-13",), 1.0, 1.0),
        ("on 13 October 2023", None, ("2023-10",), 1.0, 1.0),
        ("on 13 October 2023", None, (), 0.0, 0.0),
        ("in June", date(2022, 6, 30), (), 1.0, 1.0),
        ("in June", date(2022, 7, 3), (), 0.5, 0.6),
        ("in 2023", date(2023, 3, 3), (), 0.5, 0.5),
        ("when was it", date(2023, 3, 3), ("2023",), 0.0, 0.0),
    ],
)
def test_dates_are_matched_by_what_is_told_then_or_soon_after(
    query: str, recorded: date | None, mentions: tuple[str, ...], least: float, most: float
) -> None:
    near = ranking.date_match(periods(query, TODAY), recorded, map(period, mentions))
    assert least <= near <= most


def test_a_speaker_is_matched_by_the_share_of_the_name() -> None:
    words = frozenset({"what", "did", "old", "mr", "farrugia", "say"})
    assert ranking.label_match(frozenset({"mr", "farrugia"}), words) == 1.0
    assert ranking.label_match(frozenset({"mrs", "farrugia"}), words) == 0.5
    assert ranking.label_match(frozenset(), words) == 0.0
