"""BM25 of a chunk with what belongs to it, and of its section.

To a turn of a conversation belong the turns around it, and its section's words are all that was
said there; a fact in a list stands alone, and its section's words are those of its heading. One
reading of a term's postings serves both grains.

BM25 is Robertson and Zaragoza's (2009), with Lucene's idf, ln(1 + (N - n + 0.5) / (n + 0.5)), which
is never negative. Scores are divided by the idf of all the query's words, found or not, so that
they compare between queries.
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
"""The passage around a turn: so many chunks of its section before it, and after it."""
OWN = 2
"""A chunk's own words count so many times, its neighbours' once: fields with weights, as in BM25F
(Robertson, Zaragoza and Taylor, 2004)."""
MOST_HEADED = 20_000
"""Chunks under headings with a word; of a word above more of them none is a candidate by that."""
_WEIGHTS = np.array([OWN if place == REACH else 1 for place in range(2 * REACH + 1)], np.float32)

Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Grains:
    """What three grains need of a layout; made once for each change of the memory.

    `section` numbers the sections from 0; `sections` holds the catalog's number of each, `sizes`
    how many chunks it has. `runs` are the stretches of chunks of one section, by its number: that,
    where it begins, and its length. Lengths are in words; `lengths` has a last entry, 0, for the
    neighbour that is not there. `average` and `section_average` are the mean lengths.
    """

    layout: Layout
    section: NDArray[np.int32]
    sections: Rows
    sizes: Rows
    runs: tuple[Rows, Rows, Rows]
    lengths: NDArray[np.float32]
    section_lengths: NDArray[np.float32]
    average: np.float32
    section_average: np.float32

    @classmethod
    def of(cls, layout: Layout) -> "Grains":
        there = np.zeros(int(layout.section.max(initial=-1)) + 1, dtype=np.bool_)
        there[layout.section] = True
        sections = np.flatnonzero(there)
        section = (np.cumsum(there, dtype=np.int32) - 1)[layout.section]
        lengths = np.append(layout.length, 0).astype(np.float32)
        section_lengths = np.bincount(section, layout.length, len(sections)).astype(np.float32)
        average, section_average = map(_mean, (lengths[:-1], section_lengths))
        return cls(
            layout,
            section,
            sections,
            np.bincount(section, minlength=len(sections)),
            _runs(section),
            lengths,
            section_lengths,
            average,
            section_average,
        )

    def around(self, positions: Rows) -> Rows:
        """Shape (positions, 2 · REACH + 1): a turn with its neighbours in the section, in order.

        A neighbour that is not there is `len(layout)`, as are all of what stands alone.
        """
        total = len(self.layout)
        near = positions[:, None] + np.arange(-REACH, REACH + 1)
        inside = (near >= 0) & (near < total)
        near = np.where(inside, near, 0)
        inside &= self.section[near] == self.section[positions][:, None]
        inside &= self.layout.turn[positions][:, None] | (near == positions[:, None])
        return np.where(inside, near, total)

    def members(self, sections: Rows) -> Rows:
        """The positions of all chunks of these sections, which are in order, each once."""
        of, starts, lengths = self.runs
        first, last = (np.searchsorted(of, sections, side) for side in ("left", "right"))
        runs = _stretches(first, last - first)
        return _stretches(starts[runs], lengths[runs])

    def headed(self, found: Postings) -> Postings:
        """The sections whose headings hold a word, by their numbers here, and how often."""
        numbers, counts = found
        index = np.minimum(np.searchsorted(self.sections, numbers), len(self.sections) - 1)
        there = self.sections[index] == numbers
        return index[there], counts[there]


def idf(frequency: int, total: int) -> np.float32:
    """How much a word that stands in `frequency` of `total` texts tells."""
    return np.float32(np.log1p((total - frequency + 0.5) / (frequency + 0.5)))


def saturated(counts: Scores, lengths: Scores, average: Scores | np.float32) -> Scores:
    """BM25's weight of a word that stands `counts` times in texts of these lengths."""
    norm = K1 * (1 - B + B * lengths / np.maximum(average, 1))
    return np.asarray(counts * (K1 + 1) / (counts + norm), dtype=np.float32)


def total_idf(terms: Sequence[Term], total: int) -> np.float32:
    """What all words of the query together tell; 1 for none."""
    told = sum(float(idf(term.document_frequency, total)) for term in terms)
    return np.float32(told or 1)


def likeliest(
    grains: Grains,
    terms: Sequence[Term],
    postings: Mapping[str, Postings],
    headings: Mapping[str, Postings],
    limit: int,
) -> Rows:
    """At most `limit` positions that the words alone speak for most: to find candidates among.

    Each word is weighted in its own chunk; what is around a turn is added to it, and what is in
    the heading to what stands alone.
    """
    layout = grains.layout
    total = len(layout)
    score = np.zeros(total + 1, dtype=np.float32)
    said = [np.empty(0, dtype=np.int64)]
    for term in terms:
        rows, counts = postings[term.text]
        at = layout.positions(rows)
        said.append(at)
        weight = saturated(counts.astype(np.float32), grains.lengths[at], grains.average)
        score[at] += weight * idf(len(rows), total)
    above, headed = _above(grains, terms, headings)
    positions = _touched(grains, np.concatenate(said), headed)
    around = OWN * score[positions]
    turn = layout.turn[positions]
    around[turn] = _weighted(score[grains.around(positions[turn])], _WEIGHTS)
    if above.any():
        around += OWN * above[grains.section[positions]] * ~turn
    return positions[_largest(around, limit) & (around > 0)]


def _touched(grains: Grains, said: Rows, headed: Rows) -> Rows:
    """The positions that words speak for, in order: `said` by themselves, by their neighbours in a
    talk, by the `headed` sections they stand in."""
    turn = grains.layout.turn
    near = [said, grains.members(headed)]
    if turn.any():
        for distance in (each for each in range(-REACH, REACH + 1) if each):
            beside = said + distance
            beside = beside[(beside >= 0) & (beside < len(turn))]
            near.append(beside[turn[beside]])
    found = np.sort(np.concatenate(near))
    return np.asarray(found[np.diff(found, prepend=-1) > 0], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Match:
    """Scores of positions: `window` by the words of a chunk and what belongs to it, `section` by
    those of its section, `covered` by what the words tell that it or its heading holds at all (but
    a heading that holds the only word says it of all below)."""

    window: Scores
    section: Scores
    covered: Scores


def match(
    grains: Grains,
    terms: Sequence[Term],
    postings: Mapping[str, Postings],
    headings: Mapping[str, Postings],
    positions: Rows,
) -> Match:
    """Score these positions by the words of a question."""
    layout, turn = grains.layout, grains.layout.turn[positions]
    local = np.zeros((len(positions), 2 * REACH + 1), dtype=np.float32)
    near = grains.around(positions)
    lengths = _weighted(grains.lengths[near], _WEIGHTS)
    average = grains.average * np.where(turn, _WEIGHTS.sum(), OWN)
    of_section = grains.section[positions].astype(np.int64)
    found = Match(*(np.zeros(len(positions), dtype=np.float32) for _ in range(3)))
    there, talk = near < len(layout), turn.any()
    near_rows = layout.rowid[near[there]]
    for term in terms:
        rows, counts = postings[term.text]
        at = layout.positions(rows)
        local[there] = _counted(near_rows, rows, counts)
        told = idf(len(rows), len(layout))
        found.window[:] += told * saturated(_weighted(local, _WEIGHTS), lengths, average)
        held = local[:, REACH] > 0
        sections, times = grains.headed(headings[term.text])
        headed = _counted(of_section, sections, times)
        covered = held | (headed > 0) if len(terms) > 1 else held
        found.covered[:] += told * covered
        if not (talk or len(sections)):
            continue  # of what stands alone only the heading counts
        said_in = grains.section[at]
        if talk:
            said = np.bincount(said_in, counts, len(grains.sections))[of_section]
            headed = np.where(turn, headed + said, headed).astype(np.float32)
        told = _section_idf(grains, said_in, sections)
        lengths_there = grains.section_lengths[of_section]
        found.section[:] += told * saturated(headed, lengths_there, grains.section_average)
    return found


def _section_idf(grains: Grains, said_in: NDArray[np.int32], headed: Rows) -> np.float32:
    """How much a word tells that is said in these sections, or stands above them."""
    there = np.zeros(len(grains.sections), dtype=np.bool_)
    there[said_in] = there[headed] = True
    return idf(int(np.count_nonzero(there)), len(there))


def _runs(section: NDArray[np.int32]) -> tuple[Rows, Rows, Rows]:
    """The stretches of one number each, by that: it, where they begin, and how long they are."""
    starts = np.flatnonzero(np.diff(section, prepend=np.int32(-1)))
    lengths = np.diff(starts, append=len(section))
    order = np.argsort(section[starts], kind="stable")
    return section[starts][order].astype(np.int64), starts[order], lengths[order]


def _stretches(starts: Rows, lengths: Rows) -> Rows:
    """The numbers of stretches that begin here and are so long, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(total) + np.repeat(starts - (ends - lengths), lengths))


def _largest(values: Scores, limit: int) -> NDArray[np.bool_]:
    """Which are the largest, at most `limit`; of equal ones those that come first."""
    if len(values) <= limit:
        return np.ones(len(values), dtype=np.bool_)
    least = np.partition(values, -limit)[-limit]
    found = values > least
    found[np.flatnonzero(values == least)[: limit - np.count_nonzero(found)]] = True
    return np.asarray(found)


def _mean(values: Scores) -> np.float32:
    return np.float32(values.mean() if len(values) else 0)


def _above(
    grains: Grains, terms: Sequence[Term], headings: Mapping[str, Postings]
) -> tuple[Scores, Rows]:
    """What the words tell for the heading of each section, and the sections they are looked for in:
    a word above more chunks than `MOST_HEADED` tells too little for that."""
    found = np.zeros(len(grains.sections), dtype=np.float32)
    led = [np.empty(0, dtype=np.int64)]
    for term in terms:
        sections, _ = grains.headed(headings[term.text])
        if len(sections):
            found[sections] += idf(len(sections), len(found))
            if grains.sizes[sections].sum() <= MOST_HEADED:
                led.append(sections)
    return found, np.unique(np.concatenate(led))


def _weighted(values: Scores, weights: Scores) -> Scores:
    """The weighted sum of each row. Not by `@`: OpenBLAS's kernels for so few columns now and then
    raise the processor's flag for an invalid value, of which numpy then warns."""
    return np.asarray((values * weights).sum(axis=1), dtype=np.float32)


def _counted(wanted: Rows, rows: Rows, counts: NDArray[np.int32]) -> Scores:
    """How often a term stands in each of these rows, by its postings."""
    if not len(rows):
        return np.zeros(wanted.shape, dtype=np.float32)
    at = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    return np.where(rows[at] == wanted, counts[at], 0).astype(np.float32)
