"""A corpus besides the memory files: indexed in the background, and searched meanwhile.

One thread indexes it: changed files first, then new ones, small files before large ones. Each query
compares the files with the index, waits a little, and is answered from what is indexed by then.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Protocol

from assistant.disk.storage import stat_or_none
from assistant.errors import AssistantError
from assistant.memory.base import Passage, Progress, Query, no_progress
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.corpus import Corpus
from assistant.memory.index.database import CatalogDamaged
from assistant.memory.index.refresh import Synchronizer
from assistant.memory.search.recall import Recaller
from assistant.settings.sections import MemorySettings

logger = logging.getLogger(__name__)

PATIENCE, SLICE = 5.0, 0.2
"""Seconds that a query waits for files to be indexed, and that a query of all sources waits."""
BACKGROUND_SECONDS = 30.0
"""Seconds of indexing after which the thread compares the files again."""
SMALL = 64 << 10
"""Files of up to this many bytes are indexed newest first, larger ones after them."""


class Source(Corpus, Protocol):
    """A corpus that may be unavailable."""

    def absence(self) -> str:
        """Return why its files cannot be read now; empty if they can."""

    def cited(self, passage: Passage) -> Passage | None:
        """Return a passage with its citation; None if its file was deleted since it was indexed."""


class Collection:
    """The index of a corpus, and search in it. Safe to use from several threads."""

    def __init__(
        self,
        name: str,
        corpus: Source,
        index: Synchronizer,
        embedder: Embedder,
        settings: MemorySettings,
        progress: Progress = no_progress,
    ) -> None:
        """`name` is shown to the owner."""
        self.name = name
        self._corpus = corpus
        self._index = index
        self._progress = progress
        self._recaller = Recaller(index.store, embedder, settings)
        self._lock = threading.Lock()
        self._waiting = 0
        """Queries that wait for the thread."""
        self._closing = threading.Event()
        self._worker = ThreadPoolExecutor(1, "indexing")
        self._names: Sequence[str] = ()
        self._is_pending = self._is_late = False
        """Whether files are still to be indexed; whether the latest changes are."""
        self._absence = ""
        self._faults: tuple[str, ...] = ()
        self._reported: tuple[str, ...] = ()

    @property
    def unread(self) -> int:
        """The number of files that are not indexed yet."""
        if not self._is_pending:
            return 0
        catalog = self._index.store.catalog
        with catalog.reading():
            return len(set(self._names) - catalog.sources().keys())

    @property
    def notices(self) -> tuple[str, ...]:
        """What cannot be searched, and why."""
        progress = ""
        if unread := self.unread:
            progress = f"{self.name}: {unread:,} of {len(self._names):,} still being indexed"
        elif self._is_late:
            progress = f"{self.name}: what changed last is still being indexed"
        return tuple(filter(None, [self._absence, *self._faults, progress]))

    def news(self) -> tuple[str, ...]:
        """Return the notices, without those about unreadable files if unchanged since last time."""
        before, self._reported = set(self._reported), self._faults
        repeated = before if before == set(self._faults) else ()
        return tuple(notice for notice in self.notices if notice not in repeated)

    def recall(self, query: Query, *, wait: bool = True) -> list[Passage]:
        """Return the best passages for a query, which may `wait` for files that are not indexed
        yet."""
        self._update(PATIENCE if wait else SLICE)
        try:
            return self._search(query)
        except CatalogDamaged:
            self._index.recover(self._index.store.catalog)
            self._is_pending = True
            self._update(PATIENCE)
            return self._search(query)

    def refresh(self) -> None:
        """Index what has changed, in the background if that takes longer than a slice."""
        self._update(SLICE)

    def indexed(self) -> tuple[int, int]:
        """Return how many files and chunks are indexed."""
        catalog = self._index.store.catalog
        with catalog.reading():
            return len(catalog.sources()), catalog.count()

    def scrub(self) -> None:
        """Erase from the index what the files no longer contain, to the last byte."""

        def only_indexed(names: Sequence[str]) -> list[str]:
            indexed = self._index.store.catalog.sources()
            return [name for name in names if name in indexed]

        with self._interrupting():
            self._worker.submit(self._index.scrub, only_indexed).result()

    def close(self) -> None:
        """Close the index once the current file is indexed."""
        self._closing.set()
        self._worker.shutdown(cancel_futures=True)
        self._index.close()

    # Parts

    def _search(self, query: Query) -> list[Passage]:
        with self._index.store.catalog.reading():
            passages = self._recaller.recall(query).passages
        return list(filter(None, map(self._corpus.cited, passages)))

    def _update(self, seconds: float) -> None:
        """Start indexing what has changed, and wait at most that long for it."""
        with self._interrupting():
            update = self._worker.submit(self._index_for, seconds)
            try:
                update.result(seconds)
            except TimeoutError:
                self._is_late = seconds > SLICE and not update.done()

    @contextmanager
    def _interrupting(self) -> Iterator[None]:
        """Interrupt background indexing for the block, and resume it afterwards."""
        with self._lock:
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
            with suppress(RuntimeError):  # it is being closed
                self._worker.submit(self._index_rest)

    def _index_rest(self) -> None:
        """Index what is pending, until a query arrives."""
        try:
            while self._is_pending and not self._is_interrupted():
                self._index_for(BACKGROUND_SECONDS, stop=self._is_interrupted)
        except AssistantError as error:  # the next query raises it
            logger.warning("%s: the rest is not indexed: %s", self.name, error)

    def _is_interrupted(self) -> bool:
        return self._waiting > 0 or self._closing.is_set()

    def _index_for(self, seconds: float, stop: Callable[[], bool] = lambda: False) -> None:
        """Index for that many seconds, or until `stop`."""
        if absence := self._corpus.absence():
            self._is_pending = False
            self._absence = f"{self.name} {absence}; its indexed content stays searchable"
            return
        self._absence = ""
        deadline = time.monotonic() + seconds
        refreshed = self._index.refresh(
            lambda what, *counts: self._progress(f"{self.name}: {what}", *counts),
            order=self._ordered,
            stop=lambda: self._closing.is_set() or stop() or time.monotonic() > deadline,
        )
        if refreshed.changed:
            self._index.store.catalog.database.empty_log()
        self._is_pending, self._is_late = refreshed.left > 0, False
        self._faults = tuple(f"{self.name}:{fault}" for fault in refreshed.faults)

    def _ordered(self, names: Sequence[str]) -> list[str]:
        """Return the indexed files, then the new ones."""
        self._names, self._is_pending = names, True
        indexed = self._index.store.catalog.sources()

        def rank(name: str) -> int:
            """Return 0 if it is indexed, 1 if it is small, plus 1 for each doubling."""
            stat = None if name in indexed else stat_or_none(self._corpus.root / name)
            return 0 if name in indexed else 1 + ((stat.size if stat else 0) // SMALL).bit_length()

        return sorted(reversed(names), key=rank)
