"""The linear score of a few signals."""

from datetime import date

import numpy as np
import pytest

from assistant.memory.search import ranking
from assistant.memory.search.ranking import SIGNALS, Matrix
from assistant.memory.text.times.dates import asked
from assistant.memory.text.times.period import period

TODAY = date(2026, 11, 21)


def matrix(**signals: float) -> Matrix:
    """One row with these signals, the others 0."""
    row = [signals.get(name, 0.0) for name in SIGNALS]
    return np.array([row], dtype=np.float32)


def test_shares_sum_up_to_the_score() -> None:
    row = matrix(dense=0.5, bm25=1.2, speaker=1.0)
    (shares,) = ranking.shares(row)
    assert sum(shares.values()) == pytest.approx(float(ranking.score(row)[0]), abs=1e-3)
    assert set(shares) == {"dense", "bm25", "speaker"}


def test_a_signal_without_a_weight_counts_nothing() -> None:
    row = matrix(dense=0.5, bm25=1.0)
    assert ranking.score(row, {"dense": 2.0})[0] == pytest.approx(1.0)
    assert ranking.shares(row, {"dense": 2.0}) == [{"dense": 1.0}]


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
    periods = [mention.period for mention in asked(query, TODAY)]
    near = ranking.date_match(periods, recorded, map(period, mentions))
    assert least <= near <= most


def test_a_speaker_is_matched_by_the_share_of_the_name() -> None:
    words = frozenset({"what", "did", "old", "mr", "farrugia", "say"})
    assert ranking.label_match(frozenset({"mr", "farrugia"}), words) == 1.0
    assert ranking.label_match(frozenset({"mrs", "farrugia"}), words) == 0.5
    assert ranking.label_match(frozenset(), words) == 0.0
