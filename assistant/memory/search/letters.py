"""What words have in common though they are not the same: "Schlüssel" and "Ersatzschlüssel". Pure.

In other languages than English stems leave more unmatched: compounds, prefixes, plurals within a
word. Runs of three letters find those; each tells as much as it is rare among the candidates.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import regex

from assistant.memory.index.sqlite.vocabulary import folded
from assistant.memory.search.lexical import idf
from assistant.memory.search.selection import KEPT, Scored
from assistant.memory.text.language import without_function_words

LOOKED_AT = 150
"""Candidates whose letters are compared."""
WEIGHT = 6.0
_RUN = 3
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]{3,}")


def by_letters(found: Sequence[Scored], question: str, language: str) -> list[Scored]:
    """The candidates with what the letters of the question add to each."""
    asked = _runs(without_function_words(question, language))
    held = [asked & _runs(each.chunk.plain) for each in found]
    if not any(held):
        return list(found)
    common = Counter(run for each in held for run in each)
    told = {run: float(idf(common[run], len(found))) for run in asked}
    lengths = np.array([len(_runs(each.chunk.plain)) for each in found], dtype=np.float64)
    longer = np.sqrt((1 + lengths / max(1.0, float(lengths.mean()))) / 2)
    return [
        each.moved("letters", each.score + WEIGHT * sum(map(told.__getitem__, runs)) / whole)
        for each, runs, whole in zip(
            found, held, (longer * sum(told.values())).tolist(), strict=True
        )
    ]


@lru_cache(KEPT)
def _runs(text: str) -> frozenset[str]:
    """The distinct runs of three letters within the words of a text."""
    words = _WORD.findall(folded(text))
    return frozenset(
        word[start : start + _RUN] for word in words for start in range(len(word) - _RUN + 1)
    )
