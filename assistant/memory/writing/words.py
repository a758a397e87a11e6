"""The words of facts, and how they are known again wherever something was kept of them."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from assistant.memory.text.identity import fact_key, fold
from assistant.memory.text.markdown import line_digest, plain
from assistant.memory.writing.entries import Edit
from assistant.memory.writing.markup import clean, escape

GONE = "(forgotten)"
"""Stands in a conversation where the words were."""
_MARKER = re.compile(r"^(?:[-+*]|\d{1,9}[.)])[ \t]+")
LONG = 16
"""A text of so many characters is also looked for as it is written, markup and all."""
_SPACED = 0x2E80
"""Below it are the scripts whose words are set apart."""


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
        return "\n".join(GONE if self._told(line) else line for line in text.split("\n"))

    def unlearnt(self, edit: Edit) -> Edit:
        """The edit without the digests of lines that say these, which would confirm a guess."""
        above = tuple("" if each in self._digests else each for each in edit.above)
        below = tuple("" if each in self._digests else each for each in edit.below)
        return replace(edit, above=above, below=below)

    def _told(self, line: str) -> bool:
        words = set(fold(plain(line)).split())
        return any(telling and telling <= words for telling in self._telling)


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


def _telling(fact: str) -> set[str]:
    """The words that a line must hold to tell the fact: short ones count only if all are short."""
    words = fold(plain(fact)).split()
    return {word for word in words if len(word) > 3 or not word.isalpha()} or set(words)
