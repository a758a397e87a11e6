"""Secrets in disguise: reversed, spaced, in other cases, in hex, base64, packed and the like.

The redactor knows a secret by its own spelling. What a command prints may spell it otherwise, by
accident or to get it past the redactor. For every secret that is known its usual disguises are
looked for too. Whoever wants to hide one can still find another: this stops what is at hand.
"""

import base64
import binascii
import codecs
import re
import string
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain

from assistant.secrets.redactor import Redactor
from assistant.tools.packed import unpacked

SHORTEST = 6
"""Letters and digits of a secret that is looked for; shorter ones are found by chance."""
PIECE = 12
"""Bytes in a row that give a longer secret away: dumps break it off at the ends of lines."""
BASE64 = frozenset(string.ascii_letters + string.digits + "+/-_")
READABLE = re.compile(r"\s|://")
"""In a secret that is made of words or of an address, pieces of which are nothing secret."""
NUMBER = re.compile(r"\d+")
GAP = 4
"""Characters between two numbers that stand together."""
STREAMS = 7
"""Ways to look at a text."""
LAYERS = 2
"""Times that a text is unpacked."""
PREFIXES = re.compile(r"\\x|0x|&#x|\\u00|U\+00", re.IGNORECASE)
"""What stands before the two digits of a byte."""

Span = tuple[int, int]
Stream = tuple[str, list[int]]
"""What is left of a text, and where in it each of the characters stood."""
Needles = dict[str, list[tuple[str, str]]]
"""What is looked for, with the stand-in of its secret, by its first letters."""


def cleansed(redactor: Redactor, text: str) -> str:
    """The text without secrets: redacted, and what is one in disguise taken out too.

    What stands in the place of a disguise cannot be turned back into the secret.
    """
    text = redactor.redact(text)
    found = dict((*_disguised(redactor, text), *_packed(redactor, text)))
    if not found:
        return text
    parts, at = [], 0
    for (start, end), stand_in in sorted(found.items()):
        if end > at:
            parts += [text[at:start], f"{stand_in[:-2]} in disguise]]" if start >= at else ""]
            at = end
    return "".join([*parts, text[at:]])


def _packed(redactor: Redactor, text: str, layers: int = LAYERS) -> Iterator[tuple[Span, str]]:
    """The packed texts that hold a secret, and one that they hold."""
    for start, end, inner in unpacked(text) if layers else ():
        plain = [stand_in for *_, stand_in in redactor.places(inner)]
        deeper = chain(_disguised(redactor, inner), _packed(redactor, inner, layers - 1))
        stand_in = plain[0] if plain else next((each for _, each in deeper), None)
        if stand_in:
            yield (start, end), stand_in


def _disguised(redactor: Redactor, text: str) -> Iterator[tuple[Span, str]]:
    streams = (
        _letters(text),
        _letters(text, PREFIXES),
        _encoded(text),
        _unspaced(text),
        _numbers(text),
        _every_second(text, 0),
        _every_second(text, 1),
    )
    known = redactor.known()
    for (said, places), by_head in zip(streams, _by_heads(tuple(known.items())), strict=True):
        for at, needle, stand_in in _needles_in(said, by_head):
            span = places[at], places[at + len(needle) - 1] + 1
            if stand_in not in text[slice(*span)]:
                yield span, stand_in


def _needles_in(said: str, by_head: Needles) -> Iterator[tuple[int, str, str]]:
    """Where needles stand in what is left of a text, and the stand-ins of their secrets."""
    for at in range(len(said)):
        for needle, stand_in in by_head.get(said[at : at + SHORTEST], ()):
            if said.startswith(needle, at):
                yield at, needle, stand_in


@lru_cache(maxsize=4)
def _by_heads(known: tuple[tuple[str, str], ...]) -> list[Needles]:
    """For each stream the needles of all secrets with their stand-ins, by their first letters."""
    heads: list[Needles] = [{} for _ in range(STREAMS)]
    for stand_in, secret in known:
        for by_head, needles in zip(heads, _needles(secret), strict=True):
            for needle in needles:
                by_head.setdefault(needle[:SHORTEST], []).append((needle, stand_in))
    return heads


@lru_cache(maxsize=512)
def _needles(secret: str) -> tuple[frozenset[str], ...]:
    """The disguises of a secret: as letters, as the digits of its bytes, in base64 and base32, and
    in codes that use all signs. Codes may be reversed as well."""
    both = (secret, secret[::-1])
    plain = [each.encode() for each in both]
    wide = [secret.encode(code) for code in ("utf-16-le", "utf-16-be")]
    letters = {_letters(each)[0] for each in both}
    letters |= {codecs.encode(each, "rot13") for each in letters}
    halves = {_letters(each[first::2])[0] for each in (*both, *letters) for first in (0, 1)}
    known = frozenset(each for each in letters if len(each) >= SHORTEST)
    digits = {piece for data in plain + wide for piece in _pieces(data)}
    encoded = {piece for data in plain for piece in _in_base64(data)}
    if not READABLE.search(secret):
        encoded |= set(_torn(_encoded(secret)[0]))
    again = [*encoded, *(data.hex() for data in plain)]
    encoded |= {piece for each in again for piece in _in_base64(each.encode())}
    encoded |= {piece for data in wide for piece in _in_base64(data)}
    return (
        known | {each for each in halves if len(each) >= SHORTEST},
        frozenset(digits | {each[::-1] for each in digits}),
        frozenset(encoded | {each[::-1] for each in encoded}),
        frozenset(piece for each in both for piece in _in_all_signs(each.encode())),
        frozenset(piece for each in both for piece in _in_numbers(each.encode())),
        *(known, known),
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


def _in_all_signs(data: bytes) -> Iterator[str]:
    """The same of base85, Adobe's and git's, and of uuencode; of the bits without gaps, all."""
    if len(data) < SHORTEST:
        return
    yield from _aligned(data, base64.b85encode, 4, 5)
    yield from _aligned(data, base64.a85encode, 4, 5)
    yield from _aligned(data, _uuencoded, 3, 4)
    yield "".join(f"{byte:08b}" for byte in data).lstrip("0")


def _uuencoded(data: bytes) -> bytes:
    return b"".join(binascii.b2a_uu(data[at : at + 45])[1:-1] for at in range(0, len(data), 45))


def _aligned(
    data: bytes, encode: Callable[[bytes], bytes], group: int, letters: int
) -> Iterator[str]:
    for shift in range(group):
        inside = data[(group - shift) % group :]
        whole = inside[: len(inside) // group * group]
        if len(whole) * letters // group >= 8:
            yield encode(whole).decode()


def _in_numbers(data: bytes) -> Iterator[str]:
    """The bytes as decimal, octal and binary numbers, as `_numbers` writes them."""
    if len(data) >= SHORTEST:
        for base in "dob":
            yield f",{','.join(format(byte, base) for byte in data)},"


def _letters(text: str, without: re.Pattern[str] | None = None) -> Stream:
    """The letters and digits of a text, in lower case."""
    prefixes = without.finditer(text) if without else ()
    skipped = {at for match in prefixes for at in range(*match.span())}
    kept = [at for at, char in enumerate(text) if char.isalnum() and at not in skipped]
    return "".join(text[at].lower()[0] for at in kept), kept


def _every_second(text: str, first: int) -> Stream:
    """The letters and digits of every second character."""
    said, places = _letters(text[first::2])
    return said, [first + 2 * place for place in places]


def _encoded(text: str) -> Stream:
    """What of a text may be base64 or base32."""
    kept = [at for at, char in enumerate(text) if char in BASE64]
    return "".join(text[at] for at in kept).translate(str.maketrans("-_", "+/")), kept


def _unspaced(text: str) -> Stream:
    """What of a text shows."""
    kept = [at for at, char in enumerate(text) if not char.isspace()]
    return "".join(text[at] for at in kept), kept


def _numbers(text: str) -> Stream:
    """The numbers of a text, with a comma between those that stand together."""
    said, places, last = [","], [0], 0
    for number in NUMBER.finditer(text):
        if number.start() - last > GAP:
            said.append(";,")
            places += [number.start()] * 2
        digits = number[0].lstrip("0") or "0"
        last = number.end()
        said.append(f"{digits},")
        places += [*range(last - len(digits), last), last - 1]
    return "".join(said), places
