"""Which parts of a file stand in its new text as they were. Pure.

A part is known again by its seal: a digest of its text and of all around it that bears on where it
ends and on which secrets are in it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b

from assistant.memory.text.markdown.lines import BREAKS
from assistant.secrets.detection.detector import AFTER, BEFORE

Seal = Callable[[int, int], bytes]
"""The seal of a part of a text, by where it begins and its size."""


def around(text: str, start: int, size: int) -> tuple[int, int]:
    """The stretch of a text that bears on one of its parts: secrets reach over its ends."""
    found = BREAKS.search(text, start + size)
    line = found.end() if found else len(text)
    return max(0, start - BEFORE - AFTER), min(len(text), max(start + size + AFTER, line))


def sealing(text: str, key: bytes) -> Seal:
    """Makes the seals of a text's parts; those of another `key` are others."""
    return partial(_seal, text, key)


def _seal(text: str, key: bytes, start: int, size: int) -> bytes:
    begin, end = around(text, start, size)
    stretch = f"{start - begin} {text[begin:end]}"
    return blake2b(stretch.encode("utf-8", "surrogatepass"), digest_size=16, key=key).digest()


def unchanged(size: int, parts: Sequence[tuple[int, bytes]], seal: Seal) -> tuple[int, int]:
    """How many of the parts (size and seal) a text of this size begins with, and ends with.

    The last part is never among the first: what follows it may belong to it.
    """
    at = head = 0
    while head + 1 < len(parts) and seal(at, parts[head][0]) == parts[head][1]:
        at += parts[head][0]
        head += 1
    tail = 0
    while head + tail < len(parts):
        length, sealed = parts[-1 - tail]
        size -= length
        if size < at or seal(size, length) != sealed:
            break
        tail += 1
    return head, tail
