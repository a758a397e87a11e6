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
    "dense": 10.6,
    "dense_section": 3.5,  # cosine of the question and what stands above it
    "bm25": 2.0,  # its own words
    "bm25_section": 7.0,  # the words above it
    "covered": 4.0,  # the share of the question that its words and those above it hold, squared
    "name": -1.0,  # it holds the name asked about, as do all facts on the one so named
    "date": 4.0,
}
"""Of what stands alone."""
SIGNALS = tuple(dict.fromkeys((*WEIGHTS, *ALONE)))

Matrix = NDArray[np.float32]
"""Shape (chunks, signals), in the order of `SIGNALS`."""

LEAST_COSINE = 0.25
"""The best cosine below which nothing is relevant; 99 of 100 questions that memory answers exceed
it."""
UNKNOWN_NAMES = 0.37
"""By so much the best cosine must be higher, if memory knows none of the names in the question."""
KNOWN_NAMES = 0.06
"""By so much it may be lower if memory knows all the names in the question."""
GENERAL = 0.2
"""By so much it must be higher if anybody could answer the question."""
GENERAL_ABROAD = 0.3
"""By so much in another language than English, whose cosines are stretched to its scale."""
SAID_ABROAD = 0.5
"""None of that if so much of such a question is `covered`; by the half of it, half as much."""
UNSAID_ABROAD = 0.05
"""By so much if nothing holds a word of such a question; none from a BM25 of `LEAST_WORDS` on."""
CROWD = 0.05
"""By so much more for each standard deviation by which the nearest of so many chunks, with which
the question has nothing to do, lies farther out than that of `FEW`."""
FEW = 400
INSTRUCTION = 0.15
"""By so much if it is an instruction, which says nothing of its owner."""
UNHEARD = 0.05
"""By so much if it is a word or two that memory does not know."""
WORDS_FOUND = 0.1
"""By so much it may be lower, for each unit of the best BM25: a number or a code has no meaning."""
LEAST_WORDS = 0.3
"""The best BM25 below which nothing is relevant, if the model does not know the question's script:
then its cosine says nothing."""
GENERAL_WORDS = 0.5
"""By so much it must be higher if anybody could answer the question."""
UNKNOWN_SCRIPT = 0.1
"""So little of a text does the model understand if it takes it for single letters."""
_FADING_DAYS = 5.0
"""A thing is often told some days after it was: what was recorded d days later counts e^(-d/5)."""
_YEAR_SHARE = 0.5
"""A year says half as much as a day or a month."""


def score(matrix: Matrix, weights: Weights = WEIGHTS) -> NDArray[np.float32]:
    """The score of each row; a signal without a weight counts nothing."""
    vector = np.array([weights.get(name, 0.0) for name in SIGNALS], dtype=np.float32)
    return np.asarray((matrix * vector).sum(axis=1), dtype=np.float32)


def strength(
    matrix: Matrix,
    unknown_names: float,
    *,
    known_names: bool = False,
    general: float = 0.0,
    instruction: bool = False,
    chunks: int = 0,
    unheard: bool = False,
    understood: float = 1.0,
    abroad: bool = False,
) -> float:
    """How good the best match is: 0 and more is worth something.

    `abroad`: the question is in another language than English.
    `general`: how probably anybody could answer the question; of so many `chunks` as there are one
    lies near by chance.

    What is asked of a cosine is less by as much as its language is `understood` less, as it is.

    Both signals are absolute: no scale of the query's own, on which the best is always good.
    """
    cosine = float(matrix[:, SIGNALS.index("dense")].max(initial=-1.0))
    words = float(matrix[:, SIGNALS.index("bm25")].max(initial=0.0))
    if understood <= UNKNOWN_SCRIPT:
        return WORDS_FOUND * (words - LEAST_WORDS - GENERAL_WORDS * general)
    least = LEAST_COSINE + UNKNOWN_NAMES * unknown_names - KNOWN_NAMES * known_names
    more = GENERAL_ABROAD if abroad else GENERAL
    of_general = (more + CROWD * _farther(chunks)) * general
    if abroad:
        covered = float(matrix[:, SIGNALS.index("covered")].max(initial=0.0))
        of_general *= 1 - min(1.0, covered / SAID_ABROAD)
        least += UNSAID_ABROAD * (1 - min(1.0, words / LEAST_WORDS))
    least += max(of_general, INSTRUCTION * instruction) + UNHEARD * unheard
    return cosine + WORDS_FOUND * words - understood * least


def _farther(chunks: int) -> float:
    """By how many standard deviations the greatest of so many numbers drawn at random exceeds that
    of `FEW`: the greatest of n lies near sqrt(2 ln n) (Fisher and Tippett, 1928)."""
    return math.sqrt(2 * math.log(max(chunks, FEW))) - math.sqrt(2 * math.log(FEW))


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
