"""The traits of a memory's chunks as columns, read as far as candidates need them."""

import threading
from datetime import date

import numpy as np
from numpy.typing import NDArray

from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.index.sqlite.columns import Layout, Rows
from assistant.memory.search.ranking import date_match, label_match
from assistant.memory.text.dialogue import asks, label
from assistant.memory.text.times.period import Period, period

Column = NDArray[np.float32]


class TraitColumns:
    """What the chunks of one layout tell of themselves, by position; 0 while it is not read."""

    def __init__(self, catalog: Catalog, layout: Layout) -> None:
        self._catalog = catalog
        self._turn = threading.Lock()
        self.layout = layout
        self._read = np.zeros(len(layout), dtype=np.bool_)
        self._asks = np.zeros(len(layout), dtype=np.float32)
        self._label = np.zeros(len(layout), dtype=np.int32)
        self._labels: dict[frozenset[str], int] = {frozenset(): 0}
        self._mentions: dict[int, tuple[Period, ...]] = {}

    def read(self, positions: Rows) -> None:
        """Make the traits of these positions known."""
        missing = positions[~self._read[positions]]
        if not len(missing):
            return
        with self._turn:
            self._take(missing)

    def _take(self, missing: Rows) -> None:
        rows = self.layout.rowid[missing].tolist()
        place = dict(zip(rows, missing.tolist(), strict=True))
        for stored in self._catalog.chunks(rows):
            at, chunk = place[stored.rowid], stored.chunk
            self._asks[at] = asks(chunk.plain)
            self._label[at] = self._labels.setdefault(label(chunk.plain), len(self._labels))
            if chunk.mentions:
                self._mentions[at] = tuple(map(period, chunk.mentions))
        self._read[missing] = True

    def asks(self, positions: Rows) -> Column:
        """1 for what ends with a question."""
        return self._asks[positions]

    def dated(self, positions: Rows) -> Column:
        """1 for what says when something was."""
        found = [position in self._mentions for position in positions.tolist()]
        return np.array(found, dtype=np.float32)

    def said_by(self, positions: Rows, words: frozenset[str]) -> Column:
        """The share of each speaker's name that the question holds."""
        numbers, inverse = np.unique(self._label[positions], return_inverse=True)
        labels = list(self._labels)
        matches = [label_match(labels[number], words) for number in numbers.tolist()]
        return np.array(matches, dtype=np.float32)[inverse]

    def near(self, positions: Rows, asked: tuple[Period, ...]) -> Column:
        """How near each comes to the times that the question names."""
        if not asked:
            return np.zeros(len(positions), dtype=np.float32)
        days = self.layout.date[positions].tolist()
        found = [
            date_match(asked, date.fromordinal(day) if day else None, self._mentions.get(at, ()))
            for at, day in zip(positions.tolist(), days, strict=True)
        ]
        return np.array(found, dtype=np.float32)
