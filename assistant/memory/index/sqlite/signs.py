"""The signs of vectors: a bit a component, by which a large memory is scanned in one pass.

Of two unit vectors the share of components that differ in sign grows with the angle between them
(Charikar, 2002), so those that share the most signs with a question are the nearest, nearly. Of
these the question itself, not its signs, is compared with the signs of each (Dong, Charikar and
Li, 2008): a third as many need then be compared by the vectors themselves to miss as few.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from assistant.memory.embedding.embedder import Vectors

Signs = NDArray[np.uint64]
"""Shape (words of 64 signs, vectors)."""
_WORD = 8
_LEFT_OUT = np.iinfo(np.uint16).max
_BLOCK = 1 << 16
"""Vectors compared at once: so many stay in the processor's cache."""
_FEW = 512
"""So many are widened to a number a sign at once."""
_WIDE = 8
"""So many times a shortlist are compared with the question itself."""
_SAMPLED = 16
"""One distance of so many tells where the shortlist ends."""


def pack_signs(vectors: Vectors) -> bytes:
    """The signs of vectors, packed one vector after the other."""
    bits = np.packbits(vectors > 0, axis=1)
    return np.pad(bits, ((0, 0), (0, -bits.shape[1] % _WORD))).tobytes()


def unpack_signs(packed: Iterable[bytes], count: int) -> Signs:
    """The packed signs of so many vectors, as columns."""
    words = np.frombuffer(b"".join(packed), dtype=np.uint64)
    return np.ascontiguousarray(words.reshape(count, -1 if count else 0).T)


def shortlist(
    signs: Signs, vector: NDArray[np.float32], count: int, among: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """At most `count` places of the vectors whose signs are nearest to a vector, in order."""
    places = _near(signs, vector, _WIDE * count, among)
    if len(places) <= count:
        return places
    return np.sort(places[np.argpartition(-_likeness(signs, vector, places), count)[:count]])


def _near(
    signs: Signs, vector: NDArray[np.float32], count: int, among: NDArray[np.bool_] | None
) -> NDArray[np.int64]:
    """The places of about `count` vectors, by how many signs they share with one, in order."""
    asked = unpack_signs([pack_signs(vector.reshape(1, -1))], 1)[:, 0]
    distances = _distances(signs, asked, among)
    return np.flatnonzero(distances <= _limit(distances, count))


def _likeness(
    signs: Signs, vector: NDArray[np.float32], places: NDArray[np.int64]
) -> NDArray[np.float32]:
    """What a vector has where the signs at these places are positive, in sum."""
    found = np.empty(len(places), dtype=np.float32)
    for start in range(0, len(places), _FEW):
        few = slice(start, start + _FEW)
        packed = np.ascontiguousarray(signs[:, places[few]].T).view(np.uint8)
        found[few] = np.unpackbits(packed, axis=1, count=len(vector)).astype(np.float32) @ vector
    return found


def _distances(
    signs: Signs, asked: NDArray[np.uint64], among: NDArray[np.bool_] | None = None
) -> NDArray[np.uint16]:
    """How many signs of each differ; of those that are not `among`, too many."""
    count = signs.shape[1]
    distances = np.zeros(count, dtype=np.uint16)
    differing = np.empty(min(count, _BLOCK), dtype=np.uint64)
    differ = np.empty(len(differing), dtype=np.uint8)
    for start in range(0, count, _BLOCK):
        found = distances[start : start + _BLOCK]
        size = len(found)
        for word, signed in zip(signs[:, start : start + size], asked, strict=True):
            np.bitwise_xor(word, signed, out=differing[:size])
            np.bitwise_count(differing[:size], out=differ[:size])
            found += differ[:size]
    if among is not None:
        distances[~among] = _LEFT_OUT
    return distances


def _limit(distances: NDArray[np.uint16], count: int) -> int:
    """The distance within which about `count` lie, told from a sample if there are many; less than
    that of those left out."""
    step = max(1, min(_SAMPLED, len(distances) // (_SAMPLED * count)))
    sample = distances[::step]
    last = min(count // step, len(sample) - 1)
    return min(int(np.partition(sample, last)[last]), _LEFT_OUT - 1)
