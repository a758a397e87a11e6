"""Finds the facts that an address or a text names. An address is a chunk's id or `FILE:LINE`.

Every id that recall shows, even of part of a long item, can be used to forget, supersede and review
it.
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
from assistant.memory.text.headings import PATH, innermost
from assistant.memory.text.identity import fact_key, fold, spelled_as
from assistant.memory.text.markdown import plain
from assistant.workspace.folder import MEMORY_FILE

MOST_LIKELY = 5
"""If no fact contains the text, this many of the best passages are returned, except those that
share less than half as many of its words as another does."""
MOST_SIMILAR = 3
"""The number of similar facts reported, which a new fact may supersede."""
LEAST_COSINE = 0.6
"""The minimum cosine of similar facts; MiniLM gives a true paraphrase about 0.74."""
_LINE = re.compile(r"(.+\.md):(\d+)", re.IGNORECASE)
_ID = re.compile(r"[0-9a-f]{16}")


class Locator:
    """Finds passages by address or text, in the index as it is."""

    def __init__(self, store: IndexStore, recaller: Recaller) -> None:
        self._store = store
        self._recaller = recaller

    def locate(self, target: str) -> Located:
        """Return the passages at an address; else the facts with exactly this text, else those that
        contain it, else the most likely ones."""
        text = _encodable(target)
        passages = self._addressed(text)
        return self._worded(text) if passages is None else Located(passages, exact=True)

    def named(self, address: str, words: str = "") -> tuple[Passage, ...]:
        """Return the passages at `FILE:LINE` or with an id: all the pieces of a long line; if it
        has moved, a current one with exactly these words."""
        if passages := self._addressed(_encodable(address)):
            return passages
        key = fact_key(words)
        same = (chunk for chunk in self._containing(words, {key}) if fact_key(chunk.plain) == key)
        return tuple(passage(chunk) for chunk in same if chunk.status == "current")[:1]

    def superseded(self, fact: str) -> list[Passage]:
        """Return the superseded passages with exactly this text."""
        chunks = self._containing(fact, {fact_key(fact)})
        return [passage(chunk) for chunk in chunks if chunk.status == "superseded"]

    def sharing_a_rare_word(self, text: str, most: int) -> tuple[Passage, ...]:
        """Return the current facts that contain a rare word of this text, such as a name; a word is
        rare if at most `most` chunks contain it."""
        catalog = self._store.catalog
        terms = catalog.words.terms(text)
        rare = [term for term in terms if 0 < term.document_frequency <= most]
        rows = {row for rows, _ in catalog.words.in_chunks(rare).values() for row in rows.tolist()}
        chunks = catalog.chunks(sorted(rows))
        return tuple(passage(chunk) for chunk in chunks if chunk.status == "current")

    def heading_of(self, fact: str, vector: NDArray[np.float32], headings: Sequence[str]) -> str:
        """Return the owner's heading in MEMORY.md that fits a fact: the only one that it mentions,
        or that of the most similar fact below one, if near. "" if none does."""
        words = set(fold(fact).split())
        titles = {heading: set(fold(heading.split(PATH)[-1]).split()) for heading in headings}
        named = [heading for heading, title in titles.items() if title and title <= words]
        if len(named) == 1:
            return named[0]
        paths = (
            innermost(chunk.heading, headings)
            for chunk, _ in self._near(vector)
            if chunk.source == MEMORY_FILE
        )
        return next(filter(None, paths), "")

    def similar(self, fact: Chunk) -> tuple[Passage, ...]:
        """Return the most similar other current facts, nearest first, which `fact` may supersede.

        The other chunks of a long fact belong to the same fact.
        """
        catalog = self._store.catalog
        layout = catalog.layout()
        number = layout.vector[catalog.positions(layout, [fact.id])].tolist()
        near = [
            passage(chunk, cosine)
            for chunk, cosine in self._near(catalog.vectors.read(number)[0])
            if (chunk.source, chunk.start_line) != (fact.source, fact.start_line)
            and chunk.status == "current"
        ]
        return tuple(near[:MOST_SIMILAR])

    def _near(self, vector: NDArray[np.float32]) -> list[tuple[Chunk, float]]:
        """Return the chunks nearest to a vector, with their cosines, if high enough."""
        layout = self._store.catalog.layout()
        positions, cosines = self._store.dense.nearest(layout, vector, 4 * MOST_SIMILAR)
        chunks = self._store.catalog.chunks(layout.rowid[positions].tolist())
        pairs = zip(chunks, cosines.tolist(), strict=True)
        return [(chunk, cosine) for chunk, cosine in pairs if cosine >= LEAST_COSINE]

    def _addressed(self, target: str) -> tuple[Passage, ...] | None:
        """Return the passages at an address; None if the target does not look like one."""
        catalog = self._store.catalog
        line = _LINE.fullmatch(target)
        source = spelled_as(line[1], catalog.sources()) if line else None
        if line and (source or " " not in target):
            chunks = catalog.at_line(source or line[1], int(line[2]))
        elif _ID.fullmatch(target):
            chunks = catalog.by_id(target)
        else:
            return None
        return tuple(map(passage, chunks))

    def beginning_at(self, source: str, line: int) -> Chunk | None:
        """Return the chunk that begins on a line, or None."""
        chunks = self._store.catalog.at_line(source, line)
        return next((chunk for chunk in chunks if chunk.start_line == line), None)

    def _worded(self, target: str) -> Located:
        """Return the facts with the target as their text, else those that contain it, else the most
        likely ones: first those that contain it within longer words.

        Superseded facts count only if no current one contains it and theirs is exactly this text.
        """
        keys = {fact_key(target), fact_key(plain(target))}
        chunks = self._containing(target, keys)
        same = [chunk for chunk in chunks if fact_key(chunk.plain) in keys]
        if current := [chunk for chunk in chunks if chunk.status == "current"]:
            same = [chunk for chunk in same if chunk.status == "current"]
        if current or same:
            return Located(tuple(map(passage, same or current)), exact=bool(same))
        nearest = self._recaller.recall(Query(target, k=MOST_LIKELY)).passages
        terms = self._store.catalog.words.terms
        words = [{term.text, *term.elsewhere} for term in terms(target)]
        held = ({term.text for term in terms(fact.plain)} for fact in nearest)
        shared = [sum(not stems.isdisjoint(word) for word in words) for stems in held]
        most = max(shared, default=0)
        likely = [fact for fact, count in zip(nearest, shared, strict=True) if 2 * count >= most]
        within = map(passage, self._store.catalog.spelling(target, MOST_LIKELY))
        return Located(tuple({fact.id: fact for fact in (*within, *likely)}.values()))

    def _containing(self, target: str, keys: set[str]) -> list[Chunk]:
        """Return the chunks with all the target's words, contiguous as in one of the `keys`."""
        catalog = self._store.catalog
        terms = catalog.words.terms(target)
        if not terms:
            return []
        rows = [rows for rows, _ in catalog.words.in_chunks(terms).values()]
        common = functools.reduce(np.intersect1d, rows)
        chunks = catalog.chunks(common.tolist())
        return [chunk for chunk in chunks if any(key in fact_key(chunk.plain) for key in keys)]


def _encodable(text: str) -> str:
    """Replace what UTF-8 cannot encode: the shell may pass bytes that are not text."""
    return text.encode("utf-8", "replace").decode()
