"""The sources of recall besides memory: the owner's notes, and past conversations.

Each is a corpus with its own index, which is opened for the first query.
"""

import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from assistant.errors import LedgerError, UsageError
from assistant.memory.base import (
    SESSIONS,
    NotesStatus,
    Passage,
    Progress,
    Query,
    Recall,
    fill,
    no_progress,
)
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.refresh import Read, Refine, Synchronizer
from assistant.memory.search.selection import relevant
from assistant.memory.sources import conversations, notes, obsidian
from assistant.memory.sources.collection import Collection, Source
from assistant.memory.sources.conversations import Conversations
from assistant.memory.sources.notes import Notes
from assistant.secrets.redactor import Redactor
from assistant.settings.sections import SourceSettings
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace

AHEAD_SECONDS = 30.0
"""How often notes and past conversations are compared with their indexes without a query, starting
at once: ten thousand files take a tenth of a second."""
AS_GOOD = 0.5
"""Facts with at least this share of the best score have half of a search to themselves."""
PAST, PAST_TOKENS = 2, 150
"""The maximum number of passages of past conversations in a turn, one per conversation, and their
tokens."""
CLEARLY = 0.6
"""The minimum score of such a passage. The best of 98 conversations had it for 158 of 160 questions
about them, for 56 of 120 about what only the facts contain, and for 24 of 80 pieces of small
talk."""
_ADDRESS = re.compile(r"([^:/]+):(?:(.+):)?(\d+)")
"""The address of a note, or of a turn of a session."""


class Library:
    """The sources of a workspace. Safe to use from several threads."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        embedder: Embedder,
        redactor: Callable[[], Redactor] = Redactor,
        progress: Progress = no_progress,
        ahead_seconds: float = AHEAD_SECONDS,
    ) -> None:
        self._workspace = workspace
        self._settings = settings
        self._embedder = embedder
        self._redactor = redactor
        self._progress = progress
        self._opening = threading.Lock()
        self._open: dict[str, Collection] = {}
        self._ahead_seconds, self._looked = ahead_seconds, float("-inf")

    def recall(self, query: Query) -> Recall:
        """Search the corpus that the query is `within`.

        Raises UsageError if there is none of that name, ignoring case.
        """
        inner = replace(query, within="", own=None, without=())
        is_of_sessions = query.within == SESSIONS
        collection = (
            self._conversations() if is_of_sessions else self._notes(self._source(query.within))
        )
        passages = tuple(collection.recall(inner))
        return Recall(query.text, passages, notices=collection.news())

    def joined_with(self, query: Query, facts: Recall) -> Recall:
        """Return the recalled facts with passages of the notes and, for a turn, of past
        conversations, each within its budget."""
        if query.as_of:
            return facts
        from_notes: list[Passage] = []
        notices = list(facts.notices)
        inner = replace(query, own=None, without=(), before="", why=False)
        for source in self._settings.sources:
            collection = self._notes(source)
            passages = collection.recall(inner, wait=False)
            if not passages and not facts.passages and collection.unread:
                passages = collection.recall(inner)  # nothing else matches: better late than wrong
            from_notes += passages
            notices += collection.news()
        k = query.k or self._settings.memory.k
        budget = query.budget or self._settings.memory.budget
        if query.turn:
            from_notes, _ = relevant(_best_first(from_notes), budget)
        both = merged(facts.passages, from_notes, k, budget, in_turn=query.turn)
        past = self._past(query, both) if query.turn else []
        weak = facts.weak and not past
        return replace(facts, passages=(*both, *past), notices=tuple(notices), weak=weak)

    def _past(self, query: Query, others: Sequence[Passage]) -> list[Passage]:
        """Return passages of imported conversations that are clearly relevant to a turn's message,
        if nothing else matches as well. From other conversations, what was worth keeping is in
        memory, unless the owner removed it."""
        sessions = self._workspace.sessions
        if SESSIONS in query.without or not self._workspace.imported.exists():
            return []
        inner = Query(query.text, 30, 30 * PAST_TOKENS, coding=query.coding)
        least = max([CLEARLY, *(passage.score for passage in others)])
        best: dict[str, Passage] = {}
        for passage in self._conversations().recall(inner, wait=False):
            is_clear = passage.score >= least and conversations.may_answer(passage, query.text)
            path = sessions / f"{passage.source}{conversations.SUFFIX}"
            if is_clear and passage.source not in best and conversations.is_imported(path):
                best[passage.source] = passage
        return fill(list(best.values()), PAST, PAST_TOKENS)[0]

    def check_changeable(self, address: str) -> None:
        """Raise LedgerError for the address of a note or of a past conversation, which memory must
        not change; the error says where they can be changed."""
        match = _ADDRESS.fullmatch(address)
        source = self._named(match[1]) if match else None
        if match and source and match[2]:
            raise LedgerError(
                f"{address} is a note, which is never written to",
                f"Edit line {match[3]} of {source.folder / match[2]}",
            )
        if match and not match[2] and (self._workspace.sessions / f"{match[1]}.jsonl").exists():
            raise LedgerError(
                f"{address} is from a past conversation, not a fact in memory",
                f"`assistant sessions delete {match[1]}` removes all of it;"
                " `assistant forget WORDS --purge --sessions` removes some words",
            )

    def refresh(self) -> None:
        """Index what has changed before the next query; called at intervals."""
        now = time.monotonic()
        if now - self._looked < self._ahead_seconds:
            return
        self._looked = now
        for source in self._settings.sources:
            self._notes(source).refresh()
        if self._workspace.sessions.exists():
            self._conversations().refresh()

    def status(self) -> tuple[NotesStatus, ...]:
        """Return the state of the notes' indexes."""
        statuses = []
        for source in self._settings.sources:
            collection = self._notes(source)
            files, chunks = collection.indexed()
            statuses.append(NotesStatus(source.name, source.path, files, chunks, collection.unread))
        return tuple(statuses)

    def notices(self) -> list[str]:
        """Return what cannot be searched, and why."""
        return [notice for collection in list(self._open.values()) for notice in collection.notices]

    def scrub(self) -> None:
        """Erase from the index what the conversations no longer contain, to the last byte."""
        if SESSIONS in self._open or self._workspace.sessions_index.exists():
            self._conversations().scrub()

    def close(self) -> None:
        """Close all indexes."""
        with self._opening:
            for collection in self._open.values():
                collection.close()

    # Parts

    def _source(self, name: str) -> SourceSettings:
        if source := self._named(name):
            return source
        names = [source.name for source in self._settings.sources]
        there = f"Available: {', '.join(names)}" if names else "Add one to [[sources]]"
        raise UsageError(f"there are no notes called {name!r}", there)

    def _named(self, name: str) -> SourceSettings | None:
        """Return the source of this name; case counts only between names that are otherwise
        equal."""
        same = [source for source in self._settings.sources if source.name.lower() == name.lower()]
        return next((source for source in same if source.name == name), same[0] if same else None)

    def _notes(self, source: SourceSettings) -> Collection:
        corpus = Notes(self._workspace, source)
        return self._opened(source.name, corpus, notes.text, obsidian.refined)

    def _conversations(self) -> Collection:
        return self._opened(SESSIONS, Conversations(self._workspace), conversations.text)

    def _opened(
        self, name: str, corpus: Source, read: Read, refine: Refine | None = None
    ) -> Collection:
        with self._opening:
            if name not in self._open:
                self._open[name] = Collection(
                    name,
                    corpus,
                    Synchronizer(
                        corpus,
                        self._embedder,
                        self._settings.index,
                        redactor=self._redactor,
                        read=read,
                        refine=refine,
                    ),
                    self._embedder,
                    self._settings.memory,
                    self._progress,
                )
            return self._open[name]


def merged(
    facts: Sequence[Passage],
    notes: Sequence[Passage],
    k: int,
    budget: int,
    *,
    in_turn: bool = False,
) -> list[Passage]:
    """Return the best facts and notes, best first, at most `k` passages and `budget` tokens.

    Facts that match about as well as the best have half of each to themselves; in a turn, whose
    facts are limited already, all have.
    """
    every = _best_first([*facts, *notes])
    least = AS_GOOD * every[0].score if every else 0.0
    matching = [each for each in facts if in_turn or each.score >= least]
    kept, _ = fill(matching, k // 2, budget // 2)
    rest = [each for each in every if each not in kept]
    tokens = sum(each.tokens for each in kept)
    return _best_first([*kept, *fill(rest, k - len(kept), budget - tokens)[0]])


def _best_first(passages: Iterable[Passage]) -> list[Passage]:
    return sorted(passages, key=lambda passage: -passage.score)
