"""Word pieces by a unigram language model (Kudo, 2018), in a twentieth of what a dictionary takes.

A piece is known by its hash: a polynomial of its bytes, modulo 2^64. The hash of any stretch of a
text comes of two sums over its beginnings, so that all stretches are looked up at once. One that is
no piece has the hash of a piece once in 10^13 times.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.integer]
Hashes = NDArray[np.uint64]
FACTOR = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: odd, so that it has an inverse."""
INVERSE = pow(FACTOR, -1, 1 << 64)
UNKNOWN = 10.0
"""So much less likely than the least likely piece is a character that no piece has."""
_FIRST = 21
"""The first bits of a hash: most stretches are told by them to be no piece."""
_SPARED = np.uint64(64 - _FIRST)


class Unigram:
    """A model of `pieces`, which lie one behind the other, each between two of `ends`.

    `scores` are their log-probabilities; `numbers` are those that a text may have, of which the
    later is meant of two alike. `unknown` is the number of a character that no piece has.
    """

    def __init__(
        self,
        pieces: bytes,
        ends: Integers,
        scores: NDArray[np.float32],
        numbers: Integers,
        unknown: int,
    ) -> None:
        self._unknown = unknown
        self._unlikely = float(scores.min()) - UNKNOWN
        hashes = _hashes(np.frombuffer(pieces, np.uint8), ends[numbers], ends[numbers + 1])
        order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[order]
        self._begun = np.zeros(1 << _FIRST, np.bool_)
        self._begun[hashes >> _SPARED] = True
        self._numbers = numbers[order].astype(np.int32)
        self._scores = scores[self._numbers]
        self._longest = _most_characters(pieces, ends)

    def likeliest(self, text: str) -> list[int]:
        """The numbers of the pieces that a text most likely consists of: Viterbi's path."""
        count = len(text)
        best, begins, numbers = [0.0] + [-np.inf] * count, [0] * (count + 1), [0] * (count + 1)
        found = iter([*self._found(text), (count, count, 0, 0.0)])
        begin, end, number, score = next(found)
        for at in range(count):
            so_far = best[at]
            if so_far + self._unlikely > best[at + 1]:
                best[at + 1], begins[at + 1] = so_far + self._unlikely, at
                numbers[at + 1] = self._unknown
            while begin == at:
                if so_far + score > best[end]:
                    best[end], begins[end], numbers[end] = so_far + score, at, number
                begin, end, number, score = next(found)
        path, at = [], count
        while at:
            path.append(numbers[at])
            at = begins[at]
        return path[::-1]

    def _found(self, text: str) -> list[tuple[int, int, int, float]]:
        """Each stretch of a text that is a piece: where it begins and ends, which, its score."""
        data = np.frombuffer(text.encode(), np.uint8)
        at = np.append(np.flatnonzero(data & 0xC0 != 0x80), len(data))
        sums = np.zeros(len(data) + 1, np.uint64)
        np.cumsum((data + np.uint64(1)) * _powers(FACTOR, len(data)), out=sums[1:])
        ends = np.arange(len(text))[:, None] + np.arange(1, self._longest + 1)
        hashes = sums[at[np.minimum(ends, len(text))]] - sums[at[:-1], None]
        hashes *= _powers(INVERSE, len(data))[at[:-1], None]
        where = np.nonzero(self._begun[hashes >> _SPARED] & (ends <= len(text)))
        rows = np.searchsorted(self._hashes, hashes[where], side="right") - 1
        same = self._hashes[rows] == hashes[where]
        begins, ends, rows = where[0][same], ends[where][same], rows[same]
        numbers, scores = self._numbers[rows], self._scores[rows]
        return list(zip(*(each.tolist() for each in (begins, ends, numbers, scores)), strict=True))


def _powers(factor: int, count: int) -> Hashes:
    """1, the factor, its square, and so on, modulo 2^64."""
    each = np.full(count, factor, np.uint64)
    each[:1] = 1
    return np.multiply.accumulate(each)


def _hashes(data: NDArray[np.uint8], begins: Integers, ends: Integers) -> Hashes:
    hashes = np.zeros(len(begins), np.uint64)
    lengths = ends - begins
    for place, power in enumerate(_powers(FACTOR, int(lengths.max()))):
        rows = np.flatnonzero(lengths > place)
        hashes[rows] += (data[begins[rows] + place] + np.uint64(1)) * power
    return hashes


def _most_characters(pieces: bytes, ends: Integers) -> int:
    """The characters of the longest piece."""
    starts = np.frombuffer(pieces, np.uint8) & 0xC0 != 0x80
    before = np.concatenate([[0], np.cumsum(starts)])
    return int(np.diff(before[ends]).max())
