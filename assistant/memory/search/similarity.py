"""The cosine of one question with the chunks that are looked at, and with no others.

The index gives the nearest, and the vectors of others are read from the catalog. The question is
embedded and the index asked on a thread of their own, as neither holds Python's lock for long.
"""

import contextlib
import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistant.memory.embedding.embedder import Embedder, Vectors
from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.index.sqlite.columns import Layout, Rows
from assistant.memory.index.sqlite.database import Snapshot
from assistant.memory.index.store import IndexStore

SCANNED = 2000
"""Of a memory of so many chunks the vectors stay at hand, once it was scanned whole."""
ASIDE = 4
"""Questions that are compared at once."""
KNOWN_LETTERS = 4.0
"""Letters that a piece of a word has, at the mean, in a language the model knows."""
LEAST_KNOWN = 0.1
_WORD = re.compile(r"[^\W_]+")
Cosines = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Compared:
    """A question, and the positions that it was compared with."""

    question: Cosines
    positions: Rows
    cosines: Cosines


class Similarity:
    """The cosine of one question with the chunks of a layout; read from the catalog if need be."""

    def __init__(self, catalog: Catalog, layout: Layout, compared: Future[_Compared]) -> None:
        self._catalog = catalog
        self._layout = layout
        self._known = np.full(len(layout) + 1, np.nan, dtype=np.float32)
        self._known[-1] = 0.0
        self._compared = compared
        self._filled = False

    def include(self, positions: Rows) -> None:
        """Look at these positions too; their vectors are read while the index is asked."""
        if len(positions):
            vectors = self._vectors(positions)
            question = self.question()
            self._known[positions] = vectors @ question

    def of(self, positions: Rows) -> Cosines:
        """Of these positions, in an array of any shape; the one after the last counts 0."""
        question = self.question()
        missing = np.unique(positions[np.isnan(self._known[positions])])
        if len(missing):
            self._known[missing] = self._vectors(missing) @ question
        return self._known[positions]

    def known(self) -> Rows:
        """The positions whose similarity is known, in order."""
        self.question()
        return np.flatnonzero(~np.isnan(self._known[:-1]))

    def question(self) -> Cosines:
        """The vector of the question."""
        compared = self._compared.result()
        if not self._filled:
            self._filled = True
            self._known[compared.positions] = compared.cosines
        return compared.question

    def _vectors(self, positions: Rows) -> Vectors:
        return self._catalog.vectors.read(self._layout.vector[positions].tolist())


def understanding(text: str, embedder: Embedder) -> float:
    """How far a model knows the words of a text, from `LEAST_KNOWN` to 1.

    A model splits words it knows into few pieces, and a script it does not know into letters.
    """
    letters = sum(len(word) for word in _WORD.findall(text))
    pieces = max(1, embedder.count_tokens(text) - embedder.count_tokens(""))
    return min(1.0, max(LEAST_KNOWN, (letters / pieces - 1) / (KNOWN_LETTERS - 1)))


class Scanner:
    """Compares questions with an index."""

    def __init__(self, store: IndexStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder
        self._kept: tuple[Layout, Vectors] | None = None
        self._aside = ThreadPoolExecutor(ASIDE, "similarity")

    @contextlib.contextmanager
    def compare(
        self, question: str, layout: Layout, limit: int, *, exact: bool = False
    ) -> Iterator[Similarity]:
        """The similarity of a question with its `limit` nearest chunks, or with all (`exact`).

        Who asks for a cosine waits, and meets what went wrong; at the end nothing runs any more.
        """
        snapshot = self._store.catalog.database.snapshot
        compared = self._aside.submit(self._aside_of, snapshot, question, layout, limit, exact)
        try:
            yield Similarity(self._store.catalog, layout, compared)
        finally:
            wait([compared])

    def _aside_of(
        self, snapshot: Snapshot | None, question: str, layout: Layout, limit: int, exact: bool
    ) -> _Compared:
        """Compare in the state of the memory that whoever asks sees."""
        if snapshot is None:
            return self._compared(question, layout, limit, exact)
        with self._store.catalog.database.reading(snapshot):
            return self._compared(question, layout, limit, exact)

    def _compared(self, text: str, layout: Layout, limit: int, exact: bool) -> _Compared:
        question = self._embedder.embed_questions([text])[0]
        if exact:
            return _Compared(question, np.arange(len(layout)), self._all(layout) @ question)
        rows, cosines = self._store.dense.nearest(question, limit)
        return _Compared(question, layout.positions(rows), cosines)

    def _all(self, layout: Layout) -> Vectors:
        """All vectors; those of a small memory are kept until it changes."""
        if self._kept is not None and self._kept[0] is layout:
            return self._kept[1]
        vectors = self._store.catalog.all_vectors()[1]
        self._kept = (layout, vectors) if len(layout) <= SCANNED else None
        return vectors
