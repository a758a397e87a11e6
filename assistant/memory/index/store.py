"""The files of an index, and its open parts: the catalog and dense search. Search reads them,
`refresh` writes them.

An index records the corpus and model that it belongs to. If it is damaged, copied from elsewhere,
or of another version or model, it is discarded and rebuilt from the files and the cached vectors.
"""

import contextlib
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from assistant.disk import storage
from assistant.errors import MemoryFailure, StorageError
from assistant.memory.base import Notify
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.chroma import collection_name
from assistant.memory.index.corpus import Corpus
from assistant.memory.index.database import SCHEMA_VERSION, CatalogDamaged, is_intact_cache
from assistant.memory.index.dense import DenseIndex
from assistant.memory.index.vector_cache import cache_path
from assistant.settings.sections import IndexSettings
from assistant.workspace.folder import Anchor

MANIFEST = "manifest.json"
RETRY_SECONDS = 30.0
"""Seconds between checks of a disk that could not be written."""
MIN_FREE = 2 << 20
"""Bytes that must be free; a disk with less counts as not writable."""
SPARE_VECTORS, SPARE_PER_CHUNK = 1000, 2
"""Unused vectors to keep in the cache, for an undo or a moved line; and how many more per chunk,
which may belong to a model that memory will switch to."""
DAMAGED = "The index was damaged; it was rebuilt"
NO_WRITES = (
    "The disk of this memory is full or read-only: recall answers from what was indexed before, "
    "and nothing can be remembered until it can be written"
)
FOREIGN = (
    "The index was created elsewhere, or by another version or embedding model; it was rebuilt"
)
DELETED = "The index was deleted; it was rebuilt"


class IndexStore:
    """The open index of a corpus. One process at a time.

    Always read `catalog` and `dense` anew: they are replaced after damage.
    """

    def __init__(
        self, corpus: Corpus, fingerprint: str, settings: IndexSettings, notify: Notify
    ) -> None:
        """Open or create it, for vectors of the model `fingerprint`; `notify` receives lines for
        the owner. Raises StorageError."""
        self.owner = owner(corpus.identity, fingerprint)
        self._corpus = corpus
        self._folder = corpus.index
        self._catalog_path = corpus.index / "catalog.db"
        self._checksum_path = corpus.index / "catalog.sum"
        """The size and checksum of the catalog; exists after a clean exit, until it is opened."""
        self._settings = settings
        self._anchor = Anchor(corpus.private.parent)
        self._closed = False
        self._checked_at = 0.0
        self._notify = notify
        self.readonly = False
        """Whether the disk cannot be written, so the existing index is only read."""
        self._open()

    def is_writable(self) -> bool:
        """Return whether a few megabytes can be written to the disk of the index."""
        try:
            with tempfile.TemporaryFile(dir=self._corpus.private) as file:
                file.write(bytes(MIN_FREE))
        except OSError:
            return False
        return True

    def resume_writing(self) -> bool:
        """Resume writing if the disk can be written again, which is checked at intervals."""
        now = time.monotonic()
        if not self.readonly or now - self._checked_at < RETRY_SECONDS:
            return False
        self._checked_at = now
        if not self.is_writable():
            return False
        self.reopen()
        return True

    @property
    def deleted(self) -> bool:
        """Whether someone deleted the catalog while it was open."""
        return storage.inode(self._catalog_path) != self._inode

    def reopen(self, notice: str = "", *, discard: bool = False) -> None:
        """Close the index and open it again; with `discard`, discard it in between."""
        with contextlib.suppress(MemoryFailure, StorageError):
            self.dense.close()
        with contextlib.suppress(CatalogDamaged, StorageError):
            self.catalog.close()
        if discard:
            self._discard()
        if notice:
            self._notify(notice)
        self._open()

    def size(self) -> int:
        """Return the bytes of the index on disk, even while Chroma's folder is being deleted."""
        files = (Path(folder, name) for folder, _, names in os.walk(self._folder) for name in names)
        stats = map(storage.stat_or_none, files)
        return sum(stat.size for stat in stats if stat)

    def close(self, *, prune: bool) -> None:
        """Close the index; may be called twice. `prune` drops unused vectors."""
        if self._closed:
            return
        self._closed = True
        self.dense.close()
        with contextlib.suppress(CatalogDamaged, StorageError):  # reported at the next start
            if prune and not self.readonly:
                spare = SPARE_VECTORS + SPARE_PER_CHUNK * self.catalog.count()
                self.catalog.vectors.prune(spare)
            self.catalog.close()
            if not self.readonly and not self.deleted:
                storage.replace(self._checksum_path, self._checksum())

    # Opening

    def _open(self) -> None:
        self._anchor.check()  # Chroma may create folders where a workspace was
        self._cache = cache_path(self._corpus.identity)
        try:
            storage.private_directory(self._corpus.private)
            if not self._folder.is_dir():  # a file or a dangling link; this path is ours
                self._folder.unlink(missing_ok=True)
            storage.private_directory(self._folder)
            self._check_owner()
            self.catalog = self._open_catalog()
            self.readonly = False
        except StorageError:
            if self.is_writable() or not self._catalog_path.is_file():
                raise
            self.catalog = Catalog(self._catalog_path, self._cache, readonly=True)
            self.readonly, self._checked_at = True, time.monotonic()
        self._inode = storage.inode(self._catalog_path)
        self.dense = DenseIndex(
            self.catalog,
            self._folder / "chroma",
            self._settings,
            self.owner,
            self._notify,
        )

    def _check_owner(self) -> None:
        """Discard an index that is not ours. Raises StorageError."""
        try:
            recorded = json.loads(storage.read(self._folder / MANIFEST))
        except (FileNotFoundError, ValueError, StorageError):
            recorded = None
        if recorded == self.owner:
            return
        self._clear_folder()
        if isinstance(recorded, dict):
            self._notify(FOREIGN)

    def _open_catalog(self) -> Catalog:
        """Open the catalog; rebuild it if it is damaged or its vectors are gone."""
        try:
            clean = self._is_clean()
            catalog = Catalog(self._catalog_path, self._cache)
            if not clean:
                catalog.database.check()
        except (CatalogDamaged, StorageError):
            if not self.is_writable():  # a full disk looks like damage
                raise StorageError(NO_WRITES, "Make room on the disk") from None
            self._notify(DAMAGED)
            self._discard()
            catalog = Catalog(self._catalog_path, self._cache)
        if catalog.count() and catalog.meta("vectors") != catalog.database.token:
            catalog.close()
            self._notify("The cached vectors were gone; they are rebuilt")
            self._clear_folder()
            catalog = Catalog(self._catalog_path, self._cache)
        catalog.set_meta("vectors", catalog.database.token)
        return catalog

    def _is_clean(self) -> bool:
        """Return whether the catalog was closed cleanly and is unchanged; else it must be verified.

        Raises CatalogDamaged if it was closed cleanly and has changed since.
        """
        if not self._catalog_path.exists():
            return True
        try:
            recorded = storage.read(self._checksum_path)
        except FileNotFoundError:
            return False
        if recorded != self._checksum():
            raise CatalogDamaged(f"the index {self._catalog_path} was changed since it was closed")
        with storage.reported("written", self._checksum_path):
            self._checksum_path.unlink()
        return True

    def _checksum(self) -> bytes:
        with storage.reported("read", self._catalog_path):
            size, crc = storage.checksum(self._catalog_path)
        return f"{size} {crc:08x}".encode()

    def _discard(self) -> None:
        """Discard the index, and the cached vectors only if they are damaged too, to avoid
        embedding them again."""
        self._clear_folder()
        if not is_intact_cache(self._cache):
            _remove(self._cache.parent, f"{self._cache.name}*")

    def _clear_folder(self) -> None:
        """Start again with an empty index. Raises StorageError."""
        _remove(self._folder, "catalog.*", "chroma*", MANIFEST)
        storage.replace(self._folder / MANIFEST, json.dumps(self.owner).encode())


def _remove(folder: Path, *patterns: str) -> None:
    """Remove files and folders that match these patterns. Raises StorageError."""
    with storage.reported("deleted", folder):
        for path in chain.from_iterable(map(folder.glob, patterns)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def owner(identity: Path, fingerprint: str) -> dict[str, str | int]:
    """Return the metadata that identifies the index of a corpus and a model."""
    return {
        "schema": SCHEMA_VERSION,
        "embedder": fingerprint,
        "machine": _machine(),
        "user": os.getuid(),
        "root": str(identity),
    }


def owner_of(collection: str, of: Mapping[str, Any]) -> Literal["theirs", "nobody", "unknown"]:
    """Return who owns a collection on a server with the metadata `of`.

    Nobody, if this user created it here for a workspace that is gone or has another index now.
    """
    if of.get("machine") != _machine() or of.get("user") != os.getuid():
        return "unknown"
    if not Path(str(of.get("root"))).exists():
        return "nobody"
    try:
        now = json.loads(storage.read(Path(str(of.get("index"))) / MANIFEST))
    except (FileNotFoundError, ValueError):
        return "theirs"  # its index will be rebuilt under the same name
    mine = isinstance(now, dict) and collection_name(now) == collection
    return "theirs" if mine else "nobody"


def _machine() -> str:
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        return platform.node()
