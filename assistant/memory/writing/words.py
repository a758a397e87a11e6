"""Finds the words of facts again wherever parts of them were stored."""

import re
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, filterfalse
from unicodedata import combining, normalize

from assistant.memory.annotations import without_phrases
from assistant.memory.text.identity import fact_key
from assistant.memory.text.language import is_function_word, language_of
from assistant.memory.text.markdown import line_digest, plain
from assistant.memory.writing.journal import Edit
from assistant.memory.writing.markup import clean, common, escape
from assistant.messages import FORGOTTEN

STEM, ENDING = 4, 3
"""Two words are forms of one if they share STEM letters and differ in at most ENDING letters; a
shorter word may have one more letter."""
BEGINNING = 3
"""The number of letters that all forms of a word share."""
PART = 5
"""Minimum length of a word that also matches within a longer one, as in a German compound."""
NEAR = 5
"""Maximum number of lines that may state a fact together; only the first of them may begin a list
item, a heading or a row of a table."""
_MARKER = re.compile(r"^(?:[-+*]|\d{1,9}[.)])[ \t]+")
_BEGINS = re.compile(r"\s*(?:[-+*•]|\d{1,9}[.)]|#{1,6})\s|\s*\|")
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+")
_AMOUNT = re.compile(r"(\d+)[^\W\d_]{1,3}")
_IDENTIFYING = re.compile(r"(?!(?:18|19|20|21)\d\d$)\d{4,}")
"""A number that is distinctive by itself: not a year."""
_MARKUP = re.compile(r"[*_`~&<>\[\\]")
_MARKS = re.compile(r"[^\x00-\u02ff]+")
"""All combining characters are beyond Latin."""
_SPACED = 0x2E80
"""Scripts below this code point put spaces between words."""


class Words:
    """Facts to find, in every known wording; `shown` are passages as their files have them."""

    def __init__(self, facts: Sequence[str], shown: Sequence[str] = ()) -> None:
        self._keys = {fact_key(fact) for fact in facts}
        self._sequences = set(filter(None, map(_word_sequence, facts)))
        self.escaped = {escape(clean(fact)) for fact in facts}
        texts = {*facts, *self.escaped, *(_MARKER.sub("", text).strip() for text in shown)} - {""}
        self._patterns = set(map(_pattern, texts))
        self._telling = [_telling_words(fact) for fact in facts]
        items = (f"{mark} {item}" for item in self.escaped for mark in "-*+")
        lines = (line for text in shown for line in text.splitlines())
        self._digests = set(map(line_digest, (*items, *lines)))

    def are(self, text: str) -> bool:
        """Return whether a text is one of the facts, ignoring anything between its words."""
        return fact_key(text) in self._keys or _word_sequence(text) in self._sequences

    def occur_in(self, text: str) -> bool:
        """Return whether a text contains one of the facts, ignoring anything between its words."""
        text = normalize("NFC", text)
        return any(pattern.search(text) for pattern in self._patterns)

    def without(self, text: str) -> str:
        """Return the text without the facts, and without the lines that state one in other
        words."""
        for pattern in self._patterns:
            text = pattern.sub(FORGOTTEN, text)
        lines = text.split("\n")
        for number in self._stating_lines(lines):
            lines[number] = FORGOTTEN
        return "\n".join(without_phrases(line) if FORGOTTEN in line else line for line in lines)

    def without_digests(self, edit: Edit) -> Edit:
        """Return the edit without the digests of lines with these facts, which could confirm a
        guess."""
        above = tuple("" if digest in self._digests else digest for digest in edit.above)
        below = tuple("" if digest in self._digests else digest for digest in edit.below)
        return replace(edit, above=above, below=below)

    def lines_in(self, text: str) -> list[int]:
        """Return the 1-based numbers of the lines that contain or state one of the facts."""
        occur = self.occur_in(text)  # if the text does not contain it, no line does
        lines = text.split("\n")
        stating = self._stating_lines(lines)
        return [
            number
            for number, line in enumerate(lines, start=1)
            if number - 1 in stating or (occur and self.occur_in(line))
        ]

    def _stating_lines(self, lines: Sequence[str]) -> set[int]:
        """Return the indices of the lines that have, alone or together with nearby ones, all the
        words of a fact in any form."""
        stating: set[int] = set()
        searched = _searched("\n".join(lines))
        for words in self._telling:
            if all(word[:BEGINNING] in searched for word in words):
                by_line = _words_by_line(words, lines)
                alone = {number for number, has in by_line.items() if len(has) == len(words)}
                others = {number: by_line[number] for number in by_line.keys() - alone}
                near = _nearby(others, lines)
                stating |= alone.union(*(some for some, has in near if len(has) == len(words)))
        return stating

    def used_in(self, text: str) -> set[str]:
        """Return the words of the facts that a text has, in any form."""
        tokens = set().union(*(_tokens(line, _searched(line)) for line in text.split("\n")))
        words = set(chain.from_iterable(self._telling))
        return {word for word in words if any(_is_form(word, token) for token in tokens)}

    def traces(self, text: str, common: Container[str]) -> Iterator[tuple[str, ...]]:
        """Yield the words of facts that a text has without stating them, if they identify the fact:
        several with more than two fifths of its letters, among them words that are not `common`
        with a third of the letters of those, or such a number that is not a year."""
        searched, lines = _searched(text), text.split("\n")
        for words in self._telling:
            own = [word for word in words if word not in common]
            if _identify({word for word in words if word[:BEGINNING] in searched}, words, own):
                for _, has in _nearby(_words_by_line(words, lines), lines):
                    if _identify(has, words, own):
                        yield tuple(word for word in words if word in has)


def _identify(some: Collection[str], words: Sequence[str], own: Sequence[str]) -> bool:
    """Return whether some of the words of a fact hint at it; `own` are those of no other fact."""
    letters, of_fact, of_own = (len("".join(each)) for each in (some, words, own))
    found = [word for word in own if word in some]
    is_much = 5 * letters > 2 * of_fact and 3 * len("".join(found)) >= of_own
    is_enough = len(some) > 1 and len(found) > 0
    return (is_much and is_enough) or any(map(_IDENTIFYING.fullmatch, found))


def _searched(text: str) -> str:
    """Return a text without accents and case, with and without the marks that may split a word."""
    bare = _bare(text)
    return f"{bare}\n{_MARKUP.sub('', bare)}" if _MARKUP.search(bare) else bare


def _words_by_line(words: Sequence[str], lines: Sequence[str]) -> dict[int, set[str]]:
    """Return, by the index of each line with any of these words in any form, those it has."""
    by_line = {}
    for number, line in enumerate(lines):
        searched = _searched(line)
        if any(word[:BEGINNING] in searched for word in words):
            tokens = _tokens(line, searched)
            has = {word for word in words if any(_is_form(word, token) for token in tokens)}
            if has:
                by_line[number] = has
    return by_line


def _tokens(line: str, searched: str) -> set[str]:
    """Return the words of a line, given as searched, and of its text without markup."""
    text = f"{searched} {_bare(plain(line))}" if _MARKUP.search(line) else searched
    return set(_WORD.findall(text))


def _nearby(
    by_line: Mapping[int, set[str]], lines: Sequence[str]
) -> Iterator[tuple[set[int], set[str]]]:
    """Yield, from each line with such words, nearby lines that add others, and all these words."""
    for first, has in by_line.items():
        near, together, below = {first}, set(has), set[str]()
        for number in range(first + 1, min(first + NEAR, len(lines))):
            below |= by_line.get(number, set())
            if _BEGINS.match(lines[number]) or has <= below:
                break
            if below - together:
                near.add(number)
                together |= below
        yield near, together


def _is_form(word: str, other: str) -> bool:
    """Return whether a word is a form or a part of another: garden, gardens, Gartens,
    Gartenhaus."""
    if word[:BEGINNING] not in other:
        return False
    if word.isdigit() or other.isdigit():
        return word in _NUMBER.findall(other)  # 300g
    if word in other and (len(word) >= PART or ord(word[0]) >= _SPACED):
        return True
    short, long = sorted((len(word), len(other)))
    same = common(word, other)
    if short < STEM:
        return same == short and long - short <= 1  # keys
    return same >= max(STEM, short - 1) and long - short <= ENDING


def words_in(text: str) -> list[str]:
    """Return the words of a text without accents, marks and case."""
    return _WORD.findall(_bare(text))


def _bare(text: str) -> str:
    """Return a text without accents, marks and case."""
    if not text.isascii():
        decomposed = normalize("NFKD", text)
        text = _MARKS.sub(lambda marks: "".join(filterfalse(combining, marks[0])), decomposed)
    return text.casefold()


def _word_sequence(fact: str) -> tuple[str, ...]:
    """Return the words of a fact if it has several; a single one needs its signs (C++)."""
    words = tuple(re.findall(r"\w+", normalize("NFC", fact).casefold()))
    return words if len(words) > 1 else ()


def _pattern(fact: str) -> "re.Pattern[str]":
    """Match the words of a fact in order, with anything in between; the fact itself if it has
    none."""
    words = re.findall(r"\w+", normalize("NFC", fact))
    if not words:
        return re.compile(re.escape(normalize("NFC", fact)))
    before = r"(?<!\w)" if ord(words[0][0]) < _SPACED else ""
    after = r"(?!\w)" if ord(words[-1][-1]) < _SPACED else ""
    sequence = r"[\W_]+".join(map(re.escape, words))
    return re.compile(f"{before}{sequence}{after}", re.IGNORECASE)


def _telling_words(fact: str) -> list[str]:
    """Return the words that a line must have to state the fact, longest first: content words of its
    language, and short ones only if there are no others."""
    words, language = re.findall(r"[^\W_]+", plain(fact)), language_of(fact)
    content = " ".join(word for word in words if not is_function_word(word, language))
    tokens = [
        amount[1] if (amount := _AMOUNT.fullmatch(word)) else word for word in words_in(content)
    ]
    telling = {word for word in tokens if len(word) > 2 or not word.isalpha()}
    return sorted(sorted(telling or words_in(" ".join(words))), key=len, reverse=True)
