"""How a chunk is scored against a question: a linear sum of a few signals. Pure.

`docs/recall.md` tells what each signal earns.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from assistant.memory.text.times.period import Period

Weights = Mapping[str, float]

WEIGHTS: Weights = {
    "dense": 1.0,  # cosine of the question and the chunk
    "heading": 0.3,  # cosine of the question and the headings of what stands alone
    "covered": 0.25,  # the share of the question that it and its headings hold, squared
    "bm25": 0.7,  # the words of a turn of a conversation and those around it
    "date": 0.5,  # how near its dates are to the times the question names
    "speaker": 0.35,  # the question names who says it
    "dated": 0.12,  # a turn says when something was
}
SIGNALS = tuple(WEIGHTS)

Matrix = NDArray[np.float32]
"""Shape (chunks, signals), in the order of `SIGNALS`."""

_FADING_DAYS = 5.0
"""A thing is often told some days after it was: what was recorded d days later counts e^(-d/5)."""
_YEAR_SHARE = 0.5
"""A year says half as much as a day or a month."""


def score(matrix: Matrix, weights: Weights = WEIGHTS) -> NDArray[np.float32]:
    """The score of each row; a signal without a weight counts nothing."""
    vector = np.array([weights.get(name, 0.0) for name in SIGNALS], dtype=np.float32)
    return np.asarray((matrix * vector).sum(axis=1), dtype=np.float32)


def shares(matrix: Matrix, weights: Weights = WEIGHTS) -> list[dict[str, float]]:
    """What each signal adds to the score of each row; they sum up to it."""
    told = np.round(matrix * np.array([weights.get(name, 0.0) for name in SIGNALS]), 4)
    return [
        {name: share for name, share in zip(SIGNALS, row, strict=True) if share}
        for row in told.tolist()
    ]


def label_match(leading: frozenset[str], words: frozenset[str]) -> float:
    """The share of a speaker's name that the question holds."""
    return len(leading & words) / len(leading) if leading else 0.0


def date_match(asked: Iterable[Period], recorded: date | None, mentions: Iterable[Period]) -> float:
    """How near a chunk's dates come to a time that the question names, from 0 to 1."""
    mentioned = tuple(mentions)
    return max((_closeness(each, recorded, mentioned) for each in asked), default=0.0)


def _closeness(asked: Period, recorded: date | None, mentions: Sequence[Period]) -> float:
    whole = _YEAR_SHARE if (asked.end - asked.start).days > 300 else 1.0
    if any(asked.overlaps(mention) for mention in mentions):
        return whole
    if recorded is None:
        return 0.0
    if asked.covers(recorded):
        return whole
    return whole * math.exp(-_days_after(asked, recorded) / _FADING_DAYS)


def _days_after(asked: Period, recorded: date) -> float:
    """Days from the end of the time asked about to a later day; infinite for an earlier one."""
    end = asked.end
    if asked.yearly:
        years = (recorded.year - 1, recorded.year)
        ends = (day for year in years if (day := _in_year(end, year)) <= recorded)
        end = max(ends, default=end)
    days = (recorded - end).days
    return float(days) if days >= 0 else math.inf


def _in_year(day: date, year: int) -> date:
    leap_day = (day.month, day.day) == (2, 29)
    return date(year, 2, 28) if leap_day else day.replace(year=year)
