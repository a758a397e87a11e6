"""The cosine of one question with the chunks that are looked at, and with no others.

The index gives the nearest; the vectors of others are read from the catalog.
"""

import re

import numpy as np
from numpy.typing import NDArray

from assistant.memory.embedding.embedder import Embedder, Vectors
from assistant.memory.index.layout import Layout, Rows
from assistant.memory.index.store import IndexStore
from assistant.memory.index.vectors import Scan

KNOWN_LETTERS = 4.0
"""Letters that a piece of a word has, at the mean, in a language the model knows."""
UNKNOWN_SCRIPT = 0.1
"""How far a text counts as understood that the model takes for single letters."""
_WORD = re.compile(r"[^\W_]+")
Cosines = NDArray[np.float32]


class Similarity:
    """Cosines of one question by position; those not known yet are computed on demand."""

    def __init__(
        self, scan: Scan, layout: Layout, question: Cosines, positions: Rows, cosines: Cosines
    ) -> None:
        self._scan = scan
        self._layout = layout
        self.question = question
        order = np.argsort(positions)
        self.known, self._cosines = positions[order], cosines[order]

    def of(self, positions: Rows) -> Cosines:
        """The cosines of these positions."""
        missing = np.unique(positions[~self._has(positions)])
        if len(missing):
            vectors: Vectors = self._scan.vectors(self._layout, missing)
            places = np.concatenate([self.known, missing])
            cosines = np.concatenate([self._cosines, vectors @ self.question])
            order = np.argsort(places)
            self.known, self._cosines = places[order], cosines[order]
        return self._cosines[np.searchsorted(self.known, positions)]

    def _has(self, positions: Rows) -> NDArray[np.bool_]:
        if not len(self.known):
            return np.zeros(len(positions), dtype=np.bool_)
        at = np.minimum(np.searchsorted(self.known, positions), len(self.known) - 1)
        return np.asarray(self.known[at] == positions)


def compare(
    store: IndexStore,
    question: Cosines,
    layout: Layout,
    limit: int,
    among: NDArray[np.bool_] | None = None,
) -> Similarity:
    """The similarity of a question with its `limit` nearest chunks; with all of those marked in
    `among`, if some are."""
    scan = store.dense.scan
    if among is not None:
        nearest = scan.nearest(layout, question, len(layout), among)
    else:
        nearest = store.dense.nearest(layout, question, limit)
    return Similarity(scan, layout, question, *nearest)


def understanding(text: str, embedder: Embedder) -> float:
    """How far a model knows the words of a text, from `UNKNOWN_SCRIPT` to 1.

    A model splits words it knows into few pieces, and a script it does not know into letters.
    """
    letters = sum(len(word) for word in _WORD.findall(text))
    pieces = max(1, embedder.count_tokens(text) - embedder.count_tokens(""))
    return min(1.0, max(UNKNOWN_SCRIPT, (letters / pieces - 1) / (KNOWN_LETTERS - 1)))
