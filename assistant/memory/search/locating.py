"""What an address or words name: an id, `FILE:LINE`, or the words of a fact."""

import functools
import re

import numpy as np

from assistant.memory.base import Passage, Query
from assistant.memory.index.rows import StoredChunk
from assistant.memory.index.store import IndexStore
from assistant.memory.search.recall import Recaller
from assistant.memory.text.chunks import Chunk, passage
from assistant.memory.text.identity import fact_key

MOST_LIKELY = 5
"""What words name when no fact holds them literally: so many of the best that recall finds."""
_PLACE = re.compile(r"(.+\.md):(\d+)")
_ID = re.compile(r"[0-9a-f]{16}")


class Locator:
    """Finds passages by what names them, in the index as it is."""

    def __init__(self, store: IndexStore, recaller: Recaller) -> None:
        self._store = store
        self._recaller = recaller

    def locate(self, target: str) -> tuple[Passage, ...]:
        """The passages that an address names; else the facts that say just these words, else those
        that hold them literally, else the likeliest."""
        named = self.named(target)
        return self._worded(_text(target)) if named is None else named

    def named(self, target: str) -> tuple[Passage, ...] | None:
        """The passages at `FILE:LINE`, or with an id; None if the target has neither form."""
        target, catalog = _text(target), self._store.catalog
        place = _PLACE.fullmatch(target)
        if place and (place[1] in catalog.sources() or " " not in target):
            there = catalog.at_line(place[1], int(place[2]))
        elif _ID.fullmatch(target):
            there = catalog.by_id([target])
        else:
            return None
        return tuple(passage(each.chunk) for each in there)

    def beginning_at(self, source: str, line: int) -> StoredChunk | None:
        """The chunk that begins on a line, or None."""
        there = self._store.catalog.at_line(source, line)
        return next((each for each in there if each.chunk.start_line == line), None)

    def _worded(self, target: str) -> tuple[Passage, ...]:
        wanted = fact_key(target)
        holding = self._holding(target, wanted)
        same = [chunk for chunk in holding if fact_key(chunk.plain) == wanted]
        if holding:
            return tuple(map(passage, same or holding))
        return self._recaller.recall(Query(target, k=MOST_LIKELY)).passages

    def _holding(self, target: str, wanted: str) -> list[Chunk]:
        """The current chunks that hold all of the target's words, side by side."""
        catalog = self._store.catalog
        terms = catalog.words.terms(target)
        if not terms:
            return []
        rows = [rows for rows, _ in catalog.words.in_chunks(terms).values()]
        common = functools.reduce(np.intersect1d, rows)
        chunks = [stored.chunk for stored in catalog.chunks(common.tolist())]
        current = [chunk for chunk in chunks if chunk.status == "current"]
        return [chunk for chunk in current if wanted in fact_key(chunk.plain)]


def _text(given: str) -> str:
    """Text that UTF-8 can hold: the shell may hand over bytes that are none."""
    return given.encode("utf-8", "replace").decode()
