"""Embeds a memory with another model while the current one still answers.

The vectors go into the same cache, under their model's name. When memory is opened with that model,
its index is built from them without embedding anything.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from assistant.memory.base import Progress
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.corpus import Corpus, decoded
from assistant.memory.index.database import open_cache, translated
from assistant.memory.index.vector_cache import (
    add_vectors,
    cache_path,
    embedded_texts,
    vector_ids,
    vector_key,
)
from assistant.memory.text.chunk import Chunker
from assistant.memory.text.masking import masked
from assistant.secrets.redactor import Redactor

SLICE = 512
"""Texts embedded between two commits of their vectors."""
SAMPLED = 64
"""Texts that are embedded to estimate the total time."""
WHAT = "Embedding with the new model"


@dataclass(frozen=True, slots=True)
class Plan:
    """The cost of another model: the texts that it has not embedded yet, the total number, and an
    estimate of the time in seconds and the size in bytes."""

    texts: int
    total: int
    seconds: float
    bytes: int


class ModelSwitch:
    """Embeds the texts of a corpus with a model that its index does not use yet."""

    def __init__(
        self, corpus: Corpus, embedder: Embedder, redactor: Callable[[], Redactor] = Redactor
    ) -> None:
        self._corpus = corpus
        self._embedder = embedder
        self._redactor = redactor()
        self._cache = cache_path(corpus.identity)
        self._texts = {
            vector_key(text, embedder.fingerprint): text for text in self._texts_to_embed() if text
        }

    def plan(self) -> Plan:
        """Return the remaining work. Raises CatalogDamaged, StorageError."""
        missing = self._missing()
        sample = missing[:: max(1, len(missing) // SAMPLED)][:SAMPLED]
        start = time.monotonic()
        self._embedder.embed([self._texts[key] for key in sample])
        seconds = (time.monotonic() - start) / max(1, len(sample))
        size = 2 * self._embedder.dimension * len(missing)
        return Plan(len(missing), len(self._texts), seconds * len(missing), size)

    def embed(self, progress: Progress) -> None:
        """Embed the remaining texts; finished vectors are kept if it is interrupted."""
        missing = sorted(self._missing(), key=lambda key: len(self._texts[key]))
        with translated(self._cache), contextlib.closing(open_cache(self._cache)) as db:
            for start in range(0, len(missing), SLICE):
                progress(WHAT, start, len(missing))
                keys = missing[start : start + SLICE]
                vectors = self._embedder.embed([self._texts[key] for key in keys])
                db.execute("BEGIN IMMEDIATE")
                add_vectors(db, keys, vectors)
                db.execute("COMMIT")
        progress(WHAT, len(missing), len(missing))

    def _missing(self) -> list[bytes]:
        with translated(self._cache), contextlib.closing(open_cache(self._cache)) as db:
            cached = vector_ids(db, list(self._texts))
        return [key for key in self._texts if key not in cached]

    def _texts_to_embed(self) -> Iterator[str]:
        """Yield the texts of all chunks and of their headings, as in an index."""
        chunks = Chunker(self._embedder.count_tokens, self._embedder.max_tokens)
        for name in self._corpus.survey().sources:
            try:
                text = decoded(name, (self._corpus.root / name).read_bytes())
                text = text.removeprefix("\ufeff")
            except (OSError, ValueError):
                continue  # `memory status` reports it
            for chunk in masked(chunks(text, name), text, self._redactor):
                yield from embedded_texts(chunk)
