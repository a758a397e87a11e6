"""The words of facts, and how they are known again wherever something was kept of them."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from assistant.memory.annotations import without_phrases
from assistant.memory.text.identity import fact_key
from assistant.memory.text.language import is_function_word, language_of
from assistant.memory.text.markdown import line_digest, plain
from assistant.memory.writing.journal import Edit
from assistant.memory.writing.markup import clean, escape

GONE = "(forgotten)"
"""Stands in a conversation where the words were."""
_MARKER = re.compile(r"^(?:[-+*]|\d{1,9}[.)])[ \t]+")
LONG = 16
"""A text of so many characters is also looked for as it is written, markup and all."""
_SPACED = 0x2E80
"""Below it are the scripts whose words are set apart."""
_MARKUP = re.compile(r"[*_`~&<>\[\\]")
STEM, ENDING = 4, 3
"""So many letters in common make two words forms of one, if they differ by so many at the most."""
_WORD = re.compile(r"[^\W_]+")
PART = 5
"""A word of so many letters counts within a longer one, as in a German compound."""


class Words:
    """Facts, each in every wording that it is known by; `shown` are passages as files have them."""

    def __init__(self, facts: Sequence[str], shown: Sequence[str] = ()) -> None:
        self._keys = {fact_key(fact) for fact in facts}
        self._sequences = set(filter(None, map(_words, facts)))
        self.escaped = {escape(clean(fact)) for fact in facts}
        raw = {_MARKER.sub("", text).strip() for text in shown}
        forms = {*raw, *self.escaped, *facts}
        self._literal = {
            _composed(form) for form in forms if len(form) >= LONG or not _spoken(form)
        }
        self._literal.discard("")
        self._spoken = [each for each in map(_spoken, facts) if each]
        self._telling = [_telling(fact) for fact in facts]
        items = (f"{mark} {item}" for item in self.escaped for mark in "-*+")
        lines = (line for text in shown for line in text.splitlines())
        self._digests = set(map(line_digest, (*items, *lines)))

    def are(self, text: str) -> bool:
        """Whether a text is one of these facts, whatever stands between its words."""
        return fact_key(text) in self._keys or _words(text) in self._sequences

    def stand_in(self, text: str) -> bool:
        """Whether a text says one of these facts, whatever stands between its words."""
        text = _composed(text)
        literally = any(form in text for form in self._literal)
        return literally or any(each.search(text) for each in self._spoken)

    def without(self, text: str) -> str:
        """What was said, with each of the facts, and each line that tells one, taken out."""
        for each in self._spoken:
            text = each.sub(GONE, text)
        return "\n".join(map(self._line, text.split("\n")))

    def _line(self, line: str) -> str:
        """A line, or what is left of it if a fact stood there: not what that mattered for."""
        if self._told(line):
            return GONE
        return without_phrases(line) if GONE in line else line

    def unlearnt(self, edit: Edit) -> Edit:
        """The edit without the digests of lines that say these, which would confirm a guess."""
        above = tuple("" if each in self._digests else each for each in edit.above)
        below = tuple("" if each in self._digests else each for each in edit.below)
        return replace(edit, above=above, below=below)

    def told_lines(self, text: str) -> list[int]:
        """The numbers of the lines that say or tell one of these facts, from 1."""
        lines = enumerate(text.split("\n"), start=1)
        return [number for number, line in lines if self.stand_in(line) or self._told(line)]

    def _told(self, line: str) -> bool:
        """Whether a line has all the words that tell one of these facts, in whatever form."""
        return _tells(self._telling, line) or (
            bool(_MARKUP.search(line)) and _tells(self._telling, plain(line))
        )


def _tells(facts: Sequence[Sequence[str]], line: str) -> bool:
    bare = _bare(line)
    facts = [words for words in facts if all(word[:STEM] in bare for word in words)]
    tokens = set(_WORD.findall(bare)) if facts else ()
    return any(
        words
        and all(word in tokens or any(_is_form(word, token) for token in tokens) for word in words)
        for words in facts
    )


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
        text = "".join(c for c in decomposed if not unicodedata.combining(c))
    return text.casefold()


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _words(fact: str) -> tuple[str, ...]:
    """The words of a fact, if it has several: one alone means nothing without its signs (C++)."""
    words = tuple(re.findall(r"\w+", _composed(fact).casefold()))
    return words if len(words) > 1 else ()


def _spoken(fact: str) -> "re.Pattern[str] | None":
    """Matches the words of a fact in their order; None if it has none."""
    words = re.findall(r"\w+", _composed(fact))
    if not words:
        return None
    before = r"(?<!\w)" if ord(words[0][0]) < _SPACED else ""
    after = r"(?!\w)" if ord(words[-1][-1]) < _SPACED else ""
    said = r"[\W_]+".join(map(re.escape, words))
    return re.compile(f"{before}{said}{after}", re.IGNORECASE)


def _telling(fact: str) -> list[str]:
    """The words that a line must hold to tell the fact, the longest first: those that say something
    in its language, and short ones only if it has no others."""
    words, language = re.findall(r"[^\W_]+", plain(fact)), language_of(fact)
    said = (word for word in words if not is_function_word(word, language))
    telling = {word for word in _tokens(" ".join(said)) if len(word) > 2 or not word.isalpha()}
    return sorted(telling or _tokens(" ".join(words)), key=len, reverse=True)
