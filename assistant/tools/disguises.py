"""Secrets in disguise: reversed, spaced, in other cases, in hex, base64 and the like.

The redactor knows a secret by its own spelling. What a command prints may spell it otherwise, by
accident or to get it past the redactor. For every secret that is known its usual disguises are
looked for too. Whoever wants to hide one can still find another: this stops what is at hand.
"""

import base64
import codecs
import re
import string
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from assistant.secrets.redactor import Redactor

SHORTEST = 6
"""Letters and digits of a secret that is looked for; shorter ones are found by chance."""
PIECE = 12
"""Bytes in a row that give a longer secret away: dumps break it off at the ends of lines."""
BASE64 = frozenset(string.ascii_letters + string.digits + "+/-_")
READABLE = re.compile(r"\s|://")
"""In a secret that is made of words or of an address, pieces of which are nothing secret."""
PREFIXES = re.compile(r"\\x|0x|&#x|\\u00|U\+00", re.IGNORECASE)
"""What stands before the two digits of a byte."""

Span = tuple[int, int]
Stream = tuple[str, list[int]]
"""What is left of a text, and where in it each of the characters stood."""


def cleansed(redactor: Redactor, text: str) -> str:
    """The text without secrets: redacted, and what is one in disguise taken out too.

    What stands in the place of a disguise cannot be turned back into the secret.
    """
    text = redactor.redact(text)
    found = {span: name for span, name in _disguised(redactor, text)}
    if not found:
        return text
    parts, at = [], 0
    for (start, end), stand_in in sorted(found.items()):
        if end > at:
            parts += [text[at:start], f"{stand_in[:-2]} in disguise]]" if start >= at else ""]
            at = end
    return "".join([*parts, text[at:]])


def _disguised(redactor: Redactor, text: str) -> Iterator[tuple[Span, str]]:
    letters, digits, encoded = _letters(text), _letters(text, PREFIXES), _encoded(text)
    for stand_in, secret in redactor.known().items():
        for stream, needles in zip((letters, digits, encoded), _needles(secret), strict=True):
            for needle in needles:
                for span in _places(stream, needle):
                    if stand_in not in text[slice(*span)]:
                        yield span, stand_in
        for pattern in _numbers(secret):
            for match in pattern.finditer(text):
                yield match.span(), stand_in


@lru_cache(maxsize=512)
def _needles(secret: str) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The disguises of a secret: as letters, as the digits of its bytes, in base64 and base32."""
    both = (secret, secret[::-1])
    letters = {_letters(each)[0] for each in both}
    letters |= {codecs.encode(each, "rot13") for each in letters}
    digits = {piece for each in both for piece in _pieces(each.encode())}
    encoded = {piece for each in both for piece in _in_base64(each.encode())}
    if not READABLE.search(secret):
        encoded |= set(_torn(_encoded(secret)[0]))
    again = [*encoded, *(each.encode().hex() for each in both)]
    encoded |= {piece for each in again for piece in _in_base64(each.encode())}
    return (
        frozenset(each for each in letters if len(each) >= SHORTEST),
        frozenset(digits),
        frozenset(encoded),
    )


def _pieces(data: bytes) -> Iterator[str]:
    """The hex digits of the bytes, also with each two of them exchanged, as some dumps do."""
    if len(data) < SHORTEST:
        return
    last = max(1, len(data) - PIECE + 1)
    for start in sorted({*range(0, last, 4), *range(1, last, 4)}):  # each line of a dump has one
        piece = data[start : start + PIECE]
        yield piece.hex()
        even = piece[: len(piece) // 2 * 2]
        yield bytes(byte for at in range(0, len(even), 2) for byte in even[at : at + 2][::-1]).hex()


def _torn(text: str) -> Iterator[str]:
    """Pieces of a text that the lines of a dump may break."""
    if len(text) > PIECE:
        yield from (text[at : at + PIECE] for at in range(0, len(text) - PIECE + 1, 4))


def _in_base64(data: bytes) -> Iterator[str]:
    """What of the bytes' base64 and base32 is the same whatever stands around them."""
    if len(data) < SHORTEST:
        return
    yield from _aligned(data, base64.b64encode, 3, 4)
    yield from _aligned(data, base64.b32encode, 5, 8)


def _aligned(
    data: bytes, encode: Callable[[bytes], bytes], group: int, letters: int
) -> Iterator[str]:
    for shift in range(group):
        inside = data[(group - shift) % group :]
        whole = inside[: len(inside) // group * group]
        if len(whole) * letters // group >= 8:
            yield encode(whole).decode()


@lru_cache(maxsize=512)
def _numbers(secret: str) -> tuple[re.Pattern[str], ...]:
    """The bytes as decimal or octal numbers, with anything but digits in between."""
    data = secret.encode()
    if len(data) < SHORTEST:
        return ()
    spelled = ([str(byte) for byte in data], [f"{byte:03o}" for byte in data])
    return tuple(
        re.compile(rf"(?<!\d){joined}(?!\d)")
        for numbers in spelled
        for joined in (r"\D{1,4}".join(numbers), r"\D{1,4}".join(reversed(numbers)))
    )


def _letters(text: str, without: re.Pattern[str] | None = None) -> Stream:
    """The letters and digits of a text, in lower case."""
    prefixes = without.finditer(text) if without else ()
    skipped = {at for match in prefixes for at in range(*match.span())}
    kept = [at for at, char in enumerate(text) if char.isalnum() and at not in skipped]
    return "".join(text[at].lower()[0] for at in kept), kept


def _encoded(text: str) -> Stream:
    """What of a text may be base64 or base32."""
    kept = [at for at, char in enumerate(text) if char in BASE64]
    return "".join(text[at] for at in kept).translate(str.maketrans("-_", "+/")), kept


def _places(stream: Stream, needle: str) -> Iterable[Span]:
    text, places = stream
    at = text.find(needle)
    while at >= 0:
        yield places[at], places[at + len(needle) - 1] + 1
        at = text.find(needle, at + 1)
