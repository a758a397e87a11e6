"""Finds values assigned to a name: `DB_PASS=…`, `"apiKey": "…"`, `the password is …`. Pure.

A name is split into words, as identifiers are built. The last noun decides, as in English and
German compounds: a `password_hint` is a hint, an `api_key` is a key. Words before it may confirm
it (`api`, `signing`) or rule it out (`cache`, `public`).

Every pattern is bounded and starts where a name was found, so that the cost depends only on the
length of the text and the number of names.
"""

import re
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from assistant.secrets.grades import Grade, grade, is_digest
from assistant.secrets.patterns import PATTERNS, WORDS


class Claim(IntEnum):
    """How strongly a name suggests that its value is a secret."""

    NONE = 0
    WEAK = 1
    """A key of any kind: only an unmistakable value counts as a secret."""
    KEY = 2
    """A token, or the key to something."""
    PASSWORD = 3
    """A password, whatever the value looks like."""


_NOUNS = {
    **dict.fromkeys(WORDS["weak"], Claim.WEAK),
    **dict.fromkeys(WORDS["keys"], Claim.KEY),
    **dict.fromkeys(WORDS["passwords"], Claim.PASSWORD),
}
_ENDINGS = {
    **dict.fromkeys(WORDS["password endings"], Claim.PASSWORD),
    **dict.fromkeys(WORDS["key endings"], Claim.KEY),
}
"""Endings of closed compounds: `rootpassword`, `authtoken`."""
_CONFIRMING = frozenset(WORDS["vouching"] + WORDS["vendors"])
_RULING_OUT = frozenset(WORDS["disowning"])
_TAILS = frozenset(WORDS["tails"])
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PARTS = re.compile(r"[^\W_]+")
PHRASES = {
    **dict.fromkeys(WORDS["password phrases"], Claim.PASSWORD),
    **dict.fromkeys(WORDS["key phrases"], Claim.KEY),
}
"""Nouns that are never part of a name, in languages without capitals or spaces."""


@lru_cache(4096)
def claim(name: str) -> Claim:
    """Return what the name suggests about its value."""
    parts = (part.lower().rstrip("0123456789") for part in _PARTS.findall(_HUMPS.sub(" ", name)))
    words = [part for part in parts if part]
    while words and words[-1] in _TAILS and not _noun(words[-1]):
        words.pop()
    if not words:
        return Claim.NONE
    noun, before = _noun(words[-1]), words[:-1]
    if _is_ruled_out(noun, words[-1], before):
        return Claim.NONE
    if noun is Claim.WEAK and not _CONFIRMING.isdisjoint(before[-2:]):
        return Claim.KEY
    return noun


def _noun(word: str) -> Claim:
    """Return what one word suggests, as the noun at the end of a name."""
    if noun := _NOUNS.get(word):
        return noun
    if PATTERNS["joined"].match(word):
        return Claim.PASSWORD
    return next(
        (noun_claim for end, noun_claim in _ENDINGS.items() if word.endswith(end)), Claim.NONE
    )


def _is_ruled_out(noun: Claim, word: str, before: Sequence[str]) -> bool:
    """Return whether the word before the noun shows that no secret is meant (`public key`).

    Words for passwords are never ruled out, except `pass`, which may be a bus pass.
    """
    passes = (noun is not Claim.PASSWORD and word != "salt") or word in ("pass", "passe")
    return passes and bool(before) and before[-1] in _RULING_OUT


def _stems() -> dict[str, bool]:
    """Return the nouns' stems, none inside another, and whether each must be a whole word."""
    whole = frozenset(WORDS["whole"])
    stems: dict[str, bool] = {}
    for word in sorted({*_NOUNS, *_ENDINGS, "pass"}, key=len):
        if not any(stem in word for stem, is_whole in stems.items() if not is_whole):
            stems[word] = word in whole
    return stems


STEMS = _stems()
"""Stems to search for, in lower case, and whether each must be a whole word."""


LONGEST = 2_048
"""Maximum characters of a value."""
_OPENING = re.compile(r"[bBrRuUfFL@$&]{0,2}(\\{0,3}[\"'`]|\*\*|[“„«‘「『])")
_CLOSING_QUOTES = {"“": "”", "„": "“", "«": "»", "‘": "’", "「": "」", "『": "』"}
_BARE = re.compile(rf"[^\s\"'`<>“”„«»「」，。；、）】=]{{1,{LONGEST}}}=*")
_ASCII = re.compile(rf"[!#-&(-;=?-_a-~]{{1,{LONGEST}}}")
_NEXT = re.compile(r"[;&,|](?=[\w .%-]{1,40}[=:])|\\[nr]")
"""The start of the next pair in a list, or of the next line of a string in code."""
_VALUE_END = re.compile(r"[.!?~*_]{0,3}[ \t]*(?:\Z|[\r\n\"'`,;)}\]|#<\\&*]|//|--|-[A-Za-z])")
_CLOSED = re.compile(r"[)\]}](?=[)\]};,.=&|?:]|$)")
_TRAILING = ".,;:"
_BRACKETS = {")": "(", "]": "[", "}": "{"}


class Value(NamedTuple):
    """A value, its position, and its form."""

    start: int
    text: str
    quoted: bool
    alone: bool
    """Nothing follows it on its line but closing characters or a comment."""

    @property
    def end(self) -> int:
        """The position after its last character."""
        return self.start + len(self.text)


def read(text: str, position: int, *, ascii_only: bool = False) -> Value | None:
    """Return the value that starts here, or as much as is needed to judge it; None if there is
    none.

    `ascii_only` is for scripts without spaces, where the sentence continues right after the value.
    """
    opening = _OPENING.match(text, position)
    if opening and (value := _quoted(text, opening)):
        return value
    position = opening.end() if opening else position
    if grouped := PATTERNS["grouped"].match(text, position):
        bare_value = grouped[0]
    else:
        bare_match = (_ASCII if ascii_only else _BARE).match(text, position)
        bare_value = _trimmed(bare_match[0]) if bare_match else ""
    return (
        Value(position, bare_value, False, bool(_VALUE_END.match(text, position + len(bare_value))))
        if bare_value
        else None
    )


def _quoted(text: str, opening: re.Match[str]) -> Value | None:
    mark = opening[1]
    closing, start = _CLOSING_QUOTES.get(mark, mark), opening.end()
    end = text.find(closing, start, start + LONGEST)
    while end > start and len(mark) == 1 and text[end - 1] == "\\":  # an escaped quotation mark
        end = text.find(closing, end + 1, start + LONGEST)
    content = text[start:end] if end > start else ""
    if not content.strip() or "\n" in content or (mark == "`" and " " in content):
        return None  # nothing, several lines, or a command to be run
    return Value(start, content, mark != "`", True)


def _trimmed(value: str) -> str:
    """Strip the next pair of a list, and trailing punctuation and brackets."""
    if separator := _NEXT.search(value):
        value = value[: separator.start()]
    for bracket in _CLOSED.finditer(value):
        if _is_unopened(value[: bracket.end()]):
            value = value[: bracket.start()]
            break
    while value and (value[-1] in _TRAILING or _is_unopened(value)):
        value = value[:-1]
    return value


def _is_unopened(value: str) -> bool:
    """Return whether the value ends in a bracket that it does not open."""
    opening = _BRACKETS.get(value[-1])
    return opening is not None and value.count(opening) < value.count(value[-1])


REACH = 48
"""Number of characters before a noun that may belong to its name."""


class Binding(IntEnum):
    """How a value is bound to its name."""

    SPACED = 0
    """`password hunter2`, as on command lines."""
    PROSE = 1
    """`the password for the router is hunter2`."""
    ASSIGNED = 2


_TAIL = re.compile(r"[\w-]{0,40}(?:\[\d{0,4}\])?")
_BEFORE = re.compile(r"[\w.-]*(?:[ \t/][\w.'’-]+){0,2}")
_FLAG = re.compile(r"(?:^|[ \t])--?(?=[a-z])")
"""The start of a command's flag; words before it are unrelated."""
_NAMED = re.compile(r"<[\w:]{1,20}\s(?:name|key|id)=[\"'][\w.-]*\Z")
"""An XML element named by its attribute: `<property name="db.password">`."""
_WITHIN = re.compile(r"([\w-]{2,40})[\"']?\s{0,3}(?:=>|[:=])\s{0,8}[\[{(\n]\s{0,20}[\"']?\Z")
"""The name of the container of a name."""
_REFERENCE = re.compile(r"\$\{?\w*\Z")
_UPPER = re.compile(r"[A-Z][A-Z0-9_]{2,}$")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|Bot|ApiKey|Api-Key|SSWS|OAuth) \S+$", re.IGNORECASE)
_PASSPHRASE = re.compile(r"[^\W\d_]{2,}(?:[- ][^\W\d_]{2,}){3,}$")


def assigned(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of the secret that belongs to the noun in `text[start:end]`, or None."""
    tail = _TAIL.match(text, end)
    end = tail.end() if tail else end
    qualifier = PATTERNS["of"].match(text, end) if text[end : end + 1] == " " else None
    binding_match = PATTERNS["after"].match(text, qualifier.end() if qualifier else end)
    if not binding_match:
        return None
    name = _name(text, start, end)
    noun = claim(name)
    if noun is Claim.WEAK and (qualifier or _is_confirmed(text, start, name)):
        noun = Claim.KEY
    if noun is Claim.NONE or (
        binding_match.lastgroup == "element" and not _is_element(text, start)
    ):
        return None
    if binding_match["cell"] and (not _is_row(text, start) or _is_reference(text, start)):
        return None
    value = read(text, binding_match.end())
    if not value:
        return None
    binding = _BINDINGS.get(binding_match.lastgroup or "", Binding.ASSIGNED)
    if binding is Binding.SPACED:
        binding = _spaced(text, start, name, value)
    upper = binding is Binding.ASSIGNED and _UPPER.match(name.split()[-1]) is not None
    accepted = _accepts(noun, binding, value, upper=upper)
    return (value.start, value.end) if accepted else None


def phrased(text: str, end: int, noun: Claim) -> tuple[int, int] | None:
    """Return the span of the secret after a noun that ends here and is a whole word, as in Chinese
    or Arabic."""
    binding_match = PATTERNS["after_phrase"].match(text, end)
    value = read(text, binding_match.end(), ascii_only=True) if binding_match else None
    accepted = value and _accepts(noun, Binding.PROSE, value)
    return (value.start, value.end) if value and accepted else None


_BINDINGS = {"spaced": Binding.SPACED, "prose": Binding.PROSE}


def _name(text: str, start: int, end: int) -> str:
    """Return the whole name that the noun ends, with up to two words before it."""
    before = _BEFORE.match(text[max(0, start - REACH) : start][::-1])
    name = (before[0][::-1] if before else "") + text[start:end]
    return _FLAG.split(name)[-1]


def _is_confirmed(text: str, start: int, name: str) -> bool:
    """Return whether a bare noun's container confirms it: `encryption: {key: …}`."""
    container = _WITHIN.search(text[max(0, start - REACH) : start]) if name.isalpha() else None
    return container is not None and claim(f"{container[1]}_key") is Claim.KEY


def _spaced(text: str, start: int, name: str, value: Value) -> Binding:
    """Return the binding of a space: a flag or a quoted value counts as assigned, an identifier
    as prose."""
    before = text[max(0, start - REACH) : start].split("\n")[-1]
    if value.quoted or re.search(r"(?:^|[\s\"'])--?[\w-]*$", before):
        return Binding.ASSIGNED
    is_identifier = "_" in name.split()[-1].strip("_")
    return Binding.PROSE if is_identifier or not before.strip() else Binding.SPACED


def _is_row(text: str, start: int) -> bool:
    """Return whether a noun is in a row of a table."""
    first = text.rfind("\n", max(0, start - 4 * REACH), start) + 1
    return text[first:start].lstrip()[:1] == "|"


def _is_reference(text: str, start: int) -> bool:
    """Return whether the name is a shell variable's value: `"$PASSWORD" | sha256sum`."""
    return _REFERENCE.search(text[max(0, start - REACH) : start]) is not None


def _is_element(text: str, start: int) -> bool:
    """Return whether the noun ends the name of an XML element, not of an attribute or a
    comparison."""
    tag_start = text.rfind("<", max(0, start - REACH), start)
    is_tag_name = tag_start >= 0 and not any(char.isspace() for char in text[tag_start:start])
    return is_tag_name or _NAMED.match(text, tag_start, start) is not None


def _accepts(noun: Claim, binding: Binding, value: Value, *, upper: bool = False) -> bool:
    """Return whether the value looks enough like a secret, given its name and binding."""
    value_grade = grade(value.text, quoted=value.quoted)
    assigned = binding is Binding.ASSIGNED
    if " " in value.text and not value.quoted:
        return value.alone and noun is not Claim.WEAK and binding is not Binding.SPACED
    if " " in value.text and noun is not Claim.PASSWORD and not _SCHEME.match(value.text):
        signs = {char for char in value.text if not char.isalnum()}
        return len(signs) >= 9 and len(value.text) >= 32 and value.text.isascii()
    if noun is Claim.PASSWORD and assigned:
        return _is_password(value, value_grade, upper=upper)
    if noun is Claim.PASSWORD and value_grade is Grade.COMPOUND and binding is Binding.PROSE:
        return value.alone and PATTERNS["words_and_number"].match(value.text) is not None
    if noun is Claim.PASSWORD:
        is_sure = value.alone or binding is Binding.PROSE
        return value_grade >= (Grade.TAGGED if is_sure else Grade.MIXED)
    if noun is Claim.WEAK:
        return value_grade is Grade.RANDOM and (
            binding is not Binding.SPACED and not is_digest(value.text)
        )
    if assigned and upper and value.alone and value_grade <= Grade.TAGGED:
        is_long = value_grade is Grade.TAGGED and len(value.text) >= 8
        return is_long or (value_grade is Grade.WORD and bool(_PASSPHRASE.match(value.text)))
    return value_grade is Grade.RANDOM or (
        value_grade is Grade.MIXED and len(value.text) >= _LEAST[binding]
    )


def _is_password(value: Value, value_grade: Grade, *, upper: bool) -> bool:
    size = len(value.text)
    match value_grade:
        case Grade.TAGGED:
            return value.alone or size >= 6
        case Grade.COMPOUND:
            return value.alone and size >= 6
        case Grade.WORD if value.alone and _PASSPHRASE.match(value.text):
            return " " not in value.text or value.text.islower()
        case Grade.WORD:
            return upper and value.alone and size >= 5
    return value_grade >= Grade.MIXED


_LEAST = {Binding.ASSIGNED: 8, Binding.PROSE: 12, Binding.SPACED: 20}
"""Minimum characters of a mixed value that counts as a key."""
