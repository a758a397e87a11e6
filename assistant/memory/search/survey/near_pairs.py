"""Which facts lie nearest to one another: the candidates of `memory tidy`.

Small memories are compared all with all. In a large one each fact is compared with those that
share a *cell* with it: around centres drawn from the facts themselves, each fact in the cells of
its nearest few, as in an inverted file (Sivic and Zisserman, 2003). What lies as near as a twin
does shares a cell. Nothing is locked meanwhile but for the reading of a batch.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from assistant.memory.base import Progress, no_progress
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.layout import Layout, Rows
from assistant.memory.text.chunk import Chunk

NEAR = 0.35
"""The least cosine of a pair; MiniLM gives "Lives in Berlin" and "Lives in Lisbon" 0.46."""
NEIGHBOURS = 3
"""Of each fact so many neighbours are looked at: of a hundred alike, not all pairs."""
SMALL = 4000
"""So many facts are compared all with all, in a second."""
CELLS = 3
"""Each fact is in the cells of so many centres."""
BLOCK = 256
"""Facts compared with a cell at a time: what a recall beside it may have to wait for."""

Found = dict[tuple[int, int], float]
"""The cosine of pairs of places, the lower one first."""


def near_pairs(
    catalog: Catalog, limit: int, progress: Progress = no_progress, *, small: int = SMALL
) -> list[tuple[Chunk, Chunk, float]]:
    """The nearest pairs of current facts with their cosine, nearest first, at most `limit`."""
    layout = catalog.layout()
    current = np.flatnonzero(~layout.superseded)
    vectors = read_vectors(catalog, layout, current)
    cells = [np.arange(len(current))] if len(current) <= small else _cells(vectors)
    found: Found = {}
    done = 0
    for cell in cells:
        progress("Comparing facts", done, sum(map(len, cells)))
        _compare(vectors, cell, found)
        done += len(cell)
    best = sorted((pair for pair in found if found[pair] >= NEAR), key=lambda pair: -found[pair])
    return list(_named(catalog, layout.rowid[current], best[:limit], found))


def read_vectors(catalog: Catalog, layout: Layout, places: Rows) -> Vectors:
    """The vectors of these places in the layout."""
    return catalog.vectors.read(layout.vector[places].tolist())


def _cells(vectors: Vectors) -> list[Rows]:
    """The places in each cell; as many cells as there are facts in one."""
    count = int(np.sqrt(len(vectors) * CELLS))
    centres = vectors[np.linspace(0, len(vectors) - 1, count).astype(np.int64)]
    own = np.empty((len(vectors), CELLS), dtype=np.int64)
    for start in range(0, len(vectors), BLOCK):
        cosines = vectors[start : start + BLOCK] @ centres.T
        own[start : start + BLOCK] = np.argpartition(-cosines, CELLS - 1, axis=1)[:, :CELLS]
    places = np.argsort(own.ravel(), kind="stable")
    bounds = np.searchsorted(own.ravel()[places], np.arange(1, count))
    return [part // CELLS for part in np.split(places, bounds)]


def _compare(vectors: Vectors, cell: Rows, found: Found) -> None:
    """Add the nearest neighbours of each place within a cell."""
    most = min(NEIGHBOURS, len(cell) - 1)
    if most < 1:
        return
    inside = vectors[cell]
    for start in range(0, len(cell), BLOCK):
        cosines = inside[start : start + BLOCK] @ inside.T
        own = np.arange(len(cosines))
        cosines[own, start + own] = -1.0
        best = np.argpartition(-cosines, most - 1, axis=1)[:, :most]
        _keep(found, cell, start, best, np.take_along_axis(cosines, best, axis=1))


def _keep(found: Found, cell: Rows, start: int, best: Rows, cosines: NDArray[np.float32]) -> None:
    near = np.argwhere(cosines >= NEAR)
    for one, n in near.tolist():
        pair = sorted((int(cell[start + one]), int(cell[best[one, n]])))
        found[pair[0], pair[1]] = float(cosines[one, n])


def _named(
    catalog: Catalog, rowids: Rows, pairs: list[tuple[int, int]], found: Found
) -> Iterator[tuple[Chunk, Chunk, float]]:
    """The pairs as chunks; one that has gone meanwhile is left out."""
    rows = {int(rowids[place]) for pair in pairs for place in pair}
    chunks = {each.rowid: each.chunk for each in catalog.chunks(sorted(rows))}
    for pair in pairs:
        one, other = (chunks.get(int(rowids[place])) for place in pair)
        if one is not None and other is not None:
            yield one, other, found[pair]
