"""Transactions: how memory files are written, and how a killed write is completed.

Under one lock a write is recorded in the journal, each file is replaced atomically if it is still
as it was read, and the write is acknowledged. No lock stops an editor: if a file was saved in the
meantime, it is read again and the write repeated.

The next writer settles an unacknowledged write, from the files: done, or void. A file that was
replaced shows all edits of a write or none. One that had to be overwritten, since it has hard
links, may be torn: it is completed from the temporary copy next to it. The edits that a write to
several files did not reach are made if the file has not changed there.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from assistant.disk import locking, storage
from assistant.errors import LedgerError, StorageError
from assistant.memory.base import Notify, Origin, check_wanted, no_notices
from assistant.memory.text.identity import digest
from assistant.memory.text.markdown import LINES
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.edits import difference, summary
from assistant.memory.writing.images import Images
from assistant.memory.writing.journal import Edit, Journals, Verdict, Write, new_id, now
from assistant.memory.writing.markup import Splice, common
from assistant.memory.writing.stale_saves import SavedText
from assistant.workspace import machine
from assistant.workspace.folder import Anchor, Workspace

ATTEMPTS = 100
"""How often a write is repeated because an editor saved the file in between."""
CHANGING = "the memory files keep changing", "Close the program that writes them and try again"
_T = TypeVar("_T")


class Commits:
    """Makes the writes to one workspace's files. Safe to use from several threads and processes.

    `journal` and `images` record them; `anchor` detects that another folder has replaced the
    workspace.
    """

    def __init__(self, workspace: Workspace, notify: Notify = no_notices) -> None:
        """`notify` receives a line while a write waits for a program that has a file open."""
        self.workspace = workspace
        self.anchor = Anchor(workspace.root)
        self.journals = Journals(workspace)
        self.journal = self.journals.own
        self.images = Images(workspace.history)
        self._notify = notify
        self._lock = threading.RLock()
        self._is_locked = False

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Acquire the lock, and settle what a killed writer began. Reentrant."""
        with self._lock:
            if self._is_locked:
                yield
                return
            storage.private_directory(self.workspace.private)
            self.anchor.check()
            storage.private_directory(self.workspace.locks)
            with locking.lock(self.workspace.ledger_lock):
                self._is_locked = True
                machine.move_in(self.workspace.private)
                try:
                    self.journal.refresh(mend=True)
                    self._settle()
                    yield
                finally:
                    self._is_locked = False

    def write(self, plan: Callable[[Draft], _T]) -> _T:
        """Carry out what `plan` does with the current files; repeat it if one is saved meanwhile.

        Returns what `plan` returns. Raises what it raises, LedgerError if the files keep changing,
        Abandoned if the client has gone before it began, and StorageError.
        """
        with self.locked():
            check_wanted()
            return self.attempt(plan)

    def attempt(self, plan: Callable[[Draft], _T]) -> _T:
        """Carry out `plan` with the lock acquired, whether or not the client waits."""
        for _ in range(ATTEMPTS):
            draft = Draft(self.workspace)
            result = plan(draft)
            if not draft.writes or self._commit(draft):
                return result
        raise LedgerError(*CHANGING)

    def replace(
        self, texts: Mapping[str, tuple[str, str]], origin: Origin, together: str = ""
    ) -> None:
        """Replace the texts of files (source to old and new text), as one write for `undo`.

        Writes with the same `together` are undone together. Raises LedgerError if a file no longer
        has its old text, StorageError.
        """

        def plan(draft: Draft) -> None:
            for source, (before, _) in texts.items():
                if draft.text(source) != before:
                    raise LedgerError(f"{source} has changed meanwhile", "Run it again")
            after = {source: text for source, (_, text) in texts.items()}
            draft.writes.append(amendment(draft, after, origin, together))

        self.write(plan)

    @contextlib.contextmanager
    def amending(self, texts: Mapping[str, str], origin: Origin) -> Iterator[None]:
        """Journal the change of whole files (source to new text) that the block makes.

        It is one write, so `undo` reverses it. If the block raises, it must have changed nothing.
        Raises StorageError if a file is not UTF-8.
        """
        with self.locked():
            draft = Draft(self.workspace)
            write = amendment(draft, texts, origin)
            draft.writes.append(write)
            verdicts = self._begin(draft)
            for source, text in texts.items():
                verdicts |= SavedText(text, source, self.journal).deleted()
            try:
                yield
            except BaseException:
                self.journal.settle((), [write.id])
                raise
            self.journal.settle([write.id], (), verdicts)

    def _begin(self, draft: Draft) -> dict[str, Verdict]:
        """Record what is about to be written; return what the owner's saves did to facts."""
        verdicts: dict[str, Verdict] = {}
        for source, text in draft.originals().items():
            verdicts |= SavedText(text, source, self.journal).verdicts(digest(text))
        if draft.images:
            self.images.keep_all(list(draft.images.values()))
        self.journal.begin(*draft.writes)
        return verdicts

    def _commit(self, draft: Draft) -> bool:
        """Journal, save, acknowledge; return False if an editor saved a file in between."""
        verdicts = self._begin(draft)
        try:
            is_saved = draft.save(self._notify)
        except StorageError:
            with contextlib.suppress(StorageError):  # then the next writer settles it
                self._settle()
            raise
        ids = [write.id for write in draft.writes]
        if is_saved:
            self.journal.settle(ids, (), verdicts | draft.verdicts)
            return True
        self._settle()
        return all(self.journal.records[id].state == "done" for id in ids)

    # Leftovers of a killed writer

    def _settle(self) -> None:
        """Settle every unacknowledged write, with the lock acquired. Raises StorageError, and
        LedgerError if the files keep changing."""
        pending = self.journal.pending()
        for _ in range(ATTEMPTS):
            draft = Draft(self.workspace)
            done = self._completed(draft, pending)
            if draft.save():
                void = [write.id for write in pending if write not in done]
                self.journal.settle([write.id for write in done], void)
                return
        raise LedgerError(*CHANGING)

    def _completed(self, draft: Draft, pending: Sequence[Write]) -> list[Write]:
        """Return the writes that are done by what the files show; their other edits are drafted."""
        is_made = {}
        for source in {edit.source for write in pending for edit in write.edits}:
            edits = [edit for write in pending for edit in write.edits if edit.source == source]
            self._complete_overwrite(self.workspace.root / source, edits)
            storage.sweep(self.workspace.root / source)
            is_made[source] = _shows(draft, edits, self.images.read(edits[-1].removed) or "")
        done = [write for write in pending if any(is_made[edit.source] for edit in write.edits)]
        for edit in (edit for write in done for edit in write.edits if not is_made[edit.source]):
            self._make(draft, edit)
        return done

    def _complete_overwrite(self, path: Path, edits: Sequence[Edit]) -> None:
        """Complete a file that a killed writer was overwriting, if it is a mix of old and new."""
        data = storage.read_or_empty(path)
        for temporary in storage.leftovers(path):
            new = temporary.read_bytes()
            old = self._before(new, edits)
            if old is None or data in (old, new):
                continue
            head = common(data, new)
            if data[head:] == old[head:]:
                with storage.reported("written", path):
                    storage.overwrite(path, new, data)

    def _before(self, new: bytes, edits: Sequence[Edit]) -> bytes | None:
        """Return a file's content before these edits, if these bytes are their result."""
        text = new.decode("utf-8", "replace")
        bom = "\ufeff" if text.startswith("\ufeff") else ""
        text = text.removeprefix(bom)
        if digest(text) != edits[-1].after:
            return None
        for edit in reversed(edits):
            removed = self.images.read(edit.removed) or ""
            text = Splice(edit.at, removed, edit.inserted).reverse(text)
        return (bom + text).encode()

    def _make(self, draft: Draft, edit: Edit) -> None:
        """Make an edit that a killed writer did not reach, where the text has not changed."""
        removed = self.images.read(edit.removed)
        text = draft.text(edit.source)
        if removed is not None and draft.digest(edit.source) == edit.before:
            draft.edit(edit.source, Splice(edit.at, removed, edit.inserted))
        elif removed and text.count(removed) == 1:
            draft.edit(edit.source, Splice(text.index(removed), removed, edit.inserted))


def amendment(draft: Draft, texts: Mapping[str, str], origin: Origin, together: str = "") -> Write:
    """Return the write that replaces the texts of files (by source)."""
    edits = [
        draft.edit(source, difference(draft.text(source), text)) for source, text in texts.items()
    ]
    text = summary(edits, draft.images)
    return Write(new_id(), now(), "amend", text, origin, tuple(edits), together=together)


def _shows(draft: Draft, edits: Sequence[Edit], removed: str) -> bool:
    """Return whether a file shows these edits of it, which were made at once.

    A file that has changed since is judged by the last edit: by the last line that it inserted,
    else by whether the text that it `removed` is gone.
    """
    source = edits[-1].source
    if draft.digest(source) == edits[-1].after:
        return True
    if draft.digest(source) == edits[0].before:
        return False
    text = draft.text(source)
    lines = [line.strip() for line in LINES.findall(edits[-1].inserted)]
    if lines:
        return lines[-1] in {line.strip() for line in LINES.findall(text)}
    return removed not in text
