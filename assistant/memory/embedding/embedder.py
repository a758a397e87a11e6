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
        """Identifies weights, tokenizer, pooling and precision; only equal ones are comparable."""

    @property
    def dimension(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """The maximum word pieces of one text, including special tokens; the rest is cut off."""

    def count_tokens(self, text: str) -> int:
        """Count the word pieces of `text`, including special tokens, before truncation."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return vectors for texts of memory, in order. Raises EmbedderError."""

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        """Return vectors for questions about those texts, in order. Raises EmbedderError."""


def normalized(vectors: NDArray[np.float32]) -> Vectors:
    """Scale the rows to length 1; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Vectors = vectors / np.maximum(lengths, np.float32(1e-12))
    return result
