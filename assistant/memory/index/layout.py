"""Where every chunk stands, as arrays: what ranking runs on.

What a source's chunks have of these columns is one blob, written whenever the source changes: so an
edit that moves a thousand lines writes the rows of what it changed, and no others.
"""

from collections.abc import Callable, Sequence
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.memory.index.database import CatalogDamaged
from assistant.memory.text.chunk import Chunk, Piece, checksum, columns, placed, repeated
from assistant.memory.text.dialogue import turns
from assistant.memory.text.masking import Place, mask

Rows = NDArray[np.int64]
NOWHERE = -1
"""The position of a row that is not there."""
_PACKED = np.dtype(
    [
        ("rowid", "<i8"),
        ("key", "<u8"),
        ("crc", "<u4"),
        ("section", "<i8"),
        ("vector", "<i8"),
        ("label", "<i8"),
        ("length", "<i4"),
        ("date", "<i4"),
        ("until", "<i4"),
        ("start_line", "<i4"),
        ("end_line", "<i4"),
        ("start_char", "<i4"),
        ("end_char", "<i4"),
        ("superseded", "?"),
        ("spoken", "?"),
    ]
)
PLACES = ["start_line", "end_line", "start_char", "end_char"]
"""The columns that say where in its file a chunk stands."""


def _column(name: str) -> "cached_property[NDArray[Any]]":
    """A column of a layout, made when it is first looked at."""
    return cached_property(lambda layout: np.ascontiguousarray(layout.table[name]))


class Layout:
    """All chunks in document order: by source's name, then position. One entry a chunk.

    `section` is the catalog's number of the heading path in its source, `vector` that of the vector
    (several chunks may say the same). `length` is in FTS tokens. `date` and `until` are proleptic
    Gregorian ordinals (`datetime.date.toordinal`), 0 for none.
    """

    def __init__(self, generation: int, sources: Sequence[tuple[str, int, bytes]]) -> None:
        """`sources` are the name of each, how many chunks it has and its packed columns. Raises
        CatalogDamaged if these do not fit."""
        self.generation = generation
        self.sources = tuple(name for name, _, _ in sources)
        self.table = np.frombuffer(b"".join(packed for _, _, packed in sources), dtype=_PACKED)
        self.counts = np.array([count for _, count, _ in sources], dtype=np.int64)
        self.begin = np.cumsum(self.counts) - self.counts
        """Where the chunks of each source begin."""
        if self.counts.sum() != len(self.table):
            raise CatalogDamaged("the index does not hold as many chunks as it says")

    rowid = _column("rowid")
    section = _column("section")
    vector = _column("vector")
    length = _column("length")
    superseded = _column("superseded")
    date = _column("date")
    until = _column("until")

    @cached_property
    def source(self) -> NDArray[np.int32]:
        """The source of each chunk, as its place among `sources`."""
        return np.repeat(np.arange(len(self.sources), dtype=np.int32), self.counts)

    @cached_property
    def turn(self) -> NDArray[np.bool_]:
        """What is said in a conversation (`dialogue.turns`), and does not stand alone."""
        return turns(self.section, self.table["label"], self.table["spoken"])

    @cached_property
    def _place(self) -> NDArray[np.int32]:
        """The position of each row id, by row id."""
        place = np.full(int(self.rowid.max(initial=-1)) + 2, NOWHERE, dtype=np.int32)
        place[self.rowid] = np.arange(len(self), dtype=np.int32)
        return place

    def __len__(self) -> int:
        return len(self.table)

    def positions(self, rowids: Rows) -> Rows:
        """Where in the arrays these rows stand. Raises CatalogDamaged if one is not there."""
        found = self.known(rowids)
        if found.min(initial=0) == NOWHERE:
            raise CatalogDamaged("the index names chunks that are not there")
        return found

    def known(self, rowids: Rows) -> Rows:
        """The same, but `NOWHERE` for rows that are not there."""
        inside = np.minimum(rowids, len(self._place) - 1)
        return np.where(rowids < len(self._place), self._place[inside], NOWHERE).astype(np.int64)

    def at_line(self, source: str, line: int) -> Rows:
        """The positions of a source's chunks that stand on a line, in order."""
        if source not in self.sources:
            return np.empty(0, dtype=np.int64)
        number = self.sources.index(source)
        first = self.begin[number]
        own = self.table[first : first + self.counts[number]]
        there = (own["start_line"] <= line) & (line <= own["end_line"])
        return np.asarray(first + np.flatnonzero(there), dtype=np.int64)


class Chunks:
    """The chunks of a file, in order, by what tells them from others: only those that are looked at
    are made."""

    def __init__(
        self,
        keys: NDArray[np.uint64],
        crcs: NDArray[np.uint32],
        places: NDArray[np.int32],
        at: Callable[[int], Chunk],
    ) -> None:
        """Their ids as numbers, their checksums, first and last lines and characters; `at` makes
        one."""
        self.keys = keys
        self.crcs = crcs
        self.places = places
        self.at = at

    @classmethod
    def of(cls, chunks: Sequence[Chunk]) -> "Chunks":
        """These chunks."""
        return cls(*columns(chunks), chunks.__getitem__)

    @classmethod
    def of_pieces(cls, pieces: Sequence[Piece]) -> "Chunks":
        """Those of a file's pieces, one after the other."""
        if not pieces:
            return cls.of(())
        counts = np.array([len(piece.chunks) for piece in pieces])
        first = np.cumsum(counts) - counts
        start = np.cumsum([piece.size for piece in pieces]) - [piece.size for piece in pieces]
        line = np.cumsum([piece.lines for piece in pieces]) - [piece.lines for piece in pieces]
        keys, crcs, places = (
            np.concatenate(each) for each in zip(*(piece.columns for piece in pieces), strict=True)
        )
        moved = np.repeat(np.stack([line, line, start, start], axis=1), counts, axis=0)
        again: dict[int, int] = {}

        def at(number: int) -> Chunk:
            own = int(np.searchsorted(first, number, side="right")) - 1
            while not counts[own]:
                own -= 1
            chunk = pieces[own].chunks[number - int(first[own])]
            chunk = repeated(chunk, again.get(number, 0))
            return placed(chunk, number, int(start[own]), int(line[own]))

        _, same, times = np.unique(keys, return_inverse=True, return_counts=True)
        if len(times) < len(keys):
            met: dict[int, int] = {}
            for number in np.flatnonzero(times[same] > 1).tolist():
                occurrence = met[same[number]] = met.get(same[number], -1) + 1
                if occurrence:
                    again[number] = occurrence
            for number in again:
                chunk = at(number)
                keys[number], crcs[number] = int(chunk.id, 16), checksum(chunk)
        return cls(keys, crcs, places + moved.astype(np.int32), at)

    def __len__(self) -> int:
        return len(self.keys)

    def masked(self, places: Sequence[Place], redact: Callable[[str], str]) -> "Chunks | None":
        """The same without the secrets at these places of the file; None if one stands in no chunk,
        which may be in a heading."""
        start, end = self.places[:, 2], self.places[:, 3]
        hidden: dict[int, Chunk] = {}
        for first, last, _ in places:
            inside = np.flatnonzero((start < last) & (first < end)).tolist()
            if not inside:
                return None
            hidden |= {number: mask(self.at(number), places, redact) for number in inside}
        crcs = self.crcs.copy()
        for number, chunk in hidden.items():
            crcs[number] = checksum(chunk)
        return Chunks(
            self.keys, crcs, self.places, lambda number: hidden.get(number) or self.at(number)
        )

    def among(self, packed: bytes) -> Rows:
        """Where in the packed columns of a source each is as it is here, `NOWHERE` if it is not."""
        table = np.frombuffer(packed, dtype=_PACKED)
        if not len(table) or not len(self):
            return np.full(len(self), NOWHERE)
        order = np.argsort(table["key"])
        at = np.searchsorted(table["key"], self.keys, sorter=order)
        at = order[np.minimum(at, len(table) - 1)]
        same = (table["key"][at] == self.keys) & (table["crc"][at] == self.crcs)
        return np.where(same, at, NOWHERE)

    def pack(self, packed: bytes, known: Rows, new: dict[int, tuple[Any, ...]]) -> bytes:
        """The packed columns of these: those `known` from before keep all but their places, of the
        others `new` has (rowid, section, vector, label, length, spoken)."""
        table = np.zeros(len(self), dtype=_PACKED)
        there = known != NOWHERE
        table[there] = np.frombuffer(packed, dtype=_PACKED)[known[there]]
        for number, (rowid, section, vector, label, length, spoken) in new.items():
            chunk = self.at(number)
            table[number] = (
                rowid, self.keys[number], self.crcs[number], section, vector, label, length,
                _day(chunk.date), _day(chunk.until), 0, 0, 0, 0, chunk.status == "superseded",
                spoken,
            )  # fmt: skip
        for name, column in zip(PLACES, self.places.T, strict=True):
            table[name] = column
        return table.tobytes()


def rows_of(packed: bytes, places: Rows | None = None) -> tuple[list[int], set[int]]:
    """The row ids of these places in the packed columns of a source, and the sections of all."""
    table = np.frombuffer(packed, dtype=_PACKED)
    chosen = table["rowid"] if places is None else table["rowid"][places]
    return chosen.tolist(), set(table["section"].tolist())


def _day(iso: str | None) -> int:
    return date.fromisoformat(iso).toordinal() if iso else 0
