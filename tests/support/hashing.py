"""An `Embedder` that needs no model."""

import re
import zlib
from collections.abc import Sequence

import numpy as np

from assistant.memory.embedding.embedder import Vectors, normalized


class HashingEmbedder:
    """Bags of hashed words: no model, no files, the same on every machine.

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
