"""How a write to memory is made, whatever it consists of.

Under one lock: put down in the journal what will be done; see that each file is still as it was
read; put the new one in its place at once; acknowledge. Whatever breaks off in between is settled
from the files by the next writer. No lock stops an editor: a file saved meanwhile is read again and
the write made anew.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from assistant import locking, storage
from assistant.errors import LedgerError, StorageError
from assistant.memory.base import Origin
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.edits import counted, difference
from assistant.memory.writing.markup.items import Splice
from assistant.memory.writing.record.images import Images
from assistant.memory.writing.record.journal import Journal
from assistant.memory.writing.record.writes import Edit, Verdict, Write, new_id, now
from assistant.memory.writing.stale_saves import taken_out, verdicts_on
from assistant.memory.writing.undo import applied
from assistant.workspace import Workspace

ATTEMPTS = 100
"""How often a write is made anew because an editor saved the file in between."""
_T = TypeVar("_T")


@dataclass(slots=True)
class Change:
    """A write in the making: the files, what is journalled of it, and what became of facts."""

    draft: Draft
    writes: list[Write] = field(default_factory=list)
    verdicts: dict[str, Verdict] = field(default_factory=dict)


class Commits:
    """The writes to one workspace's files. Safe to use from several threads and processes."""

    def __init__(self, workspace: Workspace, journal: Journal, history: Images) -> None:
        self._workspace = workspace
        self._journal = journal
        self._images = history

    def write(self, plan: Callable[[Change], _T]) -> _T:
        """Carry out what `plan` makes of the files as they are; again if one is saved meanwhile.

        Returns what the plan did. Raises what it raises, LedgerError if a file never rests, and
        StorageError.
        """
        with self.locked():
            for _ in range(ATTEMPTS):
                change = Change(Draft(self._workspace))
                outcome = plan(change)
                if not change.writes or self._commit(change):
                    return outcome
        raise LedgerError(
            "the memory files keep changing", "Close the program that writes them and try again"
        )

    @contextlib.contextmanager
    def amending(self, texts: Mapping[str, str], origin: Origin) -> Iterator[None]:
        """Journal a change of whole files (source to new text), which the block makes.

        It is one write, so that `undo` takes it back. If the block raises, it must have changed
        nothing. Raises StorageError if a file is not UTF-8.
        """
        with self.locked():
            if not texts:
                yield
                return
            draft = Draft(self._workspace)
            verdicts: dict[str, Verdict] = {}
            edits = []
            for source, text in texts.items():
                verdicts |= verdicts_on(draft.text(source), source, self._journal)
                verdicts |= taken_out(text, source, self._journal)
                edits.append(draft.edit(source, difference(draft.text(source), text)))
            write = Write(
                new_id(), now(), "amend", counted(edits, draft.images), origin, tuple(edits)
            )
            for image in draft.images.values():
                self._images.keep(image)
            self._journal.begin([write])
            try:
                yield
            except BaseException:
                self._journal.settle((), [write.id])
                raise
            self._journal.settle([write.id], (), verdicts)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock, with what a dead writer began settled."""
        storage.private_directory(self._workspace.private)
        with locking.lock(self._workspace.ledger_lock):
            self._journal.refresh(mend=True)
            if self._journal.pending():
                self._recover()
            yield

    def _commit(self, change: Change) -> bool:
        """Journal, save, acknowledge; False if an editor's save came in between."""
        verdicts: dict[str, Verdict] = {}
        for source, text in change.draft.originals().items():
            verdicts |= verdicts_on(text, source, self._journal)
        for image in change.draft.images.values():
            self._images.keep(image)
        self._journal.begin(change.writes)
        try:
            saved = change.draft.save()
        except StorageError:
            with contextlib.suppress(StorageError):  # then the next writer settles it
                self._recover()
            raise
        if saved:
            ids = [write.id for write in change.writes]
            self._journal.settle(ids, (), verdicts | change.verdicts)
            return True
        self._recover()
        return all(map(self._journal.is_done, change.writes))

    def _recover(self) -> None:
        """Settle from the files what was begun and not acknowledged."""
        pending = self._journal.pending()
        draft = Draft(self._workspace)
        shown = {}
        for source in {edit.source for write in pending for edit in write.edits}:
            storage.sweep(self._workspace.root / source)
            edits = [edit for write in pending for edit in write.edits if edit.source == source]
            removed = self._images.read(edits[-1].removed) if edits[-1].removed else ""
            shown[source] = applied(draft.text(source), edits, removed or "")
        done = [write for write in pending if any(shown[edit.source] for edit in write.edits)]
        for write in done:
            self._complete(draft, [edit for edit in write.edits if not shown[edit.source]])
        void = [write.id for write in pending if write not in done]
        self._journal.settle([write.id for write in done], void)

    def _complete(self, draft: Draft, edits: Sequence[Edit]) -> None:
        """Make the rest of a write over several files, where its place has not changed."""
        for edit in edits:
            removed = self._images.read(edit.removed) if edit.removed else None
            text = draft.text(edit.source)
            if removed and text.count(removed) == 1:
                draft.edit(edit.source, Splice(text.index(removed), removed, edit.inserted))
        draft.save()
