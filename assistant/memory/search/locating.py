"""What an address or words name. An address is a chunk's id or `FILE:LINE`.

The index's chunks are the authority: whatever id recall shows, a piece of a long item too, can be
forgotten, superseded and reviewed by it.
"""

import functools
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assistant.memory.base import Located, Passage, Query
from assistant.memory.index.store import IndexStore
from assistant.memory.search.recall import Recaller
from assistant.memory.text.chunk import Chunk, passage
from assistant.memory.text.headings import PATH, below
from assistant.memory.text.identity import fact_key, fold, spelled_as
from assistant.memory.text.markdown import plain
from assistant.workspace.folder import MEMORY_FILE

MOST_LIKELY = 5
"""What words name when no fact holds them literally: so many of the best that recall finds, and of
these the ones that share half as many words as another does."""
MOST_SIMILAR = 3
"""Candidates to supersede that are pointed out."""
LEAST_COSINE = 0.6
"""How near they are at least; MiniLM gives a true paraphrase about 0.74."""
_PLACE = re.compile(r"(.+\.md):(\d+)")
_ID = re.compile(r"[0-9a-f]{16}")


class Locator:
    """Finds passages by what names them, in the index as it is."""

    def __init__(self, store: IndexStore, recaller: Recaller) -> None:
        self._store = store
        self._recaller = recaller

    def locate(self, target: str) -> Located:
        """The passages that an address names; else the facts that say just these words, else those
        that hold them literally, else the likeliest."""
        words = _text(target)
        there = self._addressed(words)
        return self._worded(words) if there is None else Located(there, exact=True)

    def named(self, address: str) -> tuple[Passage, ...]:
        """The passages that stand at `FILE:LINE`, or have an id: all the pieces of a long line."""
        return self._addressed(_text(address)) or ()

    def superseded(self, fact: str) -> list[Passage]:
        """The superseded passages that say just these words."""
        holding = self._saying(fact, {fact_key(fact)})
        return [passage(chunk) for chunk in holding if chunk.status == "superseded"]

    def sharing_a_rare_word(self, text: str, most: int) -> tuple[Passage, ...]:
        """The current facts that hold a word of this text, such as a name, that at most so many
        hold."""
        catalog = self._store.catalog
        terms = catalog.words.terms(text)
        rare = [term for term in terms if 0 < term.document_frequency <= most]
        rows = {row for rows, _ in catalog.words.in_chunks(rare).values() for row in rows.tolist()}
        chunks = catalog.chunks(sorted(rows))
        return tuple(passage(chunk) for chunk in chunks if chunk.status == "current")

    def heading_of(self, fact: str, vector: NDArray[np.float32], headings: Sequence[str]) -> str:
        """Which of the owner's headings in MEMORY.md fits a fact: the only one that it names, or
        that of the nearest fact below one, if that is near. "" if none does."""
        words = set(fold(fact).split())
        titles = {heading: set(fold(heading.split(PATH)[-1]).split()) for heading in headings}
        named = [each for each, title in titles.items() if title and title <= words]
        if len(named) == 1:
            return named[0]
        layout = self._store.catalog.layout()
        places, cosines = self._store.dense.nearest(layout, vector, 4 * MOST_SIMILAR)
        near = places[cosines >= LEAST_COSINE]
        for chunk in self._store.catalog.chunks(layout.rowid[near].tolist()):
            path = below(chunk.heading, headings)
            if chunk.source == MEMORY_FILE and path:
                return path
        return ""

    def _addressed(self, target: str) -> tuple[Passage, ...] | None:
        """The passages at an address; None if the target has not the form of one."""
        catalog = self._store.catalog
        place = _PLACE.fullmatch(target)
        source = spelled_as(place[1], catalog.sources()) if place else None
        if place and (source or " " not in target):
            there = catalog.at_line(source or place[1], int(place[2]))
        elif _ID.fullmatch(target):
            there = catalog.by_id(target)
        else:
            return None
        return tuple(map(passage, there))

    def beginning_at(self, source: str, line: int) -> Chunk | None:
        """The chunk that begins on a line, or None."""
        there = self._store.catalog.at_line(source, line)
        return next((chunk for chunk in there if chunk.start_line == line), None)

    def _worded(self, target: str) -> Located:
        wanted = {fact_key(target), fact_key(plain(target))}
        holding = self._holding(target, wanted)
        same = [chunk for chunk in holding if fact_key(chunk.plain) in wanted]
        if holding:
            return Located(tuple(map(passage, same or holding)), exact=bool(same))
        nearest = self._recaller.recall(Query(target, k=MOST_LIKELY)).passages
        asked = self._stems(target)
        shared = [len(asked & self._stems(each.plain)) for each in nearest]
        most = max(shared, default=0)
        return Located(
            tuple(each for each, count in zip(nearest, shared, strict=True) if 2 * count >= most)
        )

    def _stems(self, text: str) -> set[str]:
        return {term.text for term in self._store.catalog.words.terms(text)}

    def _holding(self, target: str, wanted: set[str]) -> list[Chunk]:
        """The current chunks that hold all of the target's words, side by side; if there are none,
        superseded ones that say just these."""
        chunks = self._saying(target, wanted)
        current = [chunk for chunk in chunks if chunk.status == "current"]
        return current or [each for each in chunks if fact_key(each.plain) in wanted]

    def _saying(self, target: str, wanted: set[str]) -> list[Chunk]:
        catalog = self._store.catalog
        terms = catalog.words.terms(target)
        if not terms:
            return []
        rows = [rows for rows, _ in catalog.words.in_chunks(terms).values()]
        common = functools.reduce(np.intersect1d, rows)
        chunks = catalog.chunks(common.tolist())
        return [chunk for chunk in chunks if any(key in fact_key(chunk.plain) for key in wanted)]


def _text(given: str) -> str:
    """Text that UTF-8 can hold: the shell may hand over bytes that are none."""
    return given.encode("utf-8", "replace").decode()


def similar(store: IndexStore, fact: Chunk) -> tuple[Passage, ...]:
    """The nearest current facts besides this one, nearest first: it may supersede them."""
    catalog = store.catalog
    layout = catalog.layout()
    vector = catalog.vectors.read(layout.vector[catalog.positions(layout, [fact.id])].tolist())[0]
    places, cosines = store.dense.nearest(layout, vector, 4 * MOST_SIMILAR)
    rows = layout.rowid[places].tolist()
    chunks = catalog.by_row(rows)
    near = [
        passage(chunks[row], cosine)
        for row, cosine in zip(rows, cosines.tolist(), strict=True)
        if row in chunks and chunks[row].id != fact.id and chunks[row].status == "current"
    ]
    return tuple(each for each in near if each.score >= LEAST_COSINE)[:MOST_SIMILAR]
