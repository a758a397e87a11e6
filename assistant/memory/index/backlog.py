"""Texts that still need a vector: embedded by a thread of their own while the next are parsed."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from assistant.memory.embedding.embedder import Embedder, Vectors
from assistant.memory.index.sqlite.vector_cache import VectorCache, vector_key

SLICE, CHARACTERS = 512, 1 << 16
"""Texts embedded between two commits of their vectors, and the most that they say together: what a
kill can cost, and how long whoever ends this waits."""
WORKERS = 2
"""Slices embedded at once: one fills the processors while another is tokenized or comes to its end.
"""


class Backlog:
    """Gives each of the texts that are added a vector in the cache, unless it has one."""

    def __init__(self, cache: VectorCache, embedder: Embedder) -> None:
        self._cache = cache
        self._embedder = embedder
        self._new: dict[bytes, str] = {}
        self._characters = 0
        self._begun: list[tuple[list[bytes], Future[Vectors]]] = []
        self._worker = ThreadPoolExecutor(WORKERS, "backlog")

    def close(self) -> None:
        """Drop what was not worked off."""
        self._worker.shutdown(cancel_futures=True)

    def add(self, text: str) -> None:
        """Have a text embedded, soon."""
        self._new[vector_key(text, self._embedder.fingerprint)] = text
        self._characters += len(text)
        if len(self._new) == SLICE or self._characters >= CHARACTERS:
            self._begin()

    def work_off(self, progress: Callable[[int, int], None]) -> None:
        """Return when every text has its vector; `progress` takes how many have, and of how many.

        Raises what the embedder and the cache raise.
        """
        self._begin()
        total = sum(len(keys) for keys, _ in self._begun)
        done = 0
        for keys, vectors in self._begun:
            progress(done, total)
            self._cache.put(keys, vectors.result(), embedded=len(keys))
            done += len(keys)
        if total:
            progress(done, total)

    def add_headings(self, texts: Iterable[str]) -> None:
        """Give these a vector too, at once; no document says them, so they are not counted."""
        named = {vector_key(each, self._embedder.fingerprint): each for each in texts if each}
        if keys := list(self._cache.missing(list(named))):
            vectors = self._embedder.embed([named[key] for key in keys])
            self._cache.put(keys, vectors, embedded=0)

    def _begin(self) -> None:
        """Hand what is new to the embedder, alike in length side by side: less padding."""
        missing = self._cache.missing(list(self._new))
        keys = sorted(missing, key=lambda key: len(self._new[key]))
        texts = [self._new[key] for key in keys]
        self._new.clear()
        self._characters = 0
        if keys:
            self._begun.append((keys, self._worker.submit(self._embedder.embed, texts)))
