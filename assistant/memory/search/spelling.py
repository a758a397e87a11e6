"""Typing errors in a question: a word that memory does not know gives way to known ones.

A word that the embedding model knows as a whole, or that a list of the language's words has, is
spelt right, and asks for what memory lacks. Of another language than English only what must be an
error is one, since words are long there and have many forms: a letter left out, doubled, or
exchanged with the next.
"""

import gzip
import re
from functools import lru_cache
from importlib import resources

from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.vocabulary import SHORTEST, folded
from assistant.memory.text.language import is_function_word

MEANT = 2
"""So many known words take the place of one, if they are equally likely."""
SURE = 7
"""In a word of so many letters two of them may be taken for others."""
WORDS = 40
"""Of a longer question so many unknown words are looked at."""
_LISTS = {
    "arabic": "ar",
    "dutch": "nl",
    "english": "en",
    "french": "fr",
    "german": "de",
    "italian": "it",
    "portuguese": "pt",
    "russian": "ru",
    "spanish": "es",
}
"""The languages whose words are listed, by pyspellchecker."""
_WORD = re.compile(rf"[^\W\d_]{{{SHORTEST},}}")


class Spelling:
    """Corrects questions to one memory's words."""

    def __init__(self, catalog: Catalog, embedder: Embedder) -> None:
        self._catalog = catalog
        self._embedder = embedder

    def corrected(self, text: str, language: str) -> str:
        """The text with the words that memory may know in the place of those it does not."""
        words = dict.fromkeys(_WORD.findall(text))
        telling = [word for word in words if not is_function_word(word, language)]
        piece = self._embedder.count_tokens("") + 1
        odd = [word for word in telling if self._tokens(word) > piece]
        meant = {word: self._meant(word, language) for word in odd[:WORDS]}
        return _WORD.sub(lambda word: meant.get(word[0]) or word[0], text)

    def _tokens(self, word: str) -> int:
        """Of a word or what it is the plural of: one piece, if the model knows it as a whole."""
        return min(map(self._embedder.count_tokens, {word, word.rstrip("s")}))

    def _meant(self, word: str, language: str) -> str:
        """What a word that memory does not know stands for, if anything."""
        if self._is_known(word, language):
            return word
        odds = {
            other: (distance, changed)
            for other, distance in self._catalog.vocabulary.near(folded(word))
            if _may_be(word, other, distance, changed := _is_changed(folded(word), other), language)
            and self._is_known(other, language)
        }
        if not odds or _is_listed(word, language):
            return word
        best = sorted(other for other in odds if odds[other] == min(odds.values()))
        return " ".join(each.capitalize() if word[0].isupper() else each for each in best[:MEANT])

    def _is_known(self, word: str, language: str) -> bool:
        return self._catalog.words.holds_any(self._catalog.words.terms(word, language))


def _is_listed(word: str, language: str) -> bool:
    return f'"{word.casefold()}":'.encode() in _words(language)


@lru_cache(2)
def _words(language: str) -> bytes:
    """The words of a language as they are kept, JSON with each in quotes: a set of them would take
    ten times the memory, and longer to make than a few searches do."""
    if language not in _LISTS:
        return b""
    file = resources.files("spellchecker") / "resources" / f"{_LISTS[language]}.json.gz"
    return gzip.decompress(file.read_bytes())


def _may_be(word: str, other: str, distance: int, changed: bool, language: str) -> bool:
    """Whether one word may be an error for another; short names are near to many others."""
    if word[0].isupper() and len(word) < SURE - 1:
        return sorted(folded(word)) == sorted(other)
    if language == "english":
        return distance == 1 or not changed or len(word) >= SURE
    return distance == 1 and not changed


def _is_changed(word: str, other: str) -> bool:
    """Whether a letter was taken for another; more often one is left out, doubled or exchanged."""
    if len(word) == len(other):
        return sorted(word) != sorted(other)
    long, short = sorted((word, other), key=len, reverse=True)
    letters = iter(long)
    return not all(letter in letters for letter in short)
