"""The `Embedder` protocol (text to unit vectors), and an implementation that needs no model."""

import re
import zlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Shape (texts, dimension), each row of length 1."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their cosine similarity. Thread-safe."""

    @property
    def fingerprint(self) -> str:
        """Identifies weights, tokenizer, pooling and precision; others' vectors do not compare."""

    @property
    def dimension(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """Maximum word pieces of one text, including special tokens; more would be cut off."""

    def count_tokens(self, text: str) -> int:
        """The word pieces of `text`, special tokens included, before any cut."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors for texts of memory, in order. Raises EmbedderError."""

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        """Vectors for questions about those texts, in order. Raises EmbedderError."""


def normalized(vectors: NDArray[np.float32]) -> Vectors:
    """The rows scaled to length 1; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Vectors = vectors / np.maximum(lengths, np.float32(1e-12))
    return result


class HashingEmbedder:
    """Bags of hashed words: no model, no files, the same on every machine. For tests.

    `embedded` counts the texts it was given.
    """

    def __init__(self, dimension: int = 64, max_tokens: int = 256) -> None:
        self.dimension = dimension
        self.max_tokens = max_tokens
        self.fingerprint = f"hashing-{dimension}-{max_tokens}"
        self.embedded = 0

    def count_tokens(self, text: str) -> int:
        return len(_words(text)) + 2

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.embedded += len(texts)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row, 0] = 0.01  # a text without words has a direction too
            for word in _words(text)[: self.max_tokens - 2]:
                code = zlib.crc32(word.encode())
                vectors[row, code % self.dimension] += 1.0 if code & 1 << 31 else -1.0
        return normalized(vectors)

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
