"""Turns a query into ranked, cited passages within a budget.

Candidates are the nearest chunks of the vector index, by their text and by what they matter for,
and those with the best word scores; only they are scored with every signal. The results end with
the budget, and for a turn of a conversation with the last relevant one.
"""

import functools
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from assistant.errors import UsageError
from assistant.memory.annotations import NOT_CORE, core_mark
from assistant.memory.base import CLEAR, Passage, Query, Recall, fill
from assistant.memory.embedding.embedder import Embedder, normalized
from assistant.memory.index.layout import Layout, Rows
from assistant.memory.index.store import IndexStore
from assistant.memory.search import ranking
from assistant.memory.search.question import Question, Spelling, read
from assistant.memory.search.ranking import SIGNALS, Matrix, View, Weights, match
from assistant.memory.search.selection import arrange, relevant
from assistant.memory.search.software import Software
from assistant.memory.text.chunk import Chunk, passage
from assistant.memory.text.times.wording import instruction
from assistant.settings.sections import MemorySettings
from assistant.workspace.folder import ARCHIVE, HEARTBEAT_FILE, PROCEDURE_FILES

CORE_FACTS = 100
"""The number of candidates for the core."""
_SHAPING = Path(__file__).with_name("shaping.txt")
"""Sentences of the kind that should shape any answer, one per line."""


NEAREST = 100
"""The number of candidates from the vector index, and from the facts that state what they matter
for."""
WORDED = 200
"""The number of candidates with the best word scores."""
READ = 48
SPARE = 10
"""At least `READ` candidates are read, and 2 `k` + `SPARE`: some are duplicates or do not fit."""
SHOWN_MISSES = 5
LEADING_TASKS = 2
"""Lines of HEARTBEAT.md that keep their rank; further ones come last. Twenty reminders to call the
bank would leave no room for facts about the bank."""
ON_SOFTWARE = 0.3
"""The minimum score of a passage for a coding agent's prompt about software; `CLEAR` for others.
Of 100 prompts about software that need nothing 23 get a passage; with 0.35, 16; with 0.25, half."""
LEADING = 8
"""Passages for the text alone that come before those for the text with the previous message."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates, best first: their positions in the layout, scores and signals."""

    layout: Layout
    positions: Rows
    scores: NDArray[np.float32]
    matrix: Matrix
    is_software: bool
    """Whether a coding agent's question is about software."""


NOTHING = Recall("", (), weak=True)


class Recaller:
    """Recalls from an index, which the caller keeps from changing meanwhile."""

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
        self._software = Software(embedder)
        self._view: View | None = None
        self._core: tuple[Layout | None, list[Passage]] = None, []
        """The core, and the layout that it was computed from."""

    def recall(self, query: Query) -> Recall:
        """Return the best passages within the budget. Raises UsageError if `as_of` is not a
        date."""
        own = self._search(query.text, query)
        lists, weak = [own.passages], own.weak
        if query.before and own is not NOTHING:
            context = self._search(f"{query.before}\n{query.text}", query)
            lists = [own.passages[:LEADING], context.passages[:LEADING], own.passages[LEADING:]]
            weak = weak and context.weak
        if query.own is not None:
            source, count = query.own
            lists.insert(0, self._search(query.text, query, only=source).passages[:count])
        chosen, others = fill(_distinct(lists), *self.limits(query))
        return Recall(
            query=query.text,
            passages=tuple(chosen),
            near_misses=(*others, *own.near_misses)[:SHOWN_MISSES] if query.why else (),
            weak=weak and query.turn and bool(chosen),
        )

    def core(self, tokens: int) -> list[Passage]:
        """Return the facts that should shape any answer, whatever it is about, best first, as many
        as fit into the tokens.

        "Find me a restaurant" shares no word and little meaning with "my wife has coeliac disease".
        But facts about a person's health, habits and wishes are alike: they are near the mean
        vector of a few sentences of that kind. They stay the same while no file changes, as part of
        the prompt that providers cache: another search of Chroma may miss one.
        """
        layout = self.store.catalog.layout()
        if layout is not self._core[0]:
            self._core = layout, self._shaping_facts(layout)
        return fill(self._core[1], CORE_FACTS, tokens)[0]

    def _shaping_facts(self, layout: Layout) -> list[Passage]:
        near, cosines = self.store.dense.nearest(layout, self._shaping, CORE_FACTS)
        chunks = self.store.catalog.chunks(layout.rowid[near].tolist())
        return [
            passage(chunk, cosine)
            for chunk, cosine in zip(chunks, cosines.tolist(), strict=True)
            if chunk.status == "current"
            and core_mark(chunk.text) != NOT_CORE
            and chunk.source not in PROCEDURE_FILES
            and not chunk.source.startswith(ARCHIVE)
        ]

    @functools.cached_property
    def _shaping(self) -> NDArray[np.float32]:
        vectors = self._embedder.embed(_SHAPING.read_text(encoding="utf-8").splitlines())
        mean: NDArray[np.float32] = normalized(vectors.mean(axis=0, keepdims=True))[0]
        return mean

    def limits(self, query: Query) -> tuple[int, int]:
        """Return the maximum number of passages and tokens."""
        return query.k or self._settings.k, query.budget or self._settings.budget

    def _search(self, text: str, query: Query, only: str | None = None) -> Recall:
        """Search for a text, in the source `only` if given. Only a turn limits the results."""
        spelling = Spelling(self.store.catalog, self._embedder)
        question = read(text, self.store.catalog, self._today(), spelling)
        if not question.words:
            return NOTHING
        ranked = self.rank(question, query, only)
        k, budget = self.limits(query)
        results = self._arranged(ranked, max(READ, 2 * k + SPARE), query.as_of, question.telling)
        if not query.turn:
            return Recall(text, tuple(results))
        current = [result for result in results if not _has_passed(result)]
        if query.coding:
            least = ON_SOFTWARE if ranked.is_software else CLEAR
            current = [result for result in current if result.score >= least]
        chosen, strength = relevant(current, budget)
        others = tuple(passage for passage in results if passage not in chosen)
        return Recall(text, tuple(chosen), others, weak=strength == 0)

    def rank(self, question: Question, query: Query, only: str | None = None) -> Ranked:
        """Score the candidates for a question, from the source `only` if given."""
        view = self._current_view()
        layout, vectors = view.layout, self.store.catalog.vectors
        is_eligible = eligible(layout, query, only)
        vector = self._embedder.embed_questions([question.embedded])[0]
        if query.as_of is None and only is None:
            nearest, cosines = self.store.dense.nearest(layout, vector, NEAREST)
        else:
            nearest, cosines = self.store.dense.scan(layout, vector, len(layout), is_eligible)
        words, terms = self.store.catalog.words, question.searched
        postings, headings = words.in_chunks(terms), words.in_headings(terms)
        covered, bm25 = match(view.sections, question.terms, terms, postings, headings)
        worded, mattering = _largest(covered + bm25, WORDED), view.mattering(vector)
        others = np.concatenate([worded, _largest(mattering, NEAREST)])
        others = np.setdiff1d(others, nearest)
        positions = np.concatenate([nearest, others])
        beyond = vectors.cosines(layout.vector[others], vector)
        dense = np.maximum(np.concatenate([cosines, beyond]), mattering[positions])
        chosen = is_eligible[positions]
        is_software = query.coding and bool(self._software.among(vector[np.newaxis])[0])
        if is_software:
            chosen &= self._software.among(vectors.read(layout.vector[positions].tolist()))
        dense, positions = dense[chosen], positions[chosen]
        matrix = view.matrix(
            question,
            vector,
            positions,
            dense=dense,
            covered=covered[positions] ** 2,
            bm25=bm25[positions],
        )
        order = np.lexsort((positions, -ranking.score(matrix, self._weights)))
        sources = np.array([*layout.sources, ""])[layout.source[positions[order]]]
        tasks = sources == HEARTBEAT_FILE
        further = tasks & (tasks.cumsum() > LEADING_TASKS)
        matrix[order[further], SIGNALS.index("task")] = 1
        scores = ranking.score(matrix, self._weights)
        order = np.lexsort((positions, -scores))
        return Ranked(layout, positions[order], scores[order], matrix[order], is_software)

    def _current_view(self) -> View:
        catalog = self.store.catalog
        layout = catalog.layout()
        if self._view is None or self._view.layout is not layout:
            self._view = View(catalog, layout)
        return self._view

    def _arranged(
        self, ranked: Ranked, limit: int, day: str | None, question: Set[str]
    ) -> list[Passage]:
        """Return the best candidates as passages, in the order of the results."""
        positions = ranked.positions[:limit]
        chunks = self.store.catalog.chunks(ranked.layout.rowid[positions].tolist())
        shares = ranking.shares(ranked.matrix[:limit], self._weights)
        results = [
            passage(_as_of(chunk, day), score, signals)
            for chunk, score, signals in zip(chunks, ranked.scores.tolist(), shares, strict=False)
        ]
        return arrange(results, question)


def _largest(values: NDArray[np.float32], limit: int) -> Rows:
    """Return the positions of the largest values above 0, at most `limit`."""
    positions = np.flatnonzero(values > 0)
    return positions[np.argsort(-values[positions], kind="stable")[:limit]]


def _distinct(lists: Sequence[Sequence[Passage]]) -> list[Passage]:
    """Concatenate the lists, keeping the first occurrence of each passage."""
    first: dict[str, Passage] = {}
    for result in chain.from_iterable(lists):
        first.setdefault(result.id, result)
    return list(first.values())


# Which chunks may be recalled


def _has_passed(result: Passage) -> bool:
    """Return whether a passage is a task of HEARTBEAT.md whose only time has passed."""
    if result.source != HEARTBEAT_FILE:
        return False
    schedule = instruction(result.plain).schedule
    return schedule is not None and schedule.following(datetime.now()) is None


def eligible(layout: Layout, query: Query, only: str | None) -> NDArray[np.bool_]:
    """Return which chunks may be recalled: recorded by the query's day, in a source it covers.

    The tasks of HEARTBEAT.md are no record of a past day. Raises UsageError if the day is not a
    date.
    """
    without = set(query.without)
    if query.as_of is None:
        mask = np.ones(len(layout), np.bool_) if query.include_superseded else ~layout.superseded
    else:
        day = _day(query.as_of)
        without.add(HEARTBEAT_FILE)
        mask = layout.date <= day
        if not query.include_superseded:
            mask = mask & ~(layout.superseded & (layout.until <= day))
    if only is None and not without.intersection(layout.sources):
        return mask
    covered = [only in (None, name) and name not in without for name in layout.sources]
    return np.asarray(mask & np.array([*covered, False])[layout.source])  # there may be no source


def _as_of(chunk: Chunk, day: str | None) -> Chunk:
    """Return the chunk as it was on a day: current if it was superseded later."""
    if day is None or chunk.until is None or chunk.until <= day:
        return chunk
    return replace(chunk, status="current")


def _day(day: str) -> int:
    try:
        return date.fromisoformat(day).toordinal()
    except ValueError as error:
        raise UsageError(f"{day!r} is not a date", "Write it as YYYY-MM-DD") from error
