"""What of the index is open: the catalog and dense search. Search reads here, `sync` writes.

The store knows whom its index belongs to, and throws one away that is damaged, copied from
elsewhere, or of another version or model.
"""

import contextlib
import time
from pathlib import Path

from assistant.disk import storage
from assistant.errors import MemoryFailure, StorageError
from assistant.memory.index.ahead import kept_for
from assistant.memory.index.belonging import IndexFiles, belongs
from assistant.memory.index.corpus import Corpus
from assistant.memory.index.dense import DenseIndex
from assistant.memory.index.examining import Examination, are_large, drop_unless_whole
from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.index.sqlite.database import CatalogDamaged
from assistant.memory.index.sqlite.vector_cache import cache_path, cache_place
from assistant.memory.index.stand_in import StandIn, sweep, takes_writes
from assistant.settings.memory import IndexSettings
from assistant.workspace.anchor import Anchor

LOOK_SECONDS = 30.0
"""How often a disk that took no writes is looked at."""
SPARE_VECTORS = 1000
"""Cached vectors kept though no chunk has them: an undo or a moved line finds them again."""
DAMAGED = "The index was damaged; it was made again"
NO_WRITES = (
    "The disk of this memory takes no writes, being full or read-only: recall answers from a copy "
    "of the index, and nothing can be remembered until there is room"
)
DELETED = "The index was deleted; it was made again"


class IndexStore:
    """The open index of a corpus. One process at a time.

    Read `catalog` and `dense` afresh each time: after damage they are others. `notices` are lines
    that the owner should know, until somebody takes them.
    """

    def __init__(self, corpus: Corpus, fingerprint: str, settings: IndexSettings) -> None:
        """Open or make it, for vectors of the model `fingerprint`. Raises StorageError."""
        self._corpus = corpus
        self._fingerprint = fingerprint
        self._settings = settings
        self._closed = False
        self._anchor = Anchor(corpus.private.parent)
        self._stand_in: StandIn | None = None
        self._looked = 0.0
        self._examination: Examination | None = None
        self.notices: list[str] = []
        sweep()
        try:
            self.catalog, self.dense = self._open()
        except StorageError:
            self._begin_standing_in()

    @property
    def stands_in(self) -> bool:
        """Whether it lies in memory, since the disk takes no writes."""
        return self._stand_in is not None

    @property
    def trouble(self) -> str:
        """Why it lies in memory, in one line."""
        return NO_WRITES if self._stand_in else ""

    def stand_in(self) -> None:
        """Go on in memory, with what the index on the disk holds. Raises StorageError."""
        self._let_go()
        self._begin_standing_in()

    def return_home(self) -> bool:
        """Go on where the index belongs, if the disk takes writes again; looked at now and then."""
        stand_in, now = self._stand_in, time.monotonic()
        if stand_in is None or now - self._looked < LOOK_SECONDS:
            return False
        self._looked = now
        if not self.can_write():
            return False
        self._let_go()
        stand_in.close()
        self._stand_in = None
        self.catalog, self.dense = self._open()
        return True

    def can_write(self) -> bool:
        """Whether the disk that the index belongs on takes writes."""
        return takes_writes(self._corpus.private)

    @property
    def deleted(self) -> bool:
        """Whether someone deleted the catalog while it was open."""
        return self._files.inode() != self._inode

    def reopen(self, notice: str, *, discard: bool = False) -> None:
        """Close what there is and open it again, after throwing it away if `discard`."""
        self._let_go()
        if discard:
            self._files.discard()
            drop_unless_whole(self._cache)
        self.notices.append(notice)
        self.catalog, self.dense = self._open()

    def examined(self, *, wait: bool = False) -> None:
        """Raise CatalogDamaged if that was found since it was opened; `wait` for all to be read."""
        if self._examination is not None:
            if wait:
                self._examination.wait()
            if self._examination.damaged is not None:
                raise self._examination.damaged

    def size(self) -> int:
        """The bytes of the index on disk."""
        return self._files.size()

    def close(self, *, prune: bool) -> None:
        """Let go of the index, a second time to no effect; `prune` drops vectors nobody needs."""
        if self._closed:
            return
        self._closed = True
        self.dense.close()
        whole = self._end_examination()
        with contextlib.suppress(CatalogDamaged):  # found again, and told, at the next start
            if prune and not self._awaits_another_model():
                self.catalog.vectors.prune(SPARE_VECTORS)
            self.catalog.close()
            if whole:
                self._files.unmark()
        if self._stand_in is not None:
            self._stand_in.close()

    def _awaits_another_model(self) -> bool:
        """Whether vectors lie ready that nothing has yet, since memory is to change its model."""
        waiting = kept_for(cache_path(self._corpus.identity))
        with contextlib.suppress(FileNotFoundError):
            if storage.read(waiting).decode() != self._fingerprint:
                return True
            waiting.unlink()
        return False

    # Opening

    @property
    def _cache(self) -> Path:
        return self._stand_in.cache if self._stand_in else cache_path(self._corpus.identity)

    def _end_examination(self) -> bool:
        """Leave off; whether nothing is left to be examined."""
        examination, self._examination = self._examination, None
        if examination is not None:
            examination.close()
        return examination is None or examination.passed

    def _let_go(self) -> None:
        self._end_examination()
        with contextlib.suppress(MemoryFailure, StorageError):
            self.dense.close()
        with contextlib.suppress(CatalogDamaged, StorageError):
            self.catalog.close()

    def _begin_standing_in(self) -> None:
        self._looked = time.monotonic()
        self._stand_in = StandIn(self._corpus.index, cache_place(self._corpus.identity))
        self.catalog, self.dense = self._open()

    def _open(self) -> tuple[Catalog, DenseIndex]:
        if self._stand_in is None:
            self._anchor.check()  # Chroma may make folders where a workspace was
            storage.private_directory(self._corpus.private)
            storage.private_directory(self._corpus.index)
        place = self._stand_in.index if self._stand_in else self._corpus.index
        self._files = files = IndexFiles(place, self.belongs)
        if notice := files.claim():
            self.notices.append(notice)
        catalog = self._open_catalog(files)
        self._inode = files.inode()
        notify = self.notices.append
        dense = DenseIndex(catalog, files.chroma, self._settings, self.belongs, notify)
        return catalog, dense

    def _open_catalog(self, files: IndexFiles) -> Catalog:
        """The catalog; made anew if it is damaged, or if the vectors that it names are gone."""
        cache = self._cache
        unclean = files.mark()
        aside = unclean and are_large(files.catalog, cache)
        try:
            catalog = Catalog(files.catalog, cache, check=unclean and not aside)
        except CatalogDamaged as error:
            if not (self._stand_in or self.can_write()):  # a full disk looks like damage
                raise StorageError(error.message, "Make room on the disk") from error
            self.notices.append(DAMAGED)
            files.renew()
            drop_unless_whole(cache)
            return Catalog(files.catalog, cache)
        if catalog.count() and catalog.fact("vectors") != catalog.vectors.token:
            catalog.close()
            self.notices.append("The cached vectors were gone; they are made again")
            files.renew()
            catalog = Catalog(files.catalog, cache)
        catalog.keep_fact("vectors", catalog.vectors.token)
        self._examination = Examination(files.catalog, cache) if aside else None
        return catalog

    @property
    def belongs(self) -> dict[str, str | int]:
        """Where an index belongs: one that was copied from elsewhere is not this one's."""
        return belongs(self._corpus.identity, self._fingerprint)
