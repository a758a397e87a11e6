"""What a name says of its value: `DB_PASS`, `X-Api-Key`, `WLAN-Passwort`. Pure.

A name is taken apart into words, as identifiers are built. The last noun decides, as in English
and German compounds: a `password_hint` is a hint, an `api_key` is a key. What stands before it may
vouch for it (`api`, `signing`) or disown it (`cache`, `public`). The words are in `words.txt`.
"""

import re
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from pathlib import Path


def _lists() -> dict[str, tuple[str, ...]]:
    text = Path(__file__).with_name("words.txt").read_text(encoding="utf-8")
    parts = re.split(r"^\[(.+)\]$", re.sub("(?m)^#.*$", "", text), flags=re.MULTILINE)
    return {
        title: tuple(word.replace("_", " ") for word in words.split())
        for title, words in zip(parts[1::2], parts[2::2], strict=True)
    }


WORDS = _lists()
"""Each list by its title, in lower case."""


class Claim(IntEnum):
    """How strongly a name says that its value is a secret."""

    NONE = 0
    WEAK = 1
    """A key of any kind: only what cannot be anything else is taken for a secret."""
    KEY = 2
    """A token, or the key to something."""
    PASSWORD = 3
    """Whatever the value looks like."""


_NOUNS = {
    **dict.fromkeys(WORDS["weak"], Claim.WEAK),
    **dict.fromkeys(WORDS["keys"], Claim.KEY),
    **dict.fromkeys(WORDS["passwords"], Claim.PASSWORD),
}
_ENDINGS = {
    **dict.fromkeys(("password", "passwd", "passphrase", "passwort", "kennwort"), Claim.PASSWORD),
    **dict.fromkeys(("pwd", "pw"), Claim.PASSWORD),
    **dict.fromkeys(("secret", "token", "apikey", "accesskey", "secretkey"), Claim.KEY),
}
"""Ends of words that were written together: `rootpassword`, `authtoken`."""
_JOINED = re.compile(
    r"(?!(?:.*by|buy|.*com|sur|tres|over|under|(?:low|high|band|all)|(?:one|two|multi|single|first)|"
    r"keep|last|boarding|day|season|game|fast|ski|bus|rail|free|back)pass$)[a-z]{2,20}pass$"
)
"""`dbpass`, `remotepass`; a bypass, a compass and a ski pass hold no secret."""
_VOUCHING = frozenset(WORDS["vouching"] + WORDS["vendors"])
_DISOWNING = frozenset(WORDS["disowning"])
_TAILS = frozenset(WORDS["tails"])
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PARTS = re.compile(r"[^\W_]+")
PHRASES = {
    **dict.fromkeys(WORDS["password phrases"], Claim.PASSWORD),
    **dict.fromkeys(WORDS["key phrases"], Claim.KEY),
}
"""Nouns that are never a part of a name, in languages without capitals or spaces."""


@lru_cache(4096)
def claim(name: str) -> Claim:
    """What the name says of its value."""
    parts = (part.lower().rstrip("0123456789") for part in _PARTS.findall(_HUMPS.sub(" ", name)))
    words = [part for part in parts if part]
    while words and words[-1] in _TAILS and not _noun(words[-1]):
        words.pop()
    if not words:
        return Claim.NONE
    noun, before = _noun(words[-1]), words[:-1]
    if _is_disowned(noun, words[-1], before):
        return Claim.NONE
    if noun is Claim.WEAK and not _VOUCHING.isdisjoint(before[-2:]):
        return Claim.KEY
    return noun


def _noun(word: str) -> Claim:
    """What one word says, as a noun at the end of a name."""
    if found := _NOUNS.get(word):
        return found
    if _JOINED.match(word):
        return Claim.PASSWORD
    return next((said for end, said in _ENDINGS.items() if word.endswith(end)), Claim.NONE)


def _is_disowned(noun: Claim, word: str, before: Sequence[str]) -> bool:
    """Whether the word before says that it opens nothing; of passwords that is true of passes."""
    if word == "passe" and not {"mot", "mots", "palavra", "code"}.intersection(before):
        return True
    passes = (noun is not Claim.PASSWORD and word != "salt") or word in ("pass", "passe")
    return passes and bool(before) and before[-1] in _DISOWNING


def _stems() -> dict[str, bool]:
    """What the nouns contain, none within another; whether it must be a word by itself."""
    whole = frozenset(WORDS["whole"])
    stems: dict[str, bool] = {}
    for word in sorted({*_NOUNS, *_ENDINGS, "pass"}, key=len):
        if not any(stem in word for stem, alone in stems.items() if not alone):
            stems[word] = word in whole
    return stems


STEMS = _stems()
"""What is looked for in a text, in lower case, and whether it must be a word by itself."""
