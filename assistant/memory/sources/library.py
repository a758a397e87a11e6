"""What can be recalled besides memory: the notes of the configuration, and past conversations.

Each is a corpus with an index of its own, which is opened when it is first asked.
"""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

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
from assistant.memory.sources import conversations, notes, obsidian
from assistant.memory.sources.collection import Collection, Source
from assistant.memory.sources.conversations import Conversations
from assistant.memory.sources.notes import Notes
from assistant.secrets.redactor import Redactor
from assistant.settings.sections import SourceSettings
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace

NOTES_BUDGET = 250
"""Tokens of a recall that the passages of one source get; all together get at most half."""
AHEAD_SECONDS = 30.0
"""How often notes and past conversations are compared with their indexes while nobody asks: ten
thousand files take a tenth of a second."""
SHARE = 2
"""Notes may take one part of so many of a recall, in tokens and in passages."""
FAR = 0.6
"""A note whose score lies so far below the best fact's is not worth its tokens."""
_PLACE = re.compile(r"([^:/]+):(?:(.+):)?(\d+)")
"""How a note is cited, or the turn of a session."""


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
        self._ahead_seconds, self._looked = ahead_seconds, time.monotonic()

    def recall(self, query: Query) -> Recall:
        """The best passages of the corpus that a query is within.

        Raises UsageError if there is none of that name, in capitals or not.
        """
        own = replace(query, within="", own=None, without=())
        if query.within == SESSIONS:
            collection = self._conversations()
            found = map(self._in_session, collection.recall(own))
            passages = tuple(passage for passage in found if passage)
        else:
            source = self._source(query.within)
            collection = self._notes(source)
            passages = tuple(self._in_notes(source, collection.recall(own)))
        tokens = sum(passage.tokens for passage in passages)
        return Recall(query.text, tokens, passages, notices=collection.notices)

    def beside(self, query: Query, facts: Recall) -> Recall:
        """What memory recalled, with what the notes say on it, each within its budget."""
        if not self._settings.sources or query.as_of:
            return facts
        found: list[Passage] = []
        notices = list(facts.notices)
        wanted = replace(query, own=None, without=(), before="", why=False)
        for source in self._settings.sources:
            collection = self._notes(source)
            own = replace(wanted, budget=NOTES_BUDGET)
            passages = collection.recall(own, wait=False)
            if not passages and not facts.passages and collection.unread:
                passages = collection.recall(own)  # nothing is known on it: better late than wrong
            found += self._in_notes(source, passages)
            notices += collection.news()
        k = query.k or self._settings.memory.k
        budget = query.budget or self._settings.memory.budget
        both = tuple(merged(facts.passages, found, k, budget))
        tokens = sum(passage.tokens for passage in both)
        return replace(facts, passages=both, tokens=tokens, notices=tuple(notices))

    def check_changeable(self, address: str) -> None:
        """Raise LedgerError, with where it can be changed, for the address of what is recalled and
        is not memory's to change: a note, or what was said in a past conversation."""
        place = _PLACE.fullmatch(address)
        source = self._named(place[1]) if place else None
        if place and source and place[2]:
            raise LedgerError(
                f"{address} is a note, which is read where it lies and never written to",
                f"Edit line {place[3]} of {source.folder / place[2]}",
            )
        if place and not place[2] and (self._workspace.sessions / f"{place[1]}.jsonl").exists():
            raise LedgerError(
                f"{address} was said in a past conversation, and is no fact of memory",
                f"`assistant sessions delete {place[1]}` removes all of it;"
                " `assistant forget WORDS --purge --sessions` takes some words out",
            )

    def refresh(self) -> None:
        """Index what has changed ahead of the next question; called again and again."""
        now = time.monotonic()
        if now - self._looked < self._ahead_seconds:
            return
        self._looked = now
        for source in self._settings.sources:
            self._notes(source).refresh()
        if self._workspace.sessions.exists():
            self._conversations().refresh()

    def status(self) -> tuple[NotesStatus, ...]:
        """How the indexes of the notes stand."""
        found = []
        for source in self._settings.sources:
            collection = self._notes(source)
            files, chunks = collection.indexed()
            found.append(NotesStatus(source.name, source.path, files, chunks, collection.unread))
        return tuple(found)

    def notices(self) -> list[str]:
        """What is wrong with the notes."""
        return [notice for collection in list(self._open.values()) for notice in collection.notices]

    def scrub(self) -> None:
        """Leave no byte in an index of what the conversations no longer hold."""
        if SESSIONS in self._open or self._workspace.sessions_index.exists():
            self._conversations().scrub()

    def close(self) -> None:
        """Let go of all indexes."""
        with self._opening:
            for collection in self._open.values():
                collection.close()

    # Parts

    def _source(self, name: str) -> SourceSettings:
        if source := self._named(name):
            return source
        names = [source.name for source in self._settings.sources]
        there = f"There are {', '.join(names)}" if names else "Add one to [[sources]]"
        raise UsageError(f"there are no notes called {name!r}", there)

    def _named(self, name: str) -> SourceSettings | None:
        """The source of this name, written with capitals or without unless two differ in that."""
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

    def _in_notes(self, source: SourceSettings, found: Iterable[Passage]) -> Iterator[Passage]:
        """Passages as they are cited: by the source and the note; without those of a note that is
        deleted, though the index does not say so yet."""
        away = Notes(self._workspace, source).absence()
        for passage in found:
            if away or not _is_gone(source.folder / passage.source):
                yield replace(passage, source=f"{source.name}:{passage.source}")

    def _in_session(self, passage: Passage) -> Passage | None:
        """A passage as it is cited: by the session and the turn; None if that is deleted, though
        the index does not say so yet."""
        try:
            return conversations.cited(passage, self._workspace.sessions)
        except FileNotFoundError:
            return None


def _is_gone(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def merged(
    facts: Sequence[Passage], notes: Sequence[Passage], k: int, budget: int
) -> list[Passage]:
    """The best of both, best first, at most `k` passages and `budget` tokens: the notes take half
    at most, and what they do not take is the facts'.

    `facts` are those that a recall without notes returns, best first.
    """
    best = facts[0].score if facts else float("-inf")
    near = sorted(
        (passage for passage in notes if passage.score >= best - FAR),
        key=lambda passage: -passage.score,
    )
    room = budget // SHARE if facts else budget
    if k == 1:
        near = [passage for passage in near if passage.score > best]
    places = max(1, k // SHARE) if facts else k
    beside, _ = fill(near, places, room)
    taken = sum(passage.tokens for passage in beside)
    kept, _ = fill(facts, k - len(beside), budget - taken)
    return sorted([*kept, *beside], key=lambda passage: -passage.score)
