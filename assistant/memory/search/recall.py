"""Query → ranked, cited passages within a budget.

Candidates come from Chroma and from the words' postings; only they, their neighbours and their
sections are looked at, so that a recall costs the same whatever the memory holds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from assistant.memory.base import Passage, Query, Recall, fill
from assistant.memory.embedding.embedder import Embedder, Vectors
from assistant.memory.index.sqlite.columns import Layout, Rows
from assistant.memory.index.store import IndexStore
from assistant.memory.search import lexical, ranking
from assistant.memory.search.asked.abroad import (
    as_in_english,
    from_abroad,
    is_of_another_language,
    is_of_another_script,
)
from assistant.memory.search.asked.eligible import as_of, eligible
from assistant.memory.search.asked.general import generality
from assistant.memory.search.asked.question import EMBEDDED_CHARS, Question, read
from assistant.memory.search.asked.spelling import Spelling
from assistant.memory.search.bridging import over_names
from assistant.memory.search.letters import LOOKED_AT, by_letters
from assistant.memory.search.means import ALL
from assistant.memory.search.novelty import with_room
from assistant.memory.search.ranking import SIGNALS, Matrix, Weights
from assistant.memory.search.selection import Scored, arrange, behind, plausible
from assistant.memory.search.signals import (
    Ranked,
    View,
    empty,
    match_section,
    match_traits,
    match_words,
    put,
)
from assistant.memory.search.similarity import Scanner, understanding
from assistant.memory.text.chunk import passage
from assistant.settings.memory import MemorySettings

NEAREST = 100
"""Candidates asked of Chroma."""
WORDED = 600
"""Candidates found by their words."""
CANDIDATES = 300
"""Of both so many are looked at with every signal."""
READ = 48
SPARE = 10
"""So many are read, and more than twice `k`: some are said twice, some do not fit."""
SHOWN_MISSES = 5
KNOWN = 0.25
"""From here on the model tells one wording from another; the cosines of a script that it does not
know are all alike."""
OF_FACTS = {
    "headings": [SIGNALS.index("dense_section"), SIGNALS.index("bm25_section")],
    "coverage": [SIGNALS.index("covered")],
    "namesakes": [SIGNALS.index("name")],
}
"""The signals of facts that means of recall stand for."""
UNHEARD = 3
"""So many passages are listed for words that memory does not know, and of what anybody could
answer, if it were not for them."""
GENERAL_AT = 0.5
"""So far anybody could answer what is taken for general here."""
NEARBY = "Memory says nothing of “{}”; this lies nearest to it"
LED = 8
"""So many passages lead the list; then come those that what was said before leads to."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """What a question found: what is worth its tokens and the rest; whether all was weak, and
    whether no word of it was known."""

    worth: list[Scored]
    rest: list[Scored]
    weak: bool
    unheard: bool


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
        self.means = ALL
        self._settings = settings
        self._today = today
        left_out = ranking.WEIGHTS.keys() - weights.keys()
        self._both = weights, {n: w for n, w in ranking.ALONE.items() if n not in left_out}
        self._embedder = embedder
        self._scanner = Scanner(store, embedder)
        self._view: View | None = None

    def recall(self, query: Query) -> Recall:
        """The passages worth their tokens, best first. Raises UsageError if `as_of` is no date."""
        asked = self._listed(query.text, query)
        if asked is None:
            return Recall(query.text, 0, ())
        lists = [asked.worth]
        before = query.before if self.means.before else ""
        if before and (more := self._listed(f"{before}\n{query.text}", query)):
            lists = [asked.worth[:LED], more.worth[:LED], asked.worth[LED:]]
        if query.own is not None:
            lists.insert(0, self._of_own(query, *query.own))
        most, budget = query.k or self._settings.k, query.budget or self._settings.budget
        taken, others = fill(_once(lists), most, budget)
        return Recall(
            query=query.text,
            tokens=sum(each.tokens for each in taken),
            passages=_passages(taken),
            near_misses=_passages((others + asked.rest)[:SHOWN_MISSES]) if query.why else (),
            abstained=asked.weak and not taken,
            notices=(NEARBY.format(query.text),) if taken and asked.unheard else (),
        )

    def _of_own(self, query: Query, source: str, places: int) -> list[Scored]:
        """The best passages of the source that has places of its own."""
        listed = self._listed(query.text, query, only=source)
        return listed.worth[:places] if listed else []

    def _listed(self, text: str, query: Query, only: str | None = None) -> "_Listed | None":
        """What is found for a text, best first; None if it asks for nothing."""
        with self._scanner.begun(text[:EMBEDDED_CHARS]):
            return self._found(text, query, only)

    def _found(self, text: str, query: Query, only: str | None) -> "_Listed | None":
        spelling = Spelling(self.store.catalog, self._embedder) if self.means.spelling else None
        question = read(text, self.store.catalog, self._today(), spelling, self.means)
        if not question.words:
            return None
        ranked = self.rank(question, query, only)
        foreign = question.language != "english" and self.means.letters
        most = LOOKED_AT if foreign else max(READ, 2 * (query.k or self._settings.k) + SPARE)
        scored = self._scored(ranked, most, query.as_of)
        lettered = by_letters(scored, question.text, question.language) if foreign else scored
        if self.means.abroad:
            lettered = from_abroad(lettered, question.language)
            if is_of_another_script(scored, question.text):
                question = replace(question, unknown_names=0.0)
        if self.means.bridges:
            lettered = over_names(lettered, question.text, question.language)
        lettered = behind(lettered, question.dating)
        found = arrange(lettered, question.telling, latest=question.latest, later=self.means.later)
        if self.means.room and not question.latest and ranked.understood >= KNOWN:
            found = with_room(found, self._vectors(ranked, found, scored))
        abstain = self._settings.abstain if query.abstain is None else query.abstain
        if not (abstain and self.means.abstaining):
            return _Listed(found, [], False, False)
        return self._judged(question, query, ranked, scored, found, only)

    def _judged(
        self,
        question: Question,
        query: Query,
        ranked: Ranked,
        scored: Sequence[Scored],
        found: Sequence[Scored],
        only: str | None,
    ) -> _Listed:
        """What of the candidates found, in order, is worth its tokens."""
        rows, known = ranked.matrix, self._embedder.languages
        if self.means.abroad and question.language in known:
            rows = as_in_english(rows, scored, known)
        idle = ranked.idle(question, rows[: len(scored)]) if only is None else ()
        unasked = {scored[place].chunk.id for place in idle}
        of_use = [each for each in found if each.chunk.id not in unasked]
        strength = ranked.strength(question, rows, instructed=only is not None)
        free = query.k is not None or bool(question.periods) or not self.means.floor
        worth = plausible(of_use, math.inf if free else strength) if strength >= 0 else 0
        unheard = question.unheard and not is_of_another_language(scored, question.language)
        if unheard or (ranked.general > GENERAL_AT and query.k is None):
            worth = min(worth, UNHEARD)
        listed = of_use[:worth]
        rest = [each for each in found if each not in listed] if query.why else []
        return _Listed(listed, rest, strength < 0 and bool(found), unheard)

    def _vectors(
        self, ranked: Ranked, found: Sequence[Scored], scored: Sequence[Scored]
    ) -> Vectors:
        """The vectors of what was found among what was scored."""
        places = ranked.positions[: len(scored)].tolist()
        of = {each.chunk.id: place for each, place in zip(scored, places, strict=True)}
        return self.store.dense.scan.vectors(
            np.array([of[each.chunk.id] for each in found], np.int64)
        )

    def rank(self, question: Question, query: Query, only: str | None = None) -> Ranked:
        """Score the candidates for a question with every signal; `only` is the one source asked."""
        catalog, view = self.store.catalog, self._current_view()
        understood = self._understood(question)
        answers = eligible(view.layout, query, only)
        if not answers.any():
            none = np.empty(0, dtype=np.int64)
            return self._ranked(view.layout, none, empty(0), understood, 0.0)
        among = None if query.as_of is None and only is None else answers
        asked = self._scanner.compare(question.embedded, view.layout, NEAREST, among)
        with asked as similarity:
            postings = catalog.words.in_chunks(question.searched)
            headings = catalog.words.in_headings(question.searched)
            worded = lexical.likeliest(view.grains, question.searched, postings, headings, WORDED)
            similarity.include(worded)
            general = self._generality(question, similarity.question())
            below = view.above.nearest(similarity.question())
            positions = np.union1d(similarity.known(), below)
        positions = positions[answers[positions]]
        matrix = empty(len(positions))
        match_words(matrix, view.grains, question, postings, headings, positions)
        put(matrix, "dense", understood * similarity.of(positions))
        scores = self._scores(matrix, view.layout.turn[positions])
        best = np.argsort(-scores, kind="stable")[:CANDIDATES]
        positions, matrix = positions[best], matrix[best]
        match_section(matrix, view, similarity, positions)
        matrix[:, SIGNALS.index("dense_section")] *= understood
        match_traits(matrix, view.columns, question, positions)
        for means, signals in OF_FACTS.items():
            if not getattr(self.means, means):
                matrix[:, signals] *= view.layout.turn[positions][:, None]
        return self._ranked(view.layout, positions, matrix, understood, general)

    def _understood(self, question: Question) -> float:
        """How far the model knows the question's language; it is taken to know English."""
        if not self.means.understanding:
            return 1.0
        if question.language in ("english", *self._embedder.languages):
            return 1.0
        return understanding(question.text, self._embedder)

    def _generality(self, question: Question, vector: NDArray[np.float32]) -> float:
        """How probably anybody could answer a question; none of those that name what memory knows.

        A vector tells it in the default model's space alone, which other languages are mapped to.
        """
        languages = self._embedder.languages
        named = bool(question.names) and question.unknown_names < 1
        if not self.means.general or named or (question.heard and not question.greeting):
            return 0.0
        if languages and not question.greeting and question.language in ("english", *languages):
            return generality(vector, question.language, owners=question.owners)
        return float(question.general or question.greeting)

    def _current_view(self) -> View:
        catalog = self.store.catalog
        layout = catalog.layout()
        if self._view is None or self._view.layout is not layout:
            self._view = View.of(catalog, layout)
        return self._view

    def _ranked(
        self, layout: Layout, positions: Rows, matrix: Matrix, understood: float, general: float
    ) -> Ranked:
        scores = self._scores(matrix, layout.turn[positions])
        order = np.argsort(-scores, kind="stable")
        return Ranked(layout, positions[order], scores[order], matrix[order], understood, general)

    def _scores(self, matrix: Matrix, turn: NDArray[np.bool_]) -> NDArray[np.float32]:
        talk, alone = (ranking.score(matrix, each) for each in self._both)
        return np.where(turn, talk, alone)

    def _scored(self, ranked: Ranked, limit: int, day: str | None) -> list[Scored]:
        rows = ranked.layout.rowid[ranked.positions[:limit]].tolist()
        stored = self.store.catalog.chunks(rows)
        turns = ranked.turns()[:limit].tolist()
        talk, alone = self._both
        shares = ranking.shares(ranked.matrix[:limit], alone)
        if any(turns):
            said = ranking.shares(ranked.matrix[:limit], talk)
            shares = [said[n] if turn else shares[n] for n, turn in enumerate(turns)]
        chunks = [as_of(each.chunk, day) for each in stored]
        return list(map(Scored, chunks, ranked.scores[:limit].tolist(), shares, turns))


def _passages(found: Sequence[Scored]) -> tuple[Passage, ...]:
    return tuple(passage(each.chunk, each.score, each.shares) for each in found)


def _once(lists: Sequence[Sequence[Scored]]) -> list[Scored]:
    """What stands in several lists, each where it comes first."""
    first: dict[str, Scored] = {}
    for each in chain.from_iterable(lists):
        first.setdefault(each.chunk.id, each)
    return list(first.values())
