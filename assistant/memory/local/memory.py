"""Memory in the process that owns the index: whatever can be asked of it, done here.

Before each answer the index is brought up to the files; after each write too, so that a fact can
be recalled when `remember` returns. Writes are made one at a time; what reads waits for none.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date
from itertools import chain

from assistant.errors import LedgerError
from assistant.memory.base import (
    Fact,
    Forgotten,
    JournalEntry,
    Notify,
    Passage,
    Progress,
    Remembered,
    Secret,
    no_notices,
    no_progress,
)
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.local.checking import check
from assistant.memory.local.core import Core
from assistant.memory.local.looking import Looking
from assistant.memory.state import Finding, MemoryStatus, ServerCollection
from assistant.memory.text.identity import fact_key
from assistant.memory.writing.ledger import Written, given_up_by
from assistant.secrets.redactor import Redactor
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace

DOUBTFUL = frozenset({"tool", "recalled"})
"""Origins whose facts wait for the owner: what a tool returned may have been written to deceive,
and what the assistant makes of recalled facts is memory listening to itself."""


class LocalMemory(Looking):
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
        super().__init__(
            Core(
                workspace, settings, embedder, progress, notify, today, redactor, resident=resident
            )
        )
        self._let_go = let_go
        self._closed = False

    def remember(
        self, facts: Sequence[Fact], *, request: str | None = None
    ) -> tuple[Remembered, ...]:
        with self.core.fresh.lock:
            facts = [self._bound(fact) if _is_doubtful(fact) else fact for fact in facts]
            secrets = self.core.redaction.secrets(facts)
            refused = list(map(self.core.redaction.refusal, facts, secrets))
            sure = [
                fact
                for fact, refusal in zip(facts, refused, strict=True)
                if not refusal and not _is_doubtful(fact)
            ]
            replaced = self.core.fresh.read(lambda: self._replaced(sure))
            done = self.core.ledger.remember(sure, request=request, replaced=replaced)
            written = iter(self._answered(done))
            answers = (
                refusal or (self._hold(fact) if _is_doubtful(fact) else next(written))
                for fact, refusal in zip(facts, refused, strict=True)
            )
            return tuple(map(_telling, answers, facts, secrets))

    def forget(self, passages: Sequence[Passage], *, request: str | None = None) -> Forgotten:
        with self.core.fresh.lock:
            own = list(map(self.core.redaction.verbatim, passages))
            forgotten = self.core.ledger.forget(own, request=request)
            self.core.fresh.refresh()
            return replace(forgotten, removed=tuple(passages))

    def purge(
        self,
        passages: Sequence[Passage],
        *,
        past: Sequence[str] = (),
        sessions: bool = False,
        request: str | None = None,
    ) -> Forgotten:
        with self.core.fresh.lock:
            for fact in past:
                self._check_past(fact)
            own = list(map(self.core.redaction.verbatim, [*passages, *self._struck(passages)]))
            shown = [each.plain for each in passages if each not in own]
            forgotten = self.core.purge.forget(
                own, past=[*past, *shown], sessions=sessions, request=request
            )
            self.core.fresh.refresh()
            return replace(forgotten, removed=tuple(passages))

    def undo(self, *, request: str | None = None) -> JournalEntry:
        with self.core.fresh.lock:
            undone = self.core.ledger.undo(request=request)
            self.core.fresh.refresh()
            return undone

    def review(
        self, id: str, *, accept: bool, text: str | None = None, request: str | None = None
    ) -> Remembered | None:
        with self.core.fresh.lock:
            if not accept:
                self.core.review.refuse(id)
                return None
            held = [each.fact for each in self.core.review.waiting() if each.id == id]
            replaced = self.core.fresh.read(lambda: self._replaced(held))
            written = self.core.review.accept(id, text, request=request, replaced=replaced)
            return self._answered([written])[0]

    def restore(
        self, ids: Sequence[str], *, dismiss: bool = False, request: str | None = None
    ) -> tuple[Remembered, ...]:
        with self.core.fresh.lock:
            if dismiss:
                self.core.ledger.dismiss(ids)
                return ()
            written = self.core.ledger.restore(ids, request=request)
            return self._answered(written)

    def check(self) -> tuple[Finding, ...]:
        with self.core.fresh.lock:
            self.core.fresh.refresh()
            found = tuple(check(self.core.ledger.commits, self.core.review, self.core.index))
            self.core.fresh.refresh()
            return found

    def rebuild(self) -> MemoryStatus:
        with self.core.fresh.lock:
            self.core.fresh.rebuild()
            return self.status()

    def remove_collections(self, names: Sequence[str]) -> tuple[ServerCollection, ...]:
        return self.core.collections.remove(names)

    def refresh(self) -> None:
        """Bring the index up to the files ahead of the next question."""
        self.core.fresh.refresh()
        self.core.library.refresh()

    def close(self) -> None:
        with self.core.fresh.lock:
            if self._closed:
                return
            self._closed = True
            try:
                self.core.close()
            finally:
                if self._let_go is not None:
                    self._let_go()

    def _struck(self, passages: Sequence[Passage]) -> list[Passage]:
        """The superseded passages that say the same as others, and go with them for good."""
        facts = {each.plain for each in passages}
        found = self.core.fresh.read(lambda: [self.core.locator.superseded(one) for one in facts])
        return [each for each in chain.from_iterable(found) if each not in passages]

    def _check_past(self, fact: str) -> None:
        """Raise LedgerError if a file still says a fact, or holds its words."""
        near = self.core.fresh.read(lambda: self.core.locator.locate(fact))
        for passage in near.passages:
            if near.exact or fact_key(fact) in fact_key(passage.plain):
                raise LedgerError(f"{passage.citation} still says {fact!r}", "Name that line")

    def _answered(self, written: Iterable[Written]) -> tuple[Remembered, ...]:
        """Where what was written stands, once the index has it."""
        return self.core.fresh.read(lambda: tuple(map(self.core.answers.remembered, written)))

    def _hold(self, fact: Fact) -> Remembered:
        """Let a fact wait for the owner; it is in no file and no recall until then."""
        if known := self.core.ledger.stated(fact.text):
            return self.core.answers.remembered(known)
        (held,) = self.core.review.hold([fact])
        return Remembered("waiting", held.id, "", 0, held.fact.text)

    def _bound(self, fact: Fact) -> Fact:
        """The fact with the id of what it replaces: until the owner looks, lines move.

        Raises LedgerError if it names nothing.
        """
        if fact.replaces is None:
            return fact
        there = self.core.fresh.read(lambda: self._replaced([fact]))
        return replace(fact, replaces=given_up_by(fact, there)[0].id)

    def _replaced(self, facts: Sequence[Fact]) -> dict[str, tuple[Passage, ...]]:
        """The passages that each `replaces` names; the ledger refuses a fact that names none."""
        targets = {fact.replaces for fact in facts if fact.replaces}
        for target in targets:
            self.core.library.check_changeable(target)
        replaced = {target: self.core.locator.named(target) for target in targets}
        for passage in chain.from_iterable(replaced.values()):
            self.core.redaction.check_open(passage)
        return replaced


def _is_doubtful(fact: Fact) -> bool:
    return fact.waits or fact.origin.kind in DOUBTFUL


def _telling(answer: Remembered, fact: Fact, secrets: tuple[Secret, ...]) -> Remembered:
    """The answer with what of the fact looks like a secret, unless its owner knows that."""
    return answer if fact.secrets == "keep" else replace(answer, secrets=secrets)
