"""The signals of `ranking` for the candidates of one question, those of its words first.

What stands alone, as a fact in a list, is scored by the share of the question that it and its
headings hold. A turn of a conversation is scored by BM25 of its words and those of the turns around
it: Robertson and Zaragoza's (2009), with Lucene's idf, ln(1 + (N - n + 0.5) / (n + 0.5)), which is
never negative. Both are divided by the idf of all the question's words, found or not, so that they
compare between questions.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assistant.memory.embedding.embedder import Vectors, normalized
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.layout import Layout, Rows
from assistant.memory.index.words import Postings, Term
from assistant.memory.search.question import Question
from assistant.memory.search.ranking import SIGNALS, Matrix, date_match, label_match
from assistant.memory.text.dialogue import label
from assistant.memory.text.times.period import Period, period

K1 = 1.2
B = 0.75
REACH = 2
"""So many turns before a turn, and after it, belong to it."""
OWN = 2
"""A turn's own words count so many times, its neighbours' once: fields with weights, as in BM25F
(Robertson, Zaragoza and Taylor, 2004)."""

Scores = NDArray[np.float32]
Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Sections:
    """The sections of a layout, numbered from 0: that of each chunk, and the catalog's number of
    each. `beside` marks, for each distance up to `REACH`, the chunks that follow one of their own
    section at that distance."""

    layout: Layout
    of: NDArray[np.int64]
    numbers: Rows
    beside: tuple[Marks, ...]

    @classmethod
    def read(cls, layout: Layout) -> "Sections":
        """Those of a layout."""
        numbers, of = np.unique(layout.section, return_inverse=True)
        beside = (of[distance:] == of[:-distance] for distance in range(1, REACH + 1))
        return cls(layout, of, numbers, tuple(beside))

    def headed(self, found: Postings) -> Marks:
        """The chunks whose headings hold a word."""
        return np.isin(self.numbers, found[0])[self.of]

    def around(self, values: Scores) -> Scores:
        """The values of each chunk and its neighbours in the section, weighted and added up."""
        total = OWN * values
        for distance, same in enumerate(self.beside, 1):
            total[distance:] += values[:-distance] * same
            total[:-distance] += values[distance:] * same
        return total


@dataclass(frozen=True, slots=True)
class Words:
    """By position: how much of the question is held, and BM25 of a turn with those around it."""

    covered: Scores
    bm25: Scores


def match(
    sections: Sections,
    terms: Sequence[Term],
    searched: Sequence[Term],
    postings: Mapping[str, Postings],
    headings: Mapping[str, Postings],
) -> Words:
    """Score all chunks by the words of a question: its `terms`, of which some are `searched`."""
    layout = sections.layout
    total, talk = len(layout), bool(layout.turn.any())
    found = Words(*(np.zeros(total, dtype=np.float32) for _ in range(2)))
    whole = sum(float(idf(term.document_frequency, total)) for term in terms) or 1.0
    lengths = sections.around(layout.length.astype(np.float32)) if talk else found.bm25
    for term in searched:
        rows, times = postings[term.text]
        at, told = layout.positions(rows), idf(len(rows), total) / whole
        held = np.zeros(total, dtype=np.bool_)
        held[at] = True
        if len(terms) > 1:  # a heading that holds the only word says it of all below
            held |= sections.headed(headings[term.text])
        found.covered[held] += told
        if talk:
            counts = np.zeros(total, dtype=np.float32)
            counts[at] = times
            found.bm25[:] += told * saturated(sections.around(counts), lengths, lengths.mean())
    found.covered[layout.turn] = 0
    found.bm25[~layout.turn] = 0
    return found


def idf(frequency: int, total: int) -> np.float32:
    """How much a word that stands in `frequency` of `total` texts tells."""
    return np.float32(np.log1p((total - frequency + 0.5) / (frequency + 0.5)))


def saturated(counts: Scores, lengths: Scores, average: np.floating | float) -> Scores:
    """BM25's weight of a word that stands `counts` times in texts of these lengths."""
    norm = K1 * (1 - B + B * lengths / max(float(average), 1.0))
    return np.asarray(counts * (K1 + 1) / (counts + norm), dtype=np.float32)


UNTITLED = 0.4
"""What stands under no telling heading counts as under one that is so near, of its own cosine."""
Column = NDArray[np.float32]


class View:
    """What is derived from one state of the memory, read further as questions need it."""

    def __init__(self, catalog: Catalog, layout: Layout) -> None:
        self.layout = layout
        self.sections = Sections.read(layout)
        self._catalog = catalog
        self._lock = threading.Lock()
        self._headings: dict[int, Column | None] = {}
        """The vectors of sections by their numbers; None for those without a telling heading."""
        self._traits: dict[int, tuple[frozenset[str], tuple[Period, ...]]] = {}
        """Who says a chunk, and the times it mentions, by position."""

    @cached_property
    def _marked(self) -> tuple[Rows, Vectors]:
        """The chunks that say what they matter for, and vectors midway between that and what they
        say."""
        at, numbers = self._catalog.marked(self.layout)
        read = self._catalog.vectors.read
        if not len(at):
            return at, read([])
        return at, normalized(read(self.layout.vector[at].tolist()) + read(numbers.tolist()))

    def mattering(self, vector: Column) -> Column:
        """The cosine of each chunk with what it matters for in mind; 0 where it does not say."""
        at, vectors = self._marked
        found = np.zeros(len(self.layout), dtype=np.float32)
        if len(at):
            found[at] = vectors @ vector
        return found

    def matrix(
        self, question: Question, vector: Column, positions: Rows, **columns: Column
    ) -> Matrix:
        """All signals of these positions; `columns` are those that are known."""
        dense, turn = columns["dense"], self.layout.turn[positions]
        columns["heading"] = self._under(vector, positions, dense) * ~turn
        if question.periods or turn.any():
            traits = self._read(positions)
            columns["date"] = self._near(question.periods, positions)
            said_by = [label_match(speaker, question.words) for speaker, _ in traits]
            columns["speaker"] = np.array(said_by, dtype=np.float32) * turn
            columns["dated"] = np.array([bool(times) for _, times in traits]) * turn
        none = np.zeros(len(positions), dtype=np.float32)
        return np.stack([columns.get(name, none) for name in SIGNALS], axis=1).astype(np.float32)

    def _under(self, vector: Column, positions: Rows, dense: Column) -> Column:
        """The cosine of what stands above each of these positions."""
        sections = self.layout.section[positions].tolist()
        with self._lock:
            missing = list({*sections}.difference(self._headings))
            self._headings |= dict.fromkeys(missing)
            numbers, vectors = self._catalog.vectors.of_sections(missing)
            self._headings |= zip(numbers.tolist(), vectors, strict=True)
        cosine = {
            number: float(above @ vector)
            for number in {*sections}
            if (above := self._headings[number]) is not None
        }
        found = np.array([cosine.get(number, np.nan) for number in sections], dtype=np.float32)
        return np.where(np.isnan(found), UNTITLED * dense, found)

    def _read(self, positions: Rows) -> list[tuple[frozenset[str], tuple[Period, ...]]]:
        """The traits of these positions."""
        missing = [each for each in positions.tolist() if each not in self._traits]
        if missing:
            rows = self.layout.rowid[missing].tolist()
            place = dict(zip(rows, missing, strict=True))
            for row, chunk in self._catalog.by_row(rows).items():
                traits = label(chunk.plain), tuple(map(period, chunk.mentions))
                self._traits[place[row]] = traits
        return [self._traits[each] for each in positions.tolist()]

    def _near(self, asked: tuple[Period, ...], positions: Rows) -> Column:
        """How near each comes to the times that the question names."""
        days = self.layout.date[positions].tolist()
        found = [
            date_match(asked, date.fromordinal(day) if day else None, self._traits[at][1])
            for at, day in zip(positions.tolist(), days, strict=True)
        ]
        return np.array(found, dtype=np.float32)
