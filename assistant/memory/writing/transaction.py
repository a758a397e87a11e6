"""How a write to memory is made, whatever it consists of.

Under one lock: put down in the journal what will be done; see that each file is still as it was
read; put the new one in its place at once; acknowledge. Whatever breaks off in between the next
writer settles (`settling.py`). No lock stops an editor: a file saved meanwhile is read again and
the write made anew.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from assistant.disk import locking, storage
from assistant.errors import LedgerError, StorageError
from assistant.memory.base import Origin
from assistant.memory.wanted import check_wanted
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.edits import counted, difference
from assistant.memory.writing.record.images import Images
from assistant.memory.writing.record.journal import Journal
from assistant.memory.writing.record.writes import Verdict, Write, new_id, now
from assistant.memory.writing.saving import Tell, no_word
from assistant.memory.writing.settling import settle
from assistant.memory.writing.stale_saves import taken_out, verdicts_on
from assistant.workspace import machine
from assistant.workspace.anchor import Anchor
from assistant.workspace.folder import Workspace

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
        self.journal = self._opened(workspace.journal)
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
            edits = tuple(
                change.draft.edit(source, difference(before, after))
                for source, (before, after) in texts.items()
            )
            said = counted(edits, change.draft.images)
            write = Write(new_id(), now(), "amend", said, origin, edits, together=together)
            change.writes.append(write)

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
            edits = []
            for source, text in texts.items():
                edits.append(draft.edit(source, difference(draft.text(source), text)))
                verdicts |= verdicts_on(*draft.original(source), source, self.journal.saves)
                verdicts |= taken_out(text, source, self.journal.saves)
            write = Write(
                new_id(), now(), "amend", counted(edits, draft.images), origin, tuple(edits)
            )
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

    def _opened(self, path: Path) -> Journal:
        return Journal(path, self.workspace.index / f"{path.stem}.db")

    def elsewhere(self) -> Iterator[Journal]:
        """The journals of other machines that can be read now; a sync may be under way."""
        if not self.workspace.private.exists():
            return
        changed = self.workspace.private.stat().st_mtime_ns
        if changed != self._looked:
            self._looked, self._there = changed, self.workspace.journals_elsewhere()
        for path in self._there:
            journal = self._elsewhere.setdefault(path, self._opened(path))
            with contextlib.suppress(StorageError):
                journal.refresh()
                yield journal

    def _commit(self, change: Change) -> bool:
        """Journal, save, acknowledge; False if an editor's save came in between."""
        verdicts: dict[str, Verdict] = {}
        for source in change.draft.changed():
            verdicts |= verdicts_on(*change.draft.original(source), source, self.journal.saves)
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
        return all(map(self.journal.is_done, change.writes))
