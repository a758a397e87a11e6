"""The `Embedder` protocol: text to unit vectors."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Shape (texts, dimension), each row of length 1."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their cosine similarity."""

    @property
    def fingerprint(self) -> str:
        """Names weights, tokenizer, pooling and precision; vectors of another do not compare."""

    @property
    def dimension(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """The most word pieces of one text, special tokens included; more would be cut off."""

    def count_tokens(self, text: str) -> int:
        """The word pieces of `text`, special tokens included, before any cut."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors for document texts or queries, in order. Raises EmbedderError."""
