"""What texts in a hundred languages mean, by multilingual-e5-small. Thread-safe."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from assistant.memory.embedding.embedder import Vectors
from assistant.memory.embedding.foreign.packed import Packed
from assistant.memory.embedding.onnx import batches, giving_back, open_session


class WideEncoder:
    """The model's layers on onnxruntime; what its word pieces mean comes from the packed file."""

    def __init__(self, packed: Packed, graph: Path) -> None:
        self._packed = packed
        self._session = open_session(graph)
        self._giving_back = giving_back()

    def encoded(self, texts: Sequence[str]) -> Vectors:
        """The model's own vectors."""
        pieces = [self._packed.pieces(text) for text in texts]
        vectors = np.empty((len(texts), self._packed.width), dtype=np.float32)
        for rows in batches([len(each) for each in pieces]):
            vectors[rows] = self._run([pieces[row] for row in rows])
        self._packed.let_go()
        return vectors

    def _run(self, pieces: Sequence[Sequence[int]]) -> Vectors:
        shape = (len(pieces), max(map(len, pieces)))
        words = np.zeros((*shape, self._packed.width), dtype=np.float32)
        there = np.zeros(shape, dtype=np.int64)
        for row, each in enumerate(pieces):
            words[row, : len(each)] = self._packed.words(each)
            there[row, : len(each)] = 1
        feeds = {"word_embeddings": words, "attention_mask": there}
        result: Vectors = self._session.run(None, feeds, self._giving_back)[0]
        return result
