"""Query → ranked, cited passages within a budget.

Candidates are the nearest of the vector index, by what they say and by what they matter for, and
those that the words speak for most; only they are looked at with every signal. Nothing is refused:
the budget ends the list, and for a turn of a conversation what bears on it.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from assistant.errors import UsageError
from assistant.memory.annotations import NOT_CORE, core_mark
from assistant.memory.base import Passage, Query, Recall, fill
from assistant.memory.embedding.embedder import Embedder, normalized
from assistant.memory.index.layout import Layout, Rows
from assistant.memory.index.store import IndexStore
from assistant.memory.search import ranking
from assistant.memory.search.question import Question, Spelling, read
from assistant.memory.search.ranking import Matrix, Weights
from assistant.memory.search.selection import Scored, arrange, bearing
from assistant.memory.search.signals import View, Words, match
from assistant.memory.text.chunk import Chunk, passage
from assistant.settings.sections import MemorySettings
from assistant.workspace.folder import ARCHIVE, PROCEDURE_FILES

CORE_FACTS = 100
"""Facts that are looked at for the core."""
_SHAPING = Path(__file__).with_name("shaping.txt")
"""What shapes any answer, a sentence a line."""


class Core:
    """The core of one memory: the facts that should shape any answer, whatever it is about.

    "Find me a restaurant" shares no word and little meaning with "my wife has coeliac disease". But
    what tells of a person's health, habits and wishes is alike: it lies near the middle of a few
    sentences of that kind. It is found anew when memory has changed.
    """

    def __init__(self, store: IndexStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder
        self._layout: Layout | None = None
        self._facts: list[Passage] = []

    def facts(self) -> list[Passage]:
        """The current facts nearest to what shapes an answer, best first."""
        layout = self._store.catalog.layout()
        if layout is not self._layout:
            near, cosines = self._store.dense.nearest(layout, self._middle, CORE_FACTS)
            chunks = self._store.catalog.chunks(layout.rowid[near].tolist())
            self._facts = [
                passage(chunk, cosine)
                for chunk, cosine in zip(chunks, cosines.tolist(), strict=True)
                if chunk.status == "current"
                and core_mark(chunk.text) != NOT_CORE
                and chunk.source not in PROCEDURE_FILES
                and not chunk.source.startswith(ARCHIVE)
            ]
            self._layout = layout
        return self._facts

    @functools.cached_property
    def _middle(self) -> NDArray[np.float32]:
        vectors = self._embedder.embed(_SHAPING.read_text(encoding="utf-8").splitlines())
        middle: NDArray[np.float32] = normalized(vectors.mean(axis=0, keepdims=True))[0]
        return middle


NEAREST = 100
"""Candidates asked of the vector index, and of the facts that say what they matter for."""
WORDED = 200
"""Candidates found by their words."""
READ = 48
SPARE = 10
"""So many are read, and more than twice `k`: some are said twice, some do not fit."""
SHOWN_MISSES = 5
LED = 8
"""So many passages lead the list; then come those that what was said before leads to."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates, best first: where they stand in the layout, their scores and signals."""

    layout: Layout
    positions: Rows
    scores: NDArray[np.float32]
    matrix: Matrix


@dataclass(frozen=True, slots=True)
class _Listed:
    """What a text found, best first, and whether all of it is weak."""

    taken: list[Scored]
    others: list[Scored]
    weak: bool


NOTHING = _Listed([], [], True)


class Recaller:
    """Recall from an index. The caller keeps the index from changing meanwhile."""

    def __init__(
        self,
        store: IndexStore,
        embedder: Embedder,
        settings: MemorySettings,
        today: Callable[[], date] = date.today,
        weights: Weights = ranking.WEIGHTS,
    ) -> None:
        self.store = store
        self._settings = settings
        self._today = today
        self._weights = weights
        self._embedder = embedder
        self._view: View | None = None
        self._core = Core(store, embedder)

    def recall(self, query: Query) -> Recall:
        """The best passages within the budget. Raises UsageError if `as_of` is no date."""
        asked = self._listed(query.text, query)
        lists, weak = [asked.taken], asked.weak
        if query.before and asked is not NOTHING:
            more = self._listed(f"{query.before}\n{query.text}", query)
            lists = [asked.taken[:LED], more.taken[:LED], asked.taken[LED:]]
            weak = weak and more.weak
        if query.own is not None:
            source, places = query.own
            lists.insert(0, self._listed(query.text, query, only=source).taken[:places])
        taken, others = fill(_once(lists), *self._limits(query))
        return Recall(
            query=query.text,
            tokens=sum(each.tokens for each in taken),
            passages=_passages(taken),
            near_misses=_passages((others + asked.others)[:SHOWN_MISSES]) if query.why else (),
            weak=weak and query.turn and bool(taken),
        )

    def core(self, tokens: int) -> list[Passage]:
        """The current facts nearest to what shapes any answer, as many as fit."""
        return fill(self._core.facts(), CORE_FACTS, tokens)[0]

    def _limits(self, query: Query) -> tuple[int, int]:
        """The most passages and tokens."""
        return query.k or self._settings.k, query.budget or self._settings.budget

    def _listed(self, text: str, query: Query, only: str | None = None) -> _Listed:
        """What is found for a text; `only` is the one source asked."""
        spelling = Spelling(self.store.catalog, self._embedder)
        question = read(text, self.store.catalog, self._today(), spelling)
        if not question.words:
            return NOTHING
        ranked = self.rank(question, query, only)
        k, budget = self._limits(query)
        scored = self._scored(ranked, max(READ, 2 * k + SPARE), query.as_of)
        found = arrange(scored, question.telling)
        if not query.turn:
            return _Listed(found, [], False)
        taken, share = bearing(found, budget)
        return _Listed(taken, [each for each in found if each not in taken], share == 0)

    def rank(self, question: Question, query: Query, only: str | None = None) -> Ranked:
        """Score the candidates for a question with every signal; `only` is the one source asked."""
        view = self._current_view()
        layout, scan = view.layout, self.store.dense.scan
        answers = eligible(layout, query, only)
        vector = self._embedder.embed_questions([question.embedded])[0]
        if query.as_of is None and only is None:
            nearest, cosines = self.store.dense.nearest(layout, vector, NEAREST)
        else:
            nearest, cosines = scan.nearest(layout, vector, len(layout), answers)
        words, mattering = self._words(question, view), view.mattering(vector)
        worded = _largest(words.covered + words.bm25, WORDED)
        found = np.concatenate([worded, _largest(mattering, NEAREST)])
        others = np.setdiff1d(found, nearest)
        positions = np.concatenate([nearest, others])
        beyond = scan.vectors(layout, others) @ vector if len(others) else cosines[:0]
        dense = np.maximum(np.concatenate([cosines, beyond]), mattering[positions])
        dense, positions = dense[answers[positions]], positions[answers[positions]]
        matrix = view.matrix(
            question,
            vector,
            positions,
            dense=dense,
            covered=words.covered[positions] ** 2,
            bm25=words.bm25[positions],
        )
        scores = ranking.score(matrix, self._weights)
        order = np.lexsort((positions, -scores))
        return Ranked(layout, positions[order], scores[order], matrix[order])

    def _words(self, question: Question, view: View) -> Words:
        words = self.store.catalog.words
        return match(
            view.sections,
            question.terms,
            question.searched,
            words.in_chunks(question.searched),
            words.in_headings(question.searched),
        )

    def _current_view(self) -> View:
        catalog = self.store.catalog
        layout = catalog.layout()
        if self._view is None or self._view.layout is not layout:
            self._view = View(catalog, layout)
        return self._view

    def _scored(self, ranked: Ranked, limit: int, day: str | None) -> list[Scored]:
        rows = ranked.layout.rowid[ranked.positions[:limit]].tolist()
        chunks = [_as_of(chunk, day) for chunk in self.store.catalog.chunks(rows)]
        shares = ranking.shares(ranked.matrix[:limit], self._weights)
        turns = ranked.layout.turn[ranked.positions[:limit]].tolist()
        return list(map(Scored, chunks, ranked.scores[:limit].tolist(), shares, turns))


def _largest(values: NDArray[np.float32], limit: int) -> Rows:
    """The positions of the largest values above 0, at most `limit`."""
    there = np.flatnonzero(values)
    return there[np.argsort(-values[there], kind="stable")[:limit]]


def _passages(found: Sequence[Scored]) -> tuple[Passage, ...]:
    return tuple(passage(each.chunk, each.score, each.shares) for each in found)


def _once(lists: Sequence[Sequence[Scored]]) -> list[Scored]:
    """What stands in several lists, each where it comes first."""
    first: dict[str, Scored] = {}
    for each in chain.from_iterable(lists):
        first.setdefault(each.chunk.id, each)
    return list(first.values())


# Which chunks may answer


def eligible(layout: Layout, query: Query, only: str | None) -> NDArray[np.bool_]:
    """Which chunks may answer: recorded by the query's day, in a source that is asked.

    Raises UsageError for no date.
    """
    if query.as_of is None:
        found = np.ones(len(layout), np.bool_) if query.include_superseded else ~layout.superseded
    else:
        day = _day(query.as_of)
        found = layout.date <= day
        if not query.include_superseded:
            found = found & ~(layout.superseded & (layout.until <= day))
    if only is None and not set(query.without).intersection(layout.sources):
        return found
    asked = [only in (None, name) and name not in query.without for name in layout.sources]
    return np.asarray(found & np.array([*asked, False])[layout.source])  # there may be no source


def _as_of(chunk: Chunk, day: str | None) -> Chunk:
    """The chunk as it was on a day: current, if it was superseded after it."""
    if day is None or chunk.until is None or chunk.until <= day:
        return chunk
    return replace(chunk, status="current")


def _day(day: str) -> int:
    try:
        return date.fromisoformat(day).toordinal()
    except ValueError as error:
        raise UsageError(f"{day!r} is no date", "Write it as YYYY-MM-DD") from error
