"""What recall is measured beside: plain vectors of the same model, and their fusion with BM25.

Reciprocal rank fusion is Cormack, Clarke and Büttcher's (2009), with their k of 60. Neither knows
of sections, dates, spelling, or of which fact is the later one.
"""

from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from assistant.memory.base import Query, Recall, fill
from assistant.memory.local import LocalMemory
from assistant.memory.search.question import read
from assistant.memory.search.ranking import idf, saturated
from assistant.memory.text.chunk import passage

VECTORS, WORDS, FUSION = "vectors", "BM25", "fusion"
NAMES = (VECTORS, WORDS, FUSION)
RANK = 60
MOST = 400
"""Passages looked at."""
TURN_TOKENS = 450
"""What a turn is given."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A memory that is asked in the place of ours."""

    memory: LocalMemory
    name: str

    def recall(self, query: Query) -> Recall:
        """The best passages by this ranking, within the query's limits."""
        store = self.memory.index.store
        layout = store.catalog.layout()
        vector = self.memory.embedder.embed_questions([query.text[:600]])[0]
        places, cosines = store.dense.scan(layout, vector, len(layout))
        score = np.zeros(len(layout), np.float32)
        score[places] = cosines
        if self.name != VECTORS:
            words = self._bm25(query.text)
            score = words if self.name == WORDS else _ranks(score) + _ranks(words)
        score[layout.superseded] = -1
        best = np.argsort(-score, kind="stable")[:MOST]
        chunks = store.catalog.chunks(layout.rowid[best].tolist())
        budget = query.budget or TURN_TOKENS
        taken, _ = fill(list(map(passage, chunks)), query.k or MOST, budget)
        return Recall(query.text, tuple(taken))

    def _bm25(self, text: str) -> NDArray[np.float32]:
        catalog = self.memory.index.store.catalog
        layout = catalog.layout()
        lengths = layout.length.astype(np.float32)
        score = np.zeros(len(layout), np.float32)
        terms = read(text, catalog, date.today()).terms
        for rows, counts in catalog.words.in_chunks(terms).values():
            at = layout.positions(rows)
            weight = saturated(counts.astype(np.float32), lengths[at], lengths.mean())
            score[at] += weight * idf(len(rows), len(layout))
        return score


def _ranks(score: NDArray[np.float32]) -> NDArray[np.float32]:
    """What each rank is worth; nothing for what scores nothing."""
    ranks = np.argsort(np.argsort(-score, kind="stable"))
    return np.where(score > 0, 1 / (RANK + 1 + ranks), 0).astype(np.float32)
