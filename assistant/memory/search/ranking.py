"""Scores chunks against a question: a weighted sum of a few signals.

`docs/recall.md` describes what each signal contributes.

Independent chunks, such as facts in a list, are scored by the share of the question's words that
they and their headings contain. A turn of a conversation is scored by BM25 of its words and those
of the turns around it: Robertson and Zaragoza's (2009), with Lucene's idf, ln(1 + (N - n + 0.5) /
(n + 0.5)), which is never negative. Both are divided by the idf of all the question's words,
including those without a match, so the scores of different questions are comparable.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assistant.memory.embedding.embedder import Vectors, normalized
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.layout import Layout, Rows
from assistant.memory.index.words import Postings, Term
from assistant.memory.search.question import Question
from assistant.memory.text.dialogue import label
from assistant.memory.text.times.period import Period, period
from assistant.tables import table_of

Weights = Mapping[str, float]

WEIGHTS: Weights = table_of(__file__)
SIGNALS = tuple(WEIGHTS)

Matrix = NDArray[np.float32]
"""Shape (chunks, signals), in the order of `SIGNALS`."""


def score(matrix: Matrix, weights: Weights = WEIGHTS) -> NDArray[np.float32]:
    """Return the score of each row; a signal without a weight is ignored."""
    vector = np.array([weights.get(name, 0.0) for name in SIGNALS], dtype=np.float32)
    return np.asarray((matrix * vector).sum(axis=1), dtype=np.float32)


def shares(matrix: Matrix, weights: Weights = WEIGHTS) -> list[dict[str, float]]:
    """Return the contribution of each signal to the score of each row."""
    rows = np.round(matrix * np.array([weights.get(name, 0.0) for name in SIGNALS]), 4)
    return [
        {name: share for name, share in zip(SIGNALS, row, strict=True) if share}
        for row in rows.tolist()
    ]


# Dates and speakers

_FADING_DAYS = 5.0
"""Things are often told some days later: a fact recorded after d days counts e^(-d/5)."""
_YEAR_SHARE = 0.5
"""A year counts half as much as a day or a month."""


def label_match(leading: frozenset[str], words: frozenset[str]) -> float:
    """Return the share of a speaker's name that is in the question."""
    return len(leading & words) / len(leading) if leading else 0.0


def date_match(
    periods: Iterable[Period], recorded: date | None, mentions: Iterable[Period]
) -> float:
    """Return how near a chunk's dates are to one of the question's periods, from 0 to 1."""
    mentioned = tuple(mentions)
    return max((_closeness(asked, recorded, mentioned) for asked in periods), default=0.0)


def _closeness(asked: Period, recorded: date | None, mentions: Sequence[Period]) -> float:
    whole = _YEAR_SHARE if (asked.end - asked.start).days > 300 else 1.0
    if any(asked.overlaps(mention) for mention in mentions):
        return whole
    if recorded is None:
        return 0.0
    if asked.covers(recorded):
        return whole
    around = asked.around(recorded.year, recorded.year)
    ended = max((period.end for period in around if period.end <= recorded), default=None)
    return whole * math.exp(-(recorded - ended).days / _FADING_DAYS) if ended else 0.0


# Words

K1 = 1.2
B = 0.75
REACH = 2
"""The number of turns before and after a turn that count with it."""
OWN = 2
"""The weight of a turn's own words; its neighbours' weigh 1: weighted fields, as in BM25F
(Robertson, Zaragoza and Taylor, 2004)."""

Scores = NDArray[np.float32]
Marks = NDArray[np.bool_]


class Sections:
    """The sections of a layout, whose chunks are contiguous."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._numbers, self._of = np.unique(layout.section, return_inverse=True)

    def headed(self, postings: Postings) -> Marks:
        """Return the chunks whose headings contain a word, by its postings in headings."""
        return np.isin(self._numbers, postings[0])[self._of]

    def around(self, values: Scores) -> Scores:
        """Return the weighted sum of the values of each chunk and its neighbours in the section."""
        total = OWN * values
        for distance in range(1, REACH + 1):
            same = self._of[distance:] == self._of[:-distance]
            total[distance:] += values[:-distance] * same
            total[:-distance] += values[distance:] * same
        return total


def match(
    sections: Sections,
    terms: Sequence[Term],
    searched: Sequence[Term],
    postings: Mapping[str, Postings],
    headings: Mapping[str, Postings],
) -> tuple[Scores, Scores]:
    """Return, for all chunks, the share of a question that they cover, and the BM25 of a turn with
    those around it. Only the `searched` ones of its `terms` are matched."""
    layout = sections.layout
    total, has_turns = len(layout), bool(layout.turn.any())
    covered, bm25 = (np.zeros(total, dtype=np.float32) for _ in range(2))
    whole = sum(float(idf(term.document_frequency, total)) for term in terms) or 1.0
    lengths = sections.around(layout.length.astype(np.float32)) if has_turns else bm25
    for term in searched:
        rows, times = postings[term.text]
        positions, weight = layout.positions(rows), idf(len(rows), total) / whole
        holds = np.zeros(total, dtype=np.bool_)
        holds[positions] = True
        if len(terms) > 1:  # a heading with the only word would match for everything below it
            holds |= sections.headed(headings[term.text])
        covered[holds] += weight
        if has_turns:
            counts = np.zeros(total, dtype=np.float32)
            counts[positions] = times
            bm25 += weight * saturated(sections.around(counts), lengths, lengths.mean())
    covered[layout.turn] = 0
    bm25[~layout.turn] = 0
    return covered, bm25


def idf(frequency: int, total: int) -> np.float32:
    """Return the inverse document frequency of a word that is in `frequency` of `total` texts."""
    return np.float32(np.log1p((total - frequency + 0.5) / (frequency + 0.5)))


def saturated(counts: Scores, lengths: Scores, average: np.floating | float) -> Scores:
    """Return BM25's weight of a word that occurs `counts` times in texts of these lengths."""
    norm = K1 * (1 - B + B * lengths / max(float(average), 1.0))
    return np.asarray(counts * (K1 + 1) / (counts + norm), dtype=np.float32)


# All signals

UNTITLED = 0.4
"""The heading cosine of a chunk without a telling heading, as a share of its own cosine."""
Column = NDArray[np.float32]


class View:
    """The data that ranking derives from one state of the index, computed on demand."""

    def __init__(self, catalog: Catalog, layout: Layout) -> None:
        self.layout = layout
        self.sections = Sections(layout)
        self._catalog = catalog
        self._traits: dict[int, tuple[frozenset[str], tuple[Period, ...]]] = {}
        """The speaker of a chunk and the periods it mentions, by position."""

    @cached_property
    def _marked(self) -> tuple[Rows, Vectors]:
        """The chunks that state what they matter for, and the vectors midway between that and
        their text."""
        positions, numbers = self._catalog.marked(self.layout)
        read = self._catalog.vectors.read
        marks, texts = read(numbers.tolist()), read(self.layout.vector[positions].tolist())
        return positions, normalized(texts + marks) if len(positions) else marks

    def mattering(self, vector: Column) -> Column:
        """Return the cosine of each chunk that states what it matters for, including that; 0 for
        others."""
        positions, vectors = self._marked
        cosines = np.zeros(len(self.layout), dtype=np.float32)
        if len(positions):
            cosines[positions] = vectors @ vector
        return cosines

    def matrix(
        self, question: Question, vector: Column, positions: Rows, **columns: Column
    ) -> Matrix:
        """Return all signals of these positions; `columns` are those already computed."""
        dense, turn = columns["dense"], self.layout.turn[positions]
        columns["heading"] = self._heading(vector, positions, dense) * ~turn
        columns["around"] = self._around(vector, positions) * ~turn
        if question.periods or turn.any():
            traits = self._traits_of(positions)
            relevance = np.float32(1) if question.of_a_time else np.maximum(dense, 0)
            columns["date"] = relevance * self._dates(question.periods, positions)
            speakers = [label_match(speaker, question.words) for speaker, _ in traits]
            columns["speaker"] = np.array(speakers, dtype=np.float32) * turn
            columns["dated"] = np.array([bool(mentions) for _, mentions in traits]) * turn
        none = np.zeros(len(positions), dtype=np.float32)
        return np.stack([columns.get(name, none) for name in SIGNALS], axis=1).astype(np.float32)

    def _heading(self, vector: Column, positions: Rows, dense: Column) -> Column:
        """Return the cosine of the headings above each of these positions."""
        sections = self.layout.section[positions].tolist()
        cosine = self._catalog.vectors.heading_cosines([*{*sections}], vector)
        cosines = np.array([cosine.get(number, np.nan) for number in sections], dtype=np.float32)
        return np.where(np.isnan(cosines), UNTITLED * dense, cosines)

    def _around(self, vector: Column, positions: Rows) -> Column:
        """Return how far the mean cosine of the chunks just before and after each of these
        positions exceeds the average of that; 0 outside of running text, and without neighbours.

        It is not compared with the chunk's own cosine: an entry of a log, which is nearer to the
        question than the entries around it, would fall behind the items of a list.
        """
        layout = self.layout
        beside = np.clip(np.stack([positions - 1, positions + 1]), 0, len(layout) - 1)
        is_near = (beside != positions) & (layout.section[beside] == layout.section[positions])
        is_near &= layout.running[positions]
        near, place = np.unique(beside[is_near], return_inverse=True)
        cosines = np.zeros(beside.shape, dtype=np.float32)
        cosines[is_near] = self._catalog.vectors.cosines(layout.vector[near], vector)[place]
        count = is_near.sum(axis=0)
        means = cosines.sum(axis=0) / np.maximum(count, 1)
        average = means.sum() / max((count > 0).sum(), 1)
        return np.where(count > 0, means - average, 0)

    def _traits_of(self, positions: Rows) -> list[tuple[frozenset[str], tuple[Period, ...]]]:
        """Return the speaker and the periods at each of these positions."""
        missing = [at for at in positions.tolist() if at not in self._traits]
        if missing:
            rows = self.layout.rowid[missing].tolist()
            position_of = dict(zip(rows, missing, strict=True))
            for row, chunk in self._catalog.by_row(rows).items():
                traits = label(chunk.plain), tuple(map(period, chunk.mentions))
                self._traits[position_of[row]] = traits
        return [self._traits[at] for at in positions.tolist()]

    def _dates(self, periods: tuple[Period, ...], positions: Rows) -> Column:
        """Return how near the dates at each position are to the question's periods."""
        days = self.layout.date[positions].tolist()
        matches = [
            date_match(periods, date.fromordinal(day) if day else None, self._traits[at][1])
            for at, day in zip(positions.tolist(), days, strict=True)
        ]
        return np.array(matches, dtype=np.float32)
