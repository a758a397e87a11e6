"""The exact nearest chunks, by a scan of the catalog's own vectors: what answers while Chroma is
not in step, and among some chunks only."""

import threading

import numpy as np
from numpy.typing import NDArray

from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.layout import Layout, Rows

EXACT = 20_000
"""The vectors of so many chunks stay at hand: 30 MB. Those of more do only while they are scanned.
"""
SPARE = 1000
"""Vectors for which there is room beside those that there are."""


class Scan:
    """Scans the vectors of a catalog; what was read of them is kept from change to change."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._turn = threading.RLock()
        self.release()

    def nearest(
        self,
        layout: Layout,
        vector: NDArray[np.float32],
        limit: int,
        among: NDArray[np.bool_] | None = None,
    ) -> tuple[Rows, NDArray[np.float32]]:
        """The positions of the nearest chunks and their cosines, best first; at most `limit`,
        `among` those that are marked."""
        if among is None:
            places = np.arange(len(layout))
            matrix, rows = self._all(layout)
            cosines = (matrix @ vector)[rows] if len(rows) else np.empty(0, np.float32)
        else:
            places = np.flatnonzero(among)
            cosines = self.vectors(layout, places) @ vector if len(places) else np.empty(0)
        best = np.lexsort((places, -cosines))[:limit]
        return places[best], cosines[best]

    def vectors(self, layout: Layout, places: Rows) -> Vectors:
        """The vectors of these positions."""
        if len(layout) <= EXACT:
            matrix, rows = self._all(layout)
            return matrix[rows[places]]
        return self._catalog.vectors.read(layout.vector[places].tolist())

    def release(self) -> None:
        """Let go of the vectors: Chroma answers, or their numbers are others' by now."""
        with self._turn:
            self._matrix: Vectors = np.empty((0, 0), dtype=np.float32)
            self._row = np.empty(0, dtype=np.int32)
            """The row of the matrix of each vector, by the vector's number; -1 for none."""
            self._count = 0

    def _all(self, layout: Layout) -> tuple[Vectors, Rows]:
        """The vectors, and in which row that of each position stands; only new ones are read."""
        with self._turn:
            if self._count > 2 * len(layout) + SPARE:
                self.release()
            largest = int(layout.vector.max(initial=0))
            if largest >= len(self._row):
                grown = np.full(largest + 1 + SPARE, -1, dtype=np.int32)
                grown[: len(self._row)] = self._row
                self._row = grown
            new = np.unique(layout.vector[self._row[layout.vector] < 0])
            if len(new):
                read = self._catalog.vectors.read(new.tolist())
                end = self._count + len(new)
                if end > len(self._matrix):
                    matrix = np.empty((end + min(end, SPARE), read.shape[1]), dtype=np.float32)
                    if self._count:
                        matrix[: self._count] = self._matrix[: self._count]
                    self._matrix = matrix
                self._matrix[self._count : end] = read
                self._row[new] = np.arange(self._count, end)
                self._count = end
            return self._matrix[: self._count], self._row[layout.vector].astype(np.int64)
