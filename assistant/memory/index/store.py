"""What of the index is open: the catalog and dense search. Search reads here, `sync` writes.

The store knows whom its index belongs to, and throws one away that is damaged, copied from
elsewhere, or of another version or model.
"""

import contextlib
import json
import os
import shutil
import time
from pathlib import Path

from assistant.disk import storage
from assistant.errors import MemoryFailure, StorageError
from assistant.memory.index.ahead import kept_for
from assistant.memory.index.belonging import MANIFEST, belongs
from assistant.memory.index.corpus import Corpus
from assistant.memory.index.dense import DenseIndex
from assistant.memory.index.examining import Examination, are_large, drop_unless_whole
from assistant.memory.index.reading import proof
from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.index.sqlite.database import CatalogDamaged
from assistant.memory.index.sqlite.rows import Stat
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
        return _inode(self._catalog_path) != self._inode

    def reopen(self, notice: str, *, discard: bool = False) -> None:
        """Close what there is and open it again, after throwing it away if `discard`."""
        self._let_go()
        if discard:
            self._discard()
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

    def unsaid(self, fact: str) -> dict[str, tuple[str, Stat | None]]:
        """The files that do not state a fact, each with the digest of what was indexed of it, and
        the stat that proves it to be so still, if one does."""
        with self.catalog.database.using():
            stating = {stored.chunk.source for stored in self.catalog.stating(fact)}
            sources = self.catalog.sources().values()
        silent = (each for each in sources if each.name not in stating)
        return {each.name: (each.sha256, proof(each)) for each in silent}

    def size(self) -> int:
        """The bytes of the index on disk."""
        total = 0
        for directory, _, names in os.walk(self._index):
            for name in names:
                with contextlib.suppress(FileNotFoundError):  # Chroma is being filled again
                    total += Path(directory, name).stat().st_size
        return total

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
                self._marker.unlink(missing_ok=True)
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
    def _index(self) -> Path:
        return self._stand_in.index if self._stand_in else self._corpus.index

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

    @property
    def _catalog_path(self) -> Path:
        return self._index / "catalog.db"

    @property
    def _marker(self) -> Path:
        """There while the catalog is open, and after an exit that was not clean."""
        return self._index / "catalog.open"

    @property
    def _manifest(self) -> Path:
        return self._index / MANIFEST

    def _open(self) -> tuple[Catalog, DenseIndex]:
        if self._stand_in is None:
            self._anchor.check()  # Chroma may make folders where a workspace was
            storage.private_directory(self._corpus.private)
            storage.private_directory(self._corpus.index)
        self._check_manifest()
        catalog = self._open_catalog()
        self._inode = _inode(self._catalog_path)
        directory = self._index / "chroma"
        dense = DenseIndex(catalog, directory, self._settings, self.belongs, self.notices.append)
        return catalog, dense

    def _open_catalog(self) -> Catalog:
        """The catalog; made anew if it is damaged, or if the vectors that it names are gone."""
        cache = self._cache
        unclean = self._mark()
        aside = unclean and are_large(self._catalog_path, cache)
        try:
            catalog = Catalog(self._catalog_path, cache, check=unclean and not aside)
        except CatalogDamaged as error:
            if not (self._stand_in or self.can_write()):  # a full disk looks like damage
                raise StorageError(error.message, "Make room on the disk") from error
            self.notices.append(DAMAGED)
            self._discard()
            drop_unless_whole(cache)
            self._begin()
            return Catalog(self._catalog_path, cache)
        if catalog.count() and catalog.fact("vectors") != catalog.vectors.token:
            catalog.close()
            self.notices.append("The cached vectors were gone; they are made again")
            self._discard()
            self._begin()
            catalog = Catalog(self._catalog_path, cache)
        catalog.keep_fact("vectors", catalog.vectors.token)
        self._examination = Examination(self._catalog_path, cache) if aside else None
        return catalog

    def _mark(self) -> bool:
        """Set the marker; whether it stood there already."""
        unclean = self._marker.exists()
        with storage.reported("written", self._marker):
            self._marker.touch(mode=storage.PRIVATE_FILE)
        return unclean

    @property
    def belongs(self) -> dict[str, str | int]:
        """Where an index belongs: one that was copied from elsewhere is not this one's."""
        return belongs(self._corpus.identity, self._fingerprint)

    def _check_manifest(self) -> None:
        """Throw away an index that is not ours."""
        try:
            known = json.loads(storage.read(self._manifest))
        except (FileNotFoundError, ValueError):
            known = None
        wanted = self.belongs
        if known == wanted:
            return
        if isinstance(known, dict):
            ours = ("machine", "user", "root")
            same = all(known.get(name) == wanted[name] for name in ours)
            why = "by another version or embedding model" if same else "for another place"
            self.notices.append(f"The index was made {why}; it was made again")
        self._discard()
        storage.replace(self._manifest, json.dumps(wanted).encode())

    def _begin(self) -> None:
        storage.replace(self._manifest, json.dumps(self.belongs).encode())
        self._mark()

    def _discard(self) -> None:
        index = self._index
        with storage.reported("deleted", index):
            for path in (*index.glob("catalog.*"), *index.glob("chroma*"), self._manifest):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return -1
