"""The facts that a stale save took away: noticed, offered, restored or dismissed."""

from collections.abc import Mapping, Sequence
from functools import partial

from assistant.errors import LedgerError
from assistant.memory.base import Fact, JournalEntry
from assistant.memory.text.identity import digest
from assistant.memory.writing.adding import Adding, Wanted, Written
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.record.writes import Verdict
from assistant.memory.writing.stale_saves import Save, Saying, back_in, verdicts_on
from assistant.memory.writing.transaction import Commits

_BOM = "\ufeff"


class Erasures:
    """What saves by others took from one workspace's memory files."""

    def __init__(self, commits: Commits, adding: Adding) -> None:
        self._commits = commits
        self._journal = commits.journal
        self._adding = adding
        self._ours: set[str] = set()
        """The files that were as we left them when they were last looked at."""

    def observe(self, source: str, text: str, sha256: str) -> None:
        """Look at a file's text that may be somebody else's save; call it for each change seen.

        Says of each fact that was written to it whether the owner has seen it, deleted it, or lost
        it to an older copy. `sha256` is that of the file's bytes.
        """
        state = sha256
        if text.startswith(_BOM):
            text = text.removeprefix(_BOM)
            state = digest(text)
        self._journal.refresh()
        left = self._journal.saves.ours(source)
        if left is None or (left == state and source in self._ours):
            return
        with self._commits.locked():
            ours = self._journal.saves.ours(source) == state
            judged = back_in(text, source, self._journal.saves) if ours else {}
            verdicts = verdicts_on(text, state, source, self._journal.saves)
            self._journal.settle((), (), verdicts or judged)
            if not ours:
                self._journal.saves.saw(source, state)
        (self._ours.add if ours else self._ours.discard)(source)

    def all(self) -> tuple[JournalEntry, ...]:
        """The facts that a stale save erased and that the owner has not decided on.

        Of one that was written again counts what became of it then.
        """
        self._journal.refresh()
        erased = self._journal.saves.erased()
        if not erased:
            return ()
        draft, sources = Draft(self._commits.workspace), self._commits.workspace.sources()
        readable = filter(draft.is_text, sources)
        said = [Saying(Save(draft.text(each)), each, self._journal.saves) for each in readable]
        lost = (write for write in erased if not any(each.tells(write) for each in said))
        return tuple(map(self._journal.entry, lost))

    def restore(self, ids: Sequence[str], *, request: str | None = None) -> tuple[Written, ...]:
        """Write erased facts again, as the owner wishes. Raises LedgerError for any other id."""
        if request and (done := self._adding.answered(request)):
            return done
        lost = self._lost(ids)
        facts = [Fact(entry.text, origin=entry.origin) for entry in lost]
        verdicts: Mapping[str, Verdict] = dict.fromkeys(ids, "restored")
        wanted = Wanted(facts, {}, request, "restore", verdicts)
        return self._commits.write(partial(self._adding.plan, wanted))

    def dismiss(self, ids: Sequence[str]) -> None:
        """Never offer these erased facts again. Raises LedgerError for any other id."""
        lost = self._lost(ids)
        with self._commits.locked():
            self._journal.settle((), (), {entry.id: "dismissed" for entry in lost})

    def _lost(self, ids: Sequence[str]) -> list[JournalEntry]:
        lost = {entry.id: entry for entry in self.all()}
        for name in ids:
            if name not in lost:
                raise LedgerError(
                    f"{name} is no erased fact", "`assistant memory status` lists them"
                )
        return [lost[name] for name in ids]
