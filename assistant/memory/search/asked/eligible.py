"""What a query may be answered with: what was recorded by its day, in the sources it asks."""

from dataclasses import replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from assistant.errors import UsageError
from assistant.memory.base import Query
from assistant.memory.index.sqlite.columns import Layout
from assistant.memory.text.chunk import Chunk


def eligible(layout: Layout, query: Query, only: str | None) -> NDArray[np.bool_]:
    """Which chunks may answer; `only` is the one source asked. Raises UsageError for no date."""
    found = _of_its_day(layout, query)
    if only is None and not set(query.without).intersection(layout.sources):
        return found
    return found & _of_sources(layout, query, only)


def as_of(chunk: Chunk, day: str | None) -> Chunk:
    """The chunk as it was on a day: current, if it was superseded after it."""
    if day is None or chunk.until is None or chunk.until <= day:
        return chunk
    return replace(chunk, status="current")


def _of_its_day(layout: Layout, query: Query) -> NDArray[np.bool_]:
    """What was recorded by then, and was not superseded by then."""
    everything = np.ones(len(layout), dtype=np.bool_)
    if query.as_of is None:
        return everything if query.include_superseded else ~layout.superseded
    day = _day(query.as_of)
    recorded: NDArray[np.bool_] = layout.date <= day
    given_up = layout.superseded & (layout.until <= day)
    return recorded if query.include_superseded else recorded & ~given_up


def _of_sources(layout: Layout, query: Query, only: str | None) -> NDArray[np.bool_]:
    """What stands in a source that is asked."""
    taken = [only in (None, name) and name not in query.without for name in layout.sources]
    return np.array([*taken, False])[layout.source]  # one more: of no source there is no chunk


def _day(day: str) -> int:
    try:
        return date.fromisoformat(day).toordinal()
    except ValueError as error:
        raise UsageError(f"{day!r} is no date", "Write it as YYYY-MM-DD") from error
