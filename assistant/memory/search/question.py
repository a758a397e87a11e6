"""Parses a query into its words and times, and corrects its typing errors.

A word that memory does not contain is replaced by similar ones that it does. A word that is a
single token of the embedding model, or in the language's word list, is spelt correctly: memory just
lacks it. In languages other than English, where words are long and have many forms, only a letter
omitted, doubled, or swapped with the next counts as an error.
"""

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib import resources
from itertools import accumulate
from pathlib import Path

from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.words import SHORTEST, Term, folded
from assistant.memory.text.language import (
    is_function_word,
    language_of,
    spell_signs,
    speller,
    variants,
    without_function_words,
)
from assistant.memory.text.times.dates import asked, without
from assistant.memory.text.times.period import Period

MEANT = 2
"""Maximum number of known words that replace one, if they are equally likely."""
SURE = 7
"""Minimum length of a word that may have two wrong letters."""
WORDS = 40
"""Maximum number of unknown words of a question that are corrected."""
_LONG_WORD = re.compile(rf"[^\W\d_]{{{SHORTEST},}}")


class Spelling:
    """Corrects questions, using the words of one memory."""

    def __init__(self, catalog: Catalog, embedder: Embedder) -> None:
        self._catalog = catalog
        self._embedder = embedder

    def corrected(self, text: str, language: str) -> str:
        """Return the text with unknown words replaced by known ones."""
        words = dict.fromkeys(_LONG_WORD.findall(text))
        telling = [word for word in words if not is_function_word(word, language)]
        piece = self._embedder.count_tokens("") + 1
        odd = [word for word in telling if self._tokens(word) > piece]
        meant = {word: self._meant(word, language) for word in odd[:WORDS]}
        return _LONG_WORD.sub(lambda word: meant.get(word[0]) or word[0], text)

    def _tokens(self, word: str) -> int:
        """Return the number of tokens of a word, or of its singular if that has fewer."""
        return min(map(self._embedder.count_tokens, {word, word.rstrip("s")}))

    def _meant(self, word: str, language: str) -> str:
        """Return the known words that a word may stand for; the word itself if there are none."""
        if self._is_known(word, language):
            return word
        odds = {
            other: (distance, _has_other_letter(folded(word), other))
            for other, distance in self._catalog.vocabulary.near(folded(word))
            if _may_be(word, other, distance, language) and self._is_known(other, language)
        }
        if not odds or f'"{word.casefold()}":'.encode() in _listed(language):
            return word
        best = sorted(other for other in odds if odds[other] == min(odds.values()))
        return " ".join(
            other.capitalize() if word[0].isupper() else other for other in best[:MEANT]
        )

    def _is_known(self, word: str, language: str) -> bool:
        """Return whether a text in any language contains a word of this language."""
        return self._catalog.words.holds_any(self._catalog.words.terms(word, language))


@lru_cache(2)
def _listed(language: str) -> bytes:
    """Return the word list of a language as JSON, with each word in quotes: a set would take ten
    times the memory, and longer to build than a few searches."""
    if not (code := speller(language)):
        return b""
    file = resources.files("spellchecker") / "resources" / f"{code}.json.gz"
    return gzip.decompress(file.read_bytes())


def _may_be(word: str, other: str, distance: int, language: str) -> bool:
    """Return whether a word may be a typing error for another; short names resemble many others."""
    if word[0].isupper() and len(word) < SURE - 1:
        return sorted(folded(word)) == sorted(other)
    has_other_letter = _has_other_letter(folded(word), other)
    if language == "english":
        return distance == 1 or not has_other_letter or len(word) >= SURE
    return distance == 1 and not has_other_letter


def _has_other_letter(word: str, other: str) -> bool:
    """Return whether a letter was replaced, which is rarer than omitted, doubled or swapped."""
    if len(word) == len(other):
        return sorted(word) != sorted(other)
    long, short = sorted((word, other), key=len, reverse=True)
    letters = iter(long)
    return not all(letter in letters for letter in short)


MAX_CHARS = 2000
"""A longer query is cut to its beginning and its end, where the question usually is."""
EMBEDDED_CHARS = 600
"""The same for the text to embed, since the model's own limit would cut off the end."""
MAX_POSTINGS = 20_000
"""Postings read for one query, starting with the rarest words, which are the most telling."""
LEAST_TERMS = 3
"""Minimum number of words whose postings are read."""

_STOP_WORDS = frozenset(
    Path(__file__).with_name("stop_words.txt").read_text(encoding="utf-8").split()
)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed query.

    `terms` are its distinct words without stop words, rarest first; `searched` those whose postings
    are read. `words` are all its words and `telling` those without function words, folded.
    `periods` are the times it names, and `of_a_time` says that it asks about nothing else.
    """

    text: str
    language: str
    embedded: str
    terms: tuple[Term, ...]
    searched: tuple[Term, ...]
    words: frozenset[str]
    telling: frozenset[str]
    periods: tuple[Period, ...]
    of_a_time: bool


def read(query: str, catalog: Catalog, today: date, spelling: Spelling | None = None) -> Question:
    """Parse a query of any content and length; `spelling` corrects words that memory lacks."""
    text = _cut(query.encode("utf-8", "replace").decode().replace("\0", " "), MAX_CHARS)
    language = language_of(text)
    terms = catalog.words.terms(_telling(text, language), language, variants(text))
    if spelling and not all(term.document_frequency for term in terms):
        text = spelling.corrected(text, language)
        terms = catalog.words.terms(_telling(text, language), language, variants(text))
    rarest_first = sorted(terms, key=lambda term: term.document_frequency)
    times = asked(text, today)
    return Question(
        text=text,
        language=language,
        embedded=_cut(text, EMBEDDED_CHARS),
        terms=tuple(rarest_first),
        searched=affordable(rarest_first),
        words=frozenset(word.casefold() for word in _WORD.findall(text)),
        telling=frozenset(_telling(text, language).casefold().split()),
        periods=tuple(dict.fromkeys(mention.period for mention in times)),
        of_a_time=bool(times) and not _telling(without(text, times).replace("\0", " "), language),
    )


def _telling(text: str, language: str) -> str:
    text = spell_signs(text)
    if language == "english":
        words = _WORD.findall(text)
        return " ".join(word for word in words if word.casefold() not in _STOP_WORDS)
    return without_function_words(text, language)


def affordable(terms: Sequence[Term], most: int = MAX_POSTINGS) -> tuple[Term, ...]:
    """Return the first of these terms, rarest first, with at most `most` postings in total, but at
    least `LEAST_TERMS` terms."""
    totals = accumulate(term.document_frequency for term in terms)
    within = sum(total <= most for total in totals)
    return tuple(terms[: max(within, LEAST_TERMS)])


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} {text[-half:]}"
