"""What the words of a question say for each chunk.

What stands alone, as a fact in a list, is scored by the share of the question that it and its
headings hold. A turn of a conversation is scored by BM25 of its words and those of the turns around
it: Robertson and Zaragoza's (2009), with Lucene's idf, ln(1 + (N - n + 0.5) / (n + 0.5)), which is
never negative. Both are divided by the idf of all the question's words, found or not, so that they
compare between questions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistant.memory.index.layout import Layout, Rows
from assistant.memory.index.postings import Postings, Term

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
