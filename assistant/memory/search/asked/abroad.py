"""Questions and passages in other languages than English. Pure.

For a passage in another language than the question no word can speak. And two texts that the
encoder of other languages read lie nearer to each other than two in English do.
"""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from assistant.memory.search.ranking import SIGNALS, Matrix
from assistant.memory.search.selection import Scored
from assistant.memory.text.language import language_of, language_of_script

MORE = 0.3
"""By so much more their meaning counts, for what the question's words add to the others."""

DENSE = SIGNALS.index("dense")
NOISE = 0.178, 0.126
"""Mean and standard deviation of the cosine of a question and a fact that have nothing to do with
each other, if the encoder of other languages read both: eight suites of `tests/recall`."""
MIXED_NOISE = 0.093, 0.090
"""If it read the question only."""
ENGLISH_NOISE = 0.062, 0.089
"""If both are English."""


def from_abroad(found: Sequence[Scored], language: str) -> list[Scored]:
    """The candidates with what is added to those in another language than the question's."""
    return [
        each if language_of(each.chunk.plain) == language else _with_more(each) for each in found
    ]


def is_of_another_script(found: Sequence[Scored], question: str) -> bool:
    """Whether the nearest of them by meaning is in another script than the question."""
    nearest = max(found, key=_meaning, default=None)
    own = language_of_script(question)
    return nearest is not None and language_of_script(nearest.chunk.plain) != own


def is_of_another_language(found: Sequence[Scored], language: str) -> bool:
    """Whether the nearest of them by meaning is in another language than the question."""
    nearest = max(found, key=_meaning, default=None)
    return nearest is not None and language_of(nearest.chunk.plain) != language


def as_in_english(matrix: Matrix, found: Sequence[Scored], read: Collection[str]) -> Matrix:
    """The rows of the candidates found, their cosines with a question in a language that is `read`
    as English texts as near would have them."""
    rows = matrix[: len(found)].copy()
    alike = np.array([language_of(each.chunk.plain) in read for each in found], dtype=np.bool_)
    for those, noise in ((alike, NOISE), (~alike, MIXED_NOISE)):
        rows[those, DENSE] = _rescaled(rows[those, DENSE], *noise)
    return rows


def _rescaled(cosines: NDArray[np.float32], mean: float, deviation: float) -> NDArray[np.float32]:
    """As many standard deviations above the mean of English noise as above that of theirs."""
    to_mean, to_deviation = ENGLISH_NOISE
    return np.asarray(to_mean + (cosines - mean) * (to_deviation / deviation), dtype=np.float32)


def _with_more(each: Scored) -> Scored:
    return each.moved("language", each.score + MORE * max(0.0, _meaning(each)))


def _meaning(each: Scored) -> float:
    return each.shares.get("dense", 0.0)
