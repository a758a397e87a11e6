"""Make the index say what the files say: read → chunk → embed what is new → one transaction.

File events are only hints. `refresh`, before each recall, compares every source's stat with the
indexed one, and reads a file again that changed within 2 s of its last reading, since its stat
may not tell. What an edit costs depends on what it changed: a chunk's id does not name its place.
"""

import contextlib
import errno
import logging
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from assistant.disk import storage
from assistant.errors import AssistantError, MemoryFailure, StorageError
from assistant.memory.base import Progress, no_progress
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.aside import Aside, Dropped
from assistant.memory.index.backlog import SLICE, Backlog
from assistant.memory.index.catalog import Catalog, Source
from assistant.memory.index.corpus import Corpus, decoded, doubt
from assistant.memory.index.database import CatalogDamaged
from assistant.memory.index.rows import Stat
from assistant.memory.index.store import DAMAGED, DELETED, IndexStore
from assistant.memory.text.chunks import Chunk, Chunker
from assistant.memory.text.masking import masked
from assistant.memory.text.standing import standing
from assistant.secrets.redactor import Redactor
from assistant.settings import IndexSettings

logger = logging.getLogger(__name__)

RACY_NS = 2_000_000_000
"""A file changed this shortly before it was read may have changed again without its stat telling:
the coarsest clock of the file systems in use (FAT) counts in 2 s."""
PATIENCE, SHORTLY = 5.0, 0.02
"""Seconds that an answer waits for another thread that brings the index up; for one that is writing
a large file into it."""
LARGEST = 256 << 20
"""Bytes of the largest file that is read."""
OnChange = Callable[[str, str, str], None]
"""Called as `on_change(source, text, sha256)` once the new content of a file is indexed: its text,
and the digest of its bytes in hex. A file that is gone has no text."""
Read = Callable[[str, bytes], str]
"""The text to index of a file, by its name and bytes. Raises ValueError that says why there is
none."""
Refine = Callable[[Iterable[Chunk], str, str], Iterable[Chunk]]
"""What is indexed of a file's chunks, by its name and text."""
Order = Callable[[list[str]], Iterable[str]]
"""In which order files are looked at."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did. `notices` are one line each, for the owner; `faults` those of them that
    return until the file they name is put right. `left` is how many files there was no time for."""

    changed: tuple[str, ...]
    embedded: int
    notices: tuple[str, ...]
    faults: tuple[str, ...] = ()
    left: int = 0


class Synchronizer:
    """Makes the index of a corpus say what its files say; the only writer of it. Thread-safe.

    `store` is what can be read. When a read raises CatalogDamaged, call `recover` and `refresh`,
    then read again.
    """

    def __init__(
        self,
        corpus: Corpus,
        embedder: Embedder,
        settings: IndexSettings,
        on_change: OnChange | None = None,
        redactor: Callable[[], Redactor] = Redactor,
        read: Read = decoded,
        refine: Refine | None = None,
        *,
        aside: bool = False,
    ) -> None:
        """Open or make the index; nothing is read of the files yet. Raises StorageError.

        What `redactor` knows for a secret is not indexed. `aside`: where there is an index already,
        nobody waits for a large file, which is indexed in the background.
        """
        self._corpus = corpus
        self._text = read
        self._refine = refine
        self._embedder = embedder
        self._chunks = Chunker(embedder.count_tokens, embedder.max_tokens)
        self._on_change = on_change
        self._redactor = redactor
        self._lock = threading.RLock()
        self._aside = Aside(self._index_aside) if aside else None
        self._committing = False
        self._changes: list[tuple[str, str, str]] = []
        self._faults: dict[str, tuple[Stat | None, str]] = {}
        self._odd: tuple[str, ...] = ()
        self._whole = False
        self.store = IndexStore(corpus, embedder.fingerprint, settings)
        self._known = self.store.catalog.sources()

    # What others call

    def refresh(
        self,
        progress: Progress = no_progress,
        *,
        seconds: float = math.inf,
        order: Order = list,
    ) -> Refreshed:
        """Bring the index up to the files as they are now, as far as that is done in `seconds`.

        A file that cannot be read or is no text keeps what was indexed of it and is named in the
        notices. Raises StorageError when the index cannot be written.
        """
        with self._lock:
            done = self._refreshed(progress, seconds, order)
        self._observe()
        return done

    def refresh_unless_busy(self, progress: Progress = no_progress) -> Refreshed | None:
        """Do the same; None if another thread is at it and does not come to an end."""
        if not self._lock.acquire(timeout=SHORTLY if self._committing else PATIENCE):
            return None
        try:
            done = self._refreshed(progress, math.inf, list)
        finally:
            self._lock.release()
        self._observe()
        return done

    def behind(self) -> tuple[str, ...]:
        """The files that the index does not have as they are, and is about to."""
        return self._aside.names if self._aside else ()

    def faults(self) -> tuple[str, ...]:
        """What is wrong now, one line each: files that cannot be indexed, a server that fails."""
        files = (message for _, message in self._faults.values())
        troubles = filter(None, [self.store.trouble, self.store.dense.trouble])
        return (*self._odd, *files, *troubles)

    def recover(self, damaged: Catalog | None = None) -> None:
        """Throw the index away after damage; the next `refresh` makes it again.

        To no effect if it is not the one that was found `damaged` any more.
        """
        with self._lock:
            if damaged is None or damaged is self.store.catalog:
                self._reopen(DAMAGED, discard=True)

    def verify(self) -> bool:
        """Whether the catalog is whole, from end to end; a damaged one is made again."""
        with self._lock:
            try:
                self.store.catalog.database.verify()
            except CatalogDamaged:
                self.recover()
                return False
            return True

    def rebuild(self, progress: Progress = no_progress) -> Refreshed:
        """Make the index again from the files; cached vectors are used."""
        with self._lock:
            try:
                self.store.catalog.clear()
            except CatalogDamaged:
                self.recover()
            self._known = self.store.catalog.sources()
            self._faults.clear()
            with contextlib.suppress(MemoryFailure):  # a server that fails is filled later
                self.store.dense.refill()
            done = self.refresh(progress)
            self.store.dense.settle(progress)
            return done

    def scrub(self) -> None:
        """Leave no byte in the index of what the files no longer hold."""
        with self._lock:
            self.refresh()
            self.store.catalog.scrub()
            self.store.dense.refill()  # Chroma's files keep the vectors of what was deleted
            self.store.dense.deliver()

    def close(self) -> None:
        """Let go of the index; a second time does nothing."""
        if self._aside is not None:
            self._aside.close()
        with self._lock:
            self.store.close(prune=self._whole)

    def _reopen(self, notice: str, *, discard: bool = False) -> None:
        self._whole = False
        self.store.reopen(notice, discard=discard)
        self._known = self.store.catalog.sources()

    # Files to catalog

    def _refreshed(self, progress: Progress, seconds: float, order: Order) -> Refreshed:
        if self.store.deleted:
            self._reopen(DELETED)
        if self.store.return_home():
            self._known = self.store.catalog.sources()
        deadline = time.monotonic() + seconds
        try:
            changed, embedded, left = self._reconcile(progress, deadline, order)
        except (CatalogDamaged, StorageError) as error:
            self._make_usable(error)
            changed, embedded, left = self._reconcile(progress, deadline, order)
        self.store.dense.deliver()
        faults = self.faults()
        notices = (*self.store.notices, *faults)
        self.store.notices.clear()
        return Refreshed(tuple(changed), embedded, notices, faults, left)

    def _make_usable(self, error: AssistantError) -> None:
        """Mend what is damaged; where the disk takes no writes, go on in memory."""
        if isinstance(error, CatalogDamaged) and self.store.can_write():
            self.recover()
            return
        if self.store.stands_in:
            raise error
        self.store.stand_in()
        self._known = self.store.catalog.sources()

    def _observe(self) -> None:
        """Show what changed, holding no lock: whoever is shown it may wait for a write."""
        while self._changes and self._on_change is not None:
            self._on_change(*self._changes.pop(0))

    def _reconcile(
        self, progress: Progress, deadline: float, order: Order
    ) -> tuple[list[str], int, int]:
        before = self.store.catalog.vectors.embedded_total
        survey = self._corpus.survey()
        self._odd = tuple(f"{name} {why}. It is left out" for name, why in survey.odd.items())
        names = survey.sources
        changed, left = [], len(names)
        for name in order(names):
            if time.monotonic() > deadline:
                break
            changed += [name] * self._update(name, progress)
            left -= 1
        for name in set(self._known) - set(names):
            self.store.catalog.delete_source(name)
            changed.append(name)
            self._changes.append((name, "", sha256(b"").hexdigest()))
        self._faults = {name: fault for name, fault in self._faults.items() if name in names}
        if changed:
            self._known = self.store.catalog.sources()
        self._whole = not left
        return changed, self.store.catalog.vectors.embedded_total - before, left

    def _update(self, name: str, progress: Progress) -> bool:
        """Index a source if it changed; whether it did."""
        path = f"{self._corpus.root}/{name}"  # a Path costs as much as the rest for each file
        known = self._known.get(name)
        try:
            stat = _stat(path)
            if known and _trusted(known, stat):
                return False
            if name in self._faults and self._faults[name][0] == stat:
                return False
            if self._aside and self._known and self._aside.takes(name, stat, known):
                return False
            stat, data = _read(path)
        except FileNotFoundError:
            return False  # deleted since it was listed: the next refresh sees it gone
        except OSError as error:
            self._fault(name, None, f"cannot be read ({error.strerror})")
            return False
        return self._index(name, stat, data, known, progress)

    def _index(
        self, name: str, stat: Stat, data: bytes, known: Source | None, progress: Progress
    ) -> bool:
        digest = sha256(data).hexdigest()
        if known and known.sha256 == digest:
            self._touch(known, stat)
            self._doubt(name, stat, data)
            return False
        try:
            text = self._text(name, data)
        except ValueError as error:
            self._fault(name, stat, f"is not UTF-8 text ({error}). Save it as UTF-8")
            return False
        chunks = self._embedded(name, text, progress)
        self._commit(name, stat, digest, chunks, text)
        self._doubt(name, stat, data)
        return True

    def _embedded(
        self, name: str, text: str, progress: Progress, *, aside: bool = False
    ) -> list[Chunk]:
        """The chunks of a text, whose vectors are cached."""
        chunks = []
        there = self.store.catalog.embedded(name)
        with contextlib.closing(Backlog(self.store.catalog.vectors, self._embedder)) as backlog:
            found = self._chunks(text, name)
            refined = self._refine(found, name, text) if self._refine else found
            for chunk in masked(refined, text, self._redactor()):
                if there.get(chunk.id) != chunk.plain:
                    backlog.add(chunk.plain)
                chunks.append(chunk)
                if aside and len(chunks) % SLICE == 0:
                    self._go_on()
            backlog.work_off(partial(progress, f"Indexing {name}"))
            backlog.add_headings(standing(name, path) for path in {c.heading for c in chunks})
        return chunks

    def _commit(
        self, name: str, stat: Stat, digest: str, chunks: Sequence[Chunk], text: str
    ) -> None:
        self.store.catalog.replace_source(name, stat, digest, chunks, self._embedder.fingerprint)
        self._faults.pop(name, None)
        self._changes.append((name, text, digest))

    def _index_aside(self, name: str) -> None:
        """Index a large file; only where it is written at last, others wait."""
        stat = None
        try:
            stat, data = _read(f"{self._corpus.root}/{name}")
            text, digest = self._text(name, data), sha256(data).hexdigest()
            chunks = self._embedded(name, text, self._go_on, aside=True)
            with self._lock:
                self._committing = True
                self._commit(name, stat, digest, chunks, text)
                self._known = self.store.catalog.sources()
        except (OSError, ValueError) as error:
            self._fault(name, stat, f"cannot be indexed ({error})")
        except (AssistantError, Dropped, sqlite3.ProgrammingError) as error:  # others meet it too
            logger.warning("%s is not indexed aside: %s", name, type(error).__name__)
        finally:
            self._committing = False
        self._observe()

    def _go_on(self, *_: object) -> None:
        """Raise Dropped once the index is being closed."""
        if self._aside is not None and self._aside.is_closing():
            raise Dropped

    def _touch(self, known: Source, stat: Stat) -> None:
        now = time.time_ns()
        self.store.catalog.touch(known.name, stat, now)
        self._known[known.name] = Source(known.name, stat, known.sha256, now, known.chunks)

    def _doubt(self, name: str, stat: Stat, data: bytes) -> None:
        """Name what is wrong with an indexed file; whoever comes next must look at it again."""
        self._faults.pop(name, None)
        if why := doubt(data):
            self._faults[name] = (stat, f"{name} {why}")
            self.store.catalog.touch(name, stat, 0)

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
    with storage.open_file(Path(path)) as file:
        found = os.fstat(file.fileno())
        if found.st_size > LARGEST:
            raise OSError(errno.EFBIG, f"it is larger than {LARGEST >> 20} MB")
        data = file.read() if found.st_size else b""  # what /proc shows has no size, nor an end
    return Stat(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns), data
