"""The cosine of one question with the chunks that are looked at, and with no others.

A small memory is scanned whole, in the time that an index takes to be asked; of a large one the
index gives the nearest, and the neighbours' vectors are read from the catalog.
"""

import numpy as np

from assistant.memory.catalog import Catalog, Layout, Rows
from assistant.memory.embedder import Vectors
from assistant.memory.sync import Synchronizer

SCANNED = 2000
"""A memory of so many chunks is scanned whole."""


class Similarity:
    """The cosine of one question with the chunks of a layout; read from the catalog if need be."""

    def __init__(self, catalog: Catalog, layout: Layout, question: Vectors) -> None:
        self._catalog = catalog
        self._layout = layout
        self._question = question
        self._known = np.full(len(layout) + 1, np.nan, dtype=np.float32)
        self._known[-1] = 0.0

    def fill(self, positions: Rows, cosines: Vectors) -> None:
        """Note what is known already."""
        self._known[positions] = cosines

    def of(self, positions: Rows) -> Vectors:
        """Of these positions, in an array of any shape; the one after the last counts 0."""
        missing = np.unique(positions[np.isnan(self._known[positions])])
        if len(missing):
            rows = self._layout.rowid[missing]
            self._known[missing] = self._catalog.vectors(rows.tolist()) @ self._question
        return self._known[positions]

    def known_of(self, positions: Rows) -> Vectors:
        """Of these positions as far as it is known; else the least that is known."""
        found = self._known[positions]
        return np.where(np.isnan(found), np.fmin.reduce(self._known[:-1], initial=1.0), found)

    def known(self) -> Rows:
        """The positions whose similarity is known, in order."""
        return np.flatnonzero(~np.isnan(self._known[:-1]))


class Scanner:
    """Compares questions with an index."""

    def __init__(self, index: Synchronizer) -> None:
        self._index = index
        self._kept: tuple[Layout, Vectors] | None = None

    def compare(
        self, layout: Layout, question: Vectors, limit: int, *, exact: bool = False
    ) -> Similarity:
        """The similarity of a question with its `limit` nearest chunks, or with all (`exact`)."""
        found = Similarity(self._index.catalog, layout, question)
        if exact or len(layout) <= SCANNED:
            found.fill(np.arange(len(layout)), self._vectors(layout) @ question)
        else:
            rows, cosines = self._index.dense.nearest(question, limit)
            found.fill(layout.positions(rows), cosines)
        return found

    def _vectors(self, layout: Layout) -> Vectors:
        """All vectors; those of a small memory are kept until it changes."""
        if self._kept is not None and self._kept[0] is layout:
            return self._kept[1]
        vectors = self._index.catalog.all_vectors()[1]
        self._kept = (layout, vectors) if len(layout) <= SCANNED else None
        return vectors
