"""The signals of `ranking` for the candidates of one question."""

import threading
from datetime import date

import numpy as np
from numpy.typing import NDArray

from assistant.memory.index.catalog import Catalog
from assistant.memory.index.layout import Layout, Rows
from assistant.memory.search.lexical import Sections
from assistant.memory.search.question import Question
from assistant.memory.search.ranking import SIGNALS, Matrix, date_match, label_match
from assistant.memory.text.dialogue import label
from assistant.memory.text.times.period import Period, period

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
            for stored in self._catalog.chunks(rows):
                chunk = stored.chunk
                traits = label(chunk.plain), tuple(map(period, chunk.mentions))
                self._traits[place[stored.rowid]] = traits
        return [self._traits[each] for each in positions.tolist()]

    def _near(self, asked: tuple[Period, ...], positions: Rows) -> Column:
        """How near each comes to the times that the question names."""
        days = self.layout.date[positions].tolist()
        found = [
            date_match(asked, date.fromordinal(day) if day else None, self._traits[at][1])
            for at, day in zip(positions.tolist(), days, strict=True)
        ]
        return np.array(found, dtype=np.float32)
