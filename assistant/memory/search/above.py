"""The cosine of a question with what stands above chunks: the path and the headings of sections."""

import numpy as np
from numpy.typing import NDArray

from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.index.sqlite.columns import Rows
from assistant.memory.search.lexical import Grains

KEPT = 2000
"""The vectors of so many sections are kept until the memory changes; of more, those are read that
candidates stand in."""
NEAREST = 8
"""Sections whose chunks are looked at since their headings are near to the question."""
LARGEST = 50
"""A heading over more chunks than this says too little of each."""


class Above:
    """The vectors of a layout's sections; a section whose headings say nothing has none."""

    def __init__(self, catalog: Catalog, grains: Grains) -> None:
        self._catalog = catalog
        self._grains = grains
        self._kept: tuple[Rows, Vectors] | None = None

    def cosines(self, question: NDArray[np.float32], positions: Rows) -> NDArray[np.float32]:
        """Of what stands above each of these positions; NaN where that is nothing."""
        found = np.full(len(self._grains.sections), np.nan, dtype=np.float32)
        sections, vectors = self._vectors(np.unique(self._grains.section[positions]))
        if len(sections):
            found[sections] = vectors @ question
        return found[self._grains.section[positions]]

    def nearest(self, question: NDArray[np.float32]) -> Rows:
        """The positions under the nearest headings, of a memory whose sections are all known."""
        sections, vectors = self._all()
        if not len(sections):
            return sections
        chosen = np.sort(sections[np.argsort(-(vectors @ question))[:NEAREST]])
        return self._grains.members(chosen[self._grains.sizes[chosen] <= LARGEST])

    def _vectors(self, sections: Rows) -> tuple[Rows, Vectors]:
        """By the number of the section in `Grains`."""
        if len(self._grains.sections) <= KEPT:
            return self._all()
        return self._read(sections)

    def _all(self) -> tuple[Rows, Vectors]:
        if self._kept is None:
            few = len(self._grains.sections) <= KEPT
            self._kept = self._read(np.arange(len(self._grains.sections) if few else 0))
        return self._kept

    def _read(self, sections: Rows) -> tuple[Rows, Vectors]:
        numbers = self._grains.sections[sections]
        found, vectors = self._catalog.vectors.of_sections(numbers.tolist())
        return np.searchsorted(self._grains.sections, found), vectors
