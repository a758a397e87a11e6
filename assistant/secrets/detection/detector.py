"""Finds what looks like a secret in a text. Read this first of the room.

Two stages. One pass of an Aho-Corasick automaton finds every mark and noun that a rule begins
with; the rules then look at a bounded stretch around each. A text of any content costs what its
length costs.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import ahocorasick

from assistant.characters.stretches import STRETCH, ends_a_line, stretches
from assistant.secrets.detection import structures
from assistant.secrets.detection.assignments import assigned, phrased
from assistant.secrets.detection.forms import FORMS, Span
from assistant.secrets.detection.grades import Grade, grade, is_digest
from assistant.secrets.detection.names import PHRASES, STEMS, Claim
from assistant.secrets.stand_ins import STAND_IN

Rule = Callable[[str, int, int], Iterable[Span]]
"""Given a text and where a mark stands in it, the secrets there."""

BLOCK = 1_024
"""Characters of a text that are looked at, and remembered, together."""
BEFORE, AFTER = 256, 2_304
"""Characters around a block that may bear on what is found in it."""
REMEMBERED = 1_024
"""Blocks whose findings are remembered."""
LONGEST_MARK = 64
"""Characters of a mark, and more."""
LONGEST_FORM = 512
"""Characters, and more, of what is told by its form alone."""
_LINES = re.compile(
    r"^(?:[a-z]{3,8}(?: [a-z]{3,8}){11,23}$"
    r"|\.?[\w.-]{3,100}\t(?:TRUE|FALSE)\t\S{1,100}\t(?:TRUE|FALSE)\t\d{1,12}\t\S{1,64}\t(?P<jar>\S{16,4000})$"
    r"|[^\s:#\"'/]{1,100}:(?:\d{2,5}|\*):[^\s:]{1,64}:[^\s:]{1,64}:(?P<pgpass>[^\s:]{4,100})$)",
    re.MULTILINE,
)
_STRING = re.compile(r'"((?:[^"\\\r\n]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}){16,}+)"')
_ESCAPES = re.compile(r'\\(["\\/nrt]|u[0-9a-fA-F]{4})')
_LETTERS = re.compile(r"(?<!\\)\\(u[0-9a-fA-F]{4})")
_WRAPPED = re.compile(
    r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{60,80}+\r?\n)+(?:[A-Za-z0-9+/_-]{1,80}+=*)?"
)
"""Lines of base64, of 64 or 76 characters."""
_PREFIXED = re.compile(r"_(?=([A-Za-z0-9]{32,200})(?!\w))")
_PREFIX = re.compile(r"(?<![\w.-])[a-z0-9]{1,8}(?:_[a-z0-9]{1,8}){0,2}\Z")
"""What most makers of keys begin them with: `hf_`, `sk_live_`."""
_LOOSE = re.compile(
    r"(?<![\w.-])(?:[MNO][\w-]{23,28}+\.[\w-]{6}\.(?P<discord>[\w-]{27,40})"
    r"|[5KL](?P<wallet>[1-9A-HJ-NP-Za-km-z]{50,51})"
    r"|A{20}(?P<twitter>[\w%-]{40,140})|(?P<recovery>\d{6}(?:-\d{6}){7}))(?![\w-])"
)


class Detector:
    """Finds secrets by their forms and names, and the known values exactly.

    What was found in a stretch of text is remembered, so that text which comes again, in the next
    prompt or on the next line, costs next to nothing.
    """

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        """`known` maps values to what stands for them."""
        self._known = known or {}
        self._values = _automaton((value, value) for value in self._known)
        self._marks = _marks()
        self._near = lru_cache(REMEMBERED)(self._in_block)

    def find(self, text: str) -> list[Span]:
        """The secrets in a text, in order and without overlaps."""
        found = list(self._exactly(text))
        plain, places = _unescaped(text)
        for start, end, kind in self._looking(plain):
            found.append((places[start], places[end], kind) if places else (start, end, kind))
        taken = STAND_IN.finditer(text) if "[[secret:" in text else ()
        return _merged(found, [stand_in.span() for stand_in in taken])

    def _looking(self, text: str) -> list[Span]:
        """What looks like a secret."""
        found: list[Span] = []
        for first in range(0, len(text), BLOCK):
            begin, stop = max(0, first - BEFORE), first + BLOCK + AFTER
            near = self._near(text[begin:stop], first - begin, stop < len(text))
            if near is None:
                begin, near = 0, self._in_block(text, first, False)
            found += [(start + begin, end + begin, kind) for start, end, kind in near or ()]
        return [*found, *_lines(text)]

    def _exactly(self, text: str) -> Iterator[Span]:
        """Where the known values stand, in wrapped base64 also across the ends of lines."""
        if not self._known:
            return
        longest = max(map(len, self._known))
        for first in range(0, len(text), STRETCH):
            begin, stop = max(0, first - longest), min(first + STRETCH, len(text))
            for last, (value,) in self._values.iter(text, begin, stop):
                yield last + 1 - len(value), last + 1, self._known[value]
        for block in _WRAPPED.finditer(text):
            at = [place for place in range(*block.span()) if text[place] not in "\r\n"]
            for last, (value,) in self._values.iter("".join(text[place] for place in at)):
                yield at[last + 1 - len(value)], at[last] + 1, self._known[value]

    def _in_block(self, text: str, first: int, cut: bool) -> list[Span] | None:
        """What begins within a block; None if the text was `cut` too short behind it to tell."""
        found: list[Span] = []
        began = past = 0  # where the last secret stands: what it holds is not looked at
        stop = first + BLOCK
        for last, entries in self._marks.iter(_lowered(text[first : stop + LONGEST_MARK])):
            end = first + last + 1
            for length, rule in entries:
                start = end - length
                if start < stop and not began <= start < past:
                    found.extend(rule(text, start, end))
            began, past = found[-1][:2] if found else (0, 0)
        return None if cut and past >= len(text) - 1 else found


def _noun(text: str, start: int, end: int) -> Iterable[Span]:
    """The secret that belongs to a noun, which may be a part of a longer name."""
    found = assigned(text, start, end)
    return ((*found, "password"),) if found else ()


def _whole_noun(text: str, start: int, end: int) -> Iterable[Span]:
    """The same for a noun that many words contain: it must be a word by itself."""
    if text[end : end + 1].isalpha() or (start and text[start - 1].isalpha()):
        return ()
    return _noun(text, start, end)


def _phrase(said: Claim) -> Rule:
    """The same for a noun that is never a part of a name."""

    def rule(text: str, start: int, end: int) -> Iterable[Span]:
        found = phrased(text, end, said)
        return ((*found, "password"),) if found else ()

    return rule


def _lines(text: str) -> Iterator[Span]:
    """What is told by a line as a whole, or by its form alone."""
    for first, stop in stretches(text):
        cut = not ends_a_line(text, stop)
        begin = first if ends_a_line(text, first) else first - LONGEST_FORM
        for found in _lines_within(text, max(0, begin), stop):
            if not (cut and found[1] == stop):  # it may go on: it is met again
                yield found


def _lines_within(text: str, first: int, stop: int) -> Iterator[Span]:
    for line in _LINES.finditer(text, first, stop):
        if line["jar"]:
            if grade(line["jar"]) >= Grade.MIXED:
                yield *line.span("jar"), "cookie"
        elif line["pgpass"] is None:
            yield from structures.seed_line(text, line.start(), line.end())
        elif grade(line["pgpass"]) >= Grade.COMPOUND:
            yield *line.span("pgpass"), "password"
    for loose in _LOOSE.finditer(text, first, stop):
        yield *loose.span(), f"{loose.lastgroup}-token"
    for body in _PREFIXED.finditer(text, first, stop):
        before = _PREFIX.search(text[max(0, body.start() - 26) : body.start()])
        if before and grade(body[1]) is Grade.RANDOM and not is_digest(body[1]):
            yield body.start() - len(before[0]), body.end(1), "token"


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


def _lowered(text: str) -> str:
    """In lower case, of the same length: İ alone has a lower case of two characters."""
    return text.replace("İ", "i").lower()


_STRUCTURES: dict[Rule, str] = {
    structures.private_keys: "-----begin ",
    structures.coded_keys: "ls0tls1crudjti",
    structures.cookies: "cookie",
    structures.coded_logins: 'basic|"auth"|_auth',
    structures.aws_secrets: "akia|asia",
    structures.seed_phrases: "seed|mnemonic|recovery phrase|recovery words|wallet|secret phrase",
    structures.columns: "password|passwd|passwort|contraseña|mot de passe|kennwort|senha",
}


def _rules() -> Iterator[tuple[str, Rule]]:
    """Every mark and noun, in lower case, with its rule."""
    for form in FORMS:
        yield from ((mark, form.spans) for mark in form.marks)
    for rule, marks in _STRUCTURES.items():
        yield from ((mark, rule) for mark in marks.split("|"))
    for stem, whole in STEMS.items():
        yield stem, _whole_noun if whole else _noun
    for word, said in PHRASES.items():
        yield word, _phrase(said)


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
