"""The positions of all chunks as arrays, which ranking uses.

The columns of a source's chunks are one blob, written whenever the source changes. So an edit that
moves a thousand lines writes only the rows of the changed chunks.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.memory.index.database import CatalogDamaged
from assistant.memory.text.dialogue import turns

Rows = NDArray[np.int64]
NOWHERE = -1
"""The position of an unknown row."""
COLUMNS = np.dtype(
    [
        ("rowid", "<i8"),
        ("content", "<u8"),
        ("section", "<i8"),
        ("vector", "<i8"),
        ("label", "<i8"),
        ("length", "<i4"),
        ("date", "<i4"),
        ("until", "<i4"),
        ("superseded", "?"),
        ("spoken", "?"),
        ("listed", "?"),
        ("start_line", "<i4"),
        ("end_line", "<i4"),
        ("start_char", "<i4"),
        ("end_char", "<i4"),
    ]
)
RANGE = ["start_line", "end_line", "start_char", "end_char"]
"""The last columns: the position of a chunk in its file."""


def _column(name: str) -> "cached_property[NDArray[Any]]":
    """Return a property for a column of a layout, created on first use."""
    return cached_property(lambda layout: np.ascontiguousarray(layout.table[name]))


class Layout:
    """All chunks in document order: by source name, then position. One entry per chunk.

    `section` is the catalog's number of the heading path in its source, `vector` that of the vector
    (chunks with the same text share one). `length` is in FTS tokens. `date` and `until` are
    proleptic Gregorian ordinals (`datetime.date.toordinal`), 0 for none.
    """

    def __init__(self, generation: int, sources: Sequence[tuple[str, bytes]]) -> None:
        """`sources` are the name and the packed columns of each source, in order."""
        self.generation = generation
        self.sources = tuple(name for name, _ in sources)
        self.table = np.frombuffer(b"".join(packed for _, packed in sources), dtype=COLUMNS)
        self.counts = np.array([len(packed) // COLUMNS.itemsize for _, packed in sources], np.int64)
        self.begin = np.cumsum(self.counts) - self.counts
        """The position of the first chunk of each source."""

    rowid = _column("rowid")
    section = _column("section")
    vector = _column("vector")
    length = _column("length")
    superseded = _column("superseded")
    date = _column("date")
    until = _column("until")

    @cached_property
    def source(self) -> NDArray[np.int32]:
        """The source of each chunk, as its index in `sources`."""
        return np.repeat(np.arange(len(self.sources), dtype=np.int32), self.counts)

    @cached_property
    def turn(self) -> NDArray[np.bool_]:
        """Whether each chunk is a turn of a conversation that needs its context
        (`dialogue.turns`)."""
        return turns(self.section, self.table["label"], self.table["spoken"])

    @cached_property
    def running(self) -> NDArray[np.bool_]:
        """Whether each chunk is part of running text: its section is not only a list."""
        return np.isin(self.section, self.section[~self.table["listed"]])

    @cached_property
    def _position(self) -> NDArray[np.int32]:
        """The position of each row id, by row id."""
        position = np.full(int(self.rowid.max(initial=-1)) + 2, NOWHERE, dtype=np.int32)
        position[self.rowid] = np.arange(len(self), dtype=np.int32)
        return position

    def __len__(self) -> int:
        return len(self.table)

    def positions(self, rowids: Rows) -> Rows:
        """Return the positions of these rows. Raises CatalogDamaged if one is unknown."""
        positions = self.known(rowids)
        if positions.min(initial=0) == NOWHERE:
            raise CatalogDamaged("the index names missing chunks")
        return positions

    def known(self, rowids: Rows) -> Rows:
        """Return the positions of these rows, `NOWHERE` for unknown rows."""
        inside = np.minimum(rowids, len(self._position) - 1)
        present = rowids < len(self._position)
        return np.where(present, self._position[inside], NOWHERE).astype(np.int64)

    def at_line(self, source: str, line: int) -> Rows:
        """Return the positions of a source's chunks on a line, in order."""
        if source not in self.sources:
            return np.empty(0, dtype=np.int64)
        number = self.sources.index(source)
        first = self.begin[number]
        own = self.table[first : first + self.counts[number]]
        on_line = (own["start_line"] <= line) & (line <= own["end_line"])
        return np.asarray(first + np.flatnonzero(on_line), dtype=np.int64)
