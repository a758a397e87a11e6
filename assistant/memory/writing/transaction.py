"""How a write to memory is made, whatever it consists of.

Under one lock: put down in the journal what will be done; see that each file is still as it was
read; put the new one in its place at once; acknowledge. Whatever breaks off in between the next
writer settles. No lock stops an editor: a file saved meanwhile is read again and
the write made anew.

What a dead writer began is settled from the files: done, or void. A file is replaced at once, so it
shows all of a write's edits or none; one that had to be written into (it has other names) may be
torn, and is completed from the copy beside it. What a write over several files had not come to is
made where its place has not changed.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

from assistant.disk import locking, storage
from assistant.errors import LedgerError, StorageError
from assistant.memory.base import Origin
from assistant.memory.text.identity import digest
from assistant.memory.text.markdown import LINES
from assistant.memory.wanted import check_wanted
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.edits import counted, difference
from assistant.memory.writing.images import Images
from assistant.memory.writing.journal import Edit, Journal, Verdict, Write, new_id, now
from assistant.memory.writing.markup import Splice
from assistant.memory.writing.save import Tell, no_word
from assistant.memory.writing.stale_saves import taken_out, verdicts_on
from assistant.workspace import machine
from assistant.workspace.folder import Anchor, Workspace

ATTEMPTS = 100
"""How often a write is made anew because an editor saved the file in between."""
Texts = Mapping[str, tuple[str, str]]
"""Of each file what it says and what it shall say; one that is not there says nothing."""
_T = TypeVar("_T")


@dataclass(slots=True)
class Change:
    """A write in the making: the files, what is journalled of it, and what became of facts."""

    draft: Draft
    writes: list[Write] = field(default_factory=list)
    verdicts: dict[str, Verdict] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SetAside:
    """Damaged lines of a file, by their numbers, and the image that keeps what they said."""

    lines: tuple[int, ...]
    image: str


class Commits:
    """The writes to one workspace's files. Safe to use from several threads and processes.

    `journal` and `images` are what is kept of them, `anchor` holds on to the workspace's folder.
    """

    def __init__(self, workspace: Workspace, tell: Tell = no_word) -> None:
        """`tell` is given a line while a write waits for a program that has a file open."""
        self.workspace = workspace
        self.anchor = Anchor(workspace.root)
        self._tell = tell
        self._thread = threading.RLock()
        self._held = False
        self.journal = Journal(workspace.journal)
        self.images = Images(workspace.history)
        self._elsewhere: dict[Path, Journal] = {}
        self._there: list[Path] = []
        self._looked = 0

    def write(self, plan: Callable[[Change], _T]) -> _T:
        """Carry out what `plan` makes of the files as they are; again if one is saved meanwhile.

        Returns what the plan did. Raises what it raises, LedgerError if a file never rests,
        Abandoned if nobody waits for it any more when its turn has come, and StorageError.
        """
        with self.locked():
            check_wanted()
            return self.attempt(plan)

    def attempt(self, plan: Callable[[Change], _T]) -> _T:
        """Do the same under a lock that is held already."""
        for _ in range(ATTEMPTS):
            change = Change(Draft(self.workspace))
            outcome = plan(change)
            if not change.writes or self._commit(change):
                return outcome
        raise LedgerError(
            "the memory files keep changing", "Close the program that writes them and try again"
        )

    def replace(self, texts: Texts, origin: Origin, together: str = "") -> None:
        """Give files new texts, as one write, so that `undo` takes it back.

        Writes of one name of `together` are undone together. Raises LedgerError if a file does not
        say what it was to be replaced for, StorageError.
        """

        def plan(change: Change) -> None:
            for source, (before, _) in texts.items():
                if change.draft.text(source) != before:
                    raise LedgerError(f"{source} has changed meanwhile", "Run it again")
            after = {source: text for source, (_, text) in texts.items()}
            change.writes.append(amendment(change.draft, after, origin, together))

        for source in texts:
            (self.workspace.root / source).parent.mkdir(parents=True, exist_ok=True)
        self.write(plan)

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
            draft = Draft(self.workspace)
            verdicts: dict[str, Verdict] = {}
            write = amendment(draft, texts, origin)
            for source, text in texts.items():
                verdicts |= verdicts_on(*draft.original(source), source, self.journal)
                verdicts |= taken_out(text, source, self.journal)
            for image in draft.images.values():
                self.images.keep(image)
            self.journal.begin(write)
            try:
                yield
            except BaseException:
                self.journal.settle((), [write.id])
                raise
            self.journal.settle([write.id], (), verdicts)

    def set_aside(self) -> SetAside | None:
        """Take the journal's damaged lines out of it, and keep them; None if there are none."""
        with self.locked():
            damaged = self.journal.damaged()
            if not damaged:
                return None
            kept = self.keep(damaged)
            self.journal.rewrite(lambda write: write)
            return kept

    def keep(self, damaged: Mapping[int, bytes]) -> SetAside:
        """Keep lines that cannot be read, by their numbers."""
        texts = (line.decode("utf-8", "backslashreplace") for line in damaged.values())
        return SetAside(tuple(damaged), self.images.keep("\n".join(texts)))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock, with what a dead writer began settled; within it, to no effect."""
        with self._thread:
            if self._held:
                yield
                return
            storage.private_directory(self.workspace.private)
            self.anchor.check()
            storage.private_directory(self.workspace.locks)
            with locking.lock(self.workspace.ledger_lock):
                self._held = True
                machine.move_in(self.workspace.private)
                try:
                    self.journal.refresh(mend=True)
                    if self.journal.pending():
                        settle(self.workspace, self.journal, self.images)
                    yield
                finally:
                    self._held = False

    def elsewhere(self) -> Iterator[Journal]:
        """The journals of other machines that can be read now; a sync may be under way."""
        if not self.workspace.private.exists():
            return
        changed = self.workspace.private.stat().st_mtime_ns
        if changed != self._looked:
            self._looked, self._there = changed, self.workspace.journals_elsewhere()
        for path in self._there:
            journal = self._elsewhere.setdefault(path, Journal(path))
            with contextlib.suppress(StorageError):
                journal.refresh()
                yield journal

    def _commit(self, change: Change) -> bool:
        """Journal, save, acknowledge; False if an editor's save came in between."""
        verdicts: dict[str, Verdict] = {}
        for source in change.draft.changed():
            verdicts |= verdicts_on(*change.draft.original(source), source, self.journal)
        for image in change.draft.images.values():
            self.images.keep(image)
        self.journal.begin(*change.writes)
        try:
            saved = change.draft.save(self._tell)
        except StorageError:
            with contextlib.suppress(StorageError):  # then the next writer settles it
                settle(self.workspace, self.journal, self.images)
            raise
        if saved:
            ids = [write.id for write in change.writes]
            self.journal.settle(ids, (), verdicts | change.verdicts)
            return True
        settle(self.workspace, self.journal, self.images)
        records = self.journal.records()
        return all(records[write.id].state == "done" for write in change.writes)


def amendment(draft: Draft, texts: Mapping[str, str], origin: Origin, together: str = "") -> Write:
    """The write that gives files (by source) new texts."""
    edits = [
        draft.edit(source, difference(draft.text(source), text)) for source, text in texts.items()
    ]
    said = counted(edits, draft.images)
    return Write(new_id(), now(), "amend", said, origin, tuple(edits), together=together)


def settle(workspace: Workspace, journal: Journal, images: Images) -> None:
    """Settle every write that was begun and not acknowledged; the ledger's lock must be held.

    Raises StorageError.
    """
    pending = journal.pending()
    draft = Draft(workspace)
    shown = {}
    for source in {edit.source for write in pending for edit in write.edits}:
        edits = [edit for write in pending for edit in write.edits if edit.source == source]
        _mend(workspace.root / source, edits, images)
        storage.sweep(workspace.root / source)
        removed = images.read(edits[-1].removed) if edits[-1].removed else ""
        shown[source] = applied(draft, edits, removed or "")
    done = [write for write in pending if any(shown[edit.source] for edit in write.edits)]
    for write in done:
        _complete(draft, images, [edit for edit in write.edits if not shown[edit.source]])
    void = [write.id for write in pending if write not in done]
    journal.settle([write.id for write in done], void)


def applied(draft: Draft, edits: Sequence[Edit], removed: str) -> bool:
    """Whether a file shows these edits of it as made: all of them, or none.

    A file changed since is judged by the lines of the last edit; `removed` is what that removed.
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


def _mend(path: Path, edits: Sequence[Edit], images: Images) -> None:
    """Complete a file that a dead writer was writing into, if that is what it holds."""
    there = storage.held(path)
    for left in storage.leftovers(path):
        new = left.read_bytes()
        old = _before(new, edits, images)
        if old is None or there in (old, new):
            continue
        alike = (one == other for one, other in zip(there, new, strict=False))
        head = sum(1 for _ in takewhile(bool, alike))
        if there[head:] == old[head:]:
            with storage.reported("written", path):
                storage.overwrite(path, new, there)


def _before(new: bytes, edits: Sequence[Edit], images: Images) -> bytes | None:
    """What a file held before these edits, if they made of it these bytes."""
    text = new.decode("utf-8", "replace")
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(bom)
    if digest(text) != edits[-1].after:
        return None
    for edit in reversed(edits):
        removed = images.read(edit.removed) if edit.removed else ""
        text = Splice(edit.at, removed or "", edit.inserted).reverse(text)
    return (bom + text).encode()


def _complete(draft: Draft, images: Images, edits: Sequence[Edit]) -> None:
    """Make the rest of a write over several files, where its place has not changed."""
    for edit in edits:
        removed = images.read(edit.removed) if edit.removed else ""
        text = draft.text(edit.source)
        if removed is not None and draft.digest(edit.source) == edit.before:
            draft.edit(edit.source, Splice(edit.at, removed, edit.inserted))
        elif removed and text.count(removed) == 1:
            draft.edit(edit.source, Splice(text.index(removed), removed, edit.inserted))
    draft.save()
