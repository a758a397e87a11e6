"""The facts' vectors, embedded once and stored between runs; an embedder that looks them up.

Embedding 100,000 facts takes a minute or two. Its speed is measured in `indexing`, so everything
else starts from these vectors.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistant.memory.embedding.embedder import Embedder, Vectors, normalized
from scripts.benchmark.facts import Fact

SLICE = 5000
NOISE = 0.5
"""Length of the noise that turns a fact's vector into another one."""


class FactEmbedder:
    """Looks up the vectors of facts, and makes those of further facts by adding noise."""

    def __init__(self, embedder: Embedder, items: Sequence[Fact], kept: Path) -> None:
        self._embedder = embedder
        self._rows = {fact.text: row for row, fact in enumerate(items)}
        self._vectors = np.load(kept)
        self.fingerprint = embedder.fingerprint
        self.dimension = embedder.dimension
        self.max_tokens = embedder.max_tokens
        self.count_tokens = embedder.count_tokens

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Look up the vectors of facts; embed all texts if any is not a fact."""
        rows = np.array([self._rows.get(text, -1) for text in texts])
        return self._embedder.embed(texts) if -1 in rows else synthetic(self._vectors, rows)

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        """Embed questions, which are not facts."""
        return self._embedder.embed_questions(texts)


def synthetic(vectors: NDArray[np.float16], rows: NDArray[np.int64]) -> Vectors:
    """Return the vectors of these facts; beyond the embedded ones, vectors of earlier facts with
    noise."""
    result = vectors[rows % len(vectors)].astype(np.float32)
    if rows.max(initial=0) < len(vectors):
        return result
    noise = np.random.default_rng(rows).standard_normal(result.shape, dtype=np.float32)
    return normalized(result + NOISE * noise / np.sqrt(result.shape[1]))


def keep(items: Sequence[Fact], embedder: Embedder, directory: Path) -> Path:
    """Return the file of the facts' vectors (float16), creating it unless an earlier run did."""
    texts = "\n".join(fact.text for fact in items)
    name = sha256(f"{embedder.fingerprint}\n{texts}".encode()).hexdigest()[:16]
    path = directory / f"{name}.npy"
    if not path.exists():
        print(f"embedding {len(items):,} facts; the vectors are kept for the next run")
        directory.mkdir(parents=True, exist_ok=True)
        parts = (items[start : start + SLICE] for start in range(0, len(items), SLICE))
        made = [embedder.embed([fact.text for fact in part]) for part in parts]
        np.save(path, np.concatenate(made).astype(np.float16))
    return path
