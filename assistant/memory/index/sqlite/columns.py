"""Where every chunk stands, as arrays: what ranking runs on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.memory.index.sqlite.database import CatalogDamaged
from assistant.memory.index.sqlite.packed import Arrays, Sizes
from assistant.memory.text.dialogue import label, number, speaks, turns

Rows = NDArray[np.int64]
NOWHERE = -1
"""The position of a row that is not there."""
_LAYOUT = np.dtype(
    [
        ("rowid", "<i8"),
        ("section", "<i8"),
        ("vector", "<i8"),
        ("length", "<i4"),
        ("superseded", "?"),
        ("spoken", "?"),
        ("label", "<i8"),
        ("date", "<i4"),
        ("until", "<i4"),
    ]
)
_COLUMNS = ("rowid", "section", "vector", "length", "superseded", "turn", "date", "until")


@dataclass(frozen=True, slots=True)
class Layout:
    """All chunks in document order: by source's name, then position. One entry a chunk.

    `section` is the catalog's number of the heading path in its source, `vector` that of the vector
    (several chunks may say the same). `length` is in FTS tokens.
    `turn` tells what is said in a conversation (`dialogue.turns`) from what stands alone.
    `date` and `until` are proleptic Gregorian ordinals (`datetime.date.toordinal`), 0 for none.
    `place` is the position of each row id, by row id: see `positions`.
    """

    generation: int
    sources: tuple[str, ...]
    rowid: Rows
    source: NDArray[np.int32]
    section: Rows
    vector: Rows
    ordinal: NDArray[np.int32]
    length: NDArray[np.int32]
    superseded: NDArray[np.bool_]
    turn: NDArray[np.bool_]
    date: NDArray[np.int32]
    until: NDArray[np.int32]
    place: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.rowid)

    def positions(self, rowids: Rows) -> Rows:
        """Where in the arrays these rows stand. Raises CatalogDamaged if one is not there."""
        inside = len(rowids) == 0 or rowids.max() < len(self.place)
        found = self.place[rowids].astype(np.int64) if inside else np.array([NOWHERE])
        if found.min(initial=0) == NOWHERE:
            raise CatalogDamaged("the index names chunks that are not there")
        return found


def pack(rows: Sequence[tuple[Any, ...]]) -> bytes:
    """The layout of one part of a source, from (rowid, section, vector, plain, length, status,
    date, until) in the order of the document.
    """
    packed = [
        (row, section, vector, length, status == "superseded", bool(led) and speaks(plain), led,
         _day(recorded), _day(until))
        for row, section, vector, plain, length, status, recorded, until in rows
        for led in [number(label(plain))]
    ]  # fmt: skip
    return np.array(packed, dtype=_LAYOUT).tobytes()


def unpack(packed: bytes, _count: int) -> Arrays:
    """The columns of whole sources, from their packed parts, in order."""
    table = np.frombuffer(packed, dtype=_LAYOUT)
    own = {name: np.ascontiguousarray(table[name]) for name in _LAYOUT.names or ()}
    own["turn"] = turns(own["section"], own["label"], own["spoken"])
    return tuple(own[name] for name in _COLUMNS)


def layout_of(generation: int, sizes: Sizes, columns: Arrays) -> Layout:
    """The layout of all sources, from how many chunks each has and their columns."""
    own = dict(zip(_COLUMNS, columns, strict=True))
    counts = np.array([size for _, size in sizes], dtype=np.int32)
    begin = np.repeat(np.cumsum(counts, dtype=np.int32) - counts, counts)
    return Layout(
        generation=generation,
        sources=tuple(name for name, _ in sizes),
        source=np.repeat(np.arange(len(sizes), dtype=np.int32), counts),
        ordinal=np.arange(len(begin), dtype=np.int32) - begin,
        place=_places(own["rowid"]),
        **own,
    )


def _places(rowid: Rows) -> NDArray[np.int32]:
    """A table and not a binary search: a question looks up tens of thousands."""
    place = np.full(int(rowid.max(initial=-1)) + 1, NOWHERE, dtype=np.int32)
    place[rowid] = np.arange(len(rowid), dtype=np.int32)
    return place


def _day(iso: str | None) -> int:
    return date.fromisoformat(iso).toordinal() if iso else 0
