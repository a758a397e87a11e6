"""Which parts of a file stand in its new text as they were. Pure.

A part is known again by its seal: a digest of its text and of all around it that bears on where it
ends and on which secrets are in it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b

from assistant.memory.text.alike import head, tail
from assistant.memory.text.markdown import after_break
from assistant.secrets.detection.detector import AFTER, BEFORE

Seal = Callable[[int, int], bytes]
"""The seal of a part of a text, by where it begins and its size."""


def around(text: str, start: int, size: int) -> tuple[int, int]:
    """The stretch of a text that bears on one of its parts: secrets reach over its ends."""
    line = after_break(text, start + size) or len(text)
    return max(0, start - BEFORE - AFTER), min(len(text), max(start + size + AFTER, line))


def sealing(text: str, key: bytes) -> Seal:
    """Makes the seals of a text's parts; those of another `key` are others."""
    return partial(_seal, text, key)


def _seal(text: str, key: bytes, start: int, size: int) -> bytes:
    begin, end = around(text, start, size)
    stretch = f"{start - begin} {text[begin:end]}"
    return blake2b(stretch.encode("utf-8", "surrogatepass"), digest_size=16, key=key).digest()


@dataclass(frozen=True, slots=True)
class Sealed:
    """A text that was sealed before: what is alike in the next need not be sealed to be known."""

    text: str = ""
    key: bytes = b""
    seals: Sequence[bytes] = ()

    def alike(self, text: str, key: bytes, parts: Sequence[tuple[int, bytes]]) -> tuple[int, int]:
        """So many characters, if not more, a text begins and ends with as this one, if these parts
        are its own."""
        if key != self.key or [seal for _, seal in parts] != self.seals:
            return 0, 0
        begin = head(self.text, text)
        return begin, tail(self.text, text, min(len(text), len(self.text)) - begin)


def unchanged(
    text: str, parts: Sequence[tuple[int, bytes]], seal: Seal, alike: tuple[int, int] = (0, 0)
) -> tuple[int, int]:
    """How many of the parts (size and seal) a text begins with, and ends with; `alike`: so many
    characters at either end are known to be as they were.

    The last part is never among the first: what follows it may belong to it.
    """
    at = first = 0
    while first + 1 < len(parts):
        length, sealed = parts[first]
        if around(text, at, length)[1] >= alike[0] and seal(at, length) != sealed:
            break
        at += length
        first += 1
    size, last = len(text), 0
    while first + last < len(parts):
        length, sealed = parts[-1 - last]
        size -= length
        if size < at:
            break
        if around(text, size, length)[0] <= len(text) - alike[1] and seal(size, length) != sealed:
            break
        last += 1
    return first, last
