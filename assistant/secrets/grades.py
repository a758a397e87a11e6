"""Grades how much a value looks like a secret, regardless of its name. Pure.

A value is split at its separators and, within a part, at digits and capitals. Words and numbers in
order (`build-2024-11-21`) are written by people; many short pieces (`x9Kq2vLm`) come from machines,
or from turning a word into a password.
"""

import re
from enum import IntEnum
from functools import lru_cache

from assistant.secrets.patterns import PATTERNS

SCORED = 256
"""Maximum characters of a value that are graded; a longer one is judged by its start."""


class Grade(IntEnum):
    """From no value at all to one that nobody would write by hand."""

    NOTHING = 0
    """A placeholder, a reference, an expression, an address, a date."""
    WORD = 1
    COMPOUND = 2
    """Numbers, and words combined with numbers: `user_123`, `eu-west-1`."""
    TAGGED = 3
    """A word with a number at its end: `hunter2`, `Sommer2024`."""
    MIXED = 4
    """Letters, digits and signs mixed: `Sommer2024xyz9`, `tr0ub4dor&3`."""
    RANDOM = 5
    """At least 16 characters without words."""


_CHUNKS = re.compile(r"[-_./:, ]+")
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W\d_]+|[^\w\s]")
_VOWELS = frozenset("aeiouyäöüáéíóúàèìòùâêîôûãõåæøœıAEIOUYÄÖÜÁÉÍÓÚ")
_CLOSING = {"<": ">", "{": "}", "[": "]", "(": ")"}
_MADE_UP = re.compile(r"(?-i:EXAMPLE)|^.{0,12}?([xX*.0#])\1{7,}\W{0,2}$")
"""Placeholders for keys in documentation."""
_NAMES = re.compile(r"\w+")
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_HEX = re.compile(r"(?:0x)?(?:[0-9a-f]{16,}|[0-9A-F]{16,})$")


@lru_cache(8192)
def grade(value: str, *, quoted: bool = False) -> Grade:
    """Return the grade of a value. A quoted value cannot be an expression of code."""
    value = value[:SCORED]
    if quoted and (_CLOSING.get(value[:1], value) not in value or _has_many_signs(value)):
        value = value[1:]  # a sign, not an opening bracket
    if not value or PATTERNS["no_value"].match(value) or _MADE_UP.search(value):
        return Grade.NOTHING
    if not quoted and not value.isalnum() and _is_code(value):
        return Grade.NOTHING
    if is_digest(value) and not value.isdigit():
        return Grade.RANDOM
    shape = _shape(value)
    if shape <= Grade.TAGGED and PATTERNS["groups"].match(value):
        return Grade.MIXED
    if shape <= Grade.TAGGED and PATTERNS["filler"].search(value):
        return Grade.NOTHING
    return shape


def _has_many_signs(value: str) -> bool:
    """Return whether the value mixes many symbols, like WordPress's generated keys."""
    return len(value) >= 32 and len({char for char in value if not char.isalnum()}) >= 6


def is_digest(value: str) -> bool:
    """Return whether the value could also be an identifier or a checksum: hexadecimal, or a
    UUID."""
    return bool(_HEX.match(value) or _UUID.match(value))


def _is_code(value: str) -> bool:
    """Return whether the value is an expression: a call, an index, names joined by dots."""
    if PATTERNS["operators"].search(value):
        return True
    return bool(PATTERNS["code"].match(value)) and (
        any(sign in value for sign in "([=")
        or all(_chunk(name) <= Grade.TAGGED for name in _NAMES.findall(value))
    )


def _shape(value: str) -> Grade:
    """Grade the parts between separators together."""
    chunks = [chunk for chunk in _CHUNKS.split(value) if chunk]
    best = max(map(_chunk, chunks), default=Grade.NOTHING)
    if best is Grade.MIXED:
        return Grade.RANDOM if len(value) >= 16 and _wordiness(value) <= 0.5 else Grade.MIXED
    if len(chunks) == 1 or best <= Grade.WORD:
        return best
    has_case = value.lower() != value != value.upper()
    return Grade.TAGGED if has_case and any(map(str.isdigit, value)) else Grade.COMPOUND


def _chunk(chunk: str) -> Grade:
    """Grade a part without separators."""
    pieces = _PIECES.findall(chunk)
    letters = sum(map(str.isalpha, pieces))
    digits = sum(map(str.isdigit, pieces))
    if letters + digits < len(pieces) and _is_signed(chunk, pieces):
        return Grade.MIXED
    if not digits:
        return Grade.MIXED if letters and _is_unreadable(chunk, pieces) else Grade.WORD
    if letters + digits >= 3 and len(chunk) >= 6 and not _is_camel(chunk, pieces):
        return Grade.MIXED
    return Grade.TAGGED if pieces[0].isalpha() and len(chunk) >= 5 else Grade.COMPOUND


def _is_signed(chunk: str, pieces: list[str]) -> bool:
    """Return whether symbols are mixed in as in a password, not as in prose or code."""
    if len(chunk) < 6 or not any(map(str.isalpha, pieces)):
        return False
    inner = re.sub(r"^[^\w]+|[^\w]+$", "", chunk)
    signed = any(not (char.isalnum() or char in "'’") for char in inner) and not chunk.isupper()
    return signed or any(map(str.isdigit, pieces))


def _is_unreadable(chunk: str, pieces: list[str]) -> bool:
    """Return whether letters form no words: capitals anywhere, or long runs of consonants."""
    if len(chunk) < 10 or not chunk.isascii() or _wordiness(chunk) >= 0.4:
        return False
    vowels = sum(letter in _VOWELS for letter in chunk)
    return len(pieces) >= len(chunk) / 4 or vowels / len(chunk) < 0.16


def _is_camel(chunk: str, pieces: list[str]) -> bool:
    """Return whether it looks like `Base64EncodedKey`: capitalised words, perhaps with a number."""
    return _wordiness(chunk) >= 0.6 and pieces[-1].isalpha() and len(pieces[-1]) >= 4


def _wordiness(value: str) -> float:
    """Return the share of characters in readable runs of four letters or more."""
    pieces = (piece for piece in _PIECES.findall(value) if len(piece) >= 4)
    return sum(len(piece) for piece in pieces if _is_readable(piece)) / len(value)


def _is_readable(piece: str) -> bool:
    vowels = sum(letter in _VOWELS for letter in piece)
    return piece.isalpha() and 0.2 <= vowels / len(piece) <= 0.75
