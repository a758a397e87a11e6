"""`Keeper` in the process that owns the index: all operations are carried out here.

The index is refreshed from the files before each answer and after each write, so a fact can be
recalled when `remember` returns. Writes run one at a time; reads never wait.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from itertools import chain, zip_longest
from typing import TypeVar

from assistant import config
from assistant.disk import storage
from assistant.display import shortened
from assistant.errors import AssistantError, LedgerError, StorageError
from assistant.memory.base import (
    FACTS,
    LONGEST_LINE,
    Chart,
    Due,
    Existing,
    Fact,
    Finding,
    Forgotten,
    Held,
    JournalEntry,
    Located,
    Mark,
    MemoryStatus,
    Notify,
    Pair,
    Passage,
    Progress,
    Query,
    Recall,
    Remembered,
    Returned,
    Secret,
    ServerCollection,
    SourceStatus,
    Upkept,
    fill,
    no_notices,
    no_progress,
)
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.chroma import collection_name
from assistant.memory.index.database import CatalogDamaged
from assistant.memory.index.refresh import Synchronizer
from assistant.memory.index.store import owner_of
from assistant.memory.search.locating import Locator
from assistant.memory.search.overview import chart, due, near_pairs
from assistant.memory.search.recall import Recaller
from assistant.memory.sources.library import Library
from assistant.memory.text.chunk import passage as passage_of
from assistant.memory.text.identity import fact_key
from assistant.memory.writing.ledger import Ledger, given_up_by
from assistant.memory.writing.purge import Purge
from assistant.memory.writing.redaction import Redaction
from assistant.memory.writing.review import SHOWN_LINES, Review, lines
from assistant.secrets.redactor import Redactor
from assistant.settings.tree import Settings
from assistant.workspace.folder import ALWAYS_FILES, PROCEDURE_FILES, Workspace

DOUBTFUL = frozenset({"tool", "recalled", "guess"})
"""Origins whose facts wait for the owner: what a tool returned may be written to deceive, and what
the assistant concludes from recalled facts would be memory feeding on itself."""
KEPT_NOTICES = 10
"""The number of latest events that `status` reports."""
UNKNOWN = "files that changed"
"""Reported as not yet indexed while another thread determines which files have changed."""
MOST_UNDATED, MOST_TOKENS = 500, 50_000
"""Passages to read for a past day, since only the journal has the dates of some."""
MOST_NAMED = 5
"""Facts missing from a file that are reported one by one."""
_T = TypeVar("_T")


class Notices:
    """Notices for the owner: the latest events, and faults while they last."""

    def __init__(self, notify: Notify) -> None:
        self._notify = notify
        self._events: deque[str] = deque(maxlen=KEPT_NOTICES)
        self._faults: tuple[str, ...] = ()
        self._lock = threading.RLock()

    def add(self, event: str) -> None:
        """Report an event, each time it happens."""
        with self._lock:
            self._notify(event)
            self._events.append(event)

    def set_faults(self, faults: tuple[str, ...]) -> None:
        """Report each fault that is new; those left out are over."""
        with self._lock:
            for fault in faults:
                if fault not in self._faults:
                    self._notify(fault)
            self._faults = faults

    def all(self) -> tuple[str, ...]:
        """Return all notices without duplicates: events, oldest first, then faults."""
        return tuple(dict.fromkeys((*self._events, *self._faults)))


class LocalMemory:
    """`Keeper` in this process. Safe to use from several threads.

    The process must own the index (`daemon/lifecycle.py`). `on_close` is called when it is closed.
    Secrets that `redactor` knows are indexed, and recalled, as stand-ins.
    """

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        embedder: Embedder,
        progress: Progress = no_progress,
        notify: Notify = no_notices,
        on_close: Callable[[], None] | None = None,
        today: Callable[[], date] = date.today,
        redactor: Callable[[], Redactor] = Redactor,
        *,
        resident: bool = False,
    ) -> None:
        """With `resident`, the process stays, so it may index large files in the background."""
        self.embedder = embedder
        self._notices = Notices(notify)
        self.index = Synchronizer(
            workspace,
            embedder,
            settings.index,
            self._observe,
            redactor,
            notify=self._notices.add,
            in_background=resident,
            index_days=True,
        )
        self._progress = progress
        self._workspace = workspace
        self._redaction = Redaction(workspace, redactor)
        self._ledger = Ledger(
            workspace,
            today,
            self._redaction.text,
            lambda message: progress(message, 0, 0),
        )
        self._journals = self._ledger.journals
        self._review = Review(self._ledger)
        self._library = Library(workspace, settings, embedder, redactor, progress)
        notes = tuple(settings.notes.values())
        self._purge = Purge(self._ledger, self._review, self._scrub, notes=notes)
        self._recaller = Recaller(self.index.store, embedder, settings.memory, today)
        self._locator = Locator(self.index.store, self._recaller)
        self._folders = (workspace.private, config.cache_dir(), config.state_dir())
        self._on_close = on_close
        self._lock = threading.RLock()
        """Acquired by writers; readers do not wait."""
        self._has_resumed_purges = self._is_closed = False
        self._journal_faults: tuple[str, ...] = ()
        """Why the journal cannot be read, if it cannot."""

    def close(self) -> None:
        """Close the indexes."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            try:
                self._library.close()
                self.index.close()
                self._give_to_owner()
            finally:
                if self._on_close is not None:
                    self._on_close()

    # Questions

    def recall(self, query: Query) -> Recall:
        if query.within not in ("", FACTS):
            return self._library.recall(query)
        asked = query if query.as_of is None else replace(query, k=MOST_UNDATED, budget=MOST_TOKENS)
        result, behind = self._read_index(lambda: self._recaller.recall(asked))
        passages, near_misses = (
            self._annotated(group, query) for group in (result.passages, result.near_misses)
        )
        if query.as_of is not None:
            passages = tuple(fill(passages, *self._recaller.limits(query))[0])
        answer = replace(result, passages=passages, near_misses=near_misses)
        if behind:
            notice = f"{', '.join(behind)}: being indexed; this is from the version indexed before"
            answer = replace(answer, behind=behind, notices=(*answer.notices, notice))
        if query.verbatim:
            verbatim = tuple(map(self._redaction.verbatim, answer.passages))
            answer = replace(answer, passages=verbatim)
        return answer if query.within else self._library.joined_with(query, answer)

    def core(self, tokens: int) -> tuple[Passage, ...]:
        return self._read(lambda: tuple(map(self._dated, self._recaller.core(tokens))))

    def existing(self, texts: Sequence[str], k: int) -> Existing:
        def candidates(text: str) -> Iterator[Passage]:
            query = Query(text, k=k, without=PROCEDURE_FILES, within=FACTS)
            near = self._recaller.recall(query).passages
            rare = self._locator.sharing_a_rare_word(text, k)
            named = [passage for passage in rare if passage.source not in PROCEDURE_FILES]
            yield from filter(None, chain.from_iterable(zip_longest(near, named[:k])))

        lists = self._read(lambda: [list(candidates(text)) for text in texts])
        nearest_first = filter(None, chain.from_iterable(zip_longest(*lists)))
        distinct = {passage.id: passage for passage in nearest_first}
        return Existing(tuple(map(self._dated, distinct.values())), self._ledger.headings())

    def locate(self, target: str) -> Located:
        self._library.check_changeable(target)
        redacted = self._redaction.text(target)  # as the index has it
        return self._read(lambda: self._locator.locate(redacted))

    def waiting(self) -> tuple[Held, ...]:
        return self._review.waiting()

    def erased(self) -> tuple[JournalEntry, ...]:
        return self._read(lambda: () if self._journal_faults else self._ledger.erased())

    def returned(self) -> tuple[Returned, ...]:
        return self._read(lambda: () if self._journal_faults else self._ledger.returned())

    def log(self, limit: int = 20) -> tuple[JournalEntry, ...]:
        return self._journals.log(limit)

    def due(self, first: str, last: str) -> tuple[Due, ...]:
        return self._read(lambda: due(self.index.store.catalog, self._dated, first, last))

    def chart(self) -> Chart:
        return chart(self._read(lambda: self.index.store.catalog), self._recorded)

    def pairs(self, limit: int = 200) -> tuple[Pair, ...]:
        catalog = self._read(lambda: self.index.store.catalog)
        pairs = []
        for one, other, cosine in near_pairs(catalog, limit, self._progress):
            both = [self._dated(passage_of(chunk)) for chunk in (one, other)]
            earlier, later = sorted(
                both, key=lambda passage: (passage.date or "", passage.start_line)
            )
            pairs.append(Pair(earlier, later, cosine))
        return tuple(pairs)

    def status(self) -> MemoryStatus:
        def read() -> MemoryStatus:
            catalog = self.index.store.catalog
            notices = [*self._notices.all(), *_unreadable(self._workspace)]
            notices += self._library.notices()
            if not self._journal_faults:
                notices += (
                    f"{path.name}: {lines(damaged)} damaged and skipped: `assistant memory check`"
                    for path, damaged in self._review.damaged().items()
                )
                notices += _undecided(self._ledger)
            sources = []
            for source in catalog.sources().values():
                read_at = datetime.fromtimestamp(source.read_ns / 1e9).astimezone()
                time = read_at.isoformat(timespec="seconds")
                sources.append(SourceStatus(source.name, source.chunks, time))
            return MemoryStatus(
                chunks=catalog.count(),
                sources=tuple(sources),
                embedded_total=catalog.vectors.embedded_total,
                embedder=self.embedder.fingerprint,
                index_bytes=self.index.store.size(),
                waiting_for_review=len(self._review.waiting()),
                notices=tuple(filter(None, notices)),
                server=self.index.store.dense.status(),
            )

        notes = self._library.status()
        return replace(self._read(read), notes=notes)

    # Writes

    def remember(
        self, facts: Sequence[Fact], *, request: str | None = None
    ) -> tuple[Remembered, ...]:
        with self._lock:
            facts = [self._redaction.open_phrases(fact.as_line) for fact in facts]
            facts = [self._with_id_replaced(f) if _is_doubtful(f) else f for f in facts]
            secrets = self._redaction.secrets(facts)
            refusals = list(map(self._redaction.refusal, facts, secrets))
            to_write = [
                fact
                for fact, refusal in zip(facts, refusals, strict=True)
                if not refusal and not _is_doubtful(fact)
            ]
            replaced = self._read(lambda: self._replaced(to_write))
            to_write = list(map(self._under_heading, to_write))
            written = self._ledger.remember(to_write, request=request, replaced=replaced)
            answers = iter(self._indexed(written))
            return tuple(
                _with_secrets(
                    refusal or (self._hold(fact) if _is_doubtful(fact) else next(answers)),
                    fact,
                    own_secrets,
                )
                for fact, refusal, own_secrets in zip(facts, refusals, secrets, strict=True)
            )

    def forget(self, passages: Sequence[Passage], *, request: str | None = None) -> Forgotten:
        with self._lock:
            verbatim = list(map(self._redaction.verbatim, passages))
            forgotten = self._ledger.forget(verbatim, request=request)
            self._refresh_index()
            return replace(forgotten, removed=tuple(passages))

    def purge(
        self,
        passages: Sequence[Passage],
        *,
        past: Sequence[str] = (),
        sessions: bool = False,
        request: str | None = None,
    ) -> Forgotten:
        with self._lock:
            for fact in past:
                self._check_past(fact)
            every = [*passages, *self._superseded_twins(passages)]
            verbatim = list(map(self._redaction.verbatim, every))
            masked = [passage.plain for passage in passages if passage not in verbatim]
            forgotten = self._purge.forget(
                verbatim, past=[*past, *masked], sessions=sessions, request=request
            )
            self._refresh_index()
            return replace(forgotten, removed=tuple(passages))

    def undo(
        self, ids: Sequence[str] = (), *, skip: bool = False, request: str | None = None
    ) -> tuple[JournalEntry, ...]:
        with self._lock:
            hold = self._review.hold
            undone = self._ledger.undo(ids, skip=skip, request=request, hold=hold)
            self._refresh_index()
            return undone

    def mark(self, marks: Sequence[Mark], *, request: str | None = None) -> int:
        with self._lock:
            changed = self._ledger.mark(list(map(self._redaction.mark, marks)), request=request)
            self._refresh_index()
            return changed

    def review(
        self,
        id: str,
        *,
        accept: bool,
        text: str | None = None,
        together: str = "",
        request: str | None = None,
    ) -> Remembered | None:
        with self._lock:
            if not accept:
                self._review.refuse(id, together=together)
                return None
            facts = [held.fact for held in self._review.waiting() if held.id == id]
            if text is not None and facts:
                edited = replace(facts[0], text=text, secrets="tell")
                (secrets,) = self._redaction.secrets([edited])
                if refusal := self._redaction.refusal(edited, secrets):
                    return refusal
            replaced = self._read(lambda: self._replaced(facts))
            written = self._review.accept(
                id, text, together=together, request=request, replaced=replaced
            )
            return self._indexed([written])[0]

    def restore(
        self, ids: Sequence[str], *, dismiss: bool = False, request: str | None = None
    ) -> tuple[Remembered, ...]:
        with self._lock:
            if dismiss:
                self._ledger.dismiss(ids)
                return ()
            return self._indexed(self._ledger.restore(ids, request=request))

    # Upkeep

    def upkeep(self) -> Upkept:
        with self._lock:
            moved = self._read(lambda: self._ledger.upkeep(self._heading_for))
            self._refresh_index()
            return moved

    def refresh(self) -> None:
        """Refresh the indexes ahead of the next question."""
        self._refresh_index()
        self._library.refresh()

    def rebuild(self) -> MemoryStatus:
        with self._lock:
            self.index.rebuild(self._progress)
            return self.status()

    def check(self) -> tuple[Finding, ...]:
        with self._lock:
            self._refresh_index()
            findings = tuple(self._findings())
            self._refresh_index()
            return findings

    def unowned(self, *, remove: bool = False) -> tuple[ServerCollection, ...]:
        store = self.index.store
        server, own = store.dense.server(), collection_name(store.owner)
        unowned = tuple(
            ServerCollection(name, vectors)
            for name, of, vectors in server.collections()
            if name != own and owner_of(name, of) == "nobody"
        )
        for collection in unowned if remove else ():
            server.drop(collection.name)
        return unowned

    def _findings(self) -> Iterator[Finding]:
        """Yield what is wrong with journal, index and files, mended if possible."""
        images = self._ledger.commits.images
        with self._ledger.commits.locked():
            yield from self._review.mend()
        for name in images.names():
            if images.read(name) is None:  # its contents cannot be restored
                images.drop(name)
                what = f".assistant/history/{name} is damaged; it is dropped"
                yield Finding("journal", what, True)
        if not self.index.verify():
            yield Finding("index", "the index was damaged; it is rebuilt from the files", True)
        for fault in (*self.index.faults(), *_unreadable(self._workspace)):
            yield Finding("file", fault, False)

    # The index

    def _read(self, read: Callable[[], _T]) -> _T:
        """Read a refreshed index; a damaged one is rebuilt."""
        return self._read_index(read)[0]

    def _read_index(self, read: Callable[[], _T]) -> tuple[_T, tuple[str, ...]]:
        """Read a refreshed index; also return the files of which it has an older version."""
        behind = self._refresh_index()
        catalog = self.index.store.catalog
        try:
            with catalog.reading():
                result = read()
        except CatalogDamaged:
            self.index.recover(catalog)
            behind = self._refresh_index()
            with self.index.store.catalog.reading():
                result = read()
        self._notices.set_faults((*self.index.faults(), *self._journal_faults))
        return result, behind

    def _refresh_index(self) -> tuple[str, ...]:
        """Refresh the index from the files; return those of which it has an older version.

        Recall goes on if the journal cannot be read or a purge cannot be completed.
        """
        try:
            self._journals.own.refresh()
        except StorageError as error:
            self._journal_faults = (str(error),)
        else:
            self._journal_faults = ()
            self._resume_purges()
        refreshed = self.index.refresh_unless_busy(self._progress)
        if refreshed is not None:
            self._notices.set_faults((*refreshed.faults, *self._journal_faults))
            self._give_to_owner()
        return self.index.pending_files() or (() if refreshed else (UNKNOWN,))

    def _resume_purges(self) -> None:
        """Complete, once, the purges that a killed owner had begun."""
        if self._has_resumed_purges:
            return
        with self._lock:
            if self._has_resumed_purges:
                return
            self._has_resumed_purges = True
            try:
                self._purge.finish()
            except AssistantError as error:
                self._notices.add(f"A purge is not finished: {error}")

    def _scrub(self) -> None:
        """Erase from every index what the files no longer contain, to the last byte."""
        try:
            self.index.scrub()
        except CatalogDamaged:
            self.index.recover()
            self.index.scrub()
        self._library.scrub()

    def _observe(self, source: str, text: str, sha256: str) -> None:
        """Check whether a stale save removed facts; recall goes on if that fails."""
        if self._journal_faults:
            return
        try:
            self._ledger.observe(source, text, sha256)
        except AssistantError as error:
            self._notices.add(str(error))

    def _give_to_owner(self) -> None:
        """Leave no file owned by root if root works in another user's workspace."""
        for folder in self._folders:
            storage.give_to_owner(folder)

    # Passages and facts

    def _annotated(self, passages: Iterable[Passage], query: Query) -> tuple[Passage, ...]:
        """Return the passages with the journal's dates, without those dated after the query's
        day."""
        dated = map(self._recorded if query.why else self._dated, passages)
        if query.as_of is None:
            return tuple(dated)
        return tuple(passage for passage in dated if (passage.date or "") <= query.as_of)

    def _dated(self, passage: Passage) -> Passage:
        """Return the passage with the journal's date, if the file gives none."""
        return passage if passage.date else self._recorded(passage)

    def _recorded(self, passage: Passage) -> Passage:
        """Return the passage with its date and origin from the journal."""
        entry = None if self._journal_faults else self._journals.adding(passage.plain)
        if entry is None:
            return passage
        return replace(
            passage,
            date=passage.date or entry.time[:10],
            origin=passage.origin or entry.origin.kind,
        )

    def _indexed(self, written: Iterable[Remembered]) -> tuple[Remembered, ...]:
        """Index what was written; return it with its ids and the facts it may supersede."""
        return self._read(lambda: tuple(map(self._with_id, written)))

    def _with_id(self, written: Remembered) -> Remembered:
        chunk = self._locator.beginning_at(written.source, written.line)
        if chunk is None:
            return written
        is_new = written.status != "exists"
        return replace(written, id=chunk.id, similar=self._locator.similar(chunk) if is_new else ())

    def _under_heading(self, fact: Fact) -> Fact:
        """Return the fact with the owner's heading that fits best, if it asks for one."""
        headings = self._ledger.headings() if fact.under == "" and not fact.replaces else ()
        if not headings:
            return fact
        return replace(fact, under=self._read(lambda: self._heading_for(fact.text, headings)))

    def _heading_for(self, fact: str, headings: Sequence[str]) -> str:
        """Return the owner's heading that fits a fact; "" if none does."""
        return self._locator.heading_of(fact, self.embedder.embed([fact])[0], headings)

    def _hold(self, fact: Fact) -> Remembered:
        """Queue a fact for the owner's review; until then it is in no file and no recall."""
        if existing := self._ledger.stated(fact):
            return self._with_id(existing)
        (held,) = self._review.hold([fact])
        return Remembered("waiting", held.id, "", 0, held.fact.text)

    def _with_id_replaced(self, fact: Fact) -> Fact:
        """Return the fact with the id and the words of what it replaces, since lines move before
        the review.

        Raises LedgerError if `replaces` names nothing.
        """
        if fact.replaces is None:
            return fact
        replaced = self._read(lambda: self._replaced([fact]))
        old = given_up_by(fact, replaced)[0]
        return replace(fact, replaces=old.id, replaced_text=old.plain)

    def _replaced(self, facts: Sequence[Fact]) -> dict[str, tuple[Passage, ...]]:
        """Return the passages that each `replaces` names; the ledger rejects one that names
        none."""
        words = {fact.replaces: fact.replaced_text for fact in facts if fact.replaces}
        for target in words:
            self._library.check_changeable(target)
        replaced = {target: self._locator.named(target, old) for target, old in words.items()}
        for passage in chain.from_iterable(replaced.values()):
            self._redaction.check_open(passage)
        return replaced

    def _superseded_twins(self, passages: Sequence[Passage]) -> list[Passage]:
        """Return the superseded passages with the same text as these, to purge with them."""
        facts = {passage.plain for passage in passages}
        twins = self._read(lambda: [self._locator.superseded(fact) for fact in facts])
        return [passage for passage in chain.from_iterable(twins) if passage not in passages]

    def _check_past(self, fact: str) -> None:
        """Raise LedgerError if a file still states or contains a fact, or if it is only part of a
        fact in the journal."""
        located = self.locate(fact)
        for passage in located.passages:
            if located.exact or fact_key(fact) in fact_key(passage.plain):
                raise LedgerError(f"{passage.citation} still says {fact!r}", "Name that line")
        key = fact_key(fact)
        texts = (write.text for write in self._journals.own.acknowledged())
        facts = {fact_key(line): line for text in texts for line in text.split("\n")}
        wider = [line for other, line in facts.items() if f" {key} " in f" {other} "]
        if wider and key not in facts:
            raise LedgerError(
                f"{fact!r} is only a part of what memory contained: "
                + "; ".join(shortened(line, LONGEST_LINE) for line in wider[:SHOWN_LINES]),
                "Give the complete text of each fact",
            )


def _unreadable(workspace: Workspace) -> Iterator[str]:
    """Yield the faults of the files that are in every prompt; the index has those of the others."""
    for name in ALWAYS_FILES:
        try:
            workspace.text(name)
        except StorageError as error:
            yield str(error)


def _undecided(ledger: Ledger) -> Iterator[str]:
    """Yield notices about facts that saves removed or brought back, until the owner decides."""
    erased: dict[str, list[JournalEntry]] = {}
    for entry in ledger.erased():
        erased.setdefault(entry.source, []).append(entry)
    for source, entries in erased.items():
        if len(entries) > MOST_NAMED:
            yield (
                f"{len(entries)} facts are missing from {source}, by a save from an older copy or"
                " because it was replaced: `assistant memory restore` lists them"
            )
            continue
        for entry in entries:
            yield (
                f"A save from an older copy of {source} removed: {entry.text}"
                f" (`assistant memory restore {entry.id}`, with --dismiss if it was meant)"
            )
    for fact in ledger.returned():
        yield (
            f"A save brought back what you had forgotten, {fact.address}: {fact.text}"
            f" (`{fact.cure}`, or `assistant memory restore {fact.id} --dismiss` if it was meant)"
        )


def _is_doubtful(fact: Fact) -> bool:
    return fact.waits or fact.origin.kind in DOUBTFUL


def _with_secrets(answer: Remembered, fact: Fact, secrets: tuple[Secret, ...]) -> Remembered:
    """Return the answer with the likely secrets in the fact, unless the owner knows already."""
    if fact.secrets == "keep" or not secrets:
        return answer
    return replace(answer, text=fact.text, secrets=secrets)
