"""Each signal of `ranking` for the candidates of one question, and how good the best of them is."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.index.sqlite.columns import Layout, Rows
from assistant.memory.index.sqlite.postings import Postings
from assistant.memory.search import lexical, ranking
from assistant.memory.search.above import Above
from assistant.memory.search.asked.question import Question
from assistant.memory.search.lexical import Grains
from assistant.memory.search.ranking import SIGNALS, Matrix
from assistant.memory.search.similarity import Similarity
from assistant.memory.search.traits import TraitColumns
from assistant.workspace.folder import PROCEDURE_FILES

UNTITLED = 0.4
"""What stands under no telling heading counts as under one that is so near, of its own cosine."""


@dataclass(frozen=True, slots=True)
class View:
    """What is derived from one state of the memory."""

    layout: Layout
    grains: Grains
    columns: TraitColumns
    above: Above

    @classmethod
    def of(cls, catalog: Catalog, layout: Layout) -> "View":
        """Of a layout; read further as questions need it."""
        grains = Grains.of(layout)
        return cls(layout, grains, TraitColumns(catalog, layout), Above(catalog, grains))


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates, best first: where they stand in the layout, their scores and signals; how far
    the question was understood, and how probably anybody could answer it."""

    layout: Layout
    positions: Rows
    scores: NDArray[np.float32]
    matrix: Matrix
    understood: float
    general: float

    def turns(self) -> NDArray[np.bool_]:
        """Which of them are turns of a conversation."""
        return self.layout.turn[self.positions]

    def instructions(self) -> NDArray[np.bool_]:
        """Which of them say what to do, and nothing of whom they are asked of."""
        names = self.layout.sources
        places = [(bisect_left(names, name), name) for name in PROCEDURE_FILES]
        told = [place for place, name in places if names[place : place + 1] == (name,)]
        return np.asarray((self.layout.source[self.positions][:, None] == told).any(axis=1))

    def strength(self, question: Question, rows: Matrix, *, instructed: bool) -> float:
        """How good the best match is, by what the question asks for; below 0 it is worth nothing.

        `rows` are the signals of the first of the candidates. Unless it is `instructed` what to do,
        more is asked of a procedure.
        """
        told = self.instructions()[: len(rows)] & (not instructed)
        best = (self._strength(question, rows[told == each], each) for each in (False, True))
        return max(best)

    def idle(self, question: Question, rows: Matrix) -> frozenset[int]:
        """Which of these candidates are instructions that the question is not about."""
        told = np.flatnonzero(self.instructions()[: len(rows)]).tolist()
        near = (self._strength(question, rows[n : n + 1], instruction=True) for n in told)
        return frozenset(n for n, strength in zip(told, near, strict=True) if strength < 0)

    def _strength(self, question: Question, rows: Matrix, instruction: bool) -> float:
        return ranking.strength(
            rows,
            question.unknown_names,
            known_names=bool(question.names) and not question.unknown_names,
            general=self.general,
            instruction=instruction,
            unheard=question.unheard,
            understood=self.understood,
            chunks=len(self.layout),
            abroad=question.language != "english",
        )


def match_words(
    matrix: Matrix,
    grains: Grains,
    question: Question,
    postings: Mapping[str, Postings],
    headings: Mapping[str, Postings],
    positions: Rows,
) -> None:
    """The signals of words."""
    found = lexical.match(grains, question.searched, postings, headings, question.names, positions)
    whole = lexical.total_idf(question.terms, len(grains.layout))
    put(matrix, "bm25", found.window / whole)
    put(matrix, "bm25_section", found.section / whole)
    alone = ~grains.layout.turn[positions]
    put(matrix, "covered", (found.covered / whole) ** 2 * alone)
    put(matrix, "name", found.names / np.float32(len(question.names) or 1))


def match_section(matrix: Matrix, view: View, similarity: Similarity, positions: Rows) -> None:
    """Of a turn the best cosine of its section; else that of what stands above, or its own."""
    own = similarity.of(positions)
    above = view.above.cosines(similarity.question(), positions)
    found = np.where(np.isnan(above), UNTITLED * own, above)
    turn = view.layout.turn[positions]
    if turn.any():
        section, known = view.grains.section, similarity.known()
        best = np.full(len(view.grains.sections), -1.0, dtype=np.float32)
        np.maximum.at(best, section[known], similarity.of(known))
        found = np.where(turn, best[section[positions]], found)
    put(matrix, "dense_section", found)


def match_traits(
    matrix: Matrix, columns: TraitColumns, question: Question, positions: Rows
) -> None:
    """The signals of dates, speakers and questions."""
    turn = columns.layout.turn[positions]
    if not (question.periods or turn.any()):
        return
    columns.read(positions if question.periods else positions[turn])
    put(matrix, "date", columns.near(positions, question.periods))
    said = columns.said_by(positions, question.words)
    put(matrix, "name", np.where(turn, said, matrix[:, SIGNALS.index("name")]))
    put(matrix, "dated", columns.dated(positions) * turn)
    put(matrix, "asks", columns.asks(positions) * turn)


def put(matrix: Matrix, signal: str, values: NDArray[np.float32]) -> None:
    """Set the values of a signal."""
    matrix[:, SIGNALS.index(signal)] = values


def empty(rows: int) -> Matrix:
    """So many rows without a signal."""
    return np.zeros((rows, len(SIGNALS)), dtype=np.float32)
