"""The nearest chunks without Chroma: of a small memory by all vectors, of a large one by signs.

The shortlist by signs holds more of the nearest than Chroma's graph gives: of 10,000 facts 99.7 %
of the nearest hundred and all of the nearest eight, where Chroma finds 93.4 and 97.6. Of 300,000
vectors so made that each has thirty all but alike, it holds 96 and 99.5.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.index.sqlite.columns import Layout, Rows
from assistant.memory.index.sqlite.packed import Arrays, Packed
from assistant.memory.index.sqlite.signs import Signs, shortlist, unpack_signs

EXACT = 20_000
"""Of so many chunks all vectors are compared, and stay at hand: 15 MB."""
BLOCK = 2048
"""Vectors compared at once, to be widened in the processor's cache."""
SHORTLIST = 600
"""So many are compared by their vectors, of those that are nearest by their signs."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is read of one state of the memory: vectors of a small one, else signs."""

    layout: Layout
    vectors: NDArray[np.float16] | None
    signs: Signs | None


class Scan:
    """Scans a catalog; what it reads of one state is kept until the next."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._packed = Packed("signs", _signs)
        self._kept: _Kept | None = None

    def nearest(
        self, vector: NDArray[np.float32], limit: int, among: NDArray[np.bool_] | None = None
    ) -> tuple[Rows, NDArray[np.float32]]:
        """The positions of the nearest chunks and their cosines, best first; at most `limit`,
        `among` those that are marked."""
        kept = self._read()
        if kept.signs is not None:
            places = shortlist(kept.signs, vector, SHORTLIST, among)
        else:
            places = np.arange(len(kept.layout)) if among is None else np.flatnonzero(among)
        cosines = np.empty(len(places), dtype=np.float32)
        for start in range(0, len(places), BLOCK):
            block = slice(start, start + BLOCK)
            cosines[block] = self.vectors(places[block]) @ vector
        best = np.lexsort((places, -cosines))[:limit]
        return places[best], cosines[best]

    def vectors(self, places: Rows) -> Vectors:
        """The vectors of these positions."""
        kept = self._read()
        if kept.vectors is not None:
            return _widened(kept.vectors[places])
        return self._catalog.vectors.read(kept.layout.vector[places].tolist())

    def _read(self) -> _Kept:
        layout, kept = self._catalog.layout(), self._kept
        if kept is None or kept.layout is not layout:
            if len(layout) > EXACT:
                with self._catalog.database.using() as db:
                    _, (signs,) = self._packed.read(db)
                kept = _Kept(layout, None, signs)
            else:
                kept = _Kept(layout, self._vectors(layout, kept), None)
            self._kept = kept
        return kept

    def _vectors(self, layout: Layout, before: _Kept | None) -> NDArray[np.float16] | None:
        """All vectors; those that were at hand `before` are not read again."""
        if before is None or before.vectors is None:
            return self._catalog.vectors.read(layout.vector.tolist()).astype(np.float16)
        numbers, place = np.unique(before.layout.vector, return_index=True)
        at = np.minimum(np.searchsorted(numbers, layout.vector), max(0, len(numbers) - 1))
        known = numbers[at] == layout.vector if len(numbers) else np.zeros(len(at), np.bool_)
        new = self._catalog.vectors.read(layout.vector[~known].tolist()).astype(np.float16)
        width = before.vectors.shape[1] or new.shape[1]
        vectors = np.empty((len(layout), width), dtype=np.float16)
        if known.any():
            vectors[known] = before.vectors[place[at[known]]]
        if len(new):
            vectors[~known] = new
        return vectors


def _widened(halves: NDArray[np.float16]) -> Vectors:
    """Finite numbers of half precision as float32, by their bits: numpy takes twice as long.

    The exponents differ by 112, and multiplying by a power of two is exact.
    """
    bits = halves.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= ~0x70000000
    vectors = bits.view(np.float32)
    vectors *= np.float32(2.0**112)
    return vectors


def _signs(packed: bytes, count: int) -> Arrays:
    """The packed signs of so many vectors, as columns."""
    return (unpack_signs([packed], count),)
