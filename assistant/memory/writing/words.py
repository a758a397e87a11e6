"""The words of facts, to find them again wherever something of them was kept."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from itertools import filterfalse, takewhile

from assistant.memory.annotations import without_phrases
from assistant.memory.text.identity import fact_key
from assistant.memory.text.language import is_function_word, language_of
from assistant.memory.text.markdown import line_digest, plain
from assistant.memory.writing.journal import Edit
from assistant.memory.writing.markup import clean, escape
from assistant.messages import FORGOTTEN

LONG = 16
"""Minimum characters of a text that is also searched for verbatim, including markup."""
STEM, ENDING = 4, 3
"""Two words are forms of one if they share STEM letters and differ in at most ENDING letters."""
PART = 5
"""Minimum letters of a word that also counts within a longer one, as in a German compound."""
_MARKER = re.compile(r"^(?:[-+*]|\d{1,9}[.)])[ \t]+")
_WORD = re.compile(r"[^\W_]+")
_MARKUP = re.compile(r"[*_`~&<>\[\\]")
_MARKS = re.compile(r"[^\x00-\u02ff]+")
"""All combining characters are beyond Latin."""
_SPACED = 0x2E80
"""Scripts below this code point put spaces between words."""


class Words:
    """Facts to be found, in every known wording; `shown` are passages as their files have them."""

    def __init__(self, facts: Sequence[str], shown: Sequence[str] = ()) -> None:
        self._keys = {fact_key(fact) for fact in facts}
        self._sequences = set(filter(None, map(_word_sequence, facts)))
        self.escaped = {escape(clean(fact)) for fact in facts}
        raw = {_MARKER.sub("", text).strip() for text in shown}
        self._literal = {
            _composed(text)
            for text in {*raw, *self.escaped, *facts} - {""}
            if len(text) >= LONG or not _pattern(text)
        }
        self._patterns = [pattern for pattern in map(_pattern, facts) if pattern]
        self._telling = [_telling_words(fact) for fact in facts]
        items = (f"{mark} {item}" for item in self.escaped for mark in "-*+")
        lines = (line for text in shown for line in text.splitlines())
        self._digests = set(map(line_digest, (*items, *lines)))

    def are(self, text: str) -> bool:
        """Whether a text is one of the facts, ignoring anything between its words."""
        return fact_key(text) in self._keys or _word_sequence(text) in self._sequences

    def occur_in(self, text: str) -> bool:
        """Whether a text contains one of the facts, ignoring anything between its words."""
        text = _composed(text)
        return any(literal in text for literal in self._literal) or any(
            pattern.search(text) for pattern in self._patterns
        )

    def without(self, text: str) -> str:
        """The text without the facts, and without the lines that tell one in other words."""
        for pattern in self._patterns:
            text = pattern.sub(FORGOTTEN, text)
        return "\n".join(map(self._without_told, text.split("\n")))

    def _without_told(self, line: str) -> str:
        """The line, unless it tells a fact; without what a fact that stood there mattered for."""
        if self._is_told_by(line, _bare(line)):
            return FORGOTTEN
        return without_phrases(line) if FORGOTTEN in line else line

    def without_digests(self, edit: Edit) -> Edit:
        """The edit without the digests of lines with these facts, which would confirm a guess."""
        above = tuple("" if digest in self._digests else digest for digest in edit.above)
        below = tuple("" if digest in self._digests else digest for digest in edit.below)
        return replace(edit, above=above, below=below)

    def lines_in(self, text: str) -> list[int]:
        """The numbers of the lines that contain or tell one of the facts, from 1."""
        occur = self.occur_in(text)  # what no text contains no line of it does
        lines = zip(text.split("\n"), _bare(text).split("\n"), strict=True)
        return [
            number
            for number, (line, bare) in enumerate(lines, start=1)
            if (occur and self.occur_in(line)) or self._is_told_by(line, bare)
        ]

    def _is_told_by(self, line: str, bare: str) -> bool:
        """Whether a line has, in any form, all the words that state one of the facts."""
        texts = [bare, _bare(plain(line))] if _MARKUP.search(line) else [bare]
        return any(_tells(words, text) for text in texts for words in self._telling)


def _tells(words: Sequence[str], bare: str) -> bool:
    """Whether a bare text has all these words, in any form."""
    if not words or not all(word[:STEM] in bare for word in words):
        return False
    tokens = set(_WORD.findall(bare))
    return all(word in tokens or any(_is_form(word, token) for token in tokens) for word in words)


def _is_form(word: str, other: str) -> bool:
    """Whether a word is a form or a part of another one: garden, gardens, Gartens, Gartenhaus."""
    if word.isdigit() or other.isdigit():
        return word == other
    if word in other and (len(word) >= PART or ord(word[0]) >= _SPACED):
        return True
    short, long = sorted((len(word), len(other)))
    same = sum(1 for _ in takewhile(bool, map(str.__eq__, word, other)))
    return same >= max(STEM, short - 1) and long - short <= ENDING


def _tokens(text: str) -> list[str]:
    """The words of a text without accents, marks and case."""
    return _WORD.findall(_bare(text))


def _bare(text: str) -> str:
    """A text without accents, marks and case."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = _MARKS.sub(
            lambda marks: "".join(filterfalse(unicodedata.combining, marks[0])), decomposed
        )
    return text.casefold()


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _word_sequence(fact: str) -> tuple[str, ...]:
    """The words of a fact, if it has several: one alone means nothing without its signs (C++)."""
    words = tuple(re.findall(r"\w+", _composed(fact).casefold()))
    return words if len(words) > 1 else ()


def _pattern(fact: str) -> "re.Pattern[str] | None":
    """Matches the words of a fact in order, with anything else between; None if it has none."""
    words = re.findall(r"\w+", _composed(fact))
    if not words:
        return None
    before = r"(?<!\w)" if ord(words[0][0]) < _SPACED else ""
    after = r"(?!\w)" if ord(words[-1][-1]) < _SPACED else ""
    sequence = r"[\W_]+".join(map(re.escape, words))
    return re.compile(f"{before}{sequence}{after}", re.IGNORECASE)


def _telling_words(fact: str) -> list[str]:
    """The words that a line must have to state the fact, longest first: content words of its
    language, and short ones only if there are no others."""
    words, language = re.findall(r"[^\W_]+", plain(fact)), language_of(fact)
    content = " ".join(word for word in words if not is_function_word(word, language))
    telling = {word for word in _tokens(content) if len(word) > 2 or not word.isalpha()}
    return sorted(telling or _tokens(" ".join(words)), key=len, reverse=True)
