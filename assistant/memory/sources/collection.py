"""A corpus beside the memory files: indexed in the background, and recalled from meanwhile.

One thread indexes it: what has changed first, then what is new, small files before large ones. Each
question compares the files with the index, waits a little, and is answered from what is indexed by
then.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Protocol

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
"""Seconds that a question waits for files that are not indexed yet, and that one to all waits."""
SPELL = 30.0
"""Seconds of indexing after which the thread looks for what has changed meanwhile."""
SMALL = 64 << 10
"""Files of so many bytes are indexed the newest first, larger ones after them."""


class Source(Corpus, Protocol):
    """A corpus that may be away."""

    def absence(self) -> str:
        """Why its files cannot be looked at now; empty if they can."""


class Collection:
    """The index of a corpus, and recall from it. Safe to use from several threads."""

    def __init__(
        self,
        name: str,
        corpus: Source,
        index: Synchronizer,
        embedder: Embedder,
        settings: MemorySettings,
        progress: Progress = no_progress,
    ) -> None:
        """`name` is what a person calls it."""
        self.name = name
        self._corpus = corpus
        self._index = index
        self._progress = progress
        self._recaller = Recaller(index.store, embedder, settings)
        self._turn = threading.Lock()
        self._waiting = 0
        """Questions that wait for the thread."""
        self._closing = threading.Event()
        self._worker = ThreadPoolExecutor(1, "indexing")
        self._names: Sequence[str] = ()
        self._pending = self._late = False
        """Whether files are still to be indexed; whether that is of what changed last."""
        self._away = ""
        self._faults: tuple[str, ...] = ()
        self._told: tuple[str, ...] = ()

    @property
    def unread(self) -> int:
        """How many files are not indexed yet."""
        if not self._pending:
            return 0
        catalog = self._index.store.catalog
        with catalog.reading():
            return len(set(self._names) - catalog.sources().keys())

    @property
    def notices(self) -> tuple[str, ...]:
        """What of it cannot be recalled, and why."""
        told = ""
        if unread := self.unread:
            told = f"{self.name}: {unread:,} of {len(self._names):,} still being indexed"
        elif self._late:
            told = f"{self.name}: what changed last is still being indexed"
        return tuple(filter(None, [self._away, *self._faults, told]))

    def news(self) -> tuple[str, ...]:
        """The same, but of the files that cannot be read only if others were told of before."""
        known, self._told = set(self._told), self._faults
        stale = known if known == set(self._faults) else ()
        return tuple(notice for notice in self.notices if notice not in stale)

    def recall(self, query: Query, *, wait: bool = True) -> list[Passage]:
        """The best passages for a query; it may `wait` for files that are not indexed yet."""
        self._look(PATIENCE if wait else SLICE)
        try:
            return self._found(query)
        except CatalogDamaged:
            self._index.recover(self._index.store.catalog)
            self._pending = True
            self._look(PATIENCE)
            return self._found(query)

    def refresh(self) -> None:
        """Index what has changed, in the background if that takes longer than a slice."""
        self._look(SLICE)

    def indexed(self) -> tuple[int, int]:
        """How many files and chunks are indexed."""
        catalog = self._index.store.catalog
        with catalog.reading():
            return len(catalog.sources()), catalog.count()

    def scrub(self) -> None:
        """Leave no byte in the index of what the files no longer hold."""

        def known(names: Sequence[str]) -> list[str]:
            indexed = self._index.store.catalog.sources()
            return [name for name in names if name in indexed]

        with self._question():
            self._worker.submit(self._index.scrub, known).result()

    def close(self) -> None:
        """Let go of the index, once the file or stretch that is on its way is done."""
        self._closing.set()
        self._worker.shutdown(cancel_futures=True)
        self._index.close()

    # Parts

    def _found(self, query: Query) -> list[Passage]:
        with self._index.store.catalog.reading():
            return list(self._recaller.recall(query).passages)

    def _look(self, seconds: float) -> None:
        """Have what has changed indexed, and wait so long for it."""
        with self._question():
            look = self._worker.submit(self._spell, seconds)
            try:
                look.result(seconds)
            except TimeoutError:
                self._late = not look.done()

    @contextmanager
    def _question(self) -> Iterator[None]:
        """What goes first: the thread leaves off, and goes on afterwards."""
        with self._turn:
            self._waiting += 1
        try:
            yield
        finally:
            with self._turn:
                self._waiting -= 1
            with suppress(RuntimeError):  # it is being closed
                self._worker.submit(self._go_on)

    def _go_on(self) -> None:
        """Index the rest, as long as nobody asks."""
        try:
            while self._pending and not self._is_disturbed():
                self._spell(SPELL, stop=self._is_disturbed)
        except AssistantError as error:  # whoever asks is told
            logger.warning("%s: the rest is not indexed: %s", self.name, error)

    def _is_disturbed(self) -> bool:
        return self._waiting > 0 or self._closing.is_set()

    def _spell(self, seconds: float, stop: Callable[[], bool] = lambda: False) -> None:
        """Index for so long, or until it is to `stop`."""
        if away := self._corpus.absence():
            self._pending = False
            self._away = f"{self.name} {away}; what was indexed of it stays searchable"
            return
        self._away = ""
        done = self._index.refresh(
            seconds=seconds,
            order=self._ordered,
            stop=lambda: self._closing.is_set() or stop(),
        )
        self._pending, self._late = done.left > 0, False
        self._faults = tuple(f"{self.name}:{fault}" for fault in done.faults)

    def _ordered(self, names: Sequence[str]) -> Iterator[str]:
        """What is indexed, and then what is new."""
        self._names, self._pending = names, True
        known = self._index.store.catalog.sources()

        def rank(name: str) -> int:
            return 0 if name in known else 1 + self._bulk(name)

        for number, name in enumerate(sorted(reversed(names), key=rank)):
            if name not in known:
                self._progress(f"Indexing {self.name}", number, len(names))
            yield name

    def _bulk(self, name: str) -> int:
        """How large a file is: 0 for a small one, one more for twice as much."""
        try:
            return ((self._corpus.root / name).stat().st_size // SMALL).bit_length()
        except OSError:
            return 0
