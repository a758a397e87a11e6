"""Make the index say what the files say: read → chunk → embed what is new → one transaction.

File events are only hints. `refresh`, before each recall, compares every source's stat with the
indexed one, and reads a file again that changed within 2 s of its last reading, since its stat
may not tell. What an edit costs depends on what it changed: a chunk's id does not name its place.
"""

import contextlib
import json
import os
import platform
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from assistant import storage
from assistant.memory.base import Progress, no_progress
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index import catalog as catalogs
from assistant.memory.index.backlog import Backlog
from assistant.memory.index.catalog import Catalog, CatalogDamaged, Source, Stat
from assistant.memory.index.dense import DenseIndex
from assistant.memory.text.chunks import Chunker
from assistant.memory.text.masking import masked
from assistant.secrets.redactor import Redactor
from assistant.settings import IndexSettings
from assistant.workspace import Workspace

RACY_NS = 2_000_000_000
"""A file changed this shortly before it was read may have changed again without its stat telling:
the coarsest clock of the file systems in use (FAT) counts in 2 s."""
SPARE_VECTORS = 1000
"""Cached vectors kept though no chunk has them: an undo or a moved line finds them again."""

OnChange = Callable[[str, str], None]
"""Called as `on_change(source, text)` once the new content of a file is indexed."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did. `notices` are one line each, for the owner; `faults` those of them that
    return until the file they name is put right."""

    changed: tuple[str, ...]
    embedded: int
    notices: tuple[str, ...]
    faults: tuple[str, ...] = ()


class Synchronizer:
    """The index of a workspace, and the only writer of it. Thread-safe; one process at a time.

    Read through `catalog` and `dense`, afresh each time: a damaged one is replaced. When a read
    raises CatalogDamaged, call `recover` and `refresh`, then read again.
    """

    def __init__(
        self,
        workspace: Workspace,
        embedder: Embedder,
        settings: IndexSettings,
        on_change: OnChange | None = None,
        redactor: Callable[[], Redactor] = Redactor,
    ) -> None:
        """Open or make the index; nothing is read of the files yet. Raises StorageError.

        What `redactor` knows for a secret is not indexed.
        """
        self._workspace = workspace
        self._embedder = embedder
        self._chunks = Chunker(embedder.count_tokens, embedder.max_tokens)
        self._settings = settings
        self._on_change = on_change
        self._redactor = redactor
        self._lock = threading.RLock()
        self._closed = False
        self._notices: list[str] = []
        self._faults: dict[str, tuple[Stat | None, str]] = {}
        self.catalog, self.dense = self._open()

    # What others call

    def refresh(self, progress: Progress = no_progress) -> Refreshed:
        """Bring the index up to the files as they are now.

        A file that cannot be read or is no text keeps what was indexed of it and is named in the
        notices. Raises StorageError when the index cannot be written.
        """
        with self._lock:
            if _inode(self._catalog_path) != self._inode:
                self._reopen("The index was deleted; it was made again")
            try:
                changed, embedded = self._reconcile(progress)
            except CatalogDamaged:
                self.recover()
                changed, embedded = self._reconcile(progress)
            self.dense.deliver()
            faults = tuple(message for _, message in self._faults.values())
            notices = (*self._notices, *faults)
            self._notices.clear()
            return Refreshed(tuple(changed), embedded, notices, faults)

    def recover(self) -> None:
        """Throw the index away after damage; the next `refresh` makes it again."""
        with self._lock:
            self._reopen("The index was damaged; it was made again", discard=True)

    def rebuild(self, progress: Progress = no_progress) -> Refreshed:
        """Make the index again from the files; cached vectors are used."""
        with self._lock:
            try:
                self.catalog.clear()
            except CatalogDamaged:
                self.recover()
            self.dense.refill()
            self._known = self.catalog.sources()
            self._faults.clear()
            done = self.refresh(progress)
            self.dense.drain(progress)
            return done

    def purge(self) -> None:
        """Leave no byte in the index of what the files no longer hold."""
        with self._lock:
            self.refresh()
            self.catalog.purge()
            self.dense.refill()  # Chroma's files keep the vectors of what was deleted
            self.dense.deliver()

    def size(self) -> int:
        """The bytes of the index on disk."""
        total = 0
        for directory, _, names in os.walk(self._workspace.index):
            for name in names:
                with contextlib.suppress(FileNotFoundError):  # Chroma is being filled again
                    total += Path(directory, name).stat().st_size
        return total

    def close(self) -> None:
        """Let go of the index; a second time does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self.dense.close()
            with contextlib.suppress(CatalogDamaged):  # found again, and told, at the next start
                self.catalog.prune_vectors(SPARE_VECTORS)
                self.catalog.close()
                self._marker.unlink(missing_ok=True)

    # Opening

    @property
    def _catalog_path(self) -> Path:
        return self._workspace.index / "catalog.db"

    @property
    def _marker(self) -> Path:
        """There while the catalog is open, and after an exit that was not clean."""
        return self._workspace.index / "catalog.open"

    @property
    def _manifest(self) -> Path:
        return self._workspace.index / "manifest.json"

    def _identity(self) -> dict[str, object]:
        """Where an index belongs: one that was copied from elsewhere is not this one's."""
        return {
            "schema": catalogs.SCHEMA_VERSION,
            "embedder": self._embedder.fingerprint,
            "machine": _machine(),
            "user": os.getuid(),
            "root": str(self._workspace.root),
        }

    def _open(self) -> tuple[Catalog, DenseIndex]:
        storage.private_directory(self._workspace.private)
        storage.private_directory(self._workspace.index)
        self._check_manifest()
        unclean = self._marker.exists()
        with storage.reported("written", self._marker):
            self._marker.touch(mode=storage.PRIVATE_FILE)
        try:
            catalog = Catalog(self._catalog_path, check=unclean)
        except CatalogDamaged:
            self._notices.append("The index was damaged; it was made again")
            self._discard()
            storage.replace(self._manifest, json.dumps(self._identity()).encode())
            self._marker.touch(mode=storage.PRIVATE_FILE)
            catalog = Catalog(self._catalog_path)
        self._inode = _inode(self._catalog_path)
        self._known = catalog.sources()
        name = json.dumps(self._identity(), sort_keys=True)
        directory = self._workspace.index / "chroma"
        dense = DenseIndex(catalog, directory, self._settings, name, self._notices.append)
        return catalog, dense

    def _check_manifest(self) -> None:
        try:
            found = json.loads(storage.read(self._manifest))
        except (FileNotFoundError, ValueError):
            found = None
        wanted = self._identity()
        if found == wanted:
            return
        if isinstance(found, dict):
            known = ("schema", "embedder")
            same = all(found.get(key) == value for key, value in wanted.items() if key not in known)
            why = "by another version or embedding model" if same else "for another place"
            self._notices.append(f"The index was made {why}; it was made again")
        self._discard()
        storage.replace(self._manifest, json.dumps(wanted).encode())

    def _discard(self) -> None:
        index = self._workspace.index
        with storage.reported("deleted", index):
            for path in (*index.glob("catalog.*"), *index.glob("chroma*"), self._manifest):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)

    def _reopen(self, notice: str, *, discard: bool = False) -> None:
        self.dense.close()
        with contextlib.suppress(CatalogDamaged):
            self.catalog.close()
        if discard:
            self._discard()
        self._notices.append(notice)
        self.catalog, self.dense = self._open()

    # Files to catalog

    def _reconcile(self, progress: Progress) -> tuple[list[str], int]:
        before = self.catalog.embedded_total
        names = self._workspace.sources()
        changed = [name for name in names if self._update(name, progress)]
        for name in set(self._known) - set(names):
            self.catalog.delete_source(name)
            changed.append(name)
        self._faults = {name: fault for name, fault in self._faults.items() if name in names}
        if changed:
            self._known = self.catalog.sources()
        return changed, self.catalog.embedded_total - before

    def _update(self, name: str, progress: Progress) -> bool:
        """Index a source if it changed; whether it did."""
        path = f"{self._workspace.root}/{name}"  # a Path costs as much as the rest for each file
        known = self._known.get(name)
        try:
            stat = _stat(path)
            if known and _trusted(known, stat):
                return False
            if name in self._faults and self._faults[name][0] == stat:
                return False
            stat, data = _read(path)
        except FileNotFoundError:
            return False  # deleted since it was listed: the next refresh sees it gone
        except OSError as error:
            self._fault(name, None, f"cannot be read ({error.strerror}). Check who may read it")
            return False
        return self._index(name, stat, data, known, progress)

    def _index(
        self, name: str, stat: Stat, data: bytes, known: Source | None, progress: Progress
    ) -> bool:
        digest = sha256(data).hexdigest()
        if known and known.sha256 == digest:
            self._faults.pop(name, None)
            self._touch(known, stat)
            return False
        try:
            text = _decode(data)
        except ValueError as error:
            self._fault(name, stat, f"is not UTF-8 text ({error}). Save it as UTF-8")
            return False
        chunks = []
        with contextlib.closing(Backlog(self.catalog, self._embedder)) as backlog:
            for chunk in masked(self._chunks(text, name), text, self._redactor()):
                backlog.add(chunk.plain)
                chunks.append(chunk)
            backlog.work_off(partial(progress, f"Indexing {name}"))
        self.catalog.replace_source(name, stat, digest, chunks, self._embedder.fingerprint)
        self._faults.pop(name, None)
        if self._on_change is not None:
            self._on_change(name, text)
        return True

    def _touch(self, known: Source, stat: Stat) -> None:
        now = time.time_ns()
        self.catalog.touch(known.name, stat, now)
        self._known[known.name] = Source(known.name, stat, known.sha256, now, known.chunks)

    def _fault(self, name: str, stat: Stat | None, what: str) -> None:
        stays = "; what was indexed of it before stays searchable" if name in self._known else ""
        self._faults[name] = (stat, f"{name} {what}{stays}")


def _trusted(known: Source, stat: Stat) -> bool:
    """Whether the stat proves that the file is as it was read."""
    changed = max(stat.mtime_ns, stat.ctime_ns)
    return known.stat == stat and known.read_ns - changed > RACY_NS


def _stat(path: str) -> Stat:
    found = os.stat(path)  # noqa: PTH116
    return Stat(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _read(path: str) -> tuple[Stat, bytes]:
    """The bytes of a file, and its stat from before: a later change shows itself."""
    with Path(path).open("rb") as file:
        found = os.fstat(file.fileno())
        data = file.read()
    return Stat(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns), data


def _decode(data: bytes) -> str:
    """The text of a file. Raises ValueError that says where it is none."""
    if (zero := data.find(b"\0")) >= 0:
        raise ValueError(f"a zero byte at {zero}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start}") from error


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return -1


def _machine() -> str:
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        return platform.node()
