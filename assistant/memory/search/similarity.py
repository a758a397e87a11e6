"""The cosine of one question with the chunks that are looked at, and with no others.

The index gives the nearest, and the vectors of others are read from the catalog. Of a large memory
the question is embedded and the index asked on a thread of their own, as neither holds Python's
lock for long.
"""

import contextlib
import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistant.memory.embedding.embedder import Embedder, Vectors
from assistant.memory.index.sqlite.columns import Layout, Rows
from assistant.memory.index.sqlite.snapshots import Snapshot
from assistant.memory.index.store import IndexStore
from assistant.memory.index.vectors import Scan
from assistant.memory.search.ranking import UNKNOWN_SCRIPT
from assistant.memory.text.language import language_of

ASIDE = 4
"""Questions that are compared at once."""
SMALL = 20_000
"""Of so few chunks the words are looked up sooner than another thread is woken: without it a recall
among 1,000 takes a tenth less of the processor, one among 10,000 a twentieth, and neither longer.
"""
KNOWN_LETTERS = 4.0
"""Letters that a piece of a word has, at the mean, in a language the model knows."""
_WORD = re.compile(r"[^\W_]+")
Cosines = NDArray[np.float32]
_Marked = NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True)
class _Compared:
    """A question, and the positions that it was compared with."""

    question: Cosines
    positions: Rows
    cosines: Cosines


class Similarity:
    """The cosine of one question with the chunks of a layout; read from the catalog if need be."""

    def __init__(self, scan: Scan, compared: Future[_Compared]) -> None:
        self._scan = scan
        self._compared = compared
        self._places: Rows | None = None
        self._cosines = np.empty(0, dtype=np.float32)

    def include(self, positions: Rows) -> None:
        """Look at these positions too, each named once; their vectors are read while the index is
        asked."""
        positions = np.sort(positions)
        vectors = self._scan.vectors(positions)
        self._add(positions, vectors, self.known())

    def of(self, positions: Rows) -> Cosines:
        """Of these positions."""
        missing = positions[~_among(self.known(), positions)]
        if len(missing):
            missing = np.unique(missing)
            self._add(missing, self._scan.vectors(missing), self.known())
        return self._cosines[np.searchsorted(self.known(), positions)]

    def known(self) -> Rows:
        """The positions whose similarity is known, in order."""
        if self._places is None:
            compared = self._compared.result()
            order = np.argsort(compared.positions)
            self._places, self._cosines = compared.positions[order], compared.cosines[order]
        return self._places

    def question(self) -> Cosines:
        """The vector of the question."""
        return self._compared.result().question

    def _add(self, positions: Rows, vectors: Vectors, known: Rows) -> None:
        new = ~_among(known, positions)
        if new.any():
            places = np.concatenate([known, positions[new]])
            cosines = np.concatenate([self._cosines, (vectors @ self.question())[new]])
            order = np.argsort(places)
            self._places, self._cosines = places[order], cosines[order]


def _among(known: Rows, positions: Rows) -> NDArray[np.bool_]:
    """Which positions are known; those are in order, each once."""
    if not len(known):
        return np.zeros(len(positions), dtype=np.bool_)
    at = np.minimum(np.searchsorted(known, positions), len(known) - 1)
    return np.asarray(known[at] == positions)


def understanding(text: str, embedder: Embedder) -> float:
    """How far a model knows the words of a text, from `UNKNOWN_SCRIPT` to 1.

    A model splits words it knows into few pieces, and a script it does not know into letters.
    """
    letters = sum(len(word) for word in _WORD.findall(text))
    pieces = max(1, embedder.count_tokens(text) - embedder.count_tokens(""))
    return min(1.0, max(UNKNOWN_SCRIPT, (letters / pieces - 1) / (KNOWN_LETTERS - 1)))


class Scanner:
    """Compares questions with an index."""

    def __init__(self, store: IndexStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder
        self._aside = ThreadPoolExecutor(ASIDE, "similarity")
        self._begun: dict[str, Future[Cosines]] = {}

    @contextlib.contextmanager
    def begun(self, text: str) -> Iterator[None]:
        """Embed a text while it is read as a question: most are embedded as they were asked.

        In another language it may want a model that the question, once read, does not; where memory
        is small reading is over too soon.
        """
        if len(self._store.catalog.layout()) <= SMALL or language_of(text) != "english":
            yield
            return
        self._begun[text] = vector = self._aside.submit(self._vector, text)
        try:
            yield
        finally:
            wait([vector])
            if self._begun.get(text) is vector:
                del self._begun[text]

    @contextlib.contextmanager
    def compare(
        self, question: str, layout: Layout, limit: int, among: _Marked = None
    ) -> Iterator[Similarity]:
        """The similarity of a question with its `limit` nearest chunks, of those marked if some are
        (`among`): then with all of them in a small memory.

        Who asks for a cosine waits, and meets what went wrong; at the end nothing runs any more.
        """
        compared: Future[_Compared] = Future()
        if len(layout) <= SMALL:
            compared.set_result(self._compared(question, layout, limit, among))
        else:
            snapshot = self._store.catalog.database.snapshots.current
            compared = self._aside.submit(self._aside_of, snapshot, question, layout, limit, among)
        try:
            yield Similarity(self._store.dense.scan, compared)
        finally:
            wait([compared])

    def _aside_of(
        self, snapshot: Snapshot | None, question: str, layout: Layout, limit: int, among: _Marked
    ) -> _Compared:
        """Compare in the state of the memory that whoever asks sees."""
        if snapshot is None:
            return self._compared(question, layout, limit, among)
        with self._store.catalog.database.snapshots.reading(snapshot):
            return self._compared(question, layout, limit, among)

    def _compared(self, text: str, layout: Layout, limit: int, among: _Marked) -> _Compared:
        begun = self._begun.get(text)  # its turn came before ours
        question = begun.result() if begun else self._vector(text)
        if among is not None:
            return _Compared(
                question, *self._store.dense.scan.nearest(question, len(layout), among)
            )
        rows, cosines = self._store.dense.nearest(question, limit)
        return _Compared(question, layout.positions(rows), cosines)

    def _vector(self, text: str) -> Cosines:
        vector: Cosines = self._embedder.embed_questions([text])[0]
        return vector
