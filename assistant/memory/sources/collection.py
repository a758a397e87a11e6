"""A corpus beside the memory files: indexed a little at a time, and recalled from meanwhile.

Nobody waits for all of a large corpus, nor for a large file: one thread indexes it, small files and
new ones first, large ones a stretch at a time. A question has it look first at the files that hold
most of its words, waits a little, and is answered from what is indexed by then.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, takewhile
from pathlib import Path
from typing import Protocol

from assistant.errors import AssistantError
from assistant.memory.base import Passage, Progress, Query, no_progress
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.corpus import Corpus
from assistant.memory.index.database import CatalogDamaged
from assistant.memory.index.refresh import Order, Synchronizer
from assistant.memory.precedence import Precedence
from assistant.memory.search.recall import Recaller
from assistant.memory.sources.hints import Hints
from assistant.settings.sections import MemorySettings

logger = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds that a question waits for files that are not indexed yet."""
FEW = 200
"""It waits for all that are new if they are so few."""
BEST, SHORTLY = 20, 1.5
"""Else for so many that hold most of its words, as far as they are indexed in so many seconds."""
SMALL = 64 << 10
"""Bytes of a file that is indexed at once."""
BULKY = 3
"""Files of more bulk come after all others, whatever they hold."""
SLICE = 0.2
"""Seconds that a question waits for what has changed, if it is not to wait."""
SPELL = 30.0
"""Seconds of indexing after which the thread sees what has changed meanwhile."""


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
        self._hints = Hints(corpus.root)
        self._queue = Queue(corpus.root, index)
        self._questions = Precedence()
        self._turn = threading.Lock()
        self._closing = threading.Event()
        self._worker = ThreadPoolExecutor(1, "indexing")
        self._names: Sequence[str] = ()
        self._left = 0
        self._late = False
        self._away = ""
        self._faults: tuple[str, ...] = ()
        self._told: tuple[str, ...] = ()

    @property
    def unread(self) -> int:
        """How many files are not indexed yet, or only their beginning."""
        return len(self._unindexed())

    @property
    def notices(self) -> tuple[str, ...]:
        """What of it cannot be recalled, and why."""
        sizes = self._unindexed()
        told = ""
        if sizes:
            told = (
                f"{self.name}: {len(sizes):,} of {len(self._names):,} still being indexed, "
                f"{sum(sizes.values()) / 1e6:,.1f} MB to go"
            )
        elif self._late:
            told = f"{self.name}: what changed last is still being indexed"
        return tuple(filter(None, [self._away, *self._faults, told]))

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
        with self._question():
            if wait:
                self._ask(PATIENCE, partial(self._queue.promising, words))
            else:
                self._see_changes()
            return self._found(query)

    def refresh(self, *, if_hinted: bool = False) -> None:
        """Index what is new, in the background if that takes longer than a slice.

        `if_hinted`: look for it only if something has changed, as far as the system tells.
        """
        if not if_hinted or self._hints.hinted:
            with self._question():
                self._see_changes()

    def indexed(self) -> tuple[int, int]:
        """How many files and chunks are indexed."""
        catalog = self._index.store.catalog
        with catalog.reading():
            return len(catalog.sources()), catalog.count()

    def scrub(self) -> None:
        """Leave no byte in the index of what the files no longer hold."""
        with self._question():
            self._worker.submit(self._index.scrub, self._queue.known).result()

    def close(self) -> None:
        """Let go of the index, once the file or stretch that is on its way is done."""
        self._closing.set()
        self._hints.close()
        self._worker.shutdown(cancel_futures=True)
        self._index.close()

    # Parts

    @contextmanager
    def _question(self) -> Iterator[None]:
        """What goes first: the thread leaves off what nobody asked for, and goes on afterwards."""
        try:
            with self._questions.answering():
                yield
        finally:
            if not self._disturbed():
                with suppress(RuntimeError):  # it is being closed
                    self._worker.submit(self._go_on)

    def _unindexed(self) -> dict[str, int]:
        return self._queue.left(self._names) if self._left else {}

    def _disturbed(self) -> bool:
        return self._questions.asked or self._closing.is_set()

    def _see_changes(self) -> None:
        with self._turn:
            changed = self._hints.due()
        if changed is not None or self._corpus.absence():
            self._ask(SLICE, partial(self._queue.changed_first, changed or ()), drop=False)

    def _ask(self, seconds: float, order: Order, *, drop: bool = True) -> None:
        """Have files indexed, and wait so long for it. `drop`: if it did not begin, it need not."""
        look = self._worker.submit(self._look, seconds, order)
        try:
            look.result(seconds)
        except TimeoutError:
            self._late = not look.done()
            if drop:
                look.cancel()

    def _found(self, query: Query) -> list[Passage]:
        catalog = self._index.store.catalog
        try:
            with catalog.reading():
                return list(self._recaller.recall(query).passages)
        except CatalogDamaged:
            self._index.recover(catalog)
            self._ask(PATIENCE, list)
            with self._index.store.catalog.reading():
                return list(self._recaller.recall(query).passages)

    def _go_on(self) -> None:
        """Index the rest, as long as nobody asks."""
        try:
            while (self._left or self._late) and not self._disturbed():
                self._look(SPELL, self._unasked, self._disturbed)
        except AssistantError as error:  # whoever asks is told
            logger.warning("%s: the rest is not indexed: %s", self.name, error)

    def _look(self, seconds: float, order: Order, stop: Callable[[], bool] = lambda: False) -> None:
        if away := self._corpus.absence():
            self._left = 0
            with self._turn:
                self._hints.renew()
            self._away = f"{self.name} {away}; what was indexed of it stays searchable"
            return
        self._away = ""

        def seen(found: list[str]) -> Iterator[str]:
            self._names = found
            self._left = self._left or len(found)
            yield from takewhile(lambda _: not self._closing.is_set(), order(found))

        done = self._index.refresh(seconds=seconds, order=seen, stop=stop)
        self._left, self._late = done.left, False
        self._faults = tuple(f"{self.name}:{fault}" for fault in done.faults)

    def _unasked(self, names: list[str]) -> Iterator[str]:
        """All there is, until somebody asks."""
        for name, number in self._queue.unasked(names):
            if self._disturbed():
                return
            self._progress(f"Indexing {self.name}", min(number, len(names)), len(names))
            yield name


class Queue:
    """The order in which the files of an index, named from oldest to newest, are indexed."""

    def __init__(self, root: Path, index: Synchronizer) -> None:
        self._root = root
        self._index = index

    def left(self, names: Sequence[str]) -> dict[str, int]:
        """The files that are not indexed yet, and how many bytes they have."""
        catalog = self._index.store.catalog
        with catalog.reading():
            known = catalog.sources()
        return {name: self._size(name) for name in names if name not in known}

    def known(self, names: Sequence[str]) -> list[str]:
        """Those of which something is indexed."""
        known = self._index.store.catalog.sources()
        return [name for name in names if name in known]

    def changed_first(self, changed: Container[str], names: Sequence[str]) -> list[str]:
        """What has changed as far as is known, then the rest, the small before the large."""
        return sorted(names, key=lambda name: (name not in changed, self._bulk(name)))

    def unasked(self, names: Sequence[str]) -> Iterator[tuple[str, int]]:
        """What was never indexed first, of that the small first, and of those the last; each with
        how many come before it or are indexed."""
        known = {*self.known(names)}
        ordered = sorted(reversed(names), key=lambda name: (name in known, self._bulk(name)))
        for number, name in enumerate(ordered, start=len(known)):
            yield name, number

    def promising(self, words: Sequence[bytes], names: Sequence[str]) -> Iterator[str]:
        """The files that a question waits for: those that are known, and of the new ones those
        first that hold most of its words."""
        known = {*self.known(names)}
        yield from (name for name in names if name in known)
        new = [name for name in reversed(names) if name not in known]
        few = len(new) <= FEW
        began, patience = time.monotonic(), PATIENCE if few else SHORTLY
        seen = takewhile(lambda _: time.monotonic() < began + patience / 2, new)
        held = {name: _held(self._root / name, words) for name in seen}
        in_files = Counter(chain.from_iterable(held.values()))
        worth = {name: sum(1 / in_files[word] for word in held[name]) for name in held}
        best = sorted(held, key=lambda name: (self._bulk(name) > BULKY, -worth[name]))
        wanted = best if few else [each for each in best[:BEST] if worth[each]]
        for name in wanted:
            if time.monotonic() > began + patience:
                return
            yield name

    def _bulk(self, name: str) -> int:
        """How large a file is: 0 if it is indexed at once, one more for twice as much."""
        return (self._size(name) // SMALL).bit_length()

    def _size(self, name: str) -> int:
        try:
            return (self._root / name).stat().st_size
        except OSError:
            return 0


def _held(path: Path, words: Sequence[bytes]) -> list[bytes]:
    """Which of the words a file holds."""
    try:
        data = path.read_bytes().lower()
    except OSError:
        return []
    return [word for word in words if word in data]
