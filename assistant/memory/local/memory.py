"""The one door to memory, in the process that owns the index.

Before each answer the index is brought up to the files; after each write too, so that a fact can
be recalled when `remember` returns. Writes are made one at a time; what reads waits for none.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from itertools import chain

from assistant.errors import AssistantError, LedgerError
from assistant.memory.base import (
    FACTS,
    Due,
    Fact,
    Finding,
    Forgotten,
    Held,
    JournalEntry,
    Located,
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
    no_notices,
    no_progress,
)
from assistant.memory.chart import Chart
from assistant.memory.corpora.library import Library
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.database import CatalogDamaged
from assistant.memory.index.sync import Synchronizer
from assistant.memory.local.answers import Answers
from assistant.memory.local.charting import chart
from assistant.memory.local.checking import check, damage
from assistant.memory.local.collections import Collections
from assistant.memory.local.freshness import Freshness, Notices
from assistant.memory.local.redaction import Redaction
from assistant.memory.search.diary import Diary
from assistant.memory.search.locating import Locator
from assistant.memory.search.near_pairs import near_pairs
from assistant.memory.search.recall import Recaller
from assistant.memory.text.identity import fact_key
from assistant.memory.text.words import plain
from assistant.memory.writing.ledger import Ledger
from assistant.memory.writing.purge.conductor import Purge
from assistant.memory.writing.review import Review
from assistant.secrets.redactor import Redactor
from assistant.settings import Settings
from assistant.workspace.folder import Workspace

DOUBTFUL = frozenset({"tool", "recalled"})
"""Origins whose facts wait for the owner: what a tool returned may have been written to deceive,
and what the assistant makes of recalled facts is memory listening to itself."""


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
        self._embedder = embedder
        self._progress = progress
        self._let_go = let_go
        self._closed = False
        self._notices = Notices(notify)
        self._redaction = Redaction(workspace, redactor)
        self._ledger = Ledger(workspace, today, self._redaction.text, self._wait_for)
        self._review = Review(workspace, self._ledger)
        self._index = Synchronizer(
            workspace, embedder, settings.index, self._observe, redactor, aside=resident
        )
        self._library = Library(workspace, settings, embedder, redactor, progress)
        self._purge = Purge(self._ledger, self._review, self._scrub)
        self._fresh = Freshness(self._index, self._notices, progress, self._finish)
        self._recaller = Recaller(self._index.store, embedder, settings.memory)
        self._locator = Locator(self._index.store, self._recaller)
        self._collections = Collections(self._index.store)
        self._answers = Answers(self._index.store, self._ledger, self._locator)
        self._diary = Diary(self._index.store, self._answers.dated)

    def recall(self, query: Query) -> Recall:
        if query.within not in ("", FACTS):
            return self._library.recall(query)
        found, behind = self._fresh.look(lambda: self._recaller.recall(query))
        answer = self._answers.recall(query, found)
        if behind:
            answer = replace(answer, behind=behind, notices=(*answer.notices, _lagging(behind)))
        if query.verbatim:
            own = tuple(map(self._redaction.verbatim, answer.passages))
            answer = replace(answer, passages=own)
        return answer if query.within else self._library.beside(query, answer)

    def remember(
        self, facts: Sequence[Fact], *, request: str | None = None
    ) -> tuple[Remembered, ...]:
        with self._fresh.lock:
            secrets = self._redaction.secrets(facts)
            refused = list(map(self._redaction.refusal, facts, secrets))
            sure = [
                fact
                for fact, refusal in zip(facts, refused, strict=True)
                if not refusal and not _is_doubtful(fact)
            ]
            replaced = self._fresh.read(lambda: self._replaced(sure))
            done = self._ledger.remember(sure, request=request, replaced=replaced)
            written = iter(self._fresh.read(lambda: list(map(self._answers.remembered, done))))
            answers = (
                refusal or (self._hold(fact) if _is_doubtful(fact) else next(written))
                for fact, refusal in zip(facts, refused, strict=True)
            )
            return tuple(map(_telling, answers, facts, secrets))

    def locate(self, target: str) -> Located:
        return self._fresh.read(lambda: self._locator.locate(target))

    def forget(self, passages: Sequence[Passage], *, request: str | None = None) -> Forgotten:
        with self._fresh.lock:
            own = list(map(self._redaction.verbatim, passages))
            forgotten = self._ledger.forget(own, request=request)
            self._fresh.refresh()
            return replace(forgotten, removed=tuple(passages))

    def purge(
        self,
        passages: Sequence[Passage],
        *,
        past: Sequence[str] = (),
        sessions: bool = False,
        request: str | None = None,
    ) -> Forgotten:
        with self._fresh.lock:
            for fact in past:
                self._check_past(fact)
            own = list(map(self._redaction.verbatim, passages))
            shown = [plain(each.text) for each in passages if each not in own]
            forgotten = self._purge.forget(
                own, past=[*past, *shown], sessions=sessions, request=request
            )
            self._fresh.refresh()
            return replace(forgotten, removed=tuple(passages))

    def undo(self, *, request: str | None = None) -> JournalEntry:
        with self._fresh.lock:
            undone = self._ledger.undo(request=request)
            self._fresh.refresh()
            return undone

    def waiting(self) -> tuple[Held, ...]:
        return self._review.waiting()

    def review(
        self, id: str, *, accept: bool, text: str | None = None, request: str | None = None
    ) -> Remembered | None:
        with self._fresh.lock:
            if not accept:
                self._review.refuse(id)
                return None
            held = [each.fact for each in self._review.waiting() if each.id == id]
            replaced = self._fresh.read(lambda: self._replaced(held))
            written = self._review.accept(id, text, request=request, replaced=replaced)
            return self._fresh.read(lambda: self._answers.remembered(written))

    def erased(self) -> tuple[JournalEntry, ...]:
        return self._fresh.read(self._ledger.erasures.all)

    def restore(
        self, ids: Sequence[str], *, dismiss: bool = False, request: str | None = None
    ) -> tuple[Remembered, ...]:
        with self._fresh.lock:
            if dismiss:
                self._ledger.erasures.dismiss(ids)
                return ()
            written = self._ledger.erasures.restore(ids, request=request)
            return self._fresh.read(lambda: tuple(map(self._answers.remembered, written)))

    def status(self) -> MemoryStatus:
        def look() -> MemoryStatus:
            told = [self._embedder.notice, *self._notices.all(), *self._library.notices()]
            told += damage(self._ledger.commits.journal)
            waiting = len(self._review.waiting())
            notices = tuple(filter(None, told))
            return self._answers.status(self._embedder.fingerprint, waiting, notices)

        notes = self._library.status()
        return replace(self._fresh.read(look), notes=notes)

    def log(self, limit: int = 20) -> tuple[JournalEntry, ...]:
        return self._ledger.log(limit)

    def pairs(self, limit: int = 200) -> tuple[Pair, ...]:
        catalog = self._fresh.read(lambda: self._index.store.catalog)
        near = near_pairs(catalog, limit, self._progress)
        return tuple(self._answers.pair(*each) for each in near)

    def due(self, first: str, last: str) -> tuple[Due, ...]:
        return self._fresh.read(lambda: self._diary.due(first, last))

    def chart(self) -> Chart:
        catalog = self._fresh.read(lambda: self._index.store.catalog)
        return chart(catalog, self._answers.recorded)

    def check(self) -> tuple[Finding, ...]:
        with self._fresh.lock:
            self._fresh.refresh()
            found = tuple(check(self._ledger.commits, self._index))
            self._fresh.refresh()
            return found

    def rebuild(self) -> MemoryStatus:
        with self._fresh.lock:
            self._fresh.rebuild()
            return self.status()

    def collections(self) -> tuple[ServerCollection, ...]:
        return self._collections.all()

    def remove_collections(self, names: Sequence[str]) -> tuple[ServerCollection, ...]:
        return self._collections.remove(names)

    def refresh(self) -> None:
        """Bring the index up to the files ahead of the next question."""
        self._fresh.refresh()
        self._library.refresh()

    def close(self) -> None:
        with self._fresh.lock:
            if self._closed:
                return
            self._closed = True
            try:
                self._library.close()
                self._index.close()
            finally:
                if self._let_go is not None:
                    self._let_go()

    # Parts

    def _wait_for(self, what: str) -> None:
        self._progress(what, 0, 0)

    def _finish(self) -> None:
        """Finish the purges that a dead owner had begun; recall goes on if that fails."""
        try:
            self._purge.finish()
        except AssistantError as error:
            self._notices.add(f"A purge is not finished: {error}")

    def _scrub(self) -> None:
        try:
            self._index.scrub()
        except CatalogDamaged:
            self._index.recover()
            self._index.scrub()
        self._library.scrub()

    def _check_past(self, fact: str) -> None:
        """Raise LedgerError if a file still says a fact, or holds its words."""
        near = self._fresh.read(lambda: self._locator.locate(fact))
        for passage in near.passages:
            if near.exact or fact_key(fact) in fact_key(plain(passage.text)):
                raise LedgerError(f"{passage.citation} still says {fact!r}", "Name that line")

    def _observe(self, source: str, text: str, sha256: str) -> None:
        """See whether a stale save took facts away; recall goes on if that fails."""
        try:
            self._ledger.erasures.observe(source, text, sha256)
        except AssistantError as error:
            self._notices.add(str(error))

    def _hold(self, fact: Fact) -> Remembered:
        """Let a fact wait for the owner; it is in no file and no recall until then."""
        if known := self._ledger.stated(fact.text):
            return self._answers.remembered(known)
        (held,) = self._review.hold([fact])
        return Remembered("waiting", held.id, "", 0, held.fact.text)

    def _replaced(self, facts: Sequence[Fact]) -> dict[str, tuple[Passage, ...]]:
        """The passages that each `replaces` names; the ledger refuses a fact that names none."""
        targets = {fact.replaces for fact in facts if fact.replaces}
        replaced = {target: self._locator.named(target) for target in targets}
        for passage in chain.from_iterable(replaced.values()):
            self._redaction.check_open(passage)
        return replaced


def _is_doubtful(fact: Fact) -> bool:
    return fact.waits or fact.origin.kind in DOUBTFUL


def _lagging(behind: Sequence[str]) -> str:
    return f"{', '.join(behind)}: being indexed; this is from what memory held before"


def _telling(answer: Remembered, fact: Fact, secrets: tuple[Secret, ...]) -> Remembered:
    """The answer with what of the fact looks like a secret, unless its owner knows that."""
    return answer if fact.secrets == "keep" else replace(answer, secrets=secrets)
