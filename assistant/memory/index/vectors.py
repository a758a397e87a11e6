"""The exact nearest chunks, by a scan of the catalog's own vectors: what answers while Chroma is
not in step, and among some chunks only."""

import numpy as np
from numpy.typing import NDArray

from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.index.sqlite.columns import Layout, Rows

EXACT = 20_000
"""The vectors of so many chunks stay at hand: 30 MB. Those of more do only while they are scanned.
"""


class Scan:
    """Scans the vectors of a catalog; what it read of one state is kept until the next."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._kept: tuple[Layout, Vectors] | None = None

    def nearest(
        self, vector: NDArray[np.float32], limit: int, among: NDArray[np.bool_] | None = None
    ) -> tuple[Rows, NDArray[np.float32]]:
        """The positions of the nearest chunks and their cosines, best first; at most `limit`,
        `among` those that are marked."""
        layout = self._catalog.layout()
        if among is None:
            places = np.arange(len(layout))
            cosines = self._all(layout) @ vector if len(layout) else np.empty(0, np.float32)
        else:
            places = np.flatnonzero(among)
            cosines = self.vectors(places) @ vector if len(places) else np.empty(0, np.float32)
        best = np.lexsort((places, -cosines))[:limit]
        return places[best], cosines[best]

    def vectors(self, places: Rows) -> Vectors:
        """The vectors of these positions."""
        layout, kept = self._catalog.layout(), self._kept
        if len(layout) <= EXACT or (kept is not None and kept[0] is layout):
            return self._all(layout)[places]
        return self._catalog.vectors.read(layout.vector[places].tolist())

    def release(self) -> None:
        """Let go of the vectors: Chroma answers."""
        self._kept = None

    def _all(self, layout: Layout) -> Vectors:
        """All vectors; those that were at hand of the state before are not read again."""
        kept = self._kept
        if kept is not None and kept[0] is layout:
            return kept[1]
        vectors: Vectors
        if kept is None or not len(kept[0]):
            vectors = self._catalog.vectors.read(layout.vector.tolist())
        else:
            numbers, first = np.unique(kept[0].vector, return_index=True)
            at = np.minimum(np.searchsorted(numbers, layout.vector), len(numbers) - 1)
            known = numbers[at] == layout.vector
            vectors = np.empty((len(layout), kept[1].shape[1]), dtype=np.float32)
            vectors[known] = kept[1][first[at[known]]]
            if not known.all():
                vectors[~known] = self._catalog.vectors.read(layout.vector[~known].tolist())
        self._kept = layout, vectors
        return vectors
