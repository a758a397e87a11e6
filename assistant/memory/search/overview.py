"""Questions to all of memory: which facts are due, and which lie nearest to one another."""

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
    """What is due on these days, the earliest first; what has no time first on its day.

    `dated` adds the day of recording where a file names none.
    """
    begin, end = date.fromisoformat(first), date.fromisoformat(last)
    found = []
    for chunk, spoken in catalog.speaking(begin, end):
        if chunk.source in PROCEDURE_FILES:
            continue
        fact = dated(passage(chunk))
        if chunk.date is None and fact.date:
            spoken = occasions(chunk.plain, fact.date)
        for each in spoken:
            for start, stop in each.within(begin, end):
                years = start.year - each.since if each.since else 0
                span = (start.isoformat(), stop.isoformat())
                found.append(Due(*span, fact, each.time, each.rule, each.rhythm, years))
    return tuple(sorted(found, key=lambda due: (due.start, due.time, due.passage.citation)))


NEAR = 0.35
"""The least cosine of a pair; MiniLM gives "Lives in Berlin" and "Lives in Lisbon" 0.46."""
NEIGHBOURS = 3
"""Of each fact so many neighbours are looked at: of a hundred alike, not all pairs."""
BLOCK = 64
"""Vectors compared with all others at a time: 25 MB among 100,000."""


def near_pairs(
    catalog: Catalog, limit: int, progress: Progress = no_progress
) -> list[tuple[Chunk, Chunk, float]]:
    """The nearest pairs of current facts with their cosine, nearest first, at most `limit`.

    A fact that goes meanwhile is left out.
    """
    layout = catalog.layout()
    current = np.flatnonzero(~layout.superseded)
    vectors = catalog.vectors.read(layout.vector[current].tolist())
    others, cosines = nearest_of_each(vectors, NEIGHBOURS, progress)
    found: dict[tuple[int, int], float] = {}
    for one, n in np.argwhere(cosines >= NEAR).tolist():
        other = int(others[one, n])
        found[min(one, other), max(one, other)] = float(cosines[one, n])
    best = sorted(found, key=lambda pair: -found[pair])[:limit]
    rows = layout.rowid[current].tolist()
    there = [rows[place] for place in sorted({place for pair in best for place in pair})]
    chunks = catalog.by_row(there)
    return [
        (chunks[rows[one]], chunks[rows[other]], found[one, other])
        for one, other in best
        if rows[one] in chunks and rows[other] in chunks
    ]


def nearest_of_each(
    vectors: Vectors, most: int, progress: Progress = no_progress
) -> tuple[Rows, NDArray[np.float32]]:
    """Of each vector the places of the nearest others and their cosines, nearest first; both of
    shape (vectors, neighbours), with at most `most` neighbours."""
    total = len(vectors)
    most = max(0, min(most, total - 1))
    found, cosines = np.empty((total, most), np.int64), np.empty((total, most), np.float32)
    for start in range(0, total if most else 0, BLOCK):
        progress("Comparing facts", start, total)
        block = vectors[start : start + BLOCK] @ vectors.T
        own = np.arange(len(block))
        block[own, start + own] = -1.0
        best = np.argpartition(-block, most - 1, axis=1)[:, :most]
        near = np.take_along_axis(block, best, axis=1)
        order = np.argsort(-near, axis=1)
        found[start : start + BLOCK] = np.take_along_axis(best, order, axis=1)
        cosines[start : start + BLOCK] = np.take_along_axis(near, order, axis=1)
    return found, cosines
