"""BM25 at three grains: a chunk, the passage around it, its section.

One reading of a term's postings serves all three. BM25 is Robertson and Zaragoza's (2009), with
Lucene's idf, ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative. Scores are divided by the
idf of all the query's words, found or not, so that they compare between queries.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistant.memory.catalog import Layout, Postings, Rows, Term

K1 = 1.2
B = 0.75
REACH = 2
"""The passage around a chunk: so many chunks of its section before it, and after it."""

Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Grains:
    """What three grains need of a layout; made once for each change of the memory.

    `section` numbers the sections from 0; `sections` holds the catalog's number of each. Lengths
    are in words; `lengths` has a last entry, 0, for the neighbour that is not there.
    """

    layout: Layout
    section: Rows
    sections: Rows
    lengths: NDArray[np.float32]
    section_lengths: NDArray[np.float32]

    @classmethod
    def of(cls, layout: Layout) -> "Grains":
        sections, section = np.unique(layout.section, return_inverse=True)
        lengths = np.append(layout.length, 0).astype(np.float32)
        section_lengths = np.bincount(section, layout.length, len(sections)).astype(np.float32)
        return cls(layout, section, sections, lengths, section_lengths)

    def around(self, positions: Rows) -> Rows:
        """Shape (positions, 2 · REACH + 1): each with its neighbours in the section, in order.

        A neighbour that is not there is `len(layout)`.
        """
        total = len(self.layout)
        near = positions[:, None] + np.arange(-REACH, REACH + 1)
        inside = (near >= 0) & (near < total)
        near = np.where(inside, near, 0)
        inside &= self.section[near] == self.section[positions][:, None]
        return np.where(inside, near, total)


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """BM25 of each position at each grain, and how many telling words of the question it holds."""

    chunk: Scores
    window: Scores
    section: Scores
    words: Scores


def idf(frequency: int, total: int) -> float:
    """How much a word that stands in `frequency` of `total` texts tells."""
    return float(np.log1p((total - frequency + 0.5) / (frequency + 0.5)))


def saturated(counts: Scores, lengths: Scores, average: float) -> Scores:
    """BM25's weight of a word that stands `counts` times in texts of these lengths."""
    norm = K1 * (1 - B + B * lengths / max(average, 1.0))
    return np.asarray(counts * (K1 + 1) / (counts + norm), dtype=np.float32)


def total_idf(terms: Sequence[Term], total: int) -> float:
    """What all words of the query together tell; 1 for none."""
    return sum(idf(term.document_frequency, total) for term in terms) or 1.0


def everywhere(
    grains: Grains, terms: Sequence[Term], postings: Mapping[str, Postings]
) -> tuple[Scores, Scores]:
    """BM25 of every chunk, and the sum over the passage around it: to find candidates by."""
    layout = grains.layout
    total = len(layout)
    score = np.zeros(total, dtype=np.float32)
    average = float(layout.length.mean()) if total else 0.0
    for term in terms:
        rows, counts = postings[term.text]
        at = layout.positions(rows)
        weight = saturated(counts.astype(np.float32), grains.lengths[at], average)
        score[at] += weight * np.float32(idf(len(rows), total))
    around = score.copy()
    for distance in range(1, REACH + 1):
        same = grains.section[distance:] == grains.section[:-distance]
        around[distance:] += score[:-distance] * same
        around[:-distance] += score[distance:] * same
    return score, around


def match(
    grains: Grains,
    terms: Sequence[Term],
    postings: Mapping[str, Postings],
    headings: Mapping[str, Postings],
    telling: Set[str],
    positions: Rows,
) -> LexicalScores:
    """Score these positions by the words of a question; `telling` are those that are counted."""
    layout, total = grains.layout, len(grains.layout)
    near = grains.around(positions)
    around = grains.lengths[near].sum(axis=1)
    average = float(layout.length.mean()) if total else 0.0
    wide_average = average * (2 * REACH + 1)
    section_average = float(grains.section_lengths.mean()) if total else 0.0
    of_section = grains.section[positions]
    result = LexicalScores(*(np.zeros(len(positions), dtype=np.float32) for _ in range(4)))
    scratch = np.zeros(total + 1, dtype=np.float32)
    for term in terms:
        rows, counts = postings[term.text]
        at = layout.positions(rows)
        scratch[at] = counts
        local = scratch[near]
        own, wide = local[:, REACH], local.sum(axis=1)
        scratch[at] = 0
        weight = np.float32(idf(len(rows), total))
        result.chunk[:] += weight * saturated(own, grains.lengths[positions], average)
        result.window[:] += weight * saturated(wide, around, wide_average)
        result.words[:] += (own > 0) & (term.text in telling)
        by_section = _by_section(grains, at, counts, headings.get(term.text))
        holding = int(np.count_nonzero(by_section))
        weight = np.float32(idf(holding, len(grains.sections)))
        spread = saturated(by_section, grains.section_lengths, section_average)
        result.section[:] += weight * spread[of_section]
    return result


def _by_section(
    grains: Grains, at: Rows, counts: NDArray[np.int64], headings: Postings | None
) -> Scores:
    found = np.bincount(grains.section[at], counts, len(grains.sections))
    if headings is not None and len(headings[0]):
        numbers, times = headings
        index = np.searchsorted(grains.sections, numbers)
        index = np.minimum(index, len(grains.sections) - 1)
        there = grains.sections[index] == numbers
        found[index[there]] += times[there]
    return found.astype(np.float32)
