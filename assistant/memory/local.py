"""The one door to memory, in the process that owns the index.

Before each answer the index is brought up to the files; after each write too, so that a fact can
be recalled when `remember` returns. Operations run one at a time.
"""

import functools
import re
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TypeVar

import numpy as np

from assistant.errors import AssistantError, LedgerError
from assistant.memory.base import (
    Fact,
    Forgotten,
    Held,
    JournalEntry,
    MemoryStatus,
    Notify,
    Pair,
    Passage,
    Progress,
    Query,
    Recall,
    Remembered,
    SourceStatus,
    no_notices,
    no_progress,
)
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.catalog import Source
from assistant.memory.index.database import CatalogDamaged
from assistant.memory.index.rows import StoredChunk
from assistant.memory.index.sync import Refreshed, Synchronizer
from assistant.memory.search.near_pairs import near_pairs
from assistant.memory.search.recall import Recaller
from assistant.memory.text.chunks import Chunk, passage
from assistant.memory.text.identity import fact_key
from assistant.memory.text.masking import verbatim
from assistant.memory.text.words import plain
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.ledger import Ledger, Written
from assistant.memory.writing.review import Review
from assistant.secrets.redactor import Redactor
from assistant.secrets.stand_ins import stand_ins
from assistant.settings import Settings
from assistant.workspace import Workspace

DOUBTFUL = frozenset({"tool", "recalled"})
"""Origins whose facts wait for the owner: what a tool returned may have been written to deceive,
and what the assistant makes of recalled facts is memory listening to itself."""
MOST_SIMILAR = 3
"""Candidates to supersede that `remember` points out."""
SIMILAR_COSINE = 0.6
"""How near they are at least; MiniLM gives a true paraphrase about 0.74."""
MOST_LOCATED = 5
"""What words name when no fact holds them literally: so many of the best that recall finds."""
KEPT_NOTICES = 10
"""The latest events that `status` tells of."""
_PLACE = re.compile(r"(.+\.md):(\d+)")
_ID = re.compile(r"[0-9a-f]{16}")
_T = TypeVar("_T")


class LocalMemory:
    """`Memory` in this process. Safe to use from several threads.

    It must own the index (`owner.py`). A write's `request` names it: the same request again
    returns what the first one did. `let_go` is called when it is closed. Secrets that `redactor`
    knows are neither written nor indexed: their stand-ins are, and that is what passages say.
    """

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        embedder: Embedder,
        progress: Progress = no_progress,
        notify: Notify = no_notices,
        let_go: Callable[[], None] | None = None,
        today: Callable[[], date] = date.today,
        redactor: Callable[[], Redactor] = Redactor,
    ) -> None:
        self._redactor = redactor
        self._workspace = workspace
        self._embedder = embedder
        self._progress = progress
        self._notify = notify
        self._let_go = let_go
        self._happened: deque[str] = deque(maxlen=KEPT_NOTICES)
        self._faults: tuple[str, ...] = ()
        self._closed = False
        self._lock = threading.RLock()
        self._ledger = Ledger(workspace, today, self._redact)
        self._review = Review(workspace, self._ledger)
        self._index = Synchronizer(workspace, embedder, settings.index, self._observe, redactor)
        self._recaller = Recaller(self._index.store, embedder, settings.memory)

    def recall(self, query: Query) -> Recall:
        found = self._fresh(lambda: self._recaller.recall(query))
        recorded = self._recorded if query.why else self._dated
        return replace(
            found,
            passages=tuple(map(recorded, found.passages)),
            near_misses=tuple(map(recorded, found.near_misses)),
        )

    def remember(
        self, facts: Sequence[Fact], *, request: str | None = None
    ) -> tuple[Remembered, ...]:
        with self._lock:
            facts = list(map(self._redacted, facts))
            sure = [fact for fact in facts if fact.origin.kind not in DOUBTFUL]
            replaced = self._fresh(lambda: self._replaced(sure))
            done = self._ledger.remember(sure, request=request, replaced=replaced)
            written = iter(self._fresh(lambda: [self._remembered(each) for each in done]))
            return tuple(
                self._hold(fact) if fact.origin.kind in DOUBTFUL else next(written)
                for fact in facts
            )

    def locate(self, target: str) -> tuple[Passage, ...]:
        def find() -> tuple[Passage, ...]:
            words = _text(target)
            named = self._named(words)
            return self._worded(words) if named is None else named

        return self._fresh(find)

    def forget(
        self, passages: Sequence[Passage], *, purge: bool = False, request: str | None = None
    ) -> Forgotten:
        with self._lock:
            own = list(map(self._verbatim, passages))
            forgotten = self._ledger.forget(own, purge=purge, request=request)
            forgotten = replace(forgotten, removed=tuple(passages))
            self._refresh()
            if purge:
                self._review.purge([plain(passage.text) for passage in passages])
                self._index.scrub()
            return forgotten

    def status(self) -> MemoryStatus:
        return self._fresh(self._status)

    def log(self, limit: int = 20) -> tuple[JournalEntry, ...]:
        with self._lock:
            return self._ledger.log(limit)

    def undo(self, *, request: str | None = None) -> JournalEntry:
        with self._lock:
            undone = self._ledger.undo(request=request)
            self._refresh()
            return undone

    def waiting(self) -> tuple[Held, ...]:
        with self._lock:
            return self._review.waiting()

    def review(
        self, id: str, *, accept: bool, text: str | None = None, request: str | None = None
    ) -> Remembered | None:
        with self._lock:
            if not accept:
                self._review.refuse(id)
                return None
            words = None if text is None else self._redact(text)
            written = self._review.accept(id, words, request=request)
            return self._fresh(lambda: self._remembered(written))

    def erased(self) -> tuple[JournalEntry, ...]:
        return self._fresh(self._ledger.erased)

    def restore(
        self, ids: Sequence[str], *, dismiss: bool = False, request: str | None = None
    ) -> tuple[Remembered, ...]:
        with self._lock:
            if dismiss:
                self._ledger.dismiss(ids)
                return ()
            written = self._ledger.restore(ids, request=request)
            return self._fresh(lambda: tuple(map(self._remembered, written)))

    def pairs(self, limit: int = 200) -> tuple[Pair, ...]:
        catalog = self._fresh(lambda: self._index.store.catalog)
        return tuple(self._pair(*each) for each in near_pairs(catalog, limit, self._progress))

    def rebuild(self) -> MemoryStatus:
        with self._lock:
            self._note(self._index.rebuild(self._progress))
            return self._status()

    def refresh(self) -> None:
        """Bring the index up to the files ahead of the next question."""
        with self._lock:
            self._refresh()

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                self._index.close()
            finally:
                if self._let_go is not None:
                    self._let_go()

    # Freshness

    def _fresh(self, read: Callable[[], _T]) -> _T:
        """What `read` finds in an index that says what the files say, made anew if damaged."""
        with self._lock:
            self._refresh()
            try:
                return read()
            except CatalogDamaged:
                self._index.recover()
                self._refresh()
                return read()

    def _refresh(self) -> None:
        self._note(self._index.refresh(self._progress))

    def _note(self, done: Refreshed) -> None:
        """Tell each notice when it is new; `status` repeats it, a fault only while it lasts."""
        for notice in done.notices:
            if notice not in (*self._happened, *self._faults):
                self._notify(notice)
            if notice not in (*self._happened, *done.faults):
                self._happened.append(notice)
        self._faults = done.faults

    def _observe(self, source: str, text: str) -> None:
        """See whether a stale save took facts away; recall goes on if that fails."""
        try:
            self._ledger.observe(source)
        except AssistantError as error:
            self._happened.append(str(error))

    # Secrets

    def _redact(self, text: str) -> str:
        return self._redactor().redact(text)

    def _redacted(self, fact: Fact) -> Fact:
        return replace(fact, text=self._redact(fact.text), section=self._redact(fact.section))

    def _verbatim(self, passage: Passage) -> Passage:
        """The passage as its file has it, which may be with a secret."""
        if not stand_ins(passage.text):
            return passage
        return verbatim(passage, Draft(self._workspace).text(passage.source), self._redactor())

    # Answers

    def _hold(self, fact: Fact) -> Remembered:
        """Let a fact wait for the owner; it is in no file and no recall until then."""
        if known := self._ledger.stated(fact.text):
            return self._remembered(known)
        (held,) = self._review.hold([fact])
        return Remembered("waiting", held.id, "", 0, held.fact.text)

    def _replaced(self, facts: Sequence[Fact]) -> dict[str, Passage]:
        """The passages that `replaces` names; the ledger refuses what is not among them."""
        targets = {fact.replaces for fact in facts if fact.replaces}
        named = {target: self._named(_text(target)) or () for target in targets}
        replaced = {target: found[0] for target, found in named.items() if len(found) == 1}
        for each in replaced.values():
            if self._verbatim(each) != each:
                raise LedgerError(
                    f"{each.citation} holds a secret, which a superseded fact would keep",
                    "Change that line in the file yourself",
                )
        return replaced

    def _remembered(self, written: Written) -> Remembered:
        stored = self._at(written.source, written.line)
        similar = self._similar(stored) if stored and written.status != "exists" else ()
        return Remembered(
            status=written.status,
            id=stored.chunk.id if stored else "",
            source=written.source,
            line=written.line,
            text=written.text,
            similar=similar,
        )

    def _at(self, source: str, line: int) -> StoredChunk | None:
        found = self._index.store.catalog.at_line(source, line)
        return next((each for each in found if each.chunk.start_line == line), None)

    def _similar(self, fact: StoredChunk) -> tuple[Passage, ...]:
        """Current facts so near to this one that it may supersede them."""
        catalog = self._index.store.catalog
        layout = catalog.layout()
        place = layout.positions(np.array([fact.rowid]))
        vector = catalog.vectors.read(layout.vector[place].tolist())[0]
        rows, cosines = self._index.store.dense.nearest(vector, 4 * MOST_SIMILAR)
        near = dict(zip(rows.tolist(), cosines.tolist(), strict=True))
        found = [
            (stored.chunk, near[stored.rowid])
            for stored in catalog.chunks(rows.tolist())
            if stored.rowid != fact.rowid and stored.chunk.status == "current"
        ]
        return tuple(passage(*each) for each in found if each[1] >= SIMILAR_COSINE)[:MOST_SIMILAR]

    def _named(self, target: str) -> tuple[Passage, ...] | None:
        """The passages at `FILE:LINE`, or with an id; None if the target has neither form."""
        catalog = self._index.store.catalog
        place = _PLACE.fullmatch(target)
        if place and (place[1] in catalog.sources() or " " not in target):
            found = catalog.at_line(place[1], int(place[2]))
        elif _ID.fullmatch(target):
            found = catalog.by_id([target])
        else:
            return None
        return tuple(passage(each.chunk) for each in found)

    def _worded(self, target: str) -> tuple[Passage, ...]:
        """The facts that say just this, else those that hold it literally, else the likeliest."""
        wanted = fact_key(target)
        holding = self._holding(target, wanted)
        same = [chunk for chunk in holding if fact_key(chunk.plain) == wanted]
        if holding:
            return tuple(map(passage, same or holding))
        found = self._recaller.recall(Query(target, k=MOST_LOCATED))
        return found.passages

    def _holding(self, target: str, wanted: str) -> list[Chunk]:
        """The current chunks that hold all of the target's words, side by side."""
        catalog = self._index.store.catalog
        terms = catalog.words.terms(target)
        if not terms:
            return []
        rows = [rows for rows, _ in catalog.words.in_chunks(terms).values()]
        common = functools.reduce(np.intersect1d, rows)
        chunks = [stored.chunk for stored in catalog.chunks(common.tolist())]
        current = [chunk for chunk in chunks if chunk.status == "current"]
        return [chunk for chunk in current if wanted in fact_key(chunk.plain)]

    def _pair(self, one: Chunk, other: Chunk, cosine: float) -> Pair:
        both = [self._dated(passage(chunk)) for chunk in (one, other)]
        earlier, later = sorted(both, key=lambda each: (each.date or "", each.start_line))
        return Pair(earlier, later, cosine)

    def _dated(self, passage: Passage) -> Passage:
        """With the journal's date, where the file names none."""
        return passage if passage.date else self._recorded(passage)

    def _recorded(self, passage: Passage) -> Passage:
        """With what the journal knows of it."""
        entry = self._ledger.recorded(plain(passage.text))
        if entry is None:
            return passage
        return replace(
            passage,
            date=passage.date or entry.time[:10],
            origin=passage.origin or entry.origin.kind,
        )

    def _status(self) -> MemoryStatus:
        sources = self._index.store.catalog.sources().values()
        return MemoryStatus(
            chunks=self._index.store.catalog.count(),
            sources=tuple(map(_source_status, sources)),
            embedded_total=self._index.store.catalog.vectors.embedded_total,
            embedder=self._embedder.fingerprint,
            index_bytes=self._index.store.size(),
            waiting_for_review=len(self._review.waiting()),
            notices=(
                *filter(None, [self._embedder.notice]),
                *self._happened,
                *self._faults,
                *self._erased(),
            ),
        )

    def _erased(self) -> list[str]:
        return [
            f"A save from an older copy of {entry.source} took away: {entry.text}"
            f" (`assistant memory restore {entry.id}`, with --dismiss if it was meant)"
            for entry in self._ledger.erased()
        ]


def _source_status(source: Source) -> SourceStatus:
    read = datetime.fromtimestamp(source.read_ns / 1e9, UTC).astimezone()
    return SourceStatus(source.name, source.chunks, read.isoformat(timespec="seconds"))


def _text(given: str) -> str:
    """Text that UTF-8 can hold: the shell may hand over bytes that are none."""
    return given.encode("utf-8", "replace").decode()
