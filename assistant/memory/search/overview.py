"""Queries over all of memory: which facts are due, and which are most similar."""

from collections.abc import Callable
from datetime import date

import numpy as np
from numpy.typing import NDArray

from assistant.memory.base import Due, Passage, Progress, no_progress
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.layout import Rows
from assistant.memory.text.chunk import Chunk, passage
from assistant.memory.text.times.occasions import occasions
from assistant.workspace.folder import PROCEDURE_FILES


def due(
    catalog: Catalog, dated: Callable[[Passage], Passage], first: str, last: str
) -> tuple[Due, ...]:
    """The facts due on these days, in order; on each day those without a time first.

    `dated` adds the day of recording if the file names none.
    """
    begin, end = date.fromisoformat(first), date.fromisoformat(last)
    results = []
    for chunk, dates in catalog.speaking(begin, end):
        if chunk.source in PROCEDURE_FILES:
            continue
        fact = dated(passage(chunk))
        if chunk.date is None and fact.date:
            dates = occasions(chunk.plain, fact.date)
        for occasion in dates:
            for start, stop in occasion.within(begin, end):
                years = start.year - occasion.since if occasion.since else 0
                results.append(
                    Due(
                        start.isoformat(),
                        stop.isoformat(),
                        fact,
                        occasion.time,
                        occasion.rule,
                        occasion.rhythm,
                        years,
                    )
                )
    return tuple(sorted(results, key=lambda due: (due.start, due.time, due.passage.citation)))


NEAR = 0.35
"""The least cosine of a pair: MiniLM gives "Lives in Berlin" and "Lives in Lisbon" 0.46."""
NEIGHBOURS = 3
"""Neighbours of each fact that are paired: of a hundred similar facts, not all pairs."""
BLOCK = 64
"""Vectors compared with all others at a time: 25 MB for 100,000."""


def near_pairs(
    catalog: Catalog, limit: int, progress: Progress = no_progress
) -> list[tuple[Chunk, Chunk, float]]:
    """The nearest pairs of current facts with their cosine, nearest first, at most `limit`.

    A fact that is removed meanwhile is left out.
    """
    layout = catalog.layout()
    current = np.flatnonzero(~layout.superseded)
    vectors = catalog.vectors.read(layout.vector[current].tolist())
    others, cosines = nearest_of_each(vectors, NEIGHBOURS, progress)
    pairs: dict[tuple[int, int], float] = {}
    for one, n in np.argwhere(cosines >= NEAR).tolist():
        other = int(others[one, n])
        pairs[min(one, other), max(one, other)] = float(cosines[one, n])
    best = sorted(pairs, key=lambda pair: -pairs[pair])[:limit]
    rows = layout.rowid[current].tolist()
    chunks = catalog.by_row([rows[at] for at in sorted({at for pair in best for at in pair})])
    return [
        (chunks[rows[one]], chunks[rows[other]], pairs[one, other])
        for one, other in best
        if rows[one] in chunks and rows[other] in chunks
    ]


def nearest_of_each(
    vectors: Vectors, most: int, progress: Progress = no_progress
) -> tuple[Rows, NDArray[np.float32]]:
    """The indices of the nearest others of each vector and their cosines, nearest first; both of
    shape (vectors, neighbours), with at most `most` neighbours."""
    total = len(vectors)
    most = max(0, min(most, total - 1))
    nearest, cosines = np.empty((total, most), np.int64), np.empty((total, most), np.float32)
    for start in range(0, total if most else 0, BLOCK):
        progress("Comparing facts", start, total)
        block = vectors[start : start + BLOCK] @ vectors.T
        own = np.arange(len(block))
        block[own, start + own] = -1.0
        best = np.argpartition(-block, most - 1, axis=1)[:, :most]
        near = np.take_along_axis(block, best, axis=1)
        order = np.argsort(-near, axis=1)
        nearest[start : start + BLOCK] = np.take_along_axis(best, order, axis=1)
        cosines[start : start + BLOCK] = np.take_along_axis(near, order, axis=1)
    return nearest, cosines
