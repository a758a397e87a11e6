"""Values that stand behind a name: `DB_PASS=…`, `"apiKey": "…"`, `the password is …`. Pure.

Every pattern is bounded and begins where a name was found, so that a text costs what its length
and its names cost, whatever it says.
"""

import re
from enum import IntEnum

from assistant.secrets.detection.grades import Grade, grade, is_digest
from assistant.secrets.detection.names import WORDS, Claim, claim
from assistant.secrets.detection.values import Value, read, whole_end

REACH = 48
"""Characters before a noun that may belong to its name."""


class Binding(IntEnum):
    """How a value is bound to its name."""

    SPACED = 0
    """`password hunter2`, as on command lines."""
    PROSE = 1
    """`the password for the router is hunter2`."""
    ASSIGNED = 2


_CLOSE = r"(?:\\{0,3}[\"'`’”»)\]*]){0,4}"
_PREPOSITIONS = "|".join(WORDS["prepositions"])
_LINKS = "|".join(WORDS["links"]).replace(" ", r"[ \t]")
_AFTER = re.compile(
    rf"""
    (?P<assigned>
        {_CLOSE}[ \t]{{0,12}}
        (?: :[ ]?[&\w<>\[\]?'.]{{1,24}}[ ]?=(?![=>]) | => | := | \?= | \?\? | \|\|(?=[ ][\"'])
          | !==? | [=:]{{1,3}} | [：＝→]
          | -> | (?P<cell>\|) )
        [ \t]{{0,12}}
        (?: [|>][-+]?[ \t]{{0,4}}(?=\r?\n) )?
        (?: \r?\n(?:[ ]{{2,40}}|\t{{1,9}})(?![\w.-]{{1,40}}:) | \*\*[ ] | __[ ] )?
    )
    | (?P<attribute>
        ["']?[\s,]{{1,30}}(?:\{{[^{{}}]{{0,80}}?\b)?
        ["']?(?:value|content|default)["']?\s{{0,2}}[:=]\s{{0,3}}
    )
    | (?P<argument>
        \\{{0,3}}["'`]?[ \t]{{0,2}}[)\]]?,[ \t\r\n]{{0,12}}(?=\\{{0,3}}["'`]) | \((?=["'])
    )
    | (?P<element>
        (?:</key>\s{{0,20}}<string)?(?:["']?[ \t][^<>\n]{{0,60}}|["'])?>
        [ \t]{{0,4}}(?:<[A-Za-z:]{{1,20}}>)?
    )
    | (?P<prose>
        (?:[ \t]{{1,3}}\([^()\n]{{1,40}}\))?
        (?:[ \t]{{1,3}}(?:{_PREPOSITIONS})[ \t][^\n:=.!?;|—]{{1,48}}?)?
        (?: [ \t]{{0,3}}[:：][ \t]{{1,3}} | [ \t]{{1,3}}(?:{_LINKS})[ \t]{{1,3}} )
    )
    | (?P<spaced> [ \t]{{1,12}}(?:--?[a-z-]{{2,20}}[ ])? )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_GATE = re.compile(
    rf"""
    [\w-]{{0,40}}+ (?:
        [\[\]()"'`*\\’”»]{{0,6}}[ \t]{{0,12}}(?:[=:：＝→|!?,(<>]|->)
        [ \t\r\n=>|"'`*\\\[({{$@bru-]{{0,60}}(?:[^\s=]{{4}}|[^\w\s=])
        | [ \t(] (?:
            [^\n]{{0,16}}(?:[:—–→=]|-)[ \t]
            | [ \t]{{0,12}}(?:{_LINKS}|{_PREPOSITIONS}|["'`])[ \t]?
            | [ \t]{{0,12}}[^\s=]{{0,24}}?(?:[\d$!#%&*+@^~]|(?-i:[a-z][A-Z]))
            | [^<>\n]{{0,60}}> | --?[a-z]
        )
        | ["']?[\s,]{{1,30}}(?:\{{[^{{}}]{{0,80}}?\b)?["']?(?:value|content|default)
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Whether it is worth to look at all; most nouns of a text end here."""
_AFTER_PHRASE = re.compile(
    r"[\"'`”」』）)\]*]{0,3}[ \t]{0,4}(?:(?:[（(][^()（）\n]{1,20}[）)])[ \t]{0,3})?"
    r"(?:是|为|為|は|が|를|은|는|이|가|คือ|[:：=＝→-]|هي|هو|है|היא)[:：]?[ \t]{0,4}"
)
"""What binds a value in scripts without spaces or without capitals."""
_TAIL = re.compile(r"[\w-]{0,40}(?:\[\d{0,4}\])?")
_OF = re.compile(
    r"[ \t](?:(?:de|do|da|di|del) |d['’])?"
    r"(?:wi-?fi|wlan|router|api|acceso|accès|acces|acesso|accesso|доступа|πρόσβασης|ordine|seguridad)\b",
    re.IGNORECASE,
)
"""What follows the noun where the language puts it there: `clave de acceso`."""
_BEFORE = re.compile(r"[\w.-]*(?:[ \t/][\w.'’-]+){0,2}")
_FLAG = re.compile(r"(?:^|[ \t])--?(?=[a-z])")
"""Where a flag of a command begins, with which no word before it has to do."""
_NAMED = re.compile(r"<[\w:]{1,20}\s(?:name|key|id)=[\"'][\w.-]*\Z")
"""The name of an XML element that is an attribute of it: `<property name="db.password">`."""
_WITHIN = re.compile(r"([\w-]{2,40})[\"']?\s{0,3}(?:=>|[:=])\s{0,8}[\[{(\n]\s{0,20}[\"']?\Z")
"""The name of what a name stands in."""
_REFERENCE = re.compile(r"\$\{?\w*\Z")
_IS_NAME = re.compile(r"\\{0,3}[\"'`][ \t]{0,4}:")
"""What shows that a quoted string is a name itself, with its own value."""
_UPPER = re.compile(r"[A-Z][A-Z0-9_]{2,}$")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|Bot|ApiKey|Api-Key|SSWS|OAuth) \S+$", re.IGNORECASE)
_GROUPS = re.compile(r"[A-Za-z0-9]{4}(?: [A-Za-z0-9]{2,4}){3,}$")
_WORDS_AND_NUMBER = re.compile(
    r"[^\W\d_]{4,}[-_.]\d{2,}[-_.]?$|[^\W\d_]{3,}(?:[-_.][^\W\d_]{3,}){2,}[-_.]?\d{1,4}$"
)
_PASSPHRASE = re.compile(r"[^\W\d_]{2,}(?:[- ][^\W\d_]{2,}){3,}$")


def assigned(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The secret that belongs to the noun in `text[start:end]`; None if there is none."""
    value = _assigned(text, start, end) if _GATE.match(text, end) else None
    return (value.start, whole_end(text, value)) if value else None


def _assigned(text: str, start: int, end: int) -> Value | None:
    tail = _TAIL.match(text, end)
    end = tail.end() if tail else end
    of = _OF.match(text, end) if text[end : end + 1] == " " else None
    found = _AFTER.match(text, of.end() if of else end)
    if not found:
        return None
    name = _name(text, start, end)
    said = claim(name)
    if said is Claim.WEAK and (of or _is_vouched_for(text, start, name)):
        said = Claim.KEY
    if said is Claim.NONE or (found.lastgroup == "element" and not _is_element(text, start)):
        return None
    if found[0] == ":" and text[start - 1 : start] in (":", "["):
        return None  # one of many parts, arn:aws:…:secret:name, or a stand-in of ours
    if found["cell"] and (not _is_row(text, start) or _is_reference(text, start)):
        return None
    value = read(text, found.end())
    binding = _BINDINGS.get(found.lastgroup or "", Binding.ASSIGNED)
    if not value or (value.quoted and _IS_NAME.match(text, value.end)):
        return None
    if binding is not Binding.ASSIGNED and _is_verb(text[start:end], value):
        return None
    if binding is Binding.SPACED:
        binding = _spaced(text, start, name, value)
        value = value._replace(alone=value.alone or binding is Binding.ASSIGNED)
    upper = binding is Binding.ASSIGNED and _UPPER.match(name.split()[-1]) is not None
    return value if _accepts(said, binding, value, upper=upper) else None


def phrased(text: str, end: int, said: Claim) -> tuple[int, int] | None:
    """The secret behind a noun that ends here and is a word by itself, as in Chinese or Arabic."""
    found = _AFTER_PHRASE.match(text, end)
    value = read(text, found.end(), ascii_only=True) if found else None
    return (value.start, value.end) if value and _accepts(said, Binding.PROSE, value) else None


_BINDINGS = {"spaced": Binding.SPACED, "prose": Binding.PROSE}


def _name(text: str, start: int, end: int) -> str:
    """The whole name that the noun ends, with up to two words before it."""
    before = _BEFORE.match(text[max(0, start - REACH) : start][::-1])
    name = (before[0][::-1] if before else "") + text[start:end]
    return _FLAG.split(name)[-1]


def _is_vouched_for(text: str, start: int, name: str) -> bool:
    """Whether what a bare noun stands in says that it opens something: `encryption: {key: …}`."""
    within = _WITHIN.search(text[max(0, start - REACH) : start]) if name.isalpha() else None
    return within is not None and claim(f"{within[1]}_key") is Claim.KEY


def _spaced(text: str, start: int, name: str, value: Value) -> Binding:
    """What a space binds: a flag and a quoted value as a sign does, an identifier nearly so."""
    last = name.split()[-1]
    before = text[max(0, start - REACH) : start].split("\n")[-1]
    if value.quoted or re.search(r"(?:^|[\s\"'])--?[\w-]*$", before):
        return Binding.ASSIGNED
    is_identifier = "_" in last.strip("_") or last.lower() != last != last.capitalize()
    return Binding.PROSE if is_identifier or not before.strip() else Binding.SPACED


def _is_verb(noun: str, value: Value) -> bool:
    """Whether it says to pass something: `pass strict=False`."""
    return noun.lower() == "pass" and (
        value.quoted or not value.text[0].isalnum() or "=" in value.text or "." in value.text
    )


def _is_row(text: str, start: int) -> bool:
    """Whether a noun stands in a row of a table."""
    first = text.rfind("\n", max(0, start - 4 * REACH), start) + 1
    return text[first:start].lstrip()[:1] == "|"


def _is_reference(text: str, start: int) -> bool:
    """Whether the name is a shell variable's value: `"$PASSWORD" | sha256sum`."""
    return _REFERENCE.search(text[max(0, start - REACH) : start]) is not None


def _is_element(text: str, start: int) -> bool:
    """Whether the noun ends the name of an XML element, not of an attribute or a comparison; HTML's
    `<code>` holds anything."""
    opened = text.rfind("<", max(0, start - REACH), start)
    if text[opened : opened + 5].lower() == "<code":
        return False
    if _NAMED.match(text, opened, start):
        return True
    return opened >= 0 and not any(each.isspace() for each in text[opened:start])


def _accepts(said: Claim, binding: Binding, value: Value, *, upper: bool = False) -> bool:
    """Whether the value looks enough like a secret for what its name and its place say."""
    found = grade(value.text, quoted=value.quoted)
    if " " in value.text and not value.quoted:
        return value.alone and said is not Claim.WEAK and binding is not Binding.SPACED
    if " " in value.text and said is not Claim.PASSWORD and not _SCHEME.match(value.text):
        return _is_spaced_key(value, found)
    if binding is Binding.ASSIGNED and said is Claim.PASSWORD:
        return _is_password(value, found, upper=upper)
    if said is Claim.PASSWORD and binding is Binding.SPACED:
        return found >= (Grade.TAGGED if value.alone else Grade.MIXED)
    if said is Claim.PASSWORD:
        if found is Grade.COMPOUND and binding is Binding.PROSE:
            return value.alone and _WORDS_AND_NUMBER.match(value.text) is not None
        return found >= Grade.TAGGED
    if said is Claim.KEY:
        return _is_key(value, found, binding, upper=upper)
    return found is Grade.RANDOM and binding is not Binding.SPACED and not is_digest(value.text)


def _is_spaced_key(value: Value, found: Grade) -> bool:
    """Whether a key has spaces in it: groups of four, or one made of all the signs there are."""
    if found is Grade.MIXED and _GROUPS.match(value.text):
        return True
    signs = {each for each in value.text if not each.isalnum() and each != " "}
    return value.quoted and len(signs) >= 8 and len(value.text) >= 32 and value.text.isascii()


def _is_password(value: Value, found: Grade, *, upper: bool) -> bool:
    if found >= Grade.MIXED:
        return True
    if found is Grade.TAGGED:
        return value.alone or len(value.text) >= 6
    if found is Grade.NUMBER:
        return value.alone and value.text.isdigit() and len(value.text) >= 6
    if found is Grade.COMPOUND:
        return value.alone and len(value.text) >= 6
    if found is Grade.WORD and value.alone and _PASSPHRASE.match(value.text):
        return " " not in value.text or value.text.islower()
    return found is Grade.WORD and upper and value.alone and len(value.text) >= 5


def _is_key(value: Value, found: Grade, binding: Binding, *, upper: bool) -> bool:
    length = len(value.text)
    if found is Grade.RANDOM:
        return True
    if found is Grade.MIXED:
        return length >= {Binding.ASSIGNED: 8, Binding.PROSE: 12, Binding.SPACED: 20}[binding]
    if binding is Binding.ASSIGNED and found is Grade.NUMBER:
        return value.text.isdigit() and length >= 18
    if binding is not Binding.ASSIGNED or not upper or not value.alone:
        return False
    return (found is Grade.TAGGED and length >= 8) or (
        found is Grade.WORD and _PASSPHRASE.match(value.text) is not None
    )
