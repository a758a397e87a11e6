"""The packed columns of all sources as arrays: only of a source that changed are they read again.

What follows an edit goes at the speed of memory: the arrays are put together of stretches of those
from before, and of what is new.
"""

import sqlite3
from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Key = tuple[int, int]
"""A source, and the revision of its chunks."""
Arrays = tuple[NDArray[Any], ...]
"""The last axis of each counts the chunks."""
Sizes = list[tuple[str, int]]
"""The names of sources, and how many chunks each has."""


class Packed:
    """A column of `layouts`. Thread-safe."""

    def __init__(self, column: str, unpack: Callable[[bytes, int], Arrays]) -> None:
        """`unpack` makes arrays of the column of so many chunks, whole sources of them."""
        self._column = column
        self._unpack = unpack
        self._kept: tuple[dict[_Key, slice], Arrays] = {}, unpack(b"", 0)

    def read(self, db: sqlite3.Connection) -> tuple[Sizes, Arrays]:
        """Of all sources by name, in the state that the connection sees."""
        listed = db.execute("SELECT name, id, revision FROM sources ORDER BY name").fetchall()
        known, before = self._kept
        parts, sizes, spans = list[Arrays](), list[int](), dict[_Key, slice]()
        for is_known, run in groupby(((i, r) for _, i, r in listed), known.__contains__):
            keys = list(run)
            if is_known:
                found = [known[key] for key in keys]
                parts += [tuple(each[..., span] for each in before) for span in _joined(found)]
                sizes += [span.stop - span.start for span in found]
            else:
                read = [self._read(db, source) for source, _ in keys]
                chunks = [size for _, size in read]
                parts.append(self._unpack(b"".join(value for value, _ in read), sum(chunks)))
                sizes += chunks
        end = 0
        for (_, source, revision), size in zip(listed, sizes, strict=True):
            spans[source, revision] = slice(end, end + size)
            end += size
        arrays = _end_to_end(parts) if parts else self._unpack(b"", 0)
        self._kept = spans, arrays
        return [(name, size) for (name, *_), size in zip(listed, sizes, strict=True)], arrays

    def _read(self, db: sqlite3.Connection, source: int) -> tuple[bytes, int]:
        """The column of a source, and how many chunks it has."""
        rows = db.execute(
            f"SELECT l.{self._column}, p.chunks FROM parts p JOIN layouts l ON l.part = p.id"
            " WHERE p.source = ? ORDER BY p.position",
            (source,),
        ).fetchall()
        return b"".join(value for value, _ in rows), sum(chunks for _, chunks in rows)


def _joined(spans: list[slice]) -> list[slice]:
    """Stretches, those that follow one another as one."""
    found = spans[:1]
    for span in spans[1:]:
        if span.start == found[-1].stop:
            found[-1] = slice(found[-1].start, span.stop)
        else:
            found.append(span)
    return found


def _end_to_end(parts: list[Arrays]) -> Arrays:
    """Empty ones may have no width."""
    full = [part for part in parts if part[0].shape[-1]] or parts
    if len(full) == 1:
        return full[0]
    return tuple(np.concatenate(columns, axis=-1) for columns in zip(*full, strict=True))
