"""Chroma, kept up with the catalog from behind.

The catalog's outbox names what Chroma was not told yet. A thread tells it, because once in about
a thousand writes Chroma takes seconds to persist its graph. Once it is open it is compared with the
catalog, and filled again where they differ.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistant.errors import AssistantError, MemoryFailure
from assistant.memory.base import Progress, no_progress
from assistant.memory.index.chroma.base import Belongs, Tellable, VectorsDamaged, VectorStore
from assistant.memory.index.chroma.embedded import EmbeddedStore
from assistant.memory.index.chroma.server import ServerStore
from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.precedence import QUESTIONS
from assistant.settings.memory import IndexSettings

BATCH, FEW = 200, 50
"""Operations told to Chroma between two looks at the catalog; where an answer beside it waits for
them."""
HEAD_START = 0.3
"""Seconds after the first refresh in which questions are answered before Chroma is imported; the
import keeps Python's lock, and an answer beside it takes as long as the import itself."""
MAX_OVERLAY = 1000
"""More pending operations than this are told in bulk, and are not laid over Chroma's answer."""
SAMPLE = 32
"""Vectors that are looked for in Chroma once it is open."""
FOUND_SHARE = 0.8
"""So many of them must be found: a graph misses one now and then."""
ITSELF = 0.999
"""The cosine from which on two vectors are the same, rounding aside."""
RETRY_SECONDS = (1.0, 2.0, 5.0)
"""How long a server that failed is left alone, at first and later."""
LOOK_SECONDS = 30.0
"""How often a server that is asked is looked at: another may have taken its place."""

STANDS_IN = "memory answers without it meanwhile, and fills it again when it is back"
FILLING = "Filling the vector index"
GONE = "The vector index was gone; it was filled again from the cache"


class Delivery:
    """Tells Chroma what the catalog says. Thread-safe; owns a thread and Chroma until `close`."""

    def __init__(
        self,
        catalog: Catalog,
        directory: Path,
        settings: IndexSettings,
        belongs: Belongs,
        notify: Callable[[str], None],
    ) -> None:
        """`directory` is for the embedded store; `notify` takes lines for the owner."""
        self._catalog = catalog
        self._most = settings.embedded_chunks
        self._server = ServerStore(settings, belongs, directory.parent) if settings.url else None
        self._store: VectorStore = self._server or EmbeddedStore(directory, belongs)
        self._notify = notify
        self._delivering = threading.RLock()
        self._complete = False
        self._doubted = True
        self._failures = 0
        self._looked = 0.0
        self.trouble = ""
        """Why the server is not asked, in one line, while that is so."""
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._emptying = threading.Event()
        """Set while somebody waits to throw Chroma's data away: to go on filling it is in vain."""
        self._thread = threading.Thread(target=self._keep_up, name="delivery", daemon=True)
        self._thread.start()

    def deliver(self) -> None:
        """Have Chroma told of what changed, in the background; costs a stat."""
        if self._store.lost():
            self._doubt()
            self._notify(GONE)
        if self._server and time.monotonic() - self._looked > LOOK_SECONDS:
            self._doubted = True
        if not self.trouble and (self._doubted or self._catalog.outbox.size):
            self._wake.set()

    def drain(self, progress: Progress = no_progress) -> None:
        """Return when Chroma holds exactly what the catalog does, filled anew if need be.

        Raises MemoryFailure when a Chroma server does not answer.
        """
        with self._delivering:
            try:
                self._mend(progress)
            except MemoryFailure as error:
                self._failed(error)
                raise
            self._failures, self.trouble = 0, ""

    def settle(self, progress: Progress = no_progress) -> None:
        """`drain`; but of a server that does not answer `trouble` tells, and it is filled later."""
        try:
            self.drain(progress)
        except MemoryFailure:
            if self._server is None:
                raise

    def refill(self) -> None:
        """Throw Chroma's data away; `deliver` or `drain` fills it again from the cache.

        Raises MemoryFailure when a Chroma server does not answer; it is still told everything.
        """
        self._emptying.set()
        with self._delivering:
            self._emptying.clear()
            self._doubt()
            self._catalog.outbox.tell_all()
            self._store.reset()

    def close(self) -> None:
        """Let go of Chroma; what it was not told waits in the catalog."""
        self._closing.set()
        self._wake.set()
        if self._server is not None:  # what hangs there is not waited for
            self._server.close()
        self._thread.join()
        self._store.close()

    def _doubt(self) -> None:
        """Ask it nothing until it was compared with the catalog."""
        self._complete, self._doubted = False, True

    def _failed(self, error: MemoryFailure) -> None:
        """Leave Chroma alone until the thread has put it right."""
        self._doubt()
        if self._server is not None and not self._closing.is_set():
            self.trouble = f"{_sentence(error)}; {STANDS_IN}"

    def _keep_up(self) -> None:
        while not self._closing.is_set():
            self._wake.wait(self._pause())
            self._wake.clear()
            if not self._store.ready:
                self._closing.wait(HEAD_START)
            if self._closing.is_set():
                return
            try:
                with QUESTIONS.behind():
                    self.drain()
            except MemoryFailure:
                self._failures += 1
            except AssistantError:
                continue  # a damaged catalog shows itself to the next refresh

    def _pause(self) -> float | None:
        """Seconds until a server that failed is tried again."""
        if not self.trouble:
            return None
        return RETRY_SECONDS[min(self._failures, len(RETRY_SECONDS) - 1)]

    def _mend(self, progress: Progress) -> None:
        try:
            self._drain(progress)
        except VectorsDamaged as error:
            if not self._store.lost():
                self._notify(f"{_sentence(error)}; it was filled again from the cache")
            self.refill()
            self._drain(progress)

    def _drain(self, progress: Progress) -> None:
        if self._server is None and self._catalog.count() > self._most:
            self._doubt()
            self._catalog.outbox.forget()
            return
        if self.trouble:
            self._store.probe()
        self._store.wait()
        if self._store.lost():
            raise VectorsDamaged("The vector index is gone")
        if self._doubted and self._catalog.count() and not self._store.count():
            self._begin_again()
        total = self._catalog.outbox.size
        if total > MAX_OVERLAY:
            with self._store.in_bulk() as store:
                self._tell(store, BATCH, lambda done: progress(FILLING, min(done, total), total))
        self._tell(self._store, FEW)
        if self._doubted and not (self._closing.is_set() or self._emptying.is_set()):
            self._compare()

    def _tell(
        self, store: Tellable, at_once: int, told: Callable[[int], None] = lambda done: None
    ) -> None:
        """Tell all that is pending, so many operations at once."""
        done = 0
        while not (self._closing.is_set() or self._emptying.is_set()):
            pending = self._catalog.outbox.pending(at_once)
            if not pending.mark:
                return
            QUESTIONS.give_way()
            store.upsert(pending.ids, pending.vectors)
            store.delete(pending.gone)
            self._catalog.outbox.done(pending.mark)
            done += len(pending)
            told(done)

    def _begin_again(self) -> None:
        """Have an empty Chroma told everything at once, what it was told before too."""
        if self._catalog.outbox.size < self._catalog.count():
            self._notify(GONE)
            self._catalog.outbox.tell_all()

    def _compare(self) -> None:
        """See that Chroma holds what the catalog does; looked at once after opening."""
        compare(self._store, self._catalog)
        self._looked = time.monotonic()
        self._complete, self._doubted = True, False


def compare(store: VectorStore, catalog: Catalog) -> None:
    """As many vectors as there are chunks, and of a sample nearly each must find itself.

    Raises VectorsDamaged.
    """
    if store.count() != catalog.count() and not catalog.outbox.size:
        raise VectorsDamaged("The vector index does not match the catalog")
    numbers = catalog.layout().vector
    places = np.linspace(0, len(numbers) - 1, min(SAMPLE, len(numbers))).astype(np.int64)
    sample = catalog.vectors.read(numbers[places].tolist())
    if sum(_finds(store, vector) for vector in sample) < FOUND_SHARE * len(sample):
        raise VectorsDamaged("The vector index has lost vectors")


def _finds(store: VectorStore, vector: NDArray[np.float32]) -> bool:
    _, cosines = store.query(vector, 1)
    return len(cosines) > 0 and float(cosines[0]) > ITSELF


def _sentence(error: AssistantError) -> str:
    return error.message[:1].upper() + error.message[1:]
