"""Dense search: the nearest chunks by vector.

Chroma is asked where it is ready, and what it was not told yet is laid over its answer. The
catalog's own vectors are scanned while Chroma opens, while its server does not answer, and where
the memory is too large to be held here.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistant.errors import MemoryFailure
from assistant.memory.index.chroma.base import Belongs, VectorsDamaged
from assistant.memory.index.chroma.server import ServerStore
from assistant.memory.index.nearest.delivery import FOUND_SHARE, MAX_OVERLAY, Delivery
from assistant.memory.index.nearest.scan import Scan
from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.index.sqlite.columns import Rows
from assistant.memory.state import ServerStatus
from assistant.settings.memory import IndexSettings

MOST_COSINE = 1.01
"""Rounding aside, no cosine is larger, or less than its negative."""

Nearest = tuple[Rows, NDArray[np.float32]]
"""Row ids of the catalog and their cosine similarity, best first."""


class DenseIndex(Delivery):
    """Nearest chunks by vector, of a Chroma that is kept up. Thread-safe."""

    def __init__(
        self,
        catalog: Catalog,
        directory: Path,
        settings: IndexSettings,
        belongs: Belongs,
        notify: Callable[[str], None],
    ) -> None:
        """`directory` is for the embedded store; `notify` takes lines for the owner."""
        super().__init__(catalog, directory, settings, belongs, notify)
        self.scan = Scan(catalog)
        """What answers where Chroma does not, and among some chunks only."""

    def nearest(self, vector: NDArray[np.float32], limit: int) -> Nearest:
        """The nearest chunks to a unit vector, at most `limit`, of the catalog as it is now."""
        if not self._looked and not self.trouble:
            self._look()
        if self._store.ready and self._complete:
            try:
                found = self._by_chroma(vector, limit)
            except MemoryFailure as error:
                self._failed(error)
                self._wake.set()
            else:
                if found is not None:
                    return found
        places, cosines = self.scan.nearest(vector, limit)
        return self._catalog.layout().rowid[places], cosines

    def status(self) -> ServerStatus | None:
        """The server, which is asked how many vectors it has; None if there is none."""
        if self._server is None:
            return None
        lacks = self._lacks(self._server)
        return ServerStatus(self._server.url, lacks, self.trouble)

    def server(self) -> ServerStore:
        """The server. Raises MemoryFailure if none is set."""
        if self._server is None:
            raise MemoryFailure(
                "Chroma's data lies in the workspace", "`index.url` in the configuration sets one"
            )
        return self._server

    def count(self) -> int:
        """The number of vectors Chroma holds."""
        return self._store.count()

    def _lacks(self, server: ServerStore) -> int:
        """How many vectors the server has not got, as far as can be known."""
        told = self._catalog.outbox.size
        if self.trouble:
            self._wake.set()
            return told
        try:
            missing = self._catalog.count() - server.count()
        except MemoryFailure as error:
            self._failed(error)
            self._wake.set()
            return self._catalog.count() if isinstance(error, VectorsDamaged) else told
        if missing > told:
            self._doubt()
            self._wake.set()
        return max(missing, told)

    def _look(self) -> None:
        """See, before the first question, whether a server is there at all."""
        self._looked = time.monotonic()
        try:
            self._store.probe()
        except MemoryFailure as error:
            self._failed(error)

    def _by_chroma(self, vector: NDArray[np.float32], limit: int) -> Nearest | None:
        """Chroma's answer with what is pending laid over it; None if that is too much."""
        if self._catalog.outbox.size > MAX_OVERLAY:
            return None
        pending = self._catalog.outbox.pending(MAX_OVERLAY)
        ids, cosines = self._store.query(vector, limit + len(pending))
        if len(ids) != len(cosines) or not np.all(np.abs(cosines) <= MOST_COSINE):
            raise VectorsDamaged("The vector index answers what it was not told")
        similarity = dict(zip(ids, cosines.tolist(), strict=True))
        if pending.ids:
            similarity.update(zip(pending.ids, (pending.vectors @ vector).tolist(), strict=True))
        rows = self._catalog.rowids(list(similarity))
        if len(rows) < FOUND_SHARE * min(limit, len(self._catalog.layout())):
            if not self._catalog.is_latest or self._catalog.outbox.size:
                return None  # it was told of a later state
            raise VectorsDamaged("The vector index does not match the catalog")
        found = np.array(list(rows.values()), dtype=np.int64)
        near = np.array([similarity[id_] for id_ in rows], dtype=np.float32)
        best = np.lexsort((found, -near))[:limit]
        return found[best], near[best]
