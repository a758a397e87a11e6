"""Changes memory files: reads each once, edits the texts in memory, replaces all files at once.

The owner's programs may have these files open, or save them at the same instant. A file that
another program has open for writing is never replaced, since its next write would be lost: the
write waits for it, then fails. A file that was saved since it was read is left alone.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from assistant.disk import storage
from assistant.disk.exchange import Guard, writers
from assistant.disk.storage import Stat, stat_or_none
from assistant.errors import StorageError
from assistant.memory.base import Notify, no_notices
from assistant.memory.text.conflict_marks import conflict_in
from assistant.memory.text.identity import digest
from assistant.memory.writing.journal import Edit, Verdict, Write
from assistant.memory.writing.markup import Splice, neighbours
from assistant.workspace.folder import MEMORY_FILE, Workspace

PATIENCE = 5.0
"""Seconds to wait for a program that has a file open for writing."""
NOTICE_SECONDS = 0.5
"""Seconds before the owner is notified of the wait; most saves take less."""
PAUSE = 0.01

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file as it was read; `stat` is None if it did not exist."""

    path: Path
    data: bytes
    stat: Stat | None

    @property
    def text(self) -> str:
        """The text, without byte-order mark."""
        return self.data.decode().removeprefix(_BOM)


@dataclass(slots=True)
class _File:
    """A file as it was read, and its text as edited so far."""

    snapshot: Snapshot
    text: str
    digest: str = ""
    """The digest of the text, once it is edited."""


class Draft:
    """The files of one transaction, as they were read and as edited; and its `writes`, for the
    journal."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._files: dict[str, _File] = {}
        self.images: dict[str, str] = {}
        """The text removed by the edits, by digest."""
        self.writes: list[Write] = []
        self.verdicts: dict[str, Verdict] = {}
        """The verdicts of the writes on facts, by the writes that added them."""

    def _file(self, source: str) -> _File:
        if source not in self._files:
            snapshot = read_file(self._workspace.root / source)
            if fault := storage.text_fault(snapshot.data):
                raise StorageError(
                    f"{source} is not UTF-8 text ({fault}); nothing was changed", "Save it as UTF-8"
                )
            self._files[source] = _File(snapshot, snapshot.text)
        return self._files[source]

    def text(self, source: str) -> str:
        """Return a file's text as edited so far, without byte-order mark; "" if it is missing.

        Raises StorageError if it cannot be read or is not text.
        """
        return self._file(source).text

    def editable(self, source: str) -> str:
        """Return a file's text for editing. Raises StorageError also for merge conflicts."""
        file = self._file(source)
        if not file.digest and (line := conflict_in(file.text)):
            raise StorageError(
                f"{source} has an unresolved merge conflict (line {line}); nothing was changed",
                "Keep what is right on both sides, remove the markers (<<<<<<<, ======= and the"
                " like), and try again",
            )
        return file.text

    def digest(self, source: str) -> str:
        """Return the digest of a file's text as edited so far. Raises StorageError as `text`."""
        file = self._file(source)
        return file.digest or digest(file.text)

    def is_text(self, source: str) -> bool:
        """Return whether a file can be read and is UTF-8."""
        try:
            self.text(source)
        except StorageError:
            return False
        return True

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield the memory files that can be read, and their texts as edited so far."""
        for source in self._workspace.sources():
            if self.is_text(source):
                yield source, self.text(source)

    def originals(self) -> dict[str, str]:
        """Return the texts of the edited files as they were read."""
        return {source: file.snapshot.text for source, file in self._files.items() if file.digest}

    def edit(self, source: str, splice: Splice) -> Edit:
        """Make a change; return its journal entry. Raises StorageError for a merge conflict."""
        before, file, state = self.editable(source), self._file(source), self.digest(source)
        file.text = splice.apply(before)
        file.digest = digest(file.text)
        above, below = neighbours(before, splice.at, splice.at + len(splice.removed))
        removed = digest(splice.removed) if splice.removed else ""
        if removed:
            self.images[removed] = splice.removed
        return Edit(
            source=source,
            at=splice.at,
            removed=removed,
            inserted=splice.inserted,
            before=state,
            after=file.digest,
            above=above,
            below=below,
        )

    def save(self, notify: Notify = no_notices) -> bool:
        """Replace the changed files; stop and return False at one that has changed since.

        MEMORY.md comes first: a new fact is safe before an old one is struck out elsewhere. Raises
        StorageError, with nothing changed, if another program keeps one of them open for writing.
        """
        changes = []
        for source in sorted(self.originals(), key=lambda name: name != MEMORY_FILE):
            file = self._files[source]
            bom = _BOM if file.snapshot.data.startswith(_BOM.encode()) else ""
            changes.append((file.snapshot, (bom + file.text).encode()))
        return replace_files(changes, notify)


# Files on disk


def read_file(path: Path) -> Snapshot:
    """Read a file, if it exists. Raises StorageError."""
    with storage.reported("read", path):
        try:
            return Snapshot(path, *storage.read_with_stat(path))
        except FileNotFoundError:
            return Snapshot(path, b"", None)


def replace_files(
    changes: Sequence[tuple[Snapshot, bytes]],
    notify: Notify = no_notices,
    patience: float = PATIENCE,
) -> bool:
    """Replace the bytes of each file, in order; stop and return False at one that has changed.

    Mode, owner, group, extended attributes and links stay. None is touched while another program
    has one of them open for writing: StorageError is raised after `patience` seconds.
    """
    with ExitStack() as stack:
        replacements = []
        for snapshot, data in changes:
            with storage.reported("written", snapshot.path):
                replacements.append(_prepared(snapshot, data, notify, patience, stack))
        if any(stat_or_none(one.target) != one.snapshot.stat for one in replacements):
            return False
        for replacement in replacements:
            with storage.reported("written", replacement.snapshot.path):
                if not replacement.carry_out():
                    return False
    return True


@dataclass(slots=True)
class _Replacement:
    """A file to be replaced by a temporary file next to it, which contains the new bytes.

    Writers are locked out of it by `guard`, unless it is new. It is written `in_place` if it has
    hard links, or if a file like it cannot be created.
    """

    snapshot: Snapshot
    data: bytes
    target: Path
    temporary: Path
    guard: Guard | None = None
    in_place: bool = False

    def carry_out(self) -> bool:
        """Replace the file; return False if it has been saved since it was read."""
        if stat_or_none(self.target) != self.snapshot.stat:
            return False
        is_done = True
        if self.guard is None:
            storage.DISK.rename(self.temporary, self.target)
        elif self.in_place:
            is_done = self._overwrite(self.guard)
        else:
            is_done = self._swap(self.guard)
        storage.sync_directory(self.target.parent)
        return is_done

    def _swap(self, guard: Guard) -> bool:
        """Swap the two files; swap them back if the old one was saved, or is being written.

        If files cannot be swapped, compare the old one before replacing it.
        """
        if not storage.DISK.exchange(self.temporary, self.target):
            if not self._is_unchanged(guard):
                return False
            storage.DISK.rename(self.temporary, self.target)
            return True
        is_guarded = os.path.samestat(self.temporary.stat(), os.fstat(guard.descriptor))
        if is_guarded and self._is_unchanged(guard):
            guard.release()
            if guard.take():  # nobody opened it for writing in the meantime
                return True
        while storage.DISK.exchange(self.temporary, self.target):
            if self.temporary.read_bytes() == self.data:
                break  # otherwise another save came in between: put the later one back
        return False

    def _overwrite(self, guard: Guard) -> bool:
        """Write into the file itself."""
        if not self._is_unchanged(guard):
            return False
        guard.release()
        storage.overwrite(self.target, self.data, self.snapshot.data)
        return True

    def _is_unchanged(self, guard: Guard) -> bool:
        """Return whether the guarded file has the bytes that were read, with no write attempted."""
        os.lseek(guard.descriptor, 0, os.SEEK_SET)
        with os.fdopen(guard.descriptor, "rb", closefd=False) as file:
            return file.read() == self.snapshot.data and guard.undisturbed()


def _prepared(
    snapshot: Snapshot, data: bytes, notify: Notify, patience: float, stack: ExitStack
) -> _Replacement:
    """Write the new bytes next to a file and lock writers out of it; `stack` takes both back.

    Raises StorageError if a program keeps the file open for writing.
    """
    target = snapshot.path.resolve()
    if snapshot.stat is None:
        target.parent.mkdir(parents=True, exist_ok=True)
    temporary, is_alike = stack.enter_context(storage.temporary(target, data))
    if snapshot.stat is None:
        return _Replacement(snapshot, data, target, temporary)
    guard = stack.enter_context(closing(Guard(target)))
    start = time.monotonic()
    has_notified = False
    while not guard.take():
        waited = time.monotonic() - start
        if waited >= patience:
            raise StorageError(
                f"{target.name} is open for writing in {_programs(target)}; nothing was changed",
                "Close it there and try again",
            )
        if waited >= NOTICE_SECONDS and not has_notified:
            notify(f"Waiting for {_programs(target)}, which writes {target.name}")
            has_notified = True
        time.sleep(PAUSE)
    in_place = not is_alike or target.stat().st_nlink > 1
    return _Replacement(snapshot, data, target, temporary, guard, in_place)


def _programs(target: Path) -> str:
    return " and ".join(writers(target)) or "another program"
