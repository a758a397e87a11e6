"""A corpus beside the memory files: indexed a little at a time, and recalled from meanwhile.

Nobody waits for all of a large corpus: before a question the new files are indexed that hold most
of its words, and a thread indexes the rest, which lets every question go first.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Protocol

from assistant.memory.base import Passage, Progress, Query, no_progress
from assistant.memory.corpora.hints import Hints
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.corpus import Corpus
from assistant.memory.index.sqlite.database import CatalogDamaged
from assistant.memory.index.sync import Synchronizer
from assistant.memory.index.updating import Order
from assistant.memory.search.recall import Recaller
from assistant.settings.memory import MemorySettings

PATIENCE = 5.0
"""Seconds that a question waits for files that are not indexed yet."""
FEW = 200
"""It waits for all that are new if they are so few."""
BEST, SHORTLY = 20, 1.5
"""Else for so many that hold most of its words, as far as they are indexed in so many seconds."""
SLICE = 0.2
"""Seconds that a question waits for what has changed, if it is not to wait."""
SPELL = 30.0
"""Seconds of indexing after which the thread sees what has changed meanwhile."""


class Source(Corpus, Protocol):
    """A corpus that may be away."""

    def absence(self) -> str:
        """Why its files cannot be looked at now; empty if they can."""


class Collection:
    """The index of a corpus, and recall from it. Safe to use from several threads.

    `unread` is how many files were never indexed.
    """

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
        self.unread = 0
        self._left = 0
        self._corpus = corpus
        self._index = index
        self._progress = progress
        self._recaller = Recaller(index.store, embedder, settings)
        self._hints = Hints(corpus.root)
        self._lock = threading.RLock()
        self._asked = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._away = ""
        self._faults: tuple[str, ...] = ()
        self._told: tuple[str, ...] = ()

    @property
    def notices(self) -> tuple[str, ...]:
        """What of it cannot be recalled, and why."""
        unread = f"{self.unread:,} of {self.name} are still being indexed" if self.unread else ""
        return tuple(filter(None, [self._away, *self._faults, unread]))

    def news(self) -> tuple[str, ...]:
        """The same, but of the files that cannot be read only if others were told of before."""
        known, self._told = set(self._told), self._faults
        stale = known if known == set(self._faults) else ()
        return tuple(each for each in self.notices if each not in stale)

    def recall(self, query: Query, *, wait: bool = True) -> list[Passage]:
        """The best passages for a query.

        It may `wait` for files that are new and hold words of it; else what is new is indexed
        meanwhile.
        """
        words = [word.encode() for word in query.text.lower().split()]
        with self._first():
            if wait:
                self._refresh(PATIENCE, partial(self._promising, words))
            else:
                self.refresh()
            try:
                found = self._recaller.recall(query)
            except CatalogDamaged:
                self._index.recover()
                self._refresh(PATIENCE, list)
                found = self._recaller.recall(query)
        return list(found.passages)

    def refresh(self, *, if_hinted: bool = False) -> None:
        """Index what is new, in the background if that takes longer than a slice.

        `if_hinted`: look for it only if something has changed, as far as the system tells.
        """
        with self._first():
            if if_hinted and not self._hints.hinted:
                return
            changed = self._hints.due()
            if changed is not None or self._corpus.absence():
                self._refresh(SLICE, partial(sorted, key=lambda name: name not in (changed or ())))

    def indexed(self) -> tuple[int, int]:
        """How many files and chunks are indexed."""
        catalog = self._index.store.catalog
        return len(catalog.sources()), catalog.count()

    def scrub(self) -> None:
        """Leave no byte in the index of what the files no longer hold."""
        with self._lock:
            self._index.scrub()

    def close(self) -> None:
        """Let go of the index, once the slice that runs is done."""
        self._closing.set()
        self._hints.close()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            self._index.close()

    # Parts

    def _refresh(self, seconds: float, order: Order) -> None:
        self._look(seconds, order)
        if self._left and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._go_on, name="indexing", daemon=True)
            self._thread.start()

    def _go_on(self) -> None:
        """Index the rest, as long as nobody asks."""
        while self._left and not self._closing.wait(SLICE / 10):
            with self._lock:
                self._look(SPELL, self._unasked)

    def _look(self, seconds: float, order: Order) -> None:
        if away := self._corpus.absence():
            self._left = self.unread = 0
            self._hints.renew()
            self._away = f"{self.name} {away}; what was indexed of it stays searchable"
            return
        self._away = ""
        names: list[str] = []

        def seen(found: list[str]) -> Iterable[str]:
            names.extend(found)
            return order(found)

        done = self._index.refresh(seconds=seconds, order=seen)
        self._left = done.left
        self.unread = len({*names} - {*self._index.store.catalog.sources()}) if done.left else 0
        self._faults = tuple(f"{self.name}:{fault}" for fault in done.faults)

    @contextmanager
    def _first(self) -> Iterator[None]:
        """The lock, which the thread that indexes lets go of at the next file."""
        self._asked.set()
        with self._lock:
            self._asked.clear()
            yield

    def _unasked(self, names: list[str]) -> Iterator[str]:
        """Files that were never indexed first, the last of them first, until somebody asks."""
        known = self._index.store.catalog.sources()
        ordered = sorted(reversed(names), key=lambda name: name in known)
        for number, name in enumerate(ordered, start=len(known)):
            if self._asked.is_set() or self._closing.is_set():
                return
            self._progress(f"Indexing {self.name}", min(number, len(names)), len(names))
            self.unread = max(len(names) - number, 0)
            yield name

    def _promising(self, words: Sequence[bytes], names: list[str]) -> Iterator[str]:
        """The files that a question waits for: those it knows, and of the new ones those first that
        hold most of its words."""
        known = self._index.store.catalog.sources()
        yield from (name for name in names if name in known)
        new = [name for name in reversed(names) if name not in known]
        held = {name: _held(self._corpus.root / name, words) for name in new}
        in_files = Counter(chain.from_iterable(held.values()))
        worth = {name: sum(1 / in_files[word] for word in held[name]) for name in new}
        best = sorted(new, key=lambda name: -worth[name])
        few = len(new) <= FEW
        until = time.monotonic() + (PATIENCE if few else SHORTLY)
        for name in best if few else [each for each in best[:BEST] if worth[each]]:
            if time.monotonic() > until:
                return
            yield name


def _held(path: Path, words: Sequence[bytes]) -> list[bytes]:
    """Which of the words a file holds."""
    try:
        data = path.read_bytes().lower()
    except OSError:
        return []
    return [word for word in words if word in data]
