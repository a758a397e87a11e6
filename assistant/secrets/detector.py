"""Finds what looks like a secret in a text. Read this first of the folder.

One pass of an Aho-Corasick automaton finds every mark and noun that a rule begins with; the rule
then looks at a bounded stretch around it, so a text costs what its length costs. The rules are
tokens known by their own form (`tokens.txt`), forms known by where they stand (`forms.toml`), a
few structures that take more than a pattern, and values behind a name (`assignments.py`).

The tables are ours because detect-secrets, the library for it, scans files for a report and does
not rewrite text.
"""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import ahocorasick

from assistant.secrets.assignments import PHRASES, STEMS, WORDS, Claim, assigned, phrased
from assistant.secrets.grades import Grade, grade, is_digest
from assistant.secrets.stand_ins import STAND_IN

Span = tuple[int, int, str]
"""A secret's first character, its end, and its kind."""
Rule = Callable[[str, int, int], Iterator[Span]]
"""Yields the secrets at a mark, given the text and the mark's first character and end."""

LINE = 200
"""Characters before a mark in which its command is looked for."""
_PARTS = {
    "<alnum>": "[A-Za-z0-9]",
    "<word>": r"[\w-]",
    "<hex>": "[0-9a-f]",
    "<base64>": "[A-Za-z0-9+/]",
    "<space>": "[ ]",
    # A value of a command line; a backup code, which has a digit in it or a dash.
    "<value>": r"(?:'([^'\n]{4,200})'|\"([^\"\n$]{4,200})\"|([^\s\"'`$-][^\s\"'`]{3,200}))",
    "<code>": (
        r"(?:(?=[A-Z]{0,11}\d)[A-Z0-9]{4,12}|[A-Z0-9]{4,12}(?=[-.]))(?:[-.][A-Z0-9]{4,12}){0,3}"
        r"(?![A-Za-z0-9])"
    ),
}
_MADE_UP = re.compile(r"(\w)\1{7}|EXAMPLE")
_compiled = lru_cache(None)(re.compile)  # the first time it is needed: most never are


@dataclass(frozen=True, slots=True)
class Form:
    """A form. The groups of `pattern`, if there are any, are the secrets.

    `marks`, in lower case, are what the form is looked for by; `pattern` is matched `back`
    characters before one. What a group holds must be graded `bar` or better, and `after` must
    stand before the mark on the same line.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: str
    back: int = 0
    bar: Grade = Grade.NOTHING
    after: str = ""
    is_token: bool = False
    """Letters count as they are, and `ghp_xxxxxxxx` is an example."""

    def spans(self, text: str, start: int, end: int) -> Iterator[Span]:
        """The secrets of this form at a mark."""
        pattern = _compiled(self.pattern, 0 if self.is_token else re.IGNORECASE)
        match = pattern.match(text, start - self.back) if start >= self.back else None
        if not match or not self._follows(text, start):
            return
        if self.is_token and _MADE_UP.search(match[0]):
            return
        for group in range(1, pattern.groups + 1) if pattern.groups else (0,):
            value = match[group]
            if value is not None and (not self.bar or grade(value) >= self.bar):
                yield *match.span(group), self.kind

    def _follows(self, text: str, start: int) -> bool:
        """Whether what must stand before the mark on its line does."""
        if not self.after:
            return True
        first = max(text.rfind("\n", max(0, start - LINE), start) + 1, start - LINE, 0)
        return bool(_compiled(self.after, re.IGNORECASE).search(text[first : start + 1]))


def _tokens() -> Iterator[Form]:
    for line in _data("tokens.txt").splitlines():
        if line and not line.startswith("#"):
            kind, marks, before, rest = (part.strip() for part in line.split(" | ", 3))
            starts = marks.split(" ")
            before = r"\w" if before == "-" else before
            pattern = _filled(f"(?<!{before})(?:{'|'.join(map(re.escape, starts))}){rest}")
            yield Form(kind, tuple(map(str.lower, starts)), pattern, is_token=True)


def _places() -> Iterator[Form]:
    for form in tomllib.loads(_data("forms.toml"))["form"]:
        bar, marks = Grade[form.pop("bar", "NOTHING")], tuple(form.pop("marks"))
        yield Form(marks=marks, bar=bar, **form | {"pattern": _filled(form["pattern"])})


def _filled(pattern: str) -> str:
    for name, part in _PARTS.items():
        pattern = pattern.replace(name, part)
    return pattern


def _data(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


FORMS = (*_tokens(), *_places())

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
_CELL = re.compile(r"[ \t]*[,;|\t][ \t]*")
_COLUMN = re.compile(r"[\"'*]{0,3}[ \t]{0,20}+(?:[,;|\t\r\n]|\Z)")
_HEADER = re.compile(r"[\w .,;|\t\"'*-]{1,400}\r?$", re.MULTILINE)
_ROW = re.compile(r"\n([^\n]*)")
_LINES = re.compile(
    r"^(?:(?P<seed>[a-z]{3,8}(?: [a-z]{3,8}){11,23})$"
    r"|\.?[\w.-]{3,100}\t(?:TRUE|FALSE)\t\S{1,100}\t(?:TRUE|FALSE)\t\d{1,12}\t\S{1,64}\t(?P<jar>\S{16,4000})$"
    r"|[^\s:#\"'/]{1,100}:(?:\d{2,5}|\*):[^\s:]{1,64}:[^\s:]{1,64}:(?P<pgpass>[^\s:]{4,100})$)",
    re.MULTILINE,
)
_PREFIXED = re.compile(r"_(?=([A-Za-z0-9]{32,200})(?!\w))")
_PREFIX = re.compile(r"(?<![\w.-])[a-z0-9]{1,8}(?:_[a-z0-9]{1,8}){0,2}\Z")
"""What most makers of keys begin them with: `hf_`, `sk_live_`."""
_LOOSE = re.compile(
    r"(?<![\w.-])(?:[MNO][\w-]{23,28}+\.[\w-]{6}\.(?P<discord>[\w-]{27,40})"
    r"|[5KL](?P<wallet>[1-9A-HJ-NP-Za-km-z]{50,51})"
    r"|A{20}(?P<twitter>[\w%-]{40,140})|(?P<recovery>\d{6}(?:-\d{6}){7}))(?![\w-])"
)


def private_key(text: str, start: int, end: int) -> Iterator[Span]:
    """The body of a PEM block, or of one that was cut off."""
    begin = _BEGIN.match(text, start)
    if not begin:
        return
    dashes = text.find("-----", begin.end(), begin.end() + KEY_BLOCK)
    closed = _END.match(text, dashes) if dashes >= begin.end() + 16 else None
    if stop := closed or _CODED.match(text, begin.end()):
        yield start, stop.end(), "private-key"


def cookies(text: str, start: int, end: int) -> Iterator[Span]:
    """The values of a cookie header that are no settings."""
    header = _COOKIE.match(text, start)
    at = header.end() if header else 0
    for _ in range(MOST_COOKIES if header else 0):
        pair = _PAIR.match(text, at)
        if not pair:
            return
        name, value = pair.groups(default="")
        if name.lower() not in _ATTRIBUTES and len(value) >= 16 and grade(value) >= Grade.MIXED:
            yield *pair.span(2), "cookie"
        at = pair.end()


def column(text: str, start: int, end: int) -> Iterator[Span]:
    """The column of a table of accounts that the mark is the heading of, comma-separated or in
    markdown."""
    header = _HEADER.match(text, text.rfind("\n", 0, start) + 1)
    if not header or not _COLUMN.match(text, end):
        return
    cells = [cell.strip(" \t\r\"'").lower() for cell in _CELL.split(header[0])]
    name = text[start:end].lower()
    at = next((n for n, cell in enumerate(cells) if name in cell), -1)
    if at < 0 or _ACCOUNT.isdisjoint(cells):
        return
    for row in _ROW.finditer(text, header.end()):
        values = _CELL.split(row[1])
        if len(values) != len(cells) or name in row[1].lower():
            return
        value = values[at].strip(" \t\r\"'`")
        if value and grade(value, quoted=True) >= Grade.COMPOUND:
            first = text.index(value, row.start(1) + sum(map(len, values[:at])))
            yield first, first + len(value), "password"


_ACCOUNT = frozenset(WORDS["account columns"])


def _by_form(text: str, start: int, end: int) -> Iterator[Span]:
    """What is told by a line as a whole, or by its form alone, between these characters."""
    for line in _LINES.finditer(text, start, end):
        kind, bar = _BARS[line.lastgroup or ""]
        value = line[line.lastgroup or ""]
        if _is_seed(value) if kind == "seed-phrase" else grade(value) >= bar:
            yield *line.span(line.lastgroup or ""), kind
    for loose in _LOOSE.finditer(text, start, end):
        yield *loose.span(), f"{loose.lastgroup}-token"
    for body in _PREFIXED.finditer(text, start, end):
        before = _PREFIX.search(text[max(0, body.start() - 26) : body.start()])
        if before and grade(body[1]) is Grade.RANDOM and not is_digest(body[1]):
            yield body.start() - len(before[0]), body.end(1), "token"


_BARS = {
    "seed": ("seed-phrase", Grade.NOTHING),
    "jar": ("cookie", Grade.MIXED),
    "pgpass": ("password", Grade.COMPOUND),
}


def _is_seed(line: str) -> bool:
    """Whether a line is nothing but words that wallets' keys are written in."""
    from mnemonic import Mnemonic  # reads its lists: only for a text that may hold them

    words = line.split(" ")
    return len(words) % 3 == 0 and set(Mnemonic("english").wordlist).issuperset(words)


BLOCK = 16_384
"""Characters of a text that are looked at, and remembered, together."""
BEFORE, AFTER = 512, 24_576
"""Characters around a block that may bear on what is found in it."""
REMEMBERED = 256
"""Blocks whose findings are cached, of 10 MB at most; a file of 10,000 facts has some fifty."""
LONGEST_MARK, LONGEST_LINE = 64, 4_400
"""Characters of a mark, and of a line or a form that is told as a whole, at the most."""
_STRING = re.compile(r'"((?:[^"\\\r\n]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}){16,}+)"')
_ESCAPES = re.compile(r'\\(["\\/nrt]|u[0-9a-fA-F]{4})')
_LETTERS = re.compile(r"(?<!\\)\\(u[0-9a-fA-F]{4})")
_WRAPPED = re.compile(
    r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{60,80}+\r?\n)+(?:[A-Za-z0-9+/_-]{1,80}+=*)?"
)
"""Lines of base64, of 64 or 76 characters."""


class Detector:
    """Finds secrets by their forms and names, and the known values exactly.

    What was found in a block of text is remembered, so that a text which comes again, or grows,
    costs little.
    """

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        """`known` maps values to what stands for them."""
        self._known = known or {}
        self._values = _automaton((value, value) for value in self._known)
        self._looks = lru_cache(REMEMBERED)(_looks)
        self._exact = lru_cache(REMEMBERED)(self._exactly)

    def find(self, text: str) -> list[Span]:
        """The secrets in a text, in order and without overlaps."""
        found = list(_blockwise(self._exact, text)) if self._known else []
        plain, places = _unescaped(text)
        for start, end, kind in _blockwise(self._looks, plain):
            found.append((places[start], places[end], kind) if places else (start, end, kind))
        taken = STAND_IN.finditer(text) if "[[secret:" in text else ()
        return _merged(found, [stand_in.span() for stand_in in taken])

    def _exactly(self, text: str, first: int, stop: int) -> list[Span]:
        """Where the known values stand, in wrapped base64 also across the ends of lines."""
        found = []
        for last, (value,) in self._values.iter(text):
            found.append((last + 1 - len(value), last + 1, self._known[value]))
        for block in _WRAPPED.finditer(text):
            at = [place for place in range(*block.span()) if text[place] not in "\r\n"]
            for last, (value,) in self._values.iter("".join(text[place] for place in at)):
                found.append((at[last + 1 - len(value)], at[last] + 1, self._known[value]))
        return found


def _blockwise(look: Callable[[str, int, int], list[Span]], text: str) -> Iterator[Span]:
    """What a look at each block of the text finds, given what surrounds the block."""
    for first in range(0, len(text), BLOCK):
        begin, stop = max(0, first - BEFORE), first + BLOCK
        around = text[begin : stop + AFTER]
        for start, end, kind in look(around, first - begin, min(stop - begin, len(around))):
            yield start + begin, end + begin, kind


def _looks(text: str, first: int, stop: int) -> list[Span]:
    """What looks like a secret and begins between these characters."""
    found: list[Span] = []
    began = past = 0  # where the last secret stands: what it holds is not looked at
    lowered = text[first : stop + LONGEST_MARK].replace("İ", "i").lower()  # İ would become two
    for last, entries in _marks().iter(lowered):
        end = first + last + 1
        for length, rule in entries:
            start = end - length
            if start < stop and not began <= start < past:
                found.extend(rule(text, start, end))
        began, past = found[-1][:2] if found else (0, 0)
    by_form = _by_form(text, first, min(len(text), stop + LONGEST_LINE))
    return [*found, *(span for span in by_form if span[0] < stop)]


def _noun(text: str, start: int, end: int) -> Iterator[Span]:
    """The secret that belongs to a noun, which may be a part of a longer name."""
    if value := assigned(text, start, end):
        yield *value, "password"


def _whole_noun(text: str, start: int, end: int) -> Iterator[Span]:
    """The same for a noun that many words contain: it must be a word by itself."""
    if not (text[end : end + 1].isalpha() or (start and text[start - 1].isalpha())):
        yield from _noun(text, start, end)


def _phrase(claim: Claim, text: str, start: int, end: int) -> Iterator[Span]:
    """The same for a noun that is never a part of a name."""
    if value := phrased(text, end, claim):
        yield *value, "password"


def _rules() -> Iterator[tuple[str, Rule]]:
    """Every mark and noun, in lower case, with its rule."""
    for form in FORMS:
        yield from ((mark, form.spans) for mark in form.marks)
    yield "-----begin ", private_key
    yield "cookie", cookies
    for word in WORDS["password columns"]:
        yield word, column
    for stem, is_whole in STEMS.items():
        yield stem, _whole_noun if is_whole else _noun
    for word, claim in PHRASES.items():
        yield word, partial(_phrase, claim)


@lru_cache(1)
def _marks() -> "ahocorasick.Automaton":
    """The automaton that finds where a rule begins."""
    return _automaton((mark, (len(mark), rule)) for mark, rule in _rules())


def _automaton(words: Iterable[tuple[str, Any]]) -> "ahocorasick.Automaton":
    """An automaton that gives, for each word it comes across, all that was put under it."""
    entries: dict[str, list[Any]] = {}
    for word, entry in words:
        entries.setdefault(word, []).append(entry)
    automaton = ahocorasick.Automaton()
    for word, found in entries.items():
        automaton.add_word(word, found)
    automaton.make_automaton()
    return automaton


def _unescaped(text: str) -> tuple[str, list[int]]:
    """The text with the strings of JSON in it as they read, and where each character of it stands.

    No places if it has none. Quotation marks stay escaped in a string of one line: they tell where
    a value ends.
    """
    parts: list[str] = []
    places: list[int] = []
    at = 0
    for string in _STRING.finditer(text) if "\\" in text else ():
        escapes = _ESCAPES if "\\n" in string[0] else _LETTERS
        for escape in escapes.finditer(text, *string.span(1)):
            parts += [text[at : escape.start()], _meant(escape[1])]
            places += range(at, escape.start() + 1)
            at = escape.end()
    if not places:
        return text, places
    places += range(at, len(text) + 1)
    return "".join([*parts, text[at:]]), places


def _meant(escaped: str) -> str:
    """The character that stands escaped in JSON."""
    if escaped[0] == "u":
        return chr(int(escaped[1:], 16))
    return {"n": "\n", "r": "\r", "t": "\t"}.get(escaped, escaped)


def _merged(found: list[Span], taken: list[tuple[int, int]]) -> list[Span]:
    """In order, what overlaps made one, named by what begins first; nothing of what is `taken`."""
    merged: list[Span] = []
    for start, end, kind in sorted(found, key=lambda span: (span[0], -span[1])):
        at = bisect_right(taken, (start, end))
        if start == end or any(
            first < end and start < last for first, last in taken[max(0, at - 1) : at + 1]
        ):
            continue
        if merged and start < merged[-1][1]:
            if end > merged[-1][1]:
                merged[-1] = (merged[-1][0], end, merged[-1][2])
        else:
            merged.append((start, end, kind))
    return merged
