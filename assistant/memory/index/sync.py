"""Make the index say what the files say: read → chunk → embed what is new → one transaction.

File events are only hints. `refresh`, before each recall, compares every source's stat with the
indexed one, and reads a file again that changed within 2 s of its last reading, since its stat
may not tell. What an edit costs depends on what it changed: a chunk's id does not name its place.
"""

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from assistant.errors import AssistantError, MemoryFailure, StorageError
from assistant.memory.base import Progress, no_progress
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.corpus import Corpus, decoded
from assistant.memory.index.making import Maker, Read, Refine
from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.index.sqlite.database import CatalogDamaged
from assistant.memory.index.store import DAMAGED, DELETED, IndexStore
from assistant.memory.index.updating import Order, Updater
from assistant.secrets.redactor import Redactor
from assistant.settings.memory import IndexSettings

logger = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds that an answer waits for another thread that brings the index up; for one that is writing
a large file into it, none."""
OnChange = Callable[[str, str, str], None]
"""Called as `on_change(source, text, sha256)` once the new content of a file is indexed: its text,
and the digest of its bytes in hex. A file that is gone has no text."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did. `notices` are one line each, for the owner; `faults` those of them that
    return until the file they name is put right. `left` is how many files there was no time for."""

    changed: tuple[str, ...]
    embedded: int
    notices: tuple[str, ...]
    faults: tuple[str, ...] = ()
    left: int = 0


class Synchronizer:
    """Makes the index of a corpus say what its files say; the only writer of it. Thread-safe.

    `store` is what can be read. When a read raises CatalogDamaged, call `recover` and `refresh`,
    then read again.
    """

    def __init__(
        self,
        corpus: Corpus,
        embedder: Embedder,
        settings: IndexSettings,
        on_change: OnChange | None = None,
        redactor: Callable[[], Redactor] = Redactor,
        read: Read = decoded,
        refine: Refine | None = None,
        *,
        aside: bool = False,
        piecemeal: bool = False,
    ) -> None:
        """Open or make the index; nothing is read of the files yet. Raises StorageError.

        What `redactor` knows for a secret is not indexed. `aside`: where there is an index already,
        nobody waits for a large file, which is indexed in the background. `piecemeal`: of a large
        file one stretch is indexed each time that an order names it.
        """
        self._on_change = on_change
        self._lock = threading.RLock()
        self.store = IndexStore(corpus, embedder.fingerprint, settings)
        maker = Maker(embedder, redactor, read, refine)
        self._files = Updater(
            corpus, self.store, maker, self._lock, self._observe, aside=aside, piecemeal=piecemeal
        )

    def refresh(
        self,
        progress: Progress = no_progress,
        *,
        seconds: float = math.inf,
        order: Order = list,
    ) -> Refreshed:
        """Bring the index up to the files as they are now, as far as that is done in `seconds`.

        A file that cannot be read or is no text keeps what was indexed of it and is named in the
        notices. Raises StorageError when the index cannot be written.
        """
        with self._lock:
            done = self._refreshed(progress, seconds, order)
        self._observe()
        return done

    def refresh_unless_busy(self, progress: Progress = no_progress) -> Refreshed | None:
        """Do the same; None if another thread is at it and does not come to an end."""
        if not self._lock.acquire(timeout=0 if self._files.committing else PATIENCE):
            return None
        try:
            done = self._refreshed(progress, math.inf, list)
        finally:
            self._lock.release()
        self._observe()
        return done

    def behind(self) -> tuple[str, ...]:
        """The files that the index does not have as they are, and is about to."""
        return self._files.behind()

    def faults(self) -> tuple[str, ...]:
        """What is wrong now, one line each: files that cannot be indexed, a server that fails."""
        troubles = filter(None, [self.store.trouble, self.store.dense.trouble])
        return (*self._files.faults(), *troubles)

    def recover(self, damaged: Catalog | None = None) -> None:
        """Throw the index away after damage; the next `refresh` makes it again.

        To no effect if it is not the one that was found `damaged` any more.
        """
        with self._lock:
            if damaged is None or damaged is self.store.catalog:
                self._reopen(DAMAGED, discard=True)

    def verify(self) -> bool:
        """Whether the catalog is whole, from end to end; a damaged one is made again."""
        with self._lock:
            try:
                self.store.catalog.database.verify()
            except CatalogDamaged:
                self.recover()
                return False
            return True

    def rebuild(self, progress: Progress = no_progress) -> Refreshed:
        """Make the index again from the files; cached vectors are used."""
        with self._lock:
            try:
                self.store.catalog.clear()
            except CatalogDamaged:
                self.recover()
            self._files.look_again(at_faults=True)
            with contextlib.suppress(MemoryFailure):  # a server that fails is filled later
                self.store.dense.refill()
            done = self.refresh(progress)
            self.store.dense.settle(progress)
            return done

    def scrub(self, order: Order = list) -> None:
        """Leave no byte in the index of what the files no longer hold, of those in the order."""
        with self._lock:
            with contextlib.suppress(CatalogDamaged):  # which the refresh mends
                self.store.examined(wait=True)
            self.refresh(order=order)
            self.store.catalog.scrub()
            self.store.dense.refill()  # Chroma's files keep the vectors of what was deleted
            self.store.dense.deliver()

    def close(self) -> None:
        """Let go of the index; a second time does nothing."""
        self._files.close()
        with self._lock:
            self.store.close(prune=self._files.whole)

    def _reopen(self, notice: str, *, discard: bool = False) -> None:
        self._files.whole = False
        self.store.reopen(notice, discard=discard)
        self._files.look_again()

    def _refreshed(self, progress: Progress, seconds: float, order: Order) -> Refreshed:
        if self.store.deleted:
            self._reopen(DELETED)
        if self.store.return_home():
            self._files.look_again()
        deadline, before = time.monotonic() + seconds, self._embedded()
        try:
            self.store.examined()
            changed, left = self._files.reconcile(progress, deadline, order)
        except (CatalogDamaged, StorageError) as error:
            self._make_usable(error)
            before = self._embedded()
            changed, left = self._files.reconcile(progress, deadline, order)
        self.store.dense.deliver()
        faults = self.faults()
        notices = (*self.store.notices, *faults)
        self.store.notices.clear()
        embedded = self._embedded() - before
        return Refreshed(tuple(changed), embedded, notices, faults, left)

    def _embedded(self) -> int:
        return self.store.catalog.vectors.embedded

    def _make_usable(self, error: AssistantError) -> None:
        """Mend what is damaged; where the disk takes no writes, go on in memory."""
        if isinstance(error, CatalogDamaged) and self.store.can_write():
            self.recover()
            return
        if self.store.stands_in:
            raise error
        self.store.stand_in()
        self._files.look_again()

    def _observe(self) -> None:
        """Show what changed, holding no lock: whoever is shown it may wait for a write."""
        changes = self._files.changes
        while changes:
            change = changes.pop(0)
            if self._on_change is not None:
                self._on_change(*change)
