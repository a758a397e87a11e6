"""The `Embedder` protocol: text to unit vectors."""

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
