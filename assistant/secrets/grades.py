"""How much a value looks like a secret, whatever it is called. Pure.

A value is taken apart at its separators and, within a part, where letters turn to digits or
capitals begin. Words and numbers in order (`build-2024-11-21`) are what people write; many short
pieces (`x9Kq2vLm`) are what machines make, and what people do to a word to make it a password.
"""

import re
from enum import IntEnum
from functools import lru_cache

SCORED = 256
"""Characters of a value that are looked at; a longer one is judged by its beginning."""


class Grade(IntEnum):
    """From what is no value at all to what nobody would write by hand."""

    NOTHING = 0
    """A placeholder, a reference, an expression, an address, a date."""
    WORD = 1
    NUMBER = 2
    COMPOUND = 3
    """Words and numbers side by side: `user_123`, `eu-west-1`."""
    TAGGED = 4
    """A word with a number at its end: `hunter2`, `Sommer2024`."""
    MIXED = 5
    """Letters, digits and signs through one another: `Sommer2024xyz9`, `tr0ub4dor&3`."""
    RANDOM = 6
    """At least 16 characters without words."""


_CHUNKS = re.compile(r"[-_./:, ]+")
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W\d_]+|[^\w\s]")
_VOWELS = frozenset("aeiouyäöüáéíóúàèìòùâêîôûãõåæøœıAEIOUYÄÖÜÁÉÍÓÚ")
_NO_VALUE = re.compile(
    r"[<{\[(]|\$[({\[A-Za-z_]|[%@#]\{|%\w+%$|!\w+ |"  # templates and variables
    r"(?:([^\w\s])|([xX0]))(?:\1|\2){3,}$|"  # ****, xxxx, 0000
    r"[a-z][a-z0-9+-]*://|(?:arn|op|ssm|env|file|vault|secret|sops|kms|ref):|"  # where it is
    r"(?:~|\.{1,2})?/(?:[\w.@~-]*/)*[\w.@~-]*$(?<!=)|[A-Za-z]:\\|"  # paths
    r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){0,4}\.[A-Za-z]{2,8}$|"  # mail
    r"(?:sha\d{1,3}|md5|h1)[-:=]|"  # digests
    r"#[0-9A-Fa-f]{3,8}$|\\[nrt]|"
    r"\d{4}-\d\d-\d\d(?:$|[T _])|\d{1,2}[.:/]\d{1,2}(?:[.:/]\d{1,4}){0,2}$|"  # dates and times
    r"v?\d{1,4}(?:\.\d{1,6}){1,4}(?:[-+.]\w+){0,4}$|"  # versions and addresses
    r"(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?$|"
    r"[A-Za-z_]\w{0,40}\[[\w\[\], .|]{1,80}\]$|"  # a type
    r"@?[a-z][a-z0-9-]{0,40}(?:\.[a-z][a-z0-9-]{0,40}){0,4}\.[a-z]{2,6}(?:[:/].*)?$"  # a host
)
_CLOSING = {"<": ">", "{": "}", "[": "]", "(": ")"}
_MADE_UP = re.compile(r"(?-i:EXAMPLE)|^.{0,12}?([xX*.0#])\1{7,}\W{0,2}$")
"""What documentation has in the place of a key."""
_NUMBER = re.compile(r"[+-]?\d[\d.,_-]*\s?(?:%|[a-zA-Z]{1,3})?$")
_CODE = re.compile(
    r"[A-Za-z_$][\w$.:>-]{0,80}[(\[]|[^\w\s]?\w{1,40}\)?[.]\w{1,40}\("  # f(…, x[…, x).f(
    r"|[&*]?[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+[;,)]*$"  # a.b.c
    r"|[A-Za-z_]\w{0,40}=[\w\"'\[{(]"  # name=value
)
_OPERATORS = re.compile(
    r"\?\?|\|\||&&|=>|\}\(|\)\}|[=!]==|\?\.\w|\.\.\.\w|\?[\w.]{0,40}[:({]|\)[{.;]|[})]\w{3,40}\(|"
    r";(?:let|var|const|return|class|if|function)$"
)
_TEMPLATE = re.compile(
    r"\{[^{}\n]{0,80}\}|<[^<>\n]{1,80}>|%\(?\w*\)?[sd](?![\w%])|\$(?:[A-Z][A-Z_]{2,}|[a-z][a-z_]{2,})(?![A-Za-z0-9])"
)
_ALPHABET = re.compile(r"(?i)abcdefgh|01234567|qwertzuiop|qwertyuiop")
_OWN_NAME = re.compile(
    r"[\w.]*(?:[a-z0-9_](?:Key|Token|Secret|Password|Auth|Credential)s?|_(?:key|token|secret|password|auth))$"
)
_NAMES = re.compile(r"\w+")
_FILLER = re.compile(
    r"(?i)(?<![a-z])(?:your|insert|enter|replace|change|changeme|changeit|example|sample|redacted|"
    r"placeholder|dummy|masked|hidden|removed|none|null|undefined|todo|tbd|string|password|passwd|pass|pwd|user|foo|bar|"
    r"passwort|secret|token|key|apikey|here|value|true|false|required|optional)(?![a-z])"
)
_TECHNICAL = re.compile(
    r"(?i)(?:base|sha|md|utf|aes|rsa|hmac|u?int|float|x|rc|wpa|oauth|argon|pbkdf|python|http|tls|"
    r"ssl|ipv|hex|ascii|latin|bit|i18n|h|mp|es|ec|s|v|ed|curve|pkcs|win|web|uint|ntlm|scrypt|"
    r"bcrypt|auth|version|step|type|level|option|part|item|test)-?\d+(?:[a-z]{0,8})?$"
)
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_HEX = re.compile(r"(?:0x)?(?:[0-9a-f]{16,}|[0-9A-F]{16,})$")
_GROUPS = re.compile(
    r"[a-z]{4}(?:[- ][a-z]{4}){3}$|[A-Z2-7]{4}(?:[- ]?[A-Z2-7]{4}){3,15}$"
    r"|[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){2,7}$"
)


@lru_cache(8192)
def grade(value: str, *, quoted: bool = False) -> Grade:
    """How much a value looks like a secret. What is quoted is no expression of code."""
    value = value[:SCORED]
    if quoted and (_CLOSING.get(value[:1], value) not in value or _is_salt(value)):
        value = value[1:]  # a sign like others, which opens nothing
    if quoted and value[:1] == "/" and "/" not in value[1:] and len(value) > 16:
        return grade(value[1:], quoted=True)  # base64 may begin so
    signed = not value.isalnum()  # only signs make code, templates and most of what is no value
    if not value or _NO_VALUE.match(value) or (signed and not quoted and _is_code(value)):
        return Grade.NOTHING
    if _MADE_UP.search(value):
        return Grade.NOTHING
    if signed and _TEMPLATE.search(value):
        return _without_templates(value)
    if (_ALPHABET.search(value) and len(value) >= 20) or _OWN_NAME.match(value):
        return Grade.NOTHING
    if _UUID.match(value) or (_HEX.match(value) and not value.isdigit()):
        return Grade.RANDOM
    if _NUMBER.match(value):
        return Grade.NUMBER
    found = _shape(value)
    if found <= Grade.TAGGED and _GROUPS.match(value) and not _is_words(value):
        return Grade.MIXED
    if found <= Grade.TAGGED and _FILLER.search(value):
        return Grade.NOTHING
    return Grade.COMPOUND if found is Grade.TAGGED and _TECHNICAL.match(value) else found


def _is_salt(value: str) -> bool:
    """Whether it is made of all the signs there are, as WordPress makes its keys."""
    signs = {each for each in value if not each.isalnum()}
    return len(value) >= 32 and len(signs) >= 6 and value.isascii() and " " not in value


def is_digest(value: str) -> bool:
    """Whether a value could as well be an identifier or a checksum: hexadecimal, or a UUID."""
    return bool(_HEX.match(value) or _UUID.match(value))


def _is_code(value: str) -> bool:
    """Whether it is an expression: a call, an index, names joined by dots."""
    if _OPERATORS.search(value):
        return True
    if not _CODE.match(value):
        return False
    return any(sign in value for sign in "([=") or all(
        _chunk(name) <= Grade.TAGGED for name in _NAMES.findall(value)
    )


def _without_templates(value: str) -> Grade:
    """A value of which a part is filled in later; what remains must be a secret by itself."""
    rest = _TEMPLATE.sub("", value)
    found = grade(rest, quoted=True)
    return found if found >= Grade.MIXED and len(rest) > len(value) / 2 else Grade.NOTHING


def _shape(value: str) -> Grade:
    chunks = [chunk for chunk in _CHUNKS.split(value) if chunk]
    if not chunks:
        return Grade.NOTHING
    graded = [_chunk(chunk) for chunk in chunks]
    best = max(graded)
    if best is Grade.MIXED:
        return Grade.RANDOM if len(value) >= 16 and _wordiness(value) <= 0.5 else Grade.MIXED
    if len(chunks) == 1 or best is Grade.WORD:
        return best
    mixed = value.lower() != value != value.upper() and any(map(str.isdigit, value))
    plain = len(chunks) <= 3 and not any(map(_TECHNICAL.match, chunks))
    return Grade.TAGGED if mixed and plain and len(value) >= 8 else Grade.COMPOUND


def _chunk(chunk: str) -> Grade:
    """What a part without separators looks like."""
    pieces = _PIECES.findall(chunk)
    letters = digits = 0
    for piece in pieces:
        if piece.isalpha():
            letters += 1
        elif piece.isdigit():
            digits += 1
    signs = len(pieces) - letters - digits
    if signs and _is_signed(chunk, pieces):
        return Grade.MIXED
    if not digits:
        return Grade.MIXED if letters and _is_unreadable(chunk, pieces) else Grade.WORD
    if not letters:
        return Grade.NUMBER
    if letters + digits >= 3 and len(chunk) >= 6 and not _is_camel(chunk, pieces):
        return Grade.MIXED
    return Grade.TAGGED if pieces[0].isalpha() and len(chunk) >= 5 else Grade.COMPOUND


def _is_signed(chunk: str, pieces: list[str]) -> bool:
    """Whether signs stand among letters and digits as in a password, not as in prose or code."""
    if len(chunk) < 6 or not any(piece.isalpha() for piece in pieces):
        return False
    if any(piece.isdigit() for piece in pieces):
        return True
    inner = _PIECES.findall(chunk)
    while inner and not inner[-1].isalnum():
        inner.pop()
    while inner and not inner[0].isalnum():
        inner.pop(0)
    sign = any(not piece.isalnum() and piece not in "'’" for piece in inner)
    return sign and not chunk.isupper()


def _is_unreadable(chunk: str, pieces: list[str]) -> bool:
    """Whether letters alone make no words: capitals anywhere, or consonants without end."""
    if len(chunk) < 10 or not chunk.isascii():
        return False
    if len(pieces) > len(chunk) / 3:
        return True
    if len(chunk) >= 16 and len(pieces) >= len(chunk) / 4 and _wordiness(chunk) < 0.3:
        return True
    vowels = sum(letter in _VOWELS for letter in chunk)
    return vowels / len(chunk) < 0.16 and len(chunk) >= 12 and _wordiness(chunk) < 0.4


def _is_camel(chunk: str, pieces: list[str]) -> bool:
    """`Base64EncodedKey2`: words that begin with capitals, a number here and there."""
    words = sum(len(piece) for piece in pieces if len(piece) >= 4 and _is_readable(piece))
    return (
        words / len(chunk) >= 0.6
        and sum(piece.isdigit() for piece in pieces) <= 2
        and (
            len(pieces) <= 3 or pieces[0][0].isupper() or any(each[:1].isupper() for each in pieces)
        )
        and pieces[-1].isalpha()
        and len(pieces[-1]) >= 4
    )


def _wordiness(value: str) -> float:
    """The share of the characters that stand in readable runs of four letters or more."""
    words = sum(
        len(each) for each in _PIECES.findall(value) if len(each) >= 4 and _is_readable(each)
    )
    return words / len(value)


def _is_readable(piece: str) -> bool:
    if not piece.isalpha():
        return False
    vowels = sum(letter in _VOWELS for letter in piece)
    return 0.2 <= vowels / len(piece) <= 0.75


def _is_words(value: str) -> bool:
    """Whether every group of letters can be read: `self-made-flat-feet` is no key."""
    return (
        all(each.isdigit() or each.islower() for each in _CHUNKS.split(value))
        and not re.search(r"\d[a-z]|[a-z]\d", value)
        and not re.fullmatch(r"[a-z]{4}(?:[- ][a-z]{4}){3}", value)
    )
