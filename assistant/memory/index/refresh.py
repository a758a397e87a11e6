"""Bring the index up to date with the files: stat → digest → parse → embed what is new → write.

File events are only hints. Before each recall, `refresh` compares every source's stat with the
indexed one, and reads a file again if it changed within 2 s of its last reading, because its stat
may not show it. The cost of an edit depends on its size only, because a chunk's id does not depend
on its position."""

import contextlib
import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import accumulate, groupby, takewhile

import numpy as np

from assistant.disk.storage import Stat, stat_or_none
from assistant.errors import AssistantError, MemoryFailure, StorageError
from assistant.memory.base import Notify, Progress, no_notices, no_progress
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.catalog import Catalog, SourceUpdate
from assistant.memory.index.corpus import (
    Corpus,
    Faults,
    decoded,
    read_file,
    text_warning,
)
from assistant.memory.index.database import CatalogDamaged
from assistant.memory.index.layout import NOWHERE
from assistant.memory.index.store import DAMAGED, DELETED, NO_WRITES, IndexStore
from assistant.memory.index.vector_cache import embedded_texts, vector_key
from assistant.memory.text.chunk import Chunk, Chunker
from assistant.memory.text.masking import masked
from assistant.secrets.redactor import Redactor
from assistant.settings.sections import IndexSettings

logger = logging.getLogger(__name__)

PATIENCE, EMPTY_PATIENCE = 20.0, 60.0
"""Seconds that an answer waits for another thread to update the index, and the same while the
index is still empty. It never waits for a large file."""
LARGE = 256 << 10
"""A file whose size changed by this many bytes is indexed in the background."""
GROUP = 256
"""The number of texts that are embedded and written together, or a few more."""
BATCH_CHARACTERS = 1 << 15
"""Characters embedded between two commits of their vectors: the maximum that a kill loses, and
that closing waits for."""
INDEXING = "Indexing files"

OnChange = Callable[[str, str, str], None]
"""Called as `on_change(source, text, sha256)` once the new content of a file is indexed: its text,
and the hex digest of its bytes. The text of a deleted file is empty."""
Order = Callable[[list[str]], Iterable[str]]
"""Returns the files in the order in which to index them."""
Read = Callable[[str, bytes], str]
"""Returns the indexed text of a file, given its name and bytes. Raises ValueError with the fault of
a file that has none: "is not UTF-8 text"."""
Refine = Callable[[Iterable[Chunk], str, str], Iterable[Chunk]]
"""Returns the chunks of a file to index, given its name and text."""


class Cancelled(Exception):
    """The work in progress is no longer wanted, or not now."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """The result of a refresh. `faults` are one line each, for the owner, and repeated until they
    are corrected. `left` counts the files there was no time for."""

    changed: tuple[str, ...]
    embedded: int
    faults: tuple[str, ...] = ()
    left: int = 0


@dataclass(slots=True)
class _Group:
    """Files that are embedded and written together."""

    files: list[SourceUpdate] = field(default_factory=list)
    texts: dict[bytes, str] = field(default_factory=dict)
    """The new texts, by the keys of their vectors."""
    documents: set[bytes] = field(default_factory=set)
    """The keys of chunks, as opposed to headings and occasions."""


class Synchronizer:
    """Keeps the index of a corpus up to date with its files, as its only writer. Thread-safe.

    Read from `store`. If a read raises CatalogDamaged, call `recover` and `refresh`, then read
    again.
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
        notify: Notify = no_notices,
        *,
        in_background: bool = False,
        index_days: bool = False,
    ) -> None:
        """Open or create the index without reading any file yet. Raises StorageError.

        `notify` receives lines for the owner. Secrets that `redactor` recognises are not indexed.
        With `in_background`, large files are indexed in the background once an index exists. With
        `index_days`, the days that chunks mention are stored.
        """
        self.store = IndexStore(corpus, embedder.fingerprint, settings, notify)
        self._corpus = corpus
        self._embedder = embedder
        self._chunker = Chunker(embedder.count_tokens, embedder.max_tokens)
        self._on_change = on_change
        self._redactor = redactor
        self._decode = read
        self._refine = refine
        self._in_background = in_background
        self._index_days = index_days
        self._large: dict[str, None] = {}
        """The files that are being indexed in the background."""
        self._background = ThreadPoolExecutor(1, "background indexing")
        self._lock, self._observing = threading.RLock(), threading.RLock()
        self._closing = False
        self._committing = False
        self._whole = False
        """Whether all files were examined."""
        self._faults = Faults()
        self._trouble = ""
        self._indexed = self.store.catalog.sources()
        self._empty = not self._indexed
        """Whether nothing has been indexed yet."""
        self._changes: deque[tuple[str, str, str]] = deque()

    def refresh(
        self,
        progress: Progress = no_progress,
        *,
        order: Order = list,
        stop: Callable[[], bool] = lambda: False,
    ) -> Refreshed:
        """Bring the index up to date, until `stop`; finished vectors are kept.

        If a file cannot be read or is not text, its indexed content stays, and a fault names it.
        Raises StorageError if the index cannot be created.
        """
        with self._lock:
            refreshed = self._refreshed(progress, order, stop)
        self._observe()
        return refreshed

    def refresh_unless_busy(self, progress: Progress = no_progress) -> Refreshed | None:
        """Call `refresh`; None if another thread is refreshing and does not finish in time."""
        patience = EMPTY_PATIENCE if self._empty else PATIENCE
        if not self._lock.acquire(timeout=0 if self._committing else patience):
            return None
        try:
            refreshed = self._refreshed(progress, list, lambda: False)
        finally:
            self._lock.release()
        self._observe()
        return refreshed

    def pending_files(self) -> tuple[str, ...]:
        """Return the files whose current content is still being indexed."""
        return tuple(self._large)

    def faults(self) -> tuple[str, ...]:
        """Return the current faults, one per line: files that cannot be indexed, a disk that cannot
        be written, a server that fails."""
        warnings = {file.name: file.warning for file in self._indexed.values() if file.warning}
        troubles = filter(None, [self._trouble, self.store.dense.trouble])
        return (*self._faults.lines(warnings), *troubles)

    def recover(self, damaged: Catalog | None = None) -> None:
        """Discard the index after damage; the next `refresh` rebuilds it.

        Does nothing if the `damaged` catalog has been replaced already.
        """
        with self._lock:
            if damaged is None or damaged is self.store.catalog:
                self._reopen(DAMAGED, discard=True)

    def verify(self) -> bool:
        """Return whether the whole catalog is intact; rebuild it if not."""
        with self._lock:
            try:
                self.store.catalog.database.check()
            except CatalogDamaged:
                self.recover()
                return False
            return True

    def rebuild(self, progress: Progress = no_progress) -> Refreshed:
        """Rebuild the index from the files and the cached vectors."""
        with self._lock:
            try:
                self.store.catalog.clear()
            except CatalogDamaged:
                self.recover()
            self._indexed, self._empty = self.store.catalog.sources(), True
            self._faults.clear()
            with contextlib.suppress(MemoryFailure):  # a failing server is filled later
                self.store.dense.refill()
            refreshed = self.refresh(progress)
            with contextlib.suppress(MemoryFailure):
                self.store.dense.drain(progress)
            return refreshed

    def scrub(self, order: Order = list) -> None:
        """Erase from the index what the files in `order` no longer contain."""
        with self._lock:
            self.refresh(order=order)
            self.store.catalog.scrub()
            self.store.dense.refill()  # Chroma's files keep the vectors of what was deleted
            self.store.dense.deliver()

    def close(self) -> None:
        """Close the index and drop work in progress; may be called twice."""
        self._closing = True
        self._background.shutdown(cancel_futures=True)
        with self._lock:
            self.store.close(prune=self._whole)

    # Refreshing

    def _refreshed(self, progress: Progress, order: Order, stop: Callable[[], bool]) -> Refreshed:
        if self.store.deleted:
            self._reopen(DELETED)
        if self.store.resume_writing():
            self._indexed = self.store.catalog.sources()
        before, changed = self._embedded(), list[str]()
        try:
            try:
                left = self._reconcile(progress, order, stop, changed)
            except CatalogDamaged:
                if not self.store.is_writable():  # a full disk looks like damage
                    raise StorageError(NO_WRITES, "Make room on the disk") from None
                self.recover()
                before = self._embedded()
                left = self._reconcile(progress, order, stop, changed)
            self._trouble = NO_WRITES if self.store.readonly else ""
        except StorageError:
            if self.store.is_writable():
                raise
            left, self._trouble = 0, NO_WRITES
        return Refreshed(tuple(changed), self._embedded() - before, self.faults(), left)

    def _reconcile(
        self,
        progress: Progress,
        order: Order,
        stop: Callable[[], bool],
        changed: list[str],
    ) -> int:
        """Index what changed and add it to `changed`; return the number of files there was no time
        for."""
        survey = self._corpus.survey()
        names = survey.sources
        missing = set(self._indexed).difference(names)
        unseen = self._faults.update(survey, missing)
        left = set(names)

        def changed_files() -> Iterator[SourceUpdate]:
            for name in takewhile(lambda _: not stop(), order(names)):
                if file := self._changed_file(name):
                    yield file
                else:
                    left.discard(name)

        with contextlib.suppress(Cancelled):
            for group in self._groups(changed_files(), stop):
                self._embed(group, progress, stop)
                self._commit(group)
                changed += [file.name for file in group.files]
                left.difference_update(changed)
                progress(INDEXING, len(names) - len(left), len(names))
        for name in missing.difference(unseen):
            self.store.catalog.delete_source(name)
            changed.append(name)
            self._changes.append((name, "", sha256(b"").hexdigest()))
        if changed:
            self._indexed = self.store.catalog.sources()
        self._whole = not left
        if not self.store.readonly:
            self.store.dense.deliver()
        return len(left)

    def _changed_file(self, name: str) -> SourceUpdate | None:
        """Return the file as it is now, if its content changed and it is to be indexed now."""
        path = f"{self._corpus.root}/{name}"  # a Path costs as much as the rest for each file
        indexed, stat = self._indexed.get(name), stat_or_none(path)
        is_unchanged = indexed is not None and stat == indexed.stat
        if is_unchanged or name in self._large or self._faults.has(name, stat):
            return None
        grown = abs((stat.size if stat else 0) - (indexed.stat.size if indexed else 0))
        if self._in_background and self._indexed and grown >= LARGE:
            self._large[name] = None
            self._background.submit(self._index_large, name)
            return None
        file = self._read(name, stat)
        if file is None or indexed is None or indexed.sha256 != file.digest:
            return file
        self.store.catalog.touch(name, file.stat)
        self._indexed[name] = replace(indexed, stat=file.stat)
        self._faults.remove(name)
        return None

    def _read(self, name: str, stat: Stat | None) -> SourceUpdate | None:
        """Read the file with this `stat`; None if it is gone or has a fault, which is recorded."""
        try:
            proven, data = read_file(f"{self._corpus.root}/{name}")
            digest = sha256(data).hexdigest()
            text = self._decode(name, data)
            warning = text_warning(data) if name.lower().endswith((".md", ".markdown")) else ""
            return SourceUpdate(name, proven, digest, (), text, warning, self._index_days)
        except FileNotFoundError:
            pass  # deleted since it was listed: the next refresh notices
        except OSError as error:
            self._fault(name, None, f"cannot be read ({error.strerror})")
        except ValueError as error:
            self._fault(name, stat, str(error))
        return None

    def _groups(self, files: Iterable[SourceUpdate], stop: Callable[[], bool]) -> Iterator[_Group]:
        """Group the files with their chunks, so that each group has about `GROUP` new texts.

        Raises Cancelled on `stop`.
        """
        group = _Group()
        for file in files:
            if group.files and len(file.text) >= BATCH_CHARACTERS:  # the others need not wait
                yield group
                group = _Group()
            self._parse(file, group, stop)
            if len(group.texts) >= GROUP:
                yield group
                group = _Group()
        if group.files:
            yield group

    def _parse(self, file: SourceUpdate, group: _Group, stop: Callable[[], bool]) -> None:
        """Add a file to a group: its chunks without secrets, and the new texts among them."""
        text, fingerprint = file.text.removeprefix("\ufeff"), self._embedder.fingerprint
        parsed: list[Chunk] = []
        for batch in self._chunker.batches(text, file.name):
            if stop() or self._closing:
                raise Cancelled
            parsed += batch
        refined = self._refine(parsed, file.name, file.text) if self._refine else parsed
        chunks = list(masked(refined, text, self._redactor()))
        file = replace(file, chunks=chunks)
        same = file.unchanged(self.store.catalog.columns(file.name))
        for index in np.flatnonzero(same == NOWHERE).tolist():
            texts = {vector_key(text, fingerprint): text for text in embedded_texts(chunks[index])}
            group.texts |= texts
            group.documents.add(next(iter(texts)))
        group.files.append(file)

    def _embed(self, group: _Group, progress: Progress, stop: Callable[[], bool]) -> None:
        """Cache the vectors of all texts of a group. Raises Cancelled."""
        cache, texts = self.store.catalog.vectors, group.texts
        missing = sorted(cache.missing(list(texts)), key=lambda key: len(texts[key]))
        """Sorted by length, for less padding."""
        what, done = f"Indexing {group.files[0].name}", 0
        sizes = accumulate(len(texts[key]) for key in missing)
        for _, part in groupby(
            zip(missing, sizes, strict=True), lambda e: e[1] // BATCH_CHARACTERS
        ):
            progress(what, done, len(missing))
            if done and (stop() or self._closing):
                raise Cancelled
            keys = [key for key, _ in part]
            vectors = self._embedder.embed([texts[key] for key in keys])
            cache.put(keys, vectors, len(group.documents.intersection(keys)))
            done += len(keys)
        if done:
            progress(what, done, len(missing))

    def _commit(self, group: _Group) -> None:
        """Write the files of a group, which no longer have faults."""
        self._empty = False
        self.store.catalog.replace_sources(group.files, self._embedder.fingerprint)
        for file in group.files:
            self._changes.append((file.name, file.text, file.digest))
            self._faults.remove(file.name)

    def _fault(self, name: str, stat: Stat | None, what: str) -> None:
        self._faults.add(name, stat, what, indexed=name in self._indexed)

    def _reopen(self, notice: str, *, discard: bool = False) -> None:
        self._whole = False
        self.store.reopen(notice, discard=discard)
        self._indexed = self.store.catalog.sources()
        self._empty = not self._indexed

    def _embedded(self) -> int:
        return self.store.catalog.vectors.embedded

    def _observe(self) -> None:
        """Report changes with the index unlocked, because the callback may wait for a write. Wait
        for the reports of another thread."""
        if not self._observing.acquire(timeout=PATIENCE):
            return
        try:
            while self._changes:
                change = self._changes.popleft()
                if self._on_change is not None:
                    self._on_change(*change)
        finally:
            self._observing.release()

    def _index_large(self, name: str) -> None:
        """Index a large file in the background; others wait only for the final write."""
        file = self._read(name, stat_or_none(f"{self._corpus.root}/{name}"))
        try:
            for group in self._groups([file] if file else [], lambda: self._closing):
                self._embed(group, no_progress, lambda: self._closing)
                with self._lock:
                    self._committing = True
                    self._commit(group)
                    self._indexed = self.store.catalog.sources()
        except Cancelled:
            pass
        except (AssistantError, KeyError, sqlite3.ProgrammingError) as error:
            # the next caller gets the same error
            logger.warning("%s cannot be indexed in the background: %s", name, type(error).__name__)
        finally:
            self._committing = False
            with self._lock:
                del self._large[name]
        self._observe()
