"""Which facts lie nearest to one another: the candidates of `memory tidy`."""

import numpy as np

from assistant.memory.base import Progress, no_progress
from assistant.memory.index.catalog import Catalog
from assistant.memory.text.chunks import Chunk

NEAR = 0.35
"""The least cosine of a pair; MiniLM gives "Lives in Berlin" and "Lives in Lisbon" 0.46."""
NEIGHBOURS = 3
"""Of each fact so many neighbours are looked at: of a hundred alike, not all pairs."""
BLOCK = 512
"""Facts compared with all others at a time: 200 MB at 100,000."""


def near_pairs(
    catalog: Catalog, limit: int, progress: Progress = no_progress, *, block: int = BLOCK
) -> list[tuple[Chunk, Chunk, float]]:
    """The nearest pairs of current facts with their cosine, nearest first, at most `limit`.

    Compares each with all: 0.1 s at 5,000 facts, minutes at 100,000.
    """
    rows, vectors = catalog.all_vectors()
    chunks = {each.rowid: each.chunk for each in catalog.chunks(rows.tolist())}
    current = [n for n, row in enumerate(rows.tolist()) if chunks[row].status == "current"]
    rows, vectors = rows[current], vectors[current]
    if len(rows) < 2:
        return []
    most = min(NEIGHBOURS, len(rows) - 1)
    found: dict[tuple[int, int], float] = {}
    for start in range(0, len(rows), block):
        progress("Comparing facts", start, len(rows))
        cosines = vectors[start : start + block] @ vectors.T
        own = np.arange(len(cosines))
        cosines[own, start + own] = -1.0
        best = np.argpartition(-cosines, most - 1, axis=1)[:, :most]
        for one, others in enumerate(best.tolist(), start=start):
            for other in others:
                found[min(one, other), max(one, other)] = float(cosines[one - start, other])
    near = sorted((pair for pair in found if found[pair] >= NEAR), key=lambda pair: -found[pair])
    named = [chunks[row] for row in rows.tolist()]
    return [(named[one], named[other], found[one, other]) for one, other in near[:limit]]
