"""Finds text that looks like a secret. Read this module of the package first.

One pass of an Aho-Corasick automaton finds every mark and noun that starts a rule; the rule then
examines a bounded window around it, so the cost is linear in the length of the text. The rules are
tokens with a distinctive form (`tokens.txt`), forms recognised by their context (`forms.toml`), a
few structures that need more than a pattern, and values with a name (`assignments.py`).

The tables are ours because detect-secrets, the library for this, scans files for a report and does
not rewrite text.
"""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import ahocorasick

from assistant.secrets.assignments import PHRASES, STEMS, Claim, assigned, phrased
from assistant.secrets.grades import Grade, grade, is_digest
from assistant.secrets.patterns import PATTERNS, WORDS, data, expanded
from assistant.secrets.stand_ins import STAND_IN

Span = tuple[int, int, str]
"""A secret's start, end and kind."""
Rule = Callable[[str, int, int], Iterator[Span]]
"""Yields the secrets at a mark, given the text and the mark's start and end."""

LINE = 200
"""Number of characters before a mark that are searched for its command."""
_MADE_UP = re.compile(r"(\w)\1{7}|EXAMPLE")
_compiled = lru_cache(None)(re.compile)  # compiled lazily: most patterns are never used


@dataclass(frozen=True, slots=True)
class Form:
    """A form of secrets. The groups of `pattern`, if there are any, are the secrets.

    `marks`, in lower case, trigger the form; `pattern` is matched `back` characters before the
    mark. The value must be graded `bar` or better. `after`, if set, is a pattern that must occur on
    the same line before the mark.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: str
    back: int = 0
    bar: Grade = Grade.NOTHING
    after: str = ""
    is_token: bool = False
    """Case matters, and `ghp_xxxxxxxx` counts as an example, not a secret."""

    def spans(self, text: str, start: int, end: int) -> Iterator[Span]:
        """Yield the secrets of this form at a mark."""
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
        """Return whether `after` occurs in the line, up to the mark."""
        if not self.after:
            return True
        first = max(text.rfind("\n", max(0, start - LINE), start) + 1, start - LINE, 0)
        return bool(_compiled(self.after, re.IGNORECASE).search(text[first : start + 1]))


def _token_forms() -> Iterator[Form]:
    for line in data("tokens.txt").splitlines():
        if line and not line.startswith("#"):
            kind, marks, before, suffix = (part.strip() for part in line.split(" | ", 3))
            starts = marks.split(" ")
            before = r"\w" if before == "-" else before
            pattern = expanded(f"(?<!{before})(?:{'|'.join(map(re.escape, starts))}){suffix}")
            yield Form(kind, tuple(map(str.lower, starts)), pattern, is_token=True)


def _contextual_forms() -> Iterator[Form]:
    for form in tomllib.loads(data("forms.toml"))["form"]:
        bar, marks = Grade[form.pop("bar", "NOTHING")], tuple(form.pop("marks"))
        yield Form(marks=marks, bar=bar, **form | {"pattern": expanded(form["pattern"])})


FORMS = (*_token_forms(), *_contextual_forms())

MOST_COOKIES = 64
"""Maximum number of cookies of a header that are examined."""
_CELL = re.compile(r"[ \t]*[,;|\t][ \t]*")
_COLUMN = re.compile(r"[\"'*]{0,3}[ \t]{0,20}+(?:[,;|\t\r\n]|\Z)")
_HEADER = re.compile(r"[\w .,;|\t\"'*-]{1,400}\r?$", re.MULTILINE)
_ROW = re.compile(r"\n([^\n]*)")
_PREFIXED = re.compile(r"_(?=([A-Za-z0-9]{32,200})(?!\w))")
LONG_WORD = 50
_PREFIX = re.compile(r"(?<![\w.-])[a-z0-9]{1,8}(?:_[a-z0-9]{1,8}){0,2}\Z")
"""Prefixes that most vendors give their keys: `hf_`, `sk_live_`."""


def cookies(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the values of a cookie header that are not attributes."""
    header = PATTERNS["cookie"].match(text, start)
    position = header.end() if header else 0
    for _ in range(MOST_COOKIES if header else 0):
        pair = PATTERNS["pair"].match(text, position)
        if not pair:
            return
        name, value = pair.groups(default="")
        is_attribute = name.lower() in WORDS["cookie attributes"]
        if not is_attribute and len(value) >= 16 and grade(value) >= Grade.MIXED:
            yield *pair.span(2), "cookie"
        position = pair.end()


def column(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the values in the column that the mark heads, in a table of accounts,
    comma-separated or in markdown."""
    header = _HEADER.match(text, text.rfind("\n", 0, start) + 1)
    if not header or not _COLUMN.match(text, end):
        return
    cells = [cell.strip(" \t\r\"'").lower() for cell in _CELL.split(header[0])]
    name = text[start:end].lower()
    index = next((n for n, cell in enumerate(cells) if name in cell), -1)
    if index < 0 or _ACCOUNT.isdisjoint(cells):
        return
    for row in _ROW.finditer(text, header.end()):
        values = _CELL.split(row[1])
        if len(values) != len(cells) or name in row[1].lower():
            return
        value = values[index].strip(" \t\r\"'`")
        if value and grade(value, quoted=True) >= Grade.COMPOUND:
            value_start = text.index(value, row.start(1) + sum(map(len, values[:index])))
            yield value_start, value_start + len(value), "password"


_ACCOUNT = frozenset(WORDS["account columns"])


def _by_form(text: str) -> Iterator[Span]:
    """Yield secrets recognised by their whole line, or by their form alone."""
    for line in PATTERNS["lines"].finditer(text):
        kind, bar = _BARS[line.lastgroup or ""]
        value = line[line.lastgroup or ""]
        if _is_seed(value) if kind == "seed-phrase" else grade(value) >= bar:
            yield *line.span(line.lastgroup or ""), kind
    for loose in PATTERNS["loose"].finditer(text) if _has_long_word(text) else ():
        yield *loose.span(), f"{loose.lastgroup}-token"
    for body in _PREFIXED.finditer(text):
        before = _PREFIX.search(text[max(0, body.start() - 26) : body.start()])
        if before and grade(body[1]) is Grade.RANDOM and not is_digest(body[1]):
            yield body.start() - len(before[0]), body.end(1), "token"


def _has_long_word(text: str) -> bool:
    """Return whether the text has a word as long as a key; most texts have none."""
    return max(map(len, text.split()), default=0) >= LONG_WORD


_BARS = {
    "seed": ("seed-phrase", Grade.NOTHING),
    "jar": ("cookie", Grade.MIXED),
    "pgpass": ("password", Grade.COMPOUND),
}


def _is_seed(line: str) -> bool:
    """Return whether a line consists of words of a wallet's seed phrase."""
    from mnemonic import Mnemonic  # loads word lists, so only for candidates

    words = line.split(" ")
    return len(words) % 3 == 0 and set(Mnemonic("english").wordlist).issuperset(words)


_STRING = re.compile(r'"((?:[^"\\\r\n]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}){16,}+)"')
_ESCAPES = re.compile(r'\\(["\\/nrt]|u[0-9a-fA-F]{4})')


class Detector:
    """Finds secrets by form and name, and known values exactly."""

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        """`known` maps values to their stand-ins."""
        self._known = known or {}
        self._values = _automaton((value, value) for value in self._known)

    def find(self, text: str) -> list[Span]:
        """Return the secrets in a text, in order and without overlaps."""
        spans = self._find_known(text) if self._known else []
        plain, positions = _unescaped(text)
        looks = _find_by_looks(plain)
        spans += [(positions[start], positions[end], kind) for start, end, kind in looks]
        existing = STAND_IN.finditer(text) if "[[secret:" in text else ()
        return _merged(spans, [stand_in.span() for stand_in in existing])

    def _find_known(self, text: str) -> list[Span]:
        """Find the known values, also across line ends in wrapped base64."""
        spans = [(start, end, self._known[value]) for start, end, value in self._matches(text)]
        for block in PATTERNS["wrapped"].finditer(text) if _has_long_word(text) else ():
            offsets = [offset for offset in range(*block.span()) if text[offset] not in "\r\n"]
            unwrapped = "".join(text[offset] for offset in offsets)
            for start, end, value in self._matches(unwrapped):
                spans.append((offsets[start], offsets[end - 1] + 1, self._known[value]))
        return spans

    def _matches(self, text: str) -> Iterator[Span]:
        """Yield the start and end of each known value, and the value."""
        for last, (value,) in self._values.iter(text):
            yield last + 1 - len(value), last + 1, value


def _find_by_looks(text: str) -> list[Span]:
    """Find text that looks like a secret."""
    spans: list[Span] = []
    last_start = last_end = 0  # the last secret, whose inside is skipped
    for last, entries in _marks().iter(text.replace("İ", "i").lower()):  # İ would become two
        end = last + 1
        for length, rule in entries:
            start = end - length
            if not last_start <= start < last_end:
                spans.extend(rule(text, start, end))
        last_start, last_end = spans[-1][:2] if spans else (0, 0)
    return [*spans, *_by_form(text)]


def _noun(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the secret assigned to a noun, which may be part of a longer name."""
    if value := assigned(text, start, end):
        yield *value, "password"


def _whole_noun(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the secret like `_noun`, for a noun in many words: it must be a whole word."""
    if not (text[end : end + 1].isalpha() or (start and text[start - 1].isalpha())):
        yield from _noun(text, start, end)


def _phrase(claim: Claim, text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the secret like `_noun`, for a noun that is never part of a name."""
    if value := phrased(text, end, claim):
        yield *value, "password"


def _rules() -> Iterator[tuple[str, Rule]]:
    """Yield every mark and noun, in lower case, with its rule."""
    for form in FORMS:
        yield from ((mark, form.spans) for mark in form.marks)
    yield "cookie", cookies
    for word in WORDS["password columns"]:
        yield word, column
    for stem, is_whole in STEMS.items():
        yield stem, _whole_noun if is_whole else _noun
    for word, claim in PHRASES.items():
        yield word, partial(_phrase, claim)


@lru_cache(1)
def _marks() -> "ahocorasick.Automaton":
    """Build the automaton that finds where a rule starts."""
    return _automaton((mark, (len(mark), rule)) for mark, rule in _rules())


def _automaton(words: Iterable[tuple[str, Any]]) -> "ahocorasick.Automaton":
    """Build an automaton that yields, for each word it finds, all of the word's entries."""
    entries: dict[str, list[Any]] = {}
    for word, entry in words:
        entries.setdefault(word, []).append(entry)
    automaton = ahocorasick.Automaton()
    for word, values in entries.items():
        automaton.add_word(word, values)
    automaton.make_automaton()
    return automaton


def _unescaped(text: str) -> tuple[str, Sequence[int]]:
    """Return the text with its JSON strings unescaped, and the original position of each character.

    A string of one line is unchanged, since escaped quotation marks show where a value ends.
    """
    parts: list[str] = []
    positions: list[int] = []
    offset = 0
    for string in _STRING.finditer(text) if "\\n" in text else ():
        for escape in _ESCAPES.finditer(text, *string.span(1)) if "\\n" in string[0] else ():
            parts += [text[offset : escape.start()], _unescape_char(escape[1])]
            positions += range(offset, escape.start() + 1)
            offset = escape.end()
    if not parts:
        return text, range(len(text) + 1)
    positions += range(offset, len(text) + 1)
    return "".join([*parts, text[offset:]]), positions


def _unescape_char(escaped: str) -> str:
    """Return the character of a JSON escape."""
    if escaped[0] == "u":
        return chr(int(escaped[1:], 16))
    return {"n": "\n", "r": "\r", "t": "\t"}.get(escaped, escaped)


def _merged(spans: list[Span], existing: list[tuple[int, int]]) -> list[Span]:
    """Merge overlapping spans in order, named by the earliest, and drop those in existing
    stand-ins."""
    merged: list[Span] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        index = bisect_right(existing, (start, end))
        if start == end or any(
            first < end and start < last for first, last in existing[max(0, index - 1) : index + 1]
        ):
            continue
        if merged and start < merged[-1][1]:
            if end > merged[-1][1]:
                merged[-1] = (merged[-1][0], end, merged[-1][2])
        else:
            merged.append((start, end, kind))
    return merged
