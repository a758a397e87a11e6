"""Baselines for recall: plain vectors of the same model, and their fusion with BM25.

Reciprocal rank fusion is Cormack, Clarke and Büttcher's (2009), with their k of 60. Neither
baseline uses sections, dates, spelling, or which fact is newer.
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
"""Number of passages considered."""
TURN_TOKENS = 450
"""Token budget of a turn."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A memory that is searched with a baseline's ranking."""

    memory: LocalMemory
    name: str

    def recall(self, query: Query) -> Recall:
        """Return the best passages by this ranking, within the query's limits."""
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
        passages, _ = fill(list(map(passage, chunks)), query.k or MOST, budget)
        return Recall(query.text, tuple(passages))

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
    """Return the value of each rank; 0 for a score of 0."""
    ranks = np.argsort(np.argsort(-score, kind="stable"))
    return np.where(score > 0, 1 / (RANK + 1 + ranks), 0).astype(np.float32)
