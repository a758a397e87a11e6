"""Finds the nearest chunks by vector: in Chroma if it is in step with the catalog, else by a scan
of the catalog's own vectors.

The catalog's outbox lists the changes that Chroma still lacks. A thread applies them in small
slices, because Chroma's native code holds Python's lock while it stores vectors. After any fault,
Chroma's data is discarded and filled again in the background.
"""

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistant.errors import AssistantError, MemoryFailure
from assistant.memory.base import Progress, ServerStatus, no_progress
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.chroma import (
    WRITE_TIMEOUT,
    EmbeddedStore,
    Owner,
    ServerStore,
    VectorsDamaged,
    VectorStore,
)
from assistant.memory.index.layout import NOWHERE, Layout, Rows
from assistant.settings.sections import IndexSettings

SLICE = 50
"""Changes applied to Chroma at once; a concurrent query waits for one slice, some 50 ms."""
MAX_PENDING = 200
"""Maximum number of pending changes with which Chroma is still used; they are compared exactly."""
HEAD_START = 0.3
"""Seconds after the first refresh before Chroma is imported; the import holds Python's lock, so a
concurrent query would take as long as the import itself."""
RETRY_SECONDS = 2.0
"""Seconds before a failed server is tried again."""
COMPARE_SECONDS = 15.0
"""Seconds between comparisons of a server with the catalog, as the server may be replaced."""
SAMPLE, SELF_COSINE, MIN_FOUND = 32, 0.999, 0.8
"""The check of an opened Chroma: the number of vectors to query, the minimum cosine at which one
matches itself, and the minimum share that must (the graph sometimes misses one)."""
STANDS_IN = "memory answers without it, and fills it again when it is back"
FILLING = "Filling the vector index"

Nearest = tuple[Rows, NDArray[np.float32]]
"""Positions in a layout and their cosine similarity, best first."""


class DenseIndex:
    """Finds the nearest chunks by vector, and keeps Chroma up to date. Thread-safe; owns a thread
    and Chroma until `close`."""

    def __init__(
        self,
        catalog: Catalog,
        directory: Path,
        settings: IndexSettings,
        owner: Owner,
        notify: Callable[[str], None],
    ) -> None:
        """`directory` is for the embedded store; `notify` receives lines for the owner."""
        self.trouble = ""
        """Why the server is currently unused, in one line."""
        self._catalog = catalog
        self._server = ServerStore(settings, owner, directory.parent) if settings.url else None
        self._store: VectorStore = self._server or EmbeddedStore(directory, owner)
        self._notify = notify
        self._delivering = threading.RLock()
        self._in_step = False
        """Whether Chroma matched the catalog when last compared, apart from the outbox."""
        self._compare_due = True
        """Whether Chroma must be compared with the catalog again."""
        self._wake, self._closing = threading.Event(), threading.Event()
        self._emptying = threading.Event()
        """Set while a thread waits to discard Chroma's data, so that filling stops."""
        self._thread = threading.Thread(target=self._run, name="delivery", daemon=True)
        self._thread.start()

    def nearest(self, layout: Layout, vector: NDArray[np.float32], limit: int) -> Nearest:
        """Return the nearest chunks of a layout to a unit vector, at most `limit`."""
        if self._in_step and (waiting := self._catalog.outbox.size) <= MAX_PENDING:
            try:
                result = self._by_chroma(layout, vector, limit, waiting)
            except MemoryFailure as error:
                self._failed(error)
                self._wake.set()
            else:
                if self._catalog.is_latest:
                    return result
        return self.scan(layout, vector, limit)

    def scan(
        self,
        layout: Layout,
        vector: NDArray[np.float32],
        limit: int,
        among: NDArray[np.bool_] | None = None,
    ) -> Nearest:
        """Do the same with the catalog's own vectors, for all chunks or `among` those selected."""
        positions = np.arange(len(layout)) if among is None else np.flatnonzero(among)
        cosines = self._catalog.vectors.cosines(layout.vector[positions], vector)
        return _best(positions, cosines, limit)

    def _by_chroma(
        self, layout: Layout, vector: NDArray[np.float32], limit: int, waiting: int
    ) -> Nearest:
        """Query Chroma and merge the result with the chunks that it lacks; `waiting` is the number
        of changes not yet applied to it."""
        pending = self._catalog.pending_positions(layout)
        ids, cosines = self._store.query(vector, limit + waiting)
        positions = self._catalog.positions(layout, ids)
        present = (positions != NOWHERE) & ~np.isin(positions, pending)
        if present.sum() + len(pending) < MIN_FOUND * min(limit, len(layout)):
            raise VectorsDamaged("The vector index does not match the catalog")
        exact = self._catalog.vectors.cosines(layout.vector[pending], vector)
        positions = np.concatenate([positions[present], pending])
        return _best(positions, np.concatenate([cosines[present], exact]), limit)

    # The server

    def status(self) -> ServerStatus | None:
        """Return the server with its number of vectors; None if no server is set."""
        if self._server is None:
            return None
        waiting, lacks = self._catalog.outbox.size, 0
        if not self.trouble:
            try:
                lacks = self._catalog.count() - self._server.count()
            except MemoryFailure as error:
                self._failed(error)
                lacks = self._catalog.count() if isinstance(error, VectorsDamaged) else waiting
        if self.trouble or lacks > waiting:
            self._in_step = False
            self._wake.set()
        return ServerStatus(self._server.url, max(lacks, waiting), self.trouble)

    def server(self) -> ServerStore:
        """Return the server. Raises MemoryFailure if none is set."""
        if self._server is None:
            raise MemoryFailure(
                "Chroma's data is in the workspace", "`index.url` in the configuration sets one"
            )
        return self._server

    # Keeping up

    def deliver(self) -> None:
        """Apply pending changes to Chroma in the background. Raises CatalogDamaged."""
        if self._in_step and self._store.lost():
            self._in_step = False
        if not self.trouble and (self._catalog.outbox.size or not self._in_step):
            self._wake.set()

    def drain(self, progress: Progress = no_progress) -> None:
        """Return once Chroma matches the catalog exactly, refilled if necessary.

        Raises MemoryFailure if a Chroma server does not answer.
        """
        with self._delivering:
            try:
                try:
                    self._fill(progress)
                except VectorsDamaged as error:
                    self._notify(f"{_sentence(error)}; it was filled again from the cache")
                    self.refill()
                    self._fill(progress)
            except MemoryFailure as error:
                self._failed(error)
                raise
            self.trouble = ""

    def refill(self) -> None:
        """Discard Chroma's data; `deliver` or `drain` fills it again from the cache.

        Raises MemoryFailure if a Chroma server does not answer; everything is then still pending.
        """
        self._emptying.set()
        with self._delivering:
            self._emptying.clear()
            self._in_step = False
            self._catalog.outbox.enqueue_all()
            self._store.reset()

    def count(self) -> int:
        """Return the number of vectors in Chroma."""
        return self._store.count()

    def close(self) -> None:
        """Close Chroma; pending changes stay in the catalog."""
        self._closing.set()
        self._wake.set()
        self._thread.join(None if self._server is None else WRITE_TIMEOUT)
        if not self._thread.is_alive():  # else it is still using a hung server's connections
            self._store.close()

    def _fill(self, progress: Progress) -> None:
        """Apply all pending changes to Chroma, and check that it matches the catalog."""
        if self.trouble:
            self._store.probe()
        self._store.wait()
        if self._store.lost():
            raise VectorsDamaged("The vector index was gone")
        outbox = self._catalog.outbox
        done, total = 0, outbox.size
        while not (self._closing.is_set() or self._emptying.is_set()):
            pending = outbox.pending(SLICE)
            if not pending.mark:
                break
            self._store.upsert(pending.ids, pending.vectors)
            self._store.delete(pending.gone)
            outbox.done(pending.mark)
            done += len(pending)
            if total > SLICE:
                progress(FILLING, min(done, total), total)
        else:
            return
        if (self._compare_due or not self._in_step) and not outbox.size:
            self._compare()
            self._in_step, self._compare_due = True, False

    def _compare(self) -> None:
        """Check that the numbers of vectors and chunks agree, and that a sample can be found.

        Raises VectorsDamaged.
        """
        catalog = self._catalog
        numbers = catalog.layout().vector
        if self._store.count() != catalog.count() and not catalog.outbox.size:
            raise VectorsDamaged("The vector index does not match the catalog")
        positions = np.linspace(0, len(numbers) - 1, min(SAMPLE, len(numbers))).astype(np.int64)
        hits = 0
        for vector in catalog.vectors.read(numbers[positions].tolist()):
            _, cosines = self._store.query(vector, 1)
            hits += len(cosines) > 0 and float(cosines[0]) > SELF_COSINE
        if hits < MIN_FOUND * len(positions):
            raise VectorsDamaged("The vector index has lost vectors")

    def _failed(self, error: MemoryFailure) -> None:
        """Stop using Chroma until the thread has repaired it."""
        self._in_step = False
        if self._server is not None and not self._closing.is_set():
            self.trouble = f"{_sentence(error)}; {STANDS_IN}"

    def _run(self) -> None:
        while not self._closing.is_set():
            pause = RETRY_SECONDS if self.trouble else COMPARE_SECONDS
            if not self._wake.wait(pause if self._server else None) and not self.trouble:
                self._compare_due = True  # the server may have been replaced
            self._wake.clear()
            if not self._store.ready:
                self._closing.wait(HEAD_START)
            if self._closing.is_set():
                return
            with contextlib.suppress(AssistantError):
                self.drain()  # the next refresh notices a damaged catalog


def _best(positions: Rows, cosines: NDArray[np.float32], limit: int) -> Nearest:
    """Return the nearest of these, best first."""
    best = np.lexsort((positions, -cosines))[:limit]
    return positions[best], cosines[best]


def _sentence(error: AssistantError) -> str:
    return error.message[:1].upper() + error.message[1:]
