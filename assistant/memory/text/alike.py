"""What a long text has in common with the one before it: an edit costs what it changed.

Compared is a block at a time, so what is alike may be somewhat more than is said.
"""

import hashlib
import threading

BLOCK = 1 << 16
"""Characters that are compared at once."""
STRIDE = 1 << 20
"""Bytes between two states of a digest that are kept."""
LONGEST = 64 << 20
"""Characters, or bytes, of the longest text that is kept to be compared with the next."""


def head(one: str, other: str) -> int:
    """So many characters, if not more, two texts begin with alike."""
    most = min(len(one), len(other))
    at = 0
    while at < most and one[at : at + BLOCK] == other[at : at + BLOCK]:
        at += BLOCK
    return min(at, most)


def tail(one: str, other: str, most: int) -> int:
    """So many characters, `most` at the most, if not more, two texts end with alike."""
    size = 0
    while size + BLOCK <= most and _last(one, size) == _last(other, size):
        size += BLOCK
    return size


def _last(text: str, size: int) -> str:
    return text[len(text) - size - BLOCK : len(text) - size]


class Digests:
    """SHA-256 of bytes, in hex. Of what begins like the last only the rest is gone through.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._data = b""
        self._states = [hashlib.sha256()]
        self._found = self._states[0].hexdigest()

    def of(self, data: bytes) -> str:
        """The digest."""
        if len(data) > LONGEST:
            return hashlib.sha256(data).hexdigest()
        with self._turn:
            if data != self._data:
                self._states = self._states[: 1 + self._alike(data)]
                self._go_through(data)
                self._data = data
            return self._found

    def _alike(self, data: bytes) -> int:
        """How many strides the last bytes and these begin with alike."""
        known = len(self._states) - 1
        same = 0
        while same < known and data.startswith(self._part(self._data, same), same * STRIDE):
            same += 1
        return same

    def _go_through(self, data: bytes) -> None:
        """Go through what comes after the states that are kept."""
        while len(self._states) * STRIDE <= len(data):
            state = self._states[-1].copy()
            state.update(self._part(data, len(self._states) - 1))
            self._states.append(state)
        whole = self._states[-1].copy()
        whole.update(self._part(data, len(self._states) - 1))
        self._found = whole.hexdigest()

    def _part(self, data: bytes, number: int) -> bytes:
        return data[number * STRIDE : (number + 1) * STRIDE]


DIGESTS = Digests()
"""Of the files that are read and written."""
