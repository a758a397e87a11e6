"""The files of an index, and what of it is open: the catalog and dense search. Search reads here,
`refresh` writes.

An index knows whom it belongs to. One that is damaged, copied from elsewhere, or of another version
or model is thrown away, and made again from the files and the cached vectors.
"""

import contextlib
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from assistant.disk import storage
from assistant.errors import MemoryFailure, StorageError
from assistant.memory.index.ahead import kept_for
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.chroma import collection_name
from assistant.memory.index.corpus import Corpus
from assistant.memory.index.database import SCHEMA_VERSION, CatalogDamaged, is_whole_cache
from assistant.memory.index.dense import DenseIndex
from assistant.memory.index.vector_cache import cache_path
from assistant.settings.sections import IndexSettings
from assistant.workspace.folder import Anchor

MANIFEST = "manifest.json"
LOOK_SECONDS = 30.0
"""How often a disk that took no writes is looked at."""
ROOM = 2 << 20
"""Bytes for which there must be room, or a disk takes no writes."""
SPARE_VECTORS = 1000
"""Cached vectors kept though no chunk has them: an undo or a moved line finds them again."""
DAMAGED = "The index was damaged; it was made again"
NO_WRITES = (
    "The disk of this memory takes no writes, being full or read-only: recall answers from what "
    "was indexed before, and nothing can be remembered until there is room"
)
DELETED = "The index was deleted; it was made again"


class IndexStore:
    """The open index of a corpus. One process at a time.

    Read `catalog` and `dense` afresh each time: after damage they are others. `notices` are lines
    that the owner should know, until somebody takes them.
    """

    def __init__(
        self, corpus: Corpus, fingerprint: str, settings: IndexSettings, *, diary: bool = False
    ) -> None:
        """Open or make it, for vectors of the model `fingerprint`. Raises StorageError."""
        self.belongs = belongs(corpus.identity, fingerprint)
        self._diary = diary
        self._corpus = corpus
        self._folder = corpus.index
        self._catalog_path = corpus.index / "catalog.db"
        self._sum = corpus.index / "catalog.sum"
        """The size and checksum of the catalog: there after a clean exit, until it is opened."""
        self._fingerprint = fingerprint
        self._settings = settings
        self._anchor = Anchor(corpus.private.parent)
        self._closed = False
        self._looked = 0.0
        self.notices: list[str] = []
        self.readonly = False
        """Whether what was indexed before is read on a disk that takes no writes."""
        self._open()

    def can_write(self) -> bool:
        """Whether a few megabytes can be written where the index lies."""
        try:
            with tempfile.TemporaryFile(dir=self._corpus.private) as file:
                file.write(bytes(ROOM))
        except OSError:
            return False
        return True

    def return_home(self) -> bool:
        """Write again, if the disk takes writes again; looked at now and then."""
        now = time.monotonic()
        if not self.readonly or now - self._looked < LOOK_SECONDS:
            return False
        self._looked = now
        if not self.can_write():
            return False
        self._let_go()
        self._open()
        return True

    @property
    def deleted(self) -> bool:
        """Whether someone deleted the catalog while it was open."""
        return _inode(self._catalog_path) != self._inode

    def reopen(self, notice: str, *, discard: bool = False) -> None:
        """Close what there is and open it again, after throwing it away if `discard`."""
        self._let_go()
        if discard:
            self._discard()
        self.notices.append(notice)
        self._open()

    def size(self) -> int:
        """The bytes of the index on disk."""
        total = 0
        for directory, _, names in os.walk(self._folder):
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
        with contextlib.suppress(CatalogDamaged, StorageError):  # told at the next start
            if prune and not self.readonly and not self._awaits_another_model():
                self.catalog.vectors.prune(SPARE_VECTORS)
            self.catalog.close()
            if not self.readonly and not self.deleted:
                storage.replace(self._sum, self._checksum())

    def _awaits_another_model(self) -> bool:
        """Whether vectors lie ready that nothing has yet, since memory is to change its model."""
        waiting = kept_for(cache_path(self._corpus.identity))
        with contextlib.suppress(FileNotFoundError):
            if storage.read(waiting).decode() != self._fingerprint:
                return True
            waiting.unlink()
        return False

    def _let_go(self) -> None:
        with contextlib.suppress(MemoryFailure, StorageError):
            self.dense.close()
        with contextlib.suppress(CatalogDamaged, StorageError):
            self.catalog.close()

    # Opening

    def _open(self) -> None:
        self._anchor.check()  # Chroma may make folders where a workspace was
        cache = cache_path(self._corpus.identity)
        try:
            storage.private_directory(self._corpus.private)
            if self._folder.is_file():  # in its place: all that lies here is ours
                self._folder.unlink()
            storage.private_directory(self._folder)
            self._claim()
            self.catalog = self._open_catalog(cache)
            self.readonly = False
        except StorageError:
            if self.can_write() or not self._catalog_path.is_file():
                raise
            self.catalog = Catalog(self._catalog_path, cache, readonly=True)
            self.readonly, self._looked = True, time.monotonic()
        self._inode = _inode(self._catalog_path)
        self.dense = DenseIndex(
            self.catalog,
            self._folder / "chroma",
            self._settings,
            self.belongs,
            self.notices.append,
        )

    def _claim(self) -> None:
        """Throw away an index that is not ours. Raises StorageError."""
        try:
            known = json.loads(storage.read(self._folder / MANIFEST))
        except (FileNotFoundError, ValueError, StorageError):
            known = None
        if known == self.belongs:
            return
        self._renew()
        if isinstance(known, dict):
            same = all(
                known.get(name) == self.belongs[name] for name in ("machine", "user", "root")
            )
            why = "by another version or embedding model" if same else "for another place"
            self.notices.append(f"The index was made {why}; it was made again")

    def _open_catalog(self, cache: Path) -> Catalog:
        """The catalog; made anew if it is damaged, or the vectors that it names are gone."""
        try:
            clean = self._is_clean()
            catalog = Catalog(self._catalog_path, cache, diary=self._diary)
            if not clean:
                catalog.verify()
        except (CatalogDamaged, StorageError):
            if not self.can_write():  # a full disk looks like damage
                raise StorageError(NO_WRITES, "Make room on the disk") from None
            self.notices.append(DAMAGED)
            self._discard()
            catalog = Catalog(self._catalog_path, cache, diary=self._diary)
        if catalog.count() and catalog.fact("vectors") != catalog.database.token:
            catalog.close()
            self.notices.append("The cached vectors were gone; they are made again")
            self._renew()
            catalog = Catalog(self._catalog_path, cache, diary=self._diary)
        catalog.keep_fact("vectors", catalog.database.token)
        return catalog

    def _is_clean(self) -> bool:
        """Whether the catalog was closed and is as it was then; another must be verified.

        Raises CatalogDamaged if it was closed and is another now.
        """
        if not self._catalog_path.exists():
            return True
        try:
            left = storage.read(self._sum)
        except FileNotFoundError:
            return False
        if left != self._checksum():
            raise CatalogDamaged(f"the index {self._catalog_path} was changed since it was closed")
        with storage.reported("written", self._sum):
            self._sum.unlink()
        return True

    def _checksum(self) -> bytes:
        with storage.reported("read", self._catalog_path):
            size, crc = storage.checksum(self._catalog_path)
        return f"{size} {crc:08x}".encode()

    def _discard(self) -> None:
        """Throw the index away, and the cached vectors if they are damaged too: what is whole need
        not be embedded again."""
        self._renew()
        cache = cache_path(self._corpus.identity)
        if not is_whole_cache(cache):
            for path in cache.parent.glob(f"{cache.name}*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _renew(self) -> None:
        """Begin again with nothing. Raises StorageError."""
        manifest = self._folder / MANIFEST
        with storage.reported("deleted", self._folder):
            for pattern in ("catalog.*", "chroma*", MANIFEST):
                for path in self._folder.glob(pattern):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        storage.replace(manifest, json.dumps(self.belongs).encode())


def belongs(identity: Path, fingerprint: str) -> dict[str, str | int]:
    """What tells the index of a corpus by a model from all others."""
    return {
        "schema": SCHEMA_VERSION,
        "embedder": fingerprint,
        "machine": _machine(),
        "user": os.getuid(),
        "root": str(identity),
    }


def owner_of(collection: str, of: Mapping[str, Any]) -> Literal["theirs", "nobody", "unknown"]:
    """Whose a collection on a server is that belongs so (`of`).

    Nobody's, if it was made here by this user, for a workspace that is gone or is indexed otherwise
    by now.
    """
    if of.get("machine") != _machine() or of.get("user") != os.getuid():
        return "unknown"
    if not Path(str(of.get("root"))).exists():
        return "nobody"
    try:
        now = json.loads(storage.read(Path(str(of.get("index"))) / MANIFEST))
    except (FileNotFoundError, ValueError):
        return "theirs"  # its index is made again, under the same name
    mine = isinstance(now, dict) and collection_name(now) == collection
    return "theirs" if mine else "nobody"


def _machine() -> str:
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        return platform.node()


def _inode(path: Path) -> int:
    """-1 if there is no such file."""
    try:
        return path.stat().st_ino
    except OSError:
        return -1
