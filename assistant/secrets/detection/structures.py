"""Secrets whose place takes more than a pattern to tell: blocks, cookies, codes, columns."""

import base64
import binascii
import re
from collections.abc import Iterator
from functools import lru_cache

from assistant.secrets.detection.forms import Span
from assistant.secrets.detection.grades import Grade, grade
from assistant.secrets.detection.names import WORDS

KEY_BLOCK = 20_000
"""Characters of a private key."""
_BEGIN = re.compile(
    r"-----BEGIN [A-Za-z0-9 ]{0,40}(?:PRIVATE KEY|STATIC KEY)[A-Za-z0-9 ]{0,12}-----", re.I
)
_END = re.compile(r"-----END [A-Za-z0-9 ]{1,60}-----")
_CODED = re.compile(r"(?:[A-Za-z0-9+/=]|\\n|\s){64,20000}")
_COOKIE = re.compile(
    r"cookies?(?:\[[\"']|[\"'`]?:[ \t]{1,3}\\{0,2}[\"'`]?"
    r"|[\"'`]?[ \t]{0,3}[=, ][ \t]{0,3}\\{0,2}[\"'`])",
    re.I,
)
_PAIR = re.compile(
    r"([\w.!#$%&*+^|~-]{1,64})(?:(?:=|[\"']\][ ]=[ ][\"'])([\w%][^;\s\"',<>]{1,4096})?)?;?"
    r"[ \t]{0,4}"
)
MOST_COOKIES = 64
"""Cookies of a header that are looked at."""
_ATTRIBUTES = frozenset(
    ["expires", "max-age", "path", "domain", "samesite", "secure", "httponly", "priority"]
)
_CODE = re.compile(r"[\"'\s:=]{1,6}([A-Za-z0-9+/]{8,800}={0,2})")
_AWS_SECRET = re.compile(r"(?<![\w/+=])[A-Za-z0-9/+]{40}(?![\w/+=])")
_PEM_CODED = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=]{40,20000}")
_WORDS = re.compile(r"[a-z]{3,8}(?:[ \t,]{1,3}(?:\d{1,2}[.)] ?)?[a-z]{3,8}){11,23}(?![\w])")
_WORDS_NEAR = re.compile(r"[^\n:=]{0,60}[:=][\s\"'`]{0,6}")
_CELL = re.compile(r"[ \t]*[,;|\t][ \t]*")
HEADER = frozenset(WORDS["account columns"])
_COLUMN = re.compile(r"[\"'*]{0,3}[ \t]{0,20}+(?:[,;|\t\r\n]|\Z)")
_HEADER = re.compile(r"[\w .,;|\t\"'*-]{1,400}\r?$", re.MULTILINE)
MOST_ROWS = 500
"""Rows of a table of passwords that are read."""


def private_keys(text: str, start: int, end: int) -> Iterator[Span]:
    """The body of a PEM block, or of one that was cut off."""
    begin = _BEGIN.match(text, start)
    if not begin:
        return
    dashes = text.find("-----", begin.end(), begin.end() + KEY_BLOCK)
    closed = _END.match(text, dashes) if dashes >= 0 else None
    if closed and dashes - begin.end() >= 16:
        yield start, closed.end(), "private-key"
        return
    if dashes < 0:
        yield _goes_on(text)
    if body := _CODED.match(text, begin.end()):
        yield start, body.end(), "private-key"


def coded_keys(text: str, start: int, end: int) -> Iterator[Span]:
    """A PEM block in base64, as in a kubeconfig; certificates are left."""
    found = None if text[start - 1 : start].isalnum() else _PEM_CODED.match(text, start)
    if found and b"PRIVATE KEY" in _decoded(found[0][:200]):
        yield start, found.end(), "private-key"


def cookies(text: str, start: int, end: int) -> Iterator[Span]:
    """The values of a cookie header that are no settings."""
    header = _COOKIE.match(text, start)
    if not header:
        return
    at = header.end()
    for _ in range(MOST_COOKIES):
        pair = _PAIR.match(text, at)
        if not pair:
            return
        if (
            pair[2]
            and pair[1].lower() not in _ATTRIBUTES
            and grade(pair[2]) >= Grade.MIXED
            and len(pair[2]) >= 16
        ):
            yield *pair.span(2), "cookie"
        at = pair.end()


def coded_logins(text: str, start: int, end: int) -> Iterator[Span]:
    """`user:password` in base64, behind `Basic`, `"auth":` or `_auth=`."""
    found = _CODE.match(text, end)
    if found and re.fullmatch(rb"[\w.@+-]{1,64}:[ -~]{1,300}", _decoded(found[1])):
        yield found.start(1), found.end(1), "login"


def aws_secrets(text: str, start: int, end: int) -> Iterator[Span]:
    """The 40 characters that follow the id of an access key, whatever stands between."""
    for found in _AWS_SECRET.finditer(text, start + 20, start + 200):
        if grade(found[0], quoted=True) >= Grade.MIXED:
            yield found.start(), found.end(), "aws-secret-key"
            return


def seed_phrases(text: str, start: int, end: int) -> Iterator[Span]:
    """The words of a wallet, behind what names them."""
    near = _WORDS_NEAR.match(text, end)
    found = _WORDS.match(text, near.end()) if near else None
    if found and not _is_prose(found[0]):
        yield found.start(), found.end(), "seed-phrase"


def seed_line(text: str, start: int, end: int) -> Iterator[Span]:
    """A line of nothing but words that wallets use."""
    words = re.findall("[a-z]+", text[start:end])
    if len(words) in (12, 15, 18, 21, 24) and bip39().issuperset(words):
        yield start, end, "seed-phrase"


def columns(text: str, start: int, end: int) -> Iterator[Span]:
    """The column of a table of accounts, comma-separated or in markdown."""
    if not _COLUMN.match(text, end):
        return
    first = text.rfind("\n", 0, start) + 1
    stop = _line_end(text, end)
    if stop - first > 400 or not _HEADER.match(text, first, stop):
        return
    cells = [cell.strip(" \t\r\"'").lower() for cell in _CELL.split(text[first:stop])]
    named = text[start:end].lower()
    at = next((n for n, cell in enumerate(cells) if named in cell), -1)
    if at < 0 or not HEADER.intersection(cells):
        return
    for _ in range(MOST_ROWS):
        first, stop = stop + 1, _line_end(text, stop + 1)
        if stop == len(text):
            yield _goes_on(text)
        if (
            len(_CELL.findall(text, first, stop)) != len(cells) - 1
            or named in text[first:stop].lower()
        ):
            return
        yield from _cell(text, first, stop, at)


def _goes_on(text: str) -> Span:
    """What says that more may follow behind the text that was given."""
    return len(text), len(text), ""


def _cell(text: str, first: int, stop: int, wanted: int) -> Iterator[Span]:
    begin = first
    for _ in range(wanted):
        found = _CELL.search(text, begin, stop)
        if not found:
            return
        begin = found.end()
    found = _CELL.search(text, begin, stop)
    last = found.start() if found else stop
    value = text[begin:last].strip(" \t\r\"'`")
    if value and grade(value, quoted=True) >= Grade.COMPOUND:
        at = text.index(value, begin, last)
        yield at, at + len(value), "password"


def _line_end(text: str, at: int) -> int:
    stop = text.find("\n", at, at + 4096)
    return stop if stop >= 0 else min(len(text), at + 4096)


def _is_prose(words: str) -> bool:
    return bool(
        {"the", "and", "with", "that", "this", "from", "for", "are", "was"} & set(words.split())
    )


def _decoded(coded: str) -> bytes:
    try:
        return base64.b64decode(coded[: len(coded) // 4 * 4])
    except binascii.Error:
        return b""


@lru_cache(1)
def bip39() -> frozenset[str]:
    """The English words that wallets' keys are written in."""
    from mnemonic import Mnemonic  # reads its lists: only for a text that may hold them

    return frozenset(Mnemonic("english").wordlist)
