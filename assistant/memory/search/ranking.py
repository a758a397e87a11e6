"""How a chunk is scored against a question: a linear sum of a few signals. Pure.

The weights were learnt once, by maximising the likelihood that a chunk which holds the answer is
drawn from a softmax over all chunks (a conditional logit; ListNet's loss, Cao et al., 2007); what
is the same for all chunks of a memory cancels out, so nothing is scaled per query. `docs/recall.md`
tells on what, how well they hold elsewhere, and what each signal earns.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from assistant.memory.text.times.period import Period

Weights = Mapping[str, float]

WEIGHTS: Weights = {
    "dense": 6.0,  # cosine of the question and the chunk
    "dense_section": 4.6,  # the best cosine in its section
    "bm25": 3.9,  # the words of the turn and those around it
    "bm25_section": 3.8,  # the words of its section
    "name": 2.9,  # the question names the speaker
    "date": 5.3,  # how near its dates are to the times the question names
    "dated": 0.9,  # it says when something was
    "asks": -0.7,  # it ends with a question
}
"""Of a turn of a conversation."""
ALONE: Weights = {
    "dense": 12.0,
    "dense_section": 3.5,  # cosine of the question and what stands above it
    "covered": 4.0,  # the share of the question that its words and those above it hold, squared
    "bm25_section": 8.0,  # the words above it
    "date": 6.0,
}
"""Of what stands alone."""
SIGNALS = tuple(dict.fromkeys((*WEIGHTS, *ALONE)))

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
    if any(asked.overlaps(each) for each in mentions):
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
