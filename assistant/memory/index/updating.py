"""Files brought into the catalog, as far as they changed."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256

from assistant.errors import AssistantError
from assistant.memory.base import Progress
from assistant.memory.index.aside import Aside, Dropped
from assistant.memory.index.corpus import Corpus
from assistant.memory.index.faults import Faults
from assistant.memory.index.making import Maker, Updates
from assistant.memory.index.reading import is_alone_unchanged, is_unchanged, stat_of
from assistant.memory.index.reading import read as read_file
from assistant.memory.index.sqlite.catalog import Catalog, Source
from assistant.memory.index.sqlite.rows import SourceUpdate, Stat
from assistant.memory.index.still import Stillness
from assistant.memory.index.store import IndexStore
from assistant.memory.text.alike import DIGESTS
from assistant.memory.text.chunk import cuts

logger = logging.getLogger(__name__)

Order = Callable[[list[str]], Iterable[str]]
"""In which order files are looked at."""
STRETCH = 64 << 10
"""Characters of a large file that are indexed at once where that is done piecemeal; a file is large
that has grown or shrunk by so many bytes."""
INDEXING = "Indexing files"
UNFINISHED = ""
"""The digest of a file of which only the beginning is indexed."""
Changed = tuple[str, str, str]
"""A file that changed: its name, its text, the digest of its bytes in hex; no text if it went."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A file as it was read, and what of it is to be indexed."""

    name: str
    stat: Stat
    data: bytes
    digest: str
    text: str


class Updater:
    """Brings the files of a corpus into the catalog of a store. Its callers hold `lock`.

    `changes` grows by each file that was brought up, until somebody takes it from there; `tell` is
    called, with no lock held, when that happened aside.
    """

    def __init__(
        self,
        corpus: Corpus,
        store: IndexStore,
        maker: Maker,
        lock: threading.RLock,
        tell: Callable[[], None],
        *,
        aside: bool,
        piecemeal: bool,
    ) -> None:
        """`aside`: large files are indexed in the background, where there is an index already;
        `piecemeal`: as if they grew, by a stretch each time that an order names them."""
        self._corpus = corpus
        self._store = store
        self._maker = maker
        self._lock = lock
        self._tell = tell
        self._aside = Aside(self._index_aside) if aside else None
        self._still = Stillness(corpus.root)
        self._unsure = True
        """Whether a file, as it was looked at last, may be otherwise than it was known to be."""
        self._faults = Faults()
        self._known = store.catalog.sources()
        self.changes: list[Changed] = []
        self.committing = False
        self.whole = False
        self._left = set[str]()
        self._piecemeal = piecemeal
        self._begun: _Read | None = None
        """The large file that was indexed last, if not all of it is."""

    def behind(self) -> tuple[str, ...]:
        """The files that the catalog does not have as they are, and is about to."""
        aside = self._aside.names if self._aside else ()
        unfinished = (name for name, each in self._known.items() if each.sha256 == UNFINISHED)
        return (*aside, *unfinished)

    def faults(self) -> tuple[str, ...]:
        """What is wrong with files now, one line each."""
        return self._faults.told()

    def look_again(self, *, at_faults: bool = False) -> None:
        """The catalog is another one than it was; `at_faults`: what was wrong may be right."""
        self._still.begin()
        self._known = self._store.catalog.sources()
        if at_faults:
            self._faults.clear()

    def close(self) -> None:
        """Drop what is on its way, and return when nothing runs any more."""
        if self._aside is not None:
            self._aside.close()
        with self._lock:
            self._still.close()

    def reconcile(self, progress: Progress, deadline: float, order: Order) -> tuple[list[str], int]:
        """Bring up what changed; which files did, and for how many there was no time."""
        if self._still.lasts():
            return [], 0
        self._still.begin()
        self._unsure = False
        survey = self._corpus.survey()
        names = survey.sources
        missing = set(self._known).difference(names)
        unseen = self._faults.see(survey, missing)
        changed: list[str] = []
        self._left = set(names)
        rest, large = iter(order(names)), list[_Read]()
        while True:
            altered = self._altered(rest, deadline, large)
            for group in self._maker.updates(altered, self._store.catalog, progress):
                self._commit(group, progress)
                changed += [file.name for file, _ in group]
                if self._left:
                    progress(INDEXING, len(names) - len(self._left), len(names))
            if not large:
                break
            changed += self._grown(large.pop(), progress)
        for name in missing.difference(unseen):
            self._store.catalog.delete_source(name)
            changed.append(name)
            self.changes.append((name, "", sha256(b"").hexdigest()))
        if changed:
            self._known = self._store.catalog.sources()
        self.whole = not self._left
        certain = self.whole and not (self._unsure or survey.odd or missing)
        self._still.prove(survey.folders if self._aside else (), whole=certain)
        return changed, len(self._left)

    def _altered(
        self, names: Iterator[str], deadline: float, large: list[_Read]
    ) -> Iterator[_Read]:
        """Those of the files that are to be indexed, as they are now, while there is time; up to
        the first that goes to the `large`."""
        root = str(self._corpus.root)
        for name in names:
            if time.monotonic() > deadline:
                return
            path = f"{root}/{name}"  # a Path costs as much as the rest for each file
            known = self._known.get(name)
            file = self._looked_at(name, path, known)
            if file and self._piecemeal and _is_large(file.stat, self._known.get(name)):
                large.append(file)
                return
            self._left.discard(name)
            if file:
                yield file

    def _looked_at(self, name: str, path: str, known: Source | None) -> _Read | None:
        """A file, if it may say something else than is known."""
        if known and is_alone_unchanged(path, known):
            return None
        self._unsure = True
        return None if known and is_unchanged(path, known) else self._read(name, path)

    def _grown(self, file: _Read, progress: Progress) -> list[str]:
        """Index one more stretch of a large file; its name, if that was the last."""
        catalog = self._store.catalog
        indexed = sum(part.size for part in catalog.parts(file.name))
        end = next(cuts(file.text, self._maker.stretch(indexed, STRETCH)), len(file.text))
        whole = end == len(file.text)
        text = file.text if whole else file.text[:end]
        update = self._maker.update(file.name, text, catalog, progress)
        if whole:
            self._begun = None
            self._commit([(file, update)], progress)
            self._left.discard(file.name)
        else:
            self._begun = file
            so_far = Stat(0, file.stat.size * end // len(file.text), 0, 0)
            beginning = SourceUpdate(file.name, so_far, UNFINISHED, update)
            catalog.replace_sources([beginning], self._maker.fingerprint_of)
        self._known = catalog.sources()
        return [file.name] if whole else []

    def _read(self, name: str, path: str) -> _Read | None:
        """A file whose stat is another, if what it says is too."""
        known = self._known.get(name)
        try:
            stat = stat_of(path)
            if self._faults.has(name, stat):
                return None
            if self._aside and self._known and self._aside.takes(name, stat, known):
                return None
            if self._begun and (self._begun.name, self._begun.stat) == (name, stat):
                return self._begun
            stat, data = read_file(path)
        except FileNotFoundError:
            return None  # deleted since it was listed: the next refresh sees it gone
        except OSError as error:
            self._fault(name, None, f"cannot be read ({error.strerror})")
            return None
        digest = DIGESTS.of(data)
        if known and known.sha256 == digest:
            self._touch(known, stat)
            self._doubt(name, stat, data, digest)
            return None
        try:
            return _Read(name, stat, data, digest, self._maker.text(name, data))
        except ValueError as error:
            self._fault(name, stat, f"is not UTF-8 text ({error}). Save it as UTF-8")
            return None

    def _commit(self, group: Updates[_Read], progress: Progress) -> None:
        """Write files' updates at once, and see what is wrong with the files."""
        _write(group, self._store.catalog, self._maker, progress)
        for file, _ in group:
            self.changes.append((file.name, file.text, file.digest))
            self._doubt(file.name, file.stat, file.data, file.digest)

    def _index_aside(self, name: str) -> None:
        """Index a large file; only where it is written at last, others wait."""
        stat = None
        try:
            stat, data = read_file(f"{self._corpus.root}/{name}")
            file = _Read(name, stat, data, DIGESTS.of(data), self._maker.text(name, data))
            catalog = self._store.catalog
            update = self._maker.update(name, file.text, catalog, self._go_on)
            with self._lock:
                self.committing = True
                self._commit([(file, update)], self._go_on)
                self._known = self._store.catalog.sources()
        except (OSError, ValueError) as error:
            self._fault(name, stat, f"cannot be indexed ({error})")
        except (AssistantError, Dropped, sqlite3.ProgrammingError) as error:  # others meet it too
            logger.warning("%s is not indexed aside: %s", name, type(error).__name__)
        finally:
            self.committing = False
        self._tell()

    def _go_on(self, *_: object) -> None:
        """Raise Dropped once the index is being closed."""
        if self._aside is not None and self._aside.is_closing():
            raise Dropped

    def _touch(self, known: Source, stat: Stat) -> None:
        now = time.time_ns()
        self._store.catalog.touch(known.name, stat, now)
        self._known[known.name] = Source(known.name, stat, known.sha256, now, known.chunks)

    def _doubt(self, name: str, stat: Stat, data: bytes, digest: str) -> None:
        """Name what is wrong with an indexed file; whoever comes next must look at it again."""
        if self._faults.doubts(name, stat, data, digest):
            self._store.catalog.touch(name, stat, 0)

    def _fault(self, name: str, stat: Stat | None, what: str) -> None:
        self._faults.add(name, stat, what, indexed=name in self._known)


def _write(group: Updates[_Read], catalog: Catalog, maker: Maker, progress: Progress) -> None:
    """Write files' updates at once; one is made anew if the catalog is not as that knew it."""
    while group:
        updates = [SourceUpdate(f.name, f.stat, f.digest, update) for f, update in group]
        stale = catalog.replace_sources(updates, maker.fingerprint_of)
        group = [
            (file, maker.update(file.name, file.text, catalog, progress))
            for file, _ in group
            if file.name in stale
        ]


def _is_large(stat: Stat, known: Source | None) -> bool:
    """Whether a file is to be indexed piecemeal."""
    if known is None:
        return stat.size >= STRETCH
    return known.sha256 == UNFINISHED or abs(stat.size - known.stat.size) >= STRETCH
