"""The nearest chunks by vector: Chroma is asked where it is in step with the catalog, else the
catalog's own vectors are scanned.

The catalog's outbox names what Chroma was not told yet; a thread tells it in small slices, since
Chroma's native part keeps Python's lock while it takes vectors in. Whatever is wrong with Chroma,
it is thrown away and filled again, behind the answers.
"""

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistant.errors import AssistantError, MemoryFailure
from assistant.memory.base import Progress, ServerStatus, no_progress
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.chroma import (
    Belongs,
    EmbeddedStore,
    ServerStore,
    VectorsDamaged,
    VectorStore,
)
from assistant.memory.index.layout import NOWHERE, Layout, Rows
from assistant.settings.sections import IndexSettings

EXACT = 20_000
"""The vectors of so many chunks stay at hand: 30 MB. Those of more do only while they are scanned.
"""
SPARE = 1000
"""Vectors for which there is room beside those that there are."""


class Scan:
    """Scans the vectors of a catalog; what was read of them is kept from change to change."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._turn = threading.RLock()
        self.release()

    def nearest(
        self,
        layout: Layout,
        vector: NDArray[np.float32],
        limit: int,
        among: NDArray[np.bool_] | None = None,
    ) -> tuple[Rows, NDArray[np.float32]]:
        """The positions of the nearest chunks and their cosines, best first; at most `limit`,
        `among` those that are marked."""
        if among is None:
            places = np.arange(len(layout))
            matrix, rows = self._all(layout)
            cosines = (matrix @ vector)[rows] if len(rows) else np.empty(0, np.float32)
        else:
            places = np.flatnonzero(among)
            cosines = self.vectors(layout, places) @ vector if len(places) else np.empty(0)
        best = np.lexsort((places, -cosines))[:limit]
        return places[best], cosines[best]

    def vectors(self, layout: Layout, places: Rows) -> Vectors:
        """The vectors of these positions."""
        if len(layout) <= EXACT:
            matrix, rows = self._all(layout)
            return matrix[rows[places]]
        return self._catalog.vectors.read(layout.vector[places].tolist())

    def release(self) -> None:
        """Let go of the vectors: Chroma answers, or their numbers are others' by now."""
        with self._turn:
            self._matrix: Vectors = np.empty((0, 0), dtype=np.float32)
            self._row = np.empty(0, dtype=np.int32)
            """The row of the matrix of each vector, by the vector's number; -1 for none."""
            self._count = 0

    def _all(self, layout: Layout) -> tuple[Vectors, Rows]:
        """The vectors, and in which row that of each position stands; only new ones are read."""
        with self._turn:
            if self._count > 2 * len(layout) + SPARE:
                self.release()
            largest = int(layout.vector.max(initial=0))
            if largest >= len(self._row):
                grown = np.full(largest + 1 + SPARE, -1, dtype=np.int32)
                grown[: len(self._row)] = self._row
                self._row = grown
            new = np.unique(layout.vector[self._row[layout.vector] < 0])
            if len(new):
                read = self._catalog.vectors.read(new.tolist())
                end = self._count + len(new)
                if end > len(self._matrix):
                    matrix = np.empty((end + min(end, SPARE), read.shape[1]), dtype=np.float32)
                    if self._count:
                        matrix[: self._count] = self._matrix[: self._count]
                    self._matrix = matrix
                self._matrix[self._count : end] = read
                self._row[new] = np.arange(self._count, end)
                self._count = end
            return self._matrix[: self._count], self._row[layout.vector].astype(np.int64)


SLICE = 50
"""Operations told to Chroma at once: a question beside it waits for one slice, some 50 ms."""
FEW = 200
"""Changes that Chroma was not told of yet, beside which it is asked: these are compared exactly."""
HEAD_START = 0.3
"""Seconds after the first refresh in which questions are answered before Chroma is imported; the
import keeps Python's lock, and an answer beside it takes as long as the import itself."""
RETRY_SECONDS = 2.0
"""How long a server that failed is left alone."""
LOOK_SECONDS = 15.0
"""How often a server is compared with the catalog: another may have taken its place."""
SAMPLE, ITSELF, FOUND_SHARE = 32, 0.999, 0.8
"""So many vectors are looked for once Chroma is open; so many of them must find themselves (a graph
misses one now and then), at this cosine."""
STANDS_IN = "memory answers without it meanwhile, and fills it again when it is back"
FILLING = "Filling the vector index"

Nearest = tuple[Rows, NDArray[np.float32]]
"""Positions in a layout and their cosine similarity, best first."""


class DenseIndex:
    """Nearest chunks by vector, of a Chroma that is kept up. Thread-safe; owns a thread and Chroma
    until `close`."""

    def __init__(
        self,
        catalog: Catalog,
        directory: Path,
        settings: IndexSettings,
        belongs: Belongs,
        notify: Callable[[str], None],
    ) -> None:
        """`directory` is for the embedded store; `notify` takes lines for the owner."""
        self.scan = Scan(catalog)
        """What answers where Chroma does not, and among some chunks only."""
        self.trouble = ""
        """Why the server is not asked, in one line, while that is so."""
        self._catalog = catalog
        self._server = ServerStore(settings, belongs, directory.parent) if settings.url else None
        self._store: VectorStore = self._server or EmbeddedStore(directory, belongs)
        self._notify = notify
        self._delivering = threading.RLock()
        self._filled = False
        """Whether Chroma was seen to hold what the catalog holds, but for what the outbox names."""
        self._due = True
        """Whether it is to be compared with the catalog again."""
        self._wake, self._closing = threading.Event(), threading.Event()
        self._emptying = threading.Event()
        """Set while somebody waits to throw Chroma's data away: to go on filling it is in vain."""
        self._thread = threading.Thread(target=self._keep_up, name="delivery", daemon=True)
        self._thread.start()

    def nearest(self, layout: Layout, vector: NDArray[np.float32], limit: int) -> Nearest:
        """The nearest chunks of a layout to a unit vector, at most `limit`."""
        if self._filled and self._catalog.outbox.size <= FEW:
            try:
                found = self._by_chroma(layout, vector, limit)
            except MemoryFailure as error:
                self._failed(error)
                self._wake.set()
            else:
                if self._catalog.is_latest:
                    if len(layout) > EXACT:
                        self.scan.release()
                    return found
        return self.scan.nearest(layout, vector, limit)

    def _by_chroma(self, layout: Layout, vector: NDArray[np.float32], limit: int) -> Nearest:
        """Chroma's answer, and beside it the chunks that it was not told of yet."""
        untold = self._catalog.untold(layout)
        ids, cosines = self._store.query(vector, limit + self._catalog.outbox.size)
        places = self._catalog.positions(layout, ids)
        there = (places != NOWHERE) & ~np.isin(places, untold)
        if there.sum() + len(untold) < FOUND_SHARE * min(limit, len(layout)):
            raise VectorsDamaged("The vector index does not match the catalog")
        places, cosines = places[there], cosines[there]
        if len(untold):
            places = np.concatenate([places, untold])
            cosines = np.concatenate([cosines, self.scan.vectors(layout, untold) @ vector])
        best = np.lexsort((places, -cosines))[:limit]
        return places[best], cosines[best]

    # The server

    def status(self) -> ServerStatus | None:
        """The server, which is asked how many vectors it has; None if there is none."""
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
            self._filled = False
            self._wake.set()
        return ServerStatus(self._server.url, max(lacks, waiting), self.trouble)

    def server(self) -> ServerStore:
        """The server. Raises MemoryFailure if none is set."""
        if self._server is None:
            raise MemoryFailure(
                "Chroma's data lies in the workspace", "`index.url` in the configuration sets one"
            )
        return self._server

    # Keeping up

    def deliver(self) -> None:
        """Have Chroma told of what changed, in the background; costs a stat."""
        if self._filled and self._store.lost():
            self._filled = False
        if not self.trouble and (self._catalog.outbox.size or not self._filled):
            self._wake.set()

    def drain(self, progress: Progress = no_progress) -> None:
        """Return when Chroma holds exactly what the catalog does, filled anew if need be.

        Raises MemoryFailure when a Chroma server does not answer.
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
        """Throw Chroma's data away; `deliver` or `drain` fills it again from the cache.

        Raises MemoryFailure when a Chroma server does not answer; it is still told everything.
        """
        self._emptying.set()
        with self._delivering:
            self._emptying.clear()
            self._filled = False
            self._catalog.outbox.tell_all()
            self._store.reset()

    def count(self) -> int:
        """The number of vectors Chroma holds."""
        return self._store.count()

    def close(self) -> None:
        """Let go of Chroma; what it was not told waits in the catalog."""
        self._closing.set()
        self._wake.set()
        if self._server is not None:  # what hangs there is not waited for
            self._server.close()
        self._thread.join()
        self._store.close()

    def _fill(self, progress: Progress) -> None:
        """Tell Chroma all that is pending, and see that it holds what the catalog does."""
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
        if (self._due or not self._filled) and not outbox.size:
            self._compare()
            self._filled, self._due = True, False

    def _compare(self) -> None:
        """As many vectors as there are chunks, and of a sample nearly each must find itself.

        Raises VectorsDamaged.
        """
        catalog = self._catalog
        numbers = catalog.layout().vector
        if self._store.count() != catalog.count() and not catalog.outbox.size:
            raise VectorsDamaged("The vector index does not match the catalog")
        places = np.linspace(0, len(numbers) - 1, min(SAMPLE, len(numbers))).astype(np.int64)
        found = 0
        for vector in catalog.vectors.read(numbers[places].tolist()):
            _, cosines = self._store.query(vector, 1)
            found += len(cosines) > 0 and float(cosines[0]) > ITSELF
        if found < FOUND_SHARE * len(places):
            raise VectorsDamaged("The vector index has lost vectors")

    def _failed(self, error: MemoryFailure) -> None:
        """Leave Chroma alone until the thread has put it right."""
        self._filled = False
        if self._server is not None and not self._closing.is_set():
            self.trouble = f"{_sentence(error)}; {STANDS_IN}"

    def _keep_up(self) -> None:
        while not self._closing.is_set():
            if not self._wake.wait(self._pause()) and not self.trouble:
                self._due = True  # a server: another may have taken its place
            self._wake.clear()
            if not self._store.ready:
                self._closing.wait(HEAD_START)
            if self._closing.is_set():
                return
            with contextlib.suppress(AssistantError):
                self.drain()  # a damaged catalog shows itself to the next refresh

    def _pause(self) -> float | None:
        """Seconds until a server is looked at again, however little is asked."""
        if self._server is None:
            return None
        return RETRY_SECONDS if self.trouble else LOOK_SECONDS


def _sentence(error: AssistantError) -> str:
    return error.message[:1].upper() + error.message[1:]
