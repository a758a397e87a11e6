"""Texts that still need a vector: embedded by threads of their own while the next are parsed."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from assistant.memory.embedding.embedder import Embedder, Vectors
from assistant.memory.index.sqlite.vector_cache import VectorCache, vector_key

SLICE, CHARACTERS = 512, 1 << 16
"""Texts embedded between two commits of their vectors, and the most that they say together: what a
kill can cost, and how long whoever ends this waits."""
WORKERS = 2
"""Slices embedded at once: one fills the processors while another is tokenized or comes to its end.
"""


@dataclass(frozen=True, slots=True)
class Slice:
    """Texts that are embedded together, by the keys of their vectors; some are `documents`."""

    keys: Sequence[bytes]
    documents: int
    vectors: Future[Vectors]


class Backlog:
    """Gives each of the texts that are added a vector in the cache, unless it has one."""

    def __init__(self, cache: VectorCache, embedder: Embedder) -> None:
        self._cache = cache
        self._embedder = embedder
        self._new: dict[bytes, str] = {}
        self._documents: set[bytes] = set()
        self._characters = 0
        self._begun: list[Slice] = []
        self._under_way: set[bytes] = set()
        self._worker = ThreadPoolExecutor(WORKERS, "backlog")

    def close(self) -> None:
        """Drop what was not worked off."""
        self._worker.shutdown(cancel_futures=True)

    def add(self, text: str) -> None:
        """Have a text embedded, soon."""
        key = vector_key(text, self._embedder.fingerprint_of)
        self._documents.add(key)
        self._new[key] = text
        self._characters += len(text)
        if len(self._new) == SLICE or self._characters >= CHARACTERS:
            self._begin()

    def add_heading(self, text: str) -> None:
        """Have this embedded too; no document says it, so it is not counted."""
        if text:
            self._new[vector_key(text, self._embedder.fingerprint_of)] = text

    def holds(self, count: int) -> bool:
        """Whether so many texts were added since the last cut, or slices of them are begun."""
        return len(self._new) >= count or bool(self._begun)

    def cut(self) -> list[Slice]:
        """Begin what is left of the texts added since the last cut; returns all their slices."""
        self._begin()
        begun, self._begun = self._begun, []
        return begun

    def work_off(self, slices: Sequence[Slice], progress: Callable[[int, int], None]) -> None:
        """Return when all of these, the next in order, have their vectors; `progress` takes how
        many have, and of how many.

        Raises what the embedder and the cache raise.
        """
        total = sum(len(each.keys) for each in slices)
        done = 0
        for each in slices:
            progress(done, total)
            self._cache.put(each.keys, each.vectors.result(), embedded=each.documents)
            self._under_way.difference_update(each.keys)
            done += len(each.keys)
        if total:
            progress(done, total)

    def _begin(self) -> None:
        """Hand what is new to the embedder, alike in length side by side: less padding."""
        missing = self._cache.missing(list(self._new)) - self._under_way
        keys = sorted(missing, key=lambda key: len(self._new[key]))
        texts = [self._new[key] for key in keys]
        documents = len(missing & self._documents)
        self._new.clear()
        self._documents.clear()
        self._characters = 0
        if keys:
            self._under_way |= missing
            vectors = self._worker.submit(self._embedder.embed, texts)
            self._begun.append(Slice(keys, documents, vectors))
