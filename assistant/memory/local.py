"""Memory in the process that owns the index: whatever can be asked of it, done here.

Before each answer the index is brought up to the files; after each write too, so that a fact can
be recalled when `remember` returns. Writes are made one at a time; what reads waits for none.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import chain, zip_longest
from typing import Literal, TypeVar

from assistant import config
from assistant.disk import storage
from assistant.errors import AssistantError, LedgerError, StorageError
from assistant.memory.base import (
    FACTS,
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
    Secret,
    ServerCollection,
    SourceStatus,
    Upkept,
    no_notices,
    no_progress,
)
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.chroma import collection_name
from assistant.memory.index.corpus import unsaid
from assistant.memory.index.database import CatalogDamaged
from assistant.memory.index.refresh import Refreshed, Synchronizer
from assistant.memory.index.store import owner_of
from assistant.memory.search.charting import chart
from assistant.memory.search.locating import Locator, similar
from assistant.memory.search.overview import due, near_pairs
from assistant.memory.search.recall import Recaller
from assistant.memory.sources.library import Library
from assistant.memory.text.chunk import passage as passage_of
from assistant.memory.text.identity import fact_key
from assistant.memory.writing.draft import FileState
from assistant.memory.writing.ledger import Ledger, given_up_by
from assistant.memory.writing.purge import Purge
from assistant.memory.writing.redaction import Redaction
from assistant.memory.writing.review import Review
from assistant.memory.writing.transaction import SetAside
from assistant.secrets.redactor import Redactor
from assistant.settings.tree import Settings
from assistant.workspace.folder import PROCEDURE_FILES, Workspace
from assistant.workspace.stores import killed_writes

DOUBTFUL = frozenset({"tool", "recalled"})
"""Origins whose facts wait for the owner: what a tool returned may have been written to deceive,
and what the assistant makes of recalled facts is memory listening to itself."""
KEPT_NOTICES = 10
"""The latest events that `status` tells of."""
SHOWN = 5
"""Numbers of damaged lines that are named."""
UNKNOWN = "files that changed"
_T = TypeVar("_T")


class Notices:
    """What happened, the latest of it, and what is wrong while it lasts."""

    def __init__(self, notify: Notify) -> None:
        self._notify = notify
        self._happened: deque[str] = deque(maxlen=KEPT_NOTICES)
        self._faults: tuple[str, ...] = ()
        self._lock = threading.RLock()

    def tell(self, notice: str) -> None:
        """Tell what happened, each time it does."""
        with self._lock:
            self._notify(notice)
            self._happened.append(notice)

    def see(self, faults: tuple[str, ...]) -> None:
        """Tell each fault when it is new; one that is left out is over."""
        with self._lock:
            for fault in faults:
                if fault not in self._faults:
                    self._notify(fault)
            self._faults = faults

    def all(self) -> tuple[str, ...]:
        """What there is to know, oldest first, each once, faults last."""
        return tuple(dict.fromkeys((*self._happened, *self._faults)))


class LocalMemory:
    """`Keeper` in this process. Safe to use from several threads.

    It must own the index (`owner.py`). `let_go` is called when it is closed. Secrets that
    `redactor` knows are not indexed: their stand-ins are, and that is what passages say.
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
        *,
        resident: bool = False,
    ) -> None:
        """`resident`: it stays, so that nobody need wait until a large file is indexed."""
        self.embedder = embedder
        self.index = Synchronizer(
            workspace,
            embedder,
            settings.index,
            self._observe,
            redactor,
            aside=resident,
            diary=True,
        )
        self._progress = progress
        self._notices = Notices(notify)
        self._redaction = Redaction(workspace, redactor)
        self._ledger = Ledger(
            workspace,
            today,
            self._redaction.text,
            lambda what: progress(what, 0, 0),
            self._unsaid,
        )
        self._journals = self._ledger.journals
        self._review = Review(workspace, self._ledger)
        self._library = Library(workspace, settings, embedder, redactor, progress)
        notes = tuple(settings.notes.values())
        self._purge = Purge(self._ledger, self._review, self._scrub, notes=notes)
        self._recaller = Recaller(self.index.store, embedder, settings.memory, today)
        self._locator = Locator(self.index.store, self._recaller)
        self._places = (workspace.private, config.cache_dir(), config.state_dir())
        self._let_go = let_go
        self._lock = threading.RLock()
        """Held by whoever writes; whoever reads waits for nobody."""
        self._begun = self._closed = False
        self._unread: tuple[str, ...] = ()
        """Why the journal cannot be read, in one line, while that is so."""

    def close(self) -> None:
        """Let go of the indexes."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                self._library.close()
                self.index.close()
                self._give_back()
            finally:
                if self._let_go is not None:
                    self._let_go()

    # Questions

    def recall(self, query: Query) -> Recall:
        if query.within not in ("", FACTS):
            return self._library.recall(query)
        found, behind = self._look(lambda: self._recaller.recall(query))
        known = self._recorded if query.why else self._dated
        answer = replace(
            found,
            passages=tuple(map(known, found.passages)),
            near_misses=tuple(map(known, found.near_misses)),
        )
        if behind:
            notice = f"{', '.join(behind)}: being indexed; this is from what memory held before"
            answer = replace(answer, behind=behind, notices=(*answer.notices, notice))
        if query.verbatim:
            own = tuple(map(self._redaction.verbatim, answer.passages))
            answer = replace(answer, passages=own)
        return answer if query.within else self._library.beside(query, answer)

    def core(self, tokens: int) -> tuple[Passage, ...]:
        return self._read(lambda: tuple(map(self._dated, self._recaller.core(tokens))))

    def existing(self, texts: Sequence[str], k: int) -> Existing:
        def look(text: str) -> Iterator[Passage]:
            query = Query(text, k=k, without=PROCEDURE_FILES, within=FACTS)
            near = self._recaller.recall(query).passages
            rare = self._locator.sharing_a_rare_word(text, k)
            named = [passage for passage in rare if passage.source not in PROCEDURE_FILES]
            yield from filter(None, chain.from_iterable(zip_longest(near, named[:k])))

        found = self._read(lambda: [list(look(text)) for text in texts])
        nearest = filter(None, chain.from_iterable(zip_longest(*found)))
        once = {passage.id: passage for passage in nearest}
        return Existing(tuple(map(self._dated, once.values())), self._ledger.headings())

    def locate(self, target: str) -> Located:
        self._library.check_changeable(target)
        return self._read(lambda: self._locator.locate(target))

    def waiting(self) -> tuple[Held, ...]:
        return self._review.waiting()

    def erased(self) -> tuple[JournalEntry, ...]:
        return self._read(lambda: () if self._unread else self._ledger.erased())

    def log(self, limit: int = 20) -> tuple[JournalEntry, ...]:
        return self._journals.log(limit)

    def due(self, first: str, last: str) -> tuple[Due, ...]:
        return self._read(lambda: due(self.index.store.catalog, self._dated, first, last))

    def chart(self) -> Chart:
        return chart(self._read(lambda: self.index.store.catalog), self._recorded)

    def pairs(self, limit: int = 200) -> tuple[Pair, ...]:
        catalog = self._read(lambda: self.index.store.catalog)
        found = []
        for one, other, cosine in near_pairs(catalog, limit, self._progress):
            both = [self._dated(passage_of(chunk)) for chunk in (one, other)]
            earlier, later = sorted(
                both, key=lambda passage: (passage.date or "", passage.start_line)
            )
            found.append(Pair(earlier, later, cosine))
        return tuple(found)

    def status(self) -> MemoryStatus:
        def look() -> MemoryStatus:
            catalog = self.index.store.catalog
            told = [*self._notices.all(), *self._library.notices()]
            if not self._unread:
                told += self._damaged_lines()
                told += _undecided(self._ledger)
            sources = (
                SourceStatus(
                    source.name,
                    source.chunks,
                    datetime.fromtimestamp(source.read_ns / 1e9, UTC)
                    .astimezone()
                    .isoformat(timespec="seconds"),
                )
                for source in catalog.sources().values()
            )
            return MemoryStatus(
                chunks=catalog.count(),
                sources=tuple(sources),
                embedded_total=catalog.vectors.embedded_total,
                embedder=self.embedder.fingerprint,
                index_bytes=self.index.store.size(),
                waiting_for_review=len(self._review.waiting()),
                notices=tuple(filter(None, told)),
                server=self.index.store.dense.status(),
            )

        notes = self._library.status()
        return replace(self._read(look), notes=notes)

    # Writes

    def remember(
        self, facts: Sequence[Fact], *, request: str | None = None
    ) -> tuple[Remembered, ...]:
        with self._lock:
            facts = list(map(self._redaction.open_phrases, facts))
            facts = [self._bound(fact) if _is_doubtful(fact) else fact for fact in facts]
            secrets = self._redaction.secrets(facts)
            refused = list(map(self._redaction.refusal, facts, secrets))
            sure = [
                fact
                for fact, refusal in zip(facts, refused, strict=True)
                if not refusal and not _is_doubtful(fact)
            ]
            replaced = self._read(lambda: self._replaced(sure))
            sure = list(map(self._under_a_heading, sure))
            done = self._ledger.remember(sure, request=request, replaced=replaced)
            written = iter(self._answered(done))
            answers = (
                refusal or (self._hold(fact) if _is_doubtful(fact) else next(written))
                for fact, refusal in zip(facts, refused, strict=True)
            )
            return tuple(map(_telling, answers, facts, secrets))

    def forget(self, passages: Sequence[Passage], *, request: str | None = None) -> Forgotten:
        with self._lock:
            own = list(map(self._redaction.verbatim, passages))
            forgotten = self._ledger.forget(own, request=request)
            self._brought_up()
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
            own = list(map(self._redaction.verbatim, [*passages, *self._struck(passages)]))
            shown = [passage.plain for passage in passages if passage not in own]
            forgotten = self._purge.forget(
                own, past=[*past, *shown], sessions=sessions, request=request
            )
            self._brought_up()
            return replace(forgotten, removed=tuple(passages))

    def undo(self, ids: Sequence[str] = (), *, request: str | None = None) -> JournalEntry:
        with self._lock:
            undone = self._ledger.undo(ids, request=request)
            self._brought_up()
            return undone

    def mark(self, marks: Sequence[Mark], *, request: str | None = None) -> int:
        with self._lock:
            changed = self._ledger.mark(list(map(self._redaction.mark, marks)), request=request)
            self._brought_up()
            return changed

    def review(
        self, id: str, *, accept: bool, text: str | None = None, request: str | None = None
    ) -> Remembered | None:
        with self._lock:
            if not accept:
                self._review.refuse(id)
                return None
            held = [waiting.fact for waiting in self._review.waiting() if waiting.id == id]
            replaced = self._read(lambda: self._replaced(held))
            written = self._review.accept(id, text, request=request, replaced=replaced)
            return self._answered([written])[0]

    def restore(
        self, ids: Sequence[str], *, dismiss: bool = False, request: str | None = None
    ) -> tuple[Remembered, ...]:
        with self._lock:
            if dismiss:
                self._ledger.dismiss(ids)
                return ()
            written = self._ledger.restore(ids, request=request)
            return self._answered(written)

    # Keeping

    def upkeep(self) -> Upkept:
        with self._lock:
            done = self._read(lambda: self._ledger.upkeep(self._fitting))
            self._brought_up()
            return done

    def refresh(self) -> None:
        """Bring the index up to the files ahead of the next question."""
        self._brought_up()
        self._library.refresh()

    def rebuild(self) -> MemoryStatus:
        with self._lock:
            self._take(self.index.rebuild(self._progress))
            return self.status()

    def check(self) -> tuple[Finding, ...]:
        with self._lock:
            self._brought_up()
            found = tuple(self._checked())
            self._brought_up()
            return found

    def unowned(self, *, remove: bool = False) -> tuple[ServerCollection, ...]:
        store = self.index.store
        server, own = store.dense.server(), collection_name(store.belongs)
        found = tuple(
            ServerCollection(name, vectors)
            for name, of, vectors in server.collections()
            if name != own and owner_of(name, of) == "nobody"
        )
        for collection in found if remove else ():
            server.drop(collection.name)
        return found

    def _checked(self) -> Iterator[Finding]:
        """What is wrong with journal, index and files, mended where that can be."""
        commits = self._ledger.commits
        parts: dict[Literal["journal", "file"], tuple[str, SetAside | None]] = {
            "journal": (commits.journal.name, commits.set_aside()),
            "file": (self._review.path.name, self._review.set_aside()),
        }
        for part, (name, kept) in parts.items():
            if kept is not None:
                copy = f"kept as .assistant/history/{kept.image}"
                yield Finding(part, f"{name}: {_lines(kept.lines)} damaged; {copy}", True)
        for name in commits.images.names():
            try:
                commits.images.read(name)
            except StorageError as error:  # what it held cannot be restored
                commits.images.drop(name)
                yield Finding("journal", f"{error.message}; it is dropped", True)
        if not self.index.verify():
            yield Finding("index", "the index was damaged; it is made again from the files", True)
        with commits.locked():
            for left in killed_writes(commits.workspace):
                left.unlink(missing_ok=True)
                where = left.relative_to(commits.workspace.root)
                yield Finding("file", f"{where}, which a killed write left; it is removed", True)
        for fault in self.index.faults():
            yield Finding("file", fault, False)

    def _damaged_lines(self) -> Iterator[str]:
        """What to tell of lines that cannot be read."""
        journal, review = self._journals.own, self._review
        files = {journal.name: journal.damaged, review.path.name: review.damaged()}
        for name, damaged in files.items():
            if damaged:
                which = f"{name}: {_lines(damaged)} damaged and passed over"
                yield f"{which}: `assistant memory check`"

    # An index that says what the files say

    def _read(self, read: Callable[[], _T]) -> _T:
        """What `read` finds in an index that says what the files say, made anew if damaged."""
        return self._look(read)[0]

    def _look(self, read: Callable[[], _T]) -> tuple[_T, tuple[str, ...]]:
        """The same, and the files that the index does not have as they are: it is being brought up
        to them, and what it said before is read meanwhile."""
        behind = self._brought_up()
        catalog = self.index.store.catalog
        try:
            with catalog.reading():
                found = read()
        except CatalogDamaged:
            self.index.recover(catalog)
            behind = self._brought_up()
            with self.index.store.catalog.reading():
                found = read()
        self._notices.see((*self.index.faults(), *self._unread))
        return found, behind

    def _brought_up(self) -> tuple[str, ...]:
        """Bring the index up to the files; those that it is behind with, as of now."""
        self._unread = self._journal_fault()
        if not self._begun and not self._unread:
            with self._lock:
                begun, self._begun = self._begun, True
                if not begun:
                    self._finish()
        done = self.index.refresh_unless_busy(self._progress)
        if done is not None:
            self._take(done)
            self._give_back()
        return self.index.behind() or (() if done else (UNKNOWN,))

    def _take(self, done: Refreshed) -> None:
        for notice in done.notices:
            if notice not in done.faults:
                self._notices.tell(notice)
        self._notices.see((*done.faults, *self._unread))

    def _journal_fault(self) -> tuple[str, ...]:
        """Why the journal cannot be read, if that is so: recall answers without it."""
        try:
            self._journals.own.refresh()
        except StorageError as error:
            return (str(error),)
        return ()

    def _finish(self) -> None:
        """Finish the purges that a dead owner had begun; recall goes on if that fails."""
        try:
            self._purge.finish()
        except AssistantError as error:
            self._notices.tell(f"A purge is not finished: {error}")

    def _scrub(self) -> None:
        """Leave no byte of what the files no longer hold in any index."""
        try:
            self.index.scrub()
        except CatalogDamaged:
            self.index.recover()
            self.index.scrub()
        self._library.scrub()

    def _observe(self, source: str, text: str, sha256: str) -> None:
        """See whether a stale save took facts away; recall goes on if that fails."""
        if self._unread:
            return
        try:
            self._ledger.observe(source, text, sha256)
        except AssistantError as error:
            self._notices.tell(str(error))

    def _unsaid(self, fact: str) -> Mapping[str, FileState]:
        """The states of files that certainly do not state a fact.

        Of a long one, or one with a secret, the index may have other words than the file.
        """
        long = 2 * self.embedder.count_tokens(fact) > self.embedder.max_tokens
        if long or self._redaction.text(fact) != fact:
            return {}
        try:
            return unsaid(self.index.store.catalog, fact)
        except CatalogDamaged:
            return {}

    def _give_back(self) -> None:
        """Leave nothing that belongs to root, if root works in another's workspace."""
        for place in self._places:
            storage.give_to_owner(place)

    # Passages and facts

    def _dated(self, passage: Passage) -> Passage:
        """With the journal's date, where the file names none."""
        return passage if passage.date else self._recorded(passage)

    def _recorded(self, passage: Passage) -> Passage:
        """With what the journal knows of it."""
        entry = None if self._unread else self._journals.adding(passage.plain)
        if entry is None:
            return passage
        return replace(
            passage,
            date=passage.date or entry.time[:10],
            origin=passage.origin or entry.origin.kind,
        )

    def _answered(self, written: Iterable[Remembered]) -> tuple[Remembered, ...]:
        """Where what was written stands, once the index has it, and what it may supersede."""
        return self._read(lambda: tuple(map(self._remembered, written)))

    def _remembered(self, written: Remembered) -> Remembered:
        """With its id in the index, and the facts that it may supersede."""
        chunk = self._locator.beginning_at(written.source, written.line)
        near = chunk and written.status != "exists"
        return replace(
            written,
            id=chunk.id if chunk else "",
            similar=similar(self.index.store, chunk) if chunk and near else (),
        )

    def _under_a_heading(self, fact: Fact) -> Fact:
        """A fact that asks for it with the owner's heading that fits it best, if one does."""
        there = self._ledger.headings() if fact.under is not None and not fact.replaces else ()
        if not there or fact.under in there:
            return fact
        return replace(fact, under=self._read(lambda: self._fitting(fact.text, there)))

    def _fitting(self, fact: str, headings: Sequence[str]) -> str:
        """Which of the owner's headings fits a fact; "" if none does."""
        return self._locator.heading_of(fact, self.embedder.embed([fact])[0], headings)

    def _hold(self, fact: Fact) -> Remembered:
        """Let a fact wait for the owner; it is in no file and no recall until then."""
        if known := self._ledger.stated(fact.text):
            return self._remembered(known)
        (held,) = self._review.hold([fact])
        return Remembered("waiting", held.id, "", 0, held.fact.text)

    def _bound(self, fact: Fact) -> Fact:
        """The fact with the id of what it replaces: until the owner looks, lines move.

        Raises LedgerError if it names nothing.
        """
        if fact.replaces is None:
            return fact
        there = self._read(lambda: self._replaced([fact]))
        return replace(fact, replaces=given_up_by(fact, there)[0].id)

    def _replaced(self, facts: Sequence[Fact]) -> dict[str, tuple[Passage, ...]]:
        """The passages that each `replaces` names; the ledger refuses a fact that names none."""
        targets = {fact.replaces for fact in facts if fact.replaces}
        for target in targets:
            self._library.check_changeable(target)
        replaced = {target: self._locator.named(target) for target in targets}
        for passage in chain.from_iterable(replaced.values()):
            self._redaction.check_open(passage)
        return replaced

    def _struck(self, passages: Sequence[Passage]) -> list[Passage]:
        """The superseded passages that say the same as others, and go with them for good."""
        facts = {passage.plain for passage in passages}
        found = self._read(lambda: [self._locator.superseded(one) for one in facts])
        return [passage for passage in chain.from_iterable(found) if passage not in passages]

    def _check_past(self, fact: str) -> None:
        """Raise LedgerError if a file still says a fact, or holds its words."""
        near = self._read(lambda: self._locator.locate(fact))
        for passage in near.passages:
            if near.exact or fact_key(fact) in fact_key(passage.plain):
                raise LedgerError(f"{passage.citation} still says {fact!r}", "Name that line")


def _undecided(ledger: Ledger) -> Iterator[str]:
    """What editors' saves took away or brought back, until the owner has decided."""
    for entry in ledger.erased():
        yield (
            f"A save from an older copy of {entry.source} took away: {entry.text}"
            f" (`assistant memory restore {entry.id}`, with --dismiss if it was meant)"
        )
    for fact in ledger.returned():
        place = f"{fact.source}:{fact.line}"
        yield (
            f"A save brought back what you had forgotten, {place}: {fact.text}"
            f" (`assistant forget {'--purge ' if fact.purged else ''}{place}`,"
            f" or `assistant memory restore {fact.entry} --dismiss` if it was meant)"
        )


def _is_doubtful(fact: Fact) -> bool:
    return fact.waits or fact.origin.kind in DOUBTFUL


def _telling(answer: Remembered, fact: Fact, secrets: tuple[Secret, ...]) -> Remembered:
    """The answer with what of the fact looks like a secret, unless its owner knows that."""
    return answer if fact.secrets == "keep" else replace(answer, secrets=secrets)


def _lines(numbers: Iterable[int]) -> str:
    """Which lines, the first few of them by number."""
    first, *more = numbers
    return ", ".join([f"line {first}", *map(str, more[:SHOWN])]) + (" …" if more[SHOWN:] else "")
