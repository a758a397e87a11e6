"""The signals of `ranking` for the candidates of one question."""

import threading
from collections.abc import Mapping
from datetime import date

import numpy as np
from numpy.typing import NDArray

from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.layout import Layout, Rows
from assistant.memory.index.postings import Postings
from assistant.memory.search import lexical
from assistant.memory.search.lexical import Grains
from assistant.memory.search.question import Question
from assistant.memory.search.ranking import SIGNALS, Matrix, date_match, label_match
from assistant.memory.search.similarity import Similarity
from assistant.memory.text.dialogue import asks, label
from assistant.memory.text.times.period import Period, period

UNTITLED = 0.4
"""What stands under no telling heading counts as under one that is so near, of its own cosine."""
KEPT_SECTIONS = 2000
"""The vectors of so many sections are kept until the memory changes; of more, those are read that
candidates stand in."""
NEAREST_SECTIONS = 8
"""Sections whose chunks are candidates since their headings are near to the question."""
LARGEST_SECTION = 50
"""A heading over more chunks than this says too little of each."""
Column = NDArray[np.float32]


class View:
    """What is derived from one state of the memory, read further as questions need it."""

    def __init__(self, catalog: Catalog, layout: Layout) -> None:
        self.layout = layout
        self.grains = Grains.of(layout)
        self._catalog = catalog
        self._turn = threading.Lock()
        self._read = np.zeros(len(layout), dtype=np.bool_)
        self._asks = np.zeros(len(layout), dtype=np.float32)
        self._label = np.zeros(len(layout), dtype=np.int32)
        self._labels: dict[frozenset[str], int] = {frozenset(): 0}
        self._mentions: dict[int, tuple[Period, ...]] = {}
        self._sections: tuple[Rows, Vectors] | None = None

    def words(
        self,
        question: Question,
        postings: Mapping[str, Postings],
        headings: Mapping[str, Postings],
        positions: Rows,
    ) -> Matrix:
        """A matrix with the signals of words."""
        matrix = empty(len(positions))
        found = lexical.match(self.grains, question.searched, postings, headings, positions)
        whole = lexical.total_idf(question.terms, len(self.layout))
        put(matrix, "bm25", found.window / whole)
        put(matrix, "bm25_section", found.section / whole)
        put(matrix, "covered", (found.covered / whole) ** 2 * ~self.layout.turn[positions])
        return matrix

    def match_section(self, matrix: Matrix, similarity: Similarity, positions: Rows) -> None:
        """Of a turn the best cosine of its section; else that of what stands above, or its own."""
        section = self.grains.section
        above = self._headings(similarity.question, positions)
        found = np.where(np.isnan(above), UNTITLED * similarity.of(positions), above)
        turn = self.layout.turn[positions]
        if turn.any():
            best = np.full(len(self.grains.sections), -1.0, dtype=np.float32)
            known = similarity.known
            np.maximum.at(best, section[known], similarity.of(known))
            found = np.where(turn, best[section[positions]], found)
        put(matrix, "dense_section", found)

    def match_traits(self, matrix: Matrix, question: Question, positions: Rows) -> None:
        """The signals of dates, speakers and questions."""
        turn = self.layout.turn[positions]
        if not (question.periods or turn.any()):
            return
        self._take(positions if question.periods else positions[turn])
        put(matrix, "date", self._near(positions, question.periods))
        put(matrix, "name", self._said_by(positions, question.words) * turn)
        dated = [position in self._mentions for position in positions.tolist()]
        put(matrix, "dated", np.array(dated, dtype=np.float32) * turn)
        put(matrix, "asks", self._asks[positions] * turn)

    def under_nearest_headings(self, question: Column) -> Rows:
        """The positions under the nearest headings, of a memory whose sections are all known."""
        sections, vectors = self._all_sections()
        if not len(sections):
            return sections
        chosen = np.sort(sections[np.argsort(-(vectors @ question))[:NEAREST_SECTIONS]])
        return self.grains.members(chosen[self.grains.sizes[chosen] <= LARGEST_SECTION])

    # What stands above

    def _headings(self, question: Column, positions: Rows) -> Column:
        """The cosine of what stands above each of these positions; NaN where that is nothing."""
        grains = self.grains
        found = np.full(len(grains.sections), np.nan, dtype=np.float32)
        few = len(grains.sections) <= KEPT_SECTIONS
        sections, vectors = (
            self._all_sections()
            if few
            else self._read_sections(np.unique(grains.section[positions]))
        )
        if len(sections):
            found[sections] = vectors @ question
        return found[grains.section[positions]]

    def _all_sections(self) -> tuple[Rows, Vectors]:
        if self._sections is None:
            few = len(self.grains.sections) <= KEPT_SECTIONS
            self._sections = self._read_sections(np.arange(len(self.grains.sections) if few else 0))
        return self._sections

    def _read_sections(self, sections: Rows) -> tuple[Rows, Vectors]:
        numbers = self.grains.sections[sections]
        found, vectors = self._catalog.vectors.of_sections(numbers.tolist())
        return np.searchsorted(self.grains.sections, found), vectors

    # What chunks tell of themselves

    def _take(self, positions: Rows) -> None:
        """Read the traits of these positions."""
        missing = positions[~self._read[positions]]
        if not len(missing):
            return
        with self._turn:
            rows = self.layout.rowid[missing].tolist()
            place = dict(zip(rows, missing.tolist(), strict=True))
            for stored in self._catalog.chunks(rows):
                at, chunk = place[stored.rowid], stored.chunk
                self._asks[at] = asks(chunk.plain)
                self._label[at] = self._labels.setdefault(label(chunk.plain), len(self._labels))
                if chunk.mentions:
                    self._mentions[at] = tuple(map(period, chunk.mentions))
            self._read[missing] = True

    def _said_by(self, positions: Rows, words: frozenset[str]) -> Column:
        """The share of each speaker's name that the question holds."""
        numbers, inverse = np.unique(self._label[positions], return_inverse=True)
        labels = list(self._labels)
        matches = [label_match(labels[number], words) for number in numbers.tolist()]
        return np.array(matches, dtype=np.float32)[inverse]

    def _near(self, positions: Rows, asked: tuple[Period, ...]) -> Column:
        """How near each comes to the times that the question names."""
        if not asked:
            return np.zeros(len(positions), dtype=np.float32)
        days = self.layout.date[positions].tolist()
        found = [
            date_match(asked, date.fromordinal(day) if day else None, self._mentions.get(at, ()))
            for at, day in zip(positions.tolist(), days, strict=True)
        ]
        return np.array(found, dtype=np.float32)


def put(matrix: Matrix, signal: str, values: Column) -> None:
    """Set the values of a signal."""
    matrix[:, SIGNALS.index(signal)] = values


def empty(rows: int) -> Matrix:
    """So many rows without a signal."""
    return np.zeros((rows, len(SIGNALS)), dtype=np.float32)
