"""What a query asks for: the words that tell chunks apart, the text to embed, the times it names.

The question is embedded without the words that stand in much of the memory (the speaker's name in
every line of a conversation, the owner's in every fact): they say nothing about which chunk is
meant, and pull the vector towards all of them. Whether a name leads a chunk is a signal of its own.
"""

import calendar
import re
from dataclasses import dataclass
from datetime import date

from assistant.memory.catalog import Catalog, Term
from assistant.memory.dates import periods
from assistant.memory.period import Period

MAX_CHARS = 2000
"""A longer query is cut to its beginning and its end, where the question usually is."""
COMMON_SHARE = 0.1
"""A word in more of the chunks than this is common; so are at least `COMMON_LEAST` chunks."""
COMMON_LEAST = 8
MAX_POSTINGS = 20_000
"""Occurrences read for one query. Rare words come first, so that what falls off says least."""
LEAST_TERMS = 3

_STOP_WORDS = """
a about after again all also am an and any are as at be been before being but by can could did do
does doing done down for from get got had has have having he her here him his how i if in into is
it its just ll ll me might mine must my no not of off on once only or our out over re s shall she
should so some such t than that the their them then there these they this those to too up us ve
very was we were what when where which while who whom whose why will with would you your d m
tell know please remember say said
"""
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"(?<=[^\W_][,;:'’\"] |.[^\W_] )[\"'‘“(]?([A-Z]\w*[a-z]\w*)")
_CALENDAR = {*calendar.month_name, *calendar.day_name}


@dataclass(frozen=True, slots=True)
class Question:
    """A query, read against a memory.

    `terms` are its distinct words, stop words left out, rarest first; `searched` those of them
    whose postings are read. `words` are all its words, folded. `names` are the terms of the names
    in it; `unknown_names` is the share of them that no chunk holds.
    """

    text: str
    embedded: str
    terms: tuple[Term, ...]
    searched: tuple[Term, ...]
    words: frozenset[str]
    names: frozenset[str]
    unknown_names: float
    periods: tuple[Period, ...]


def read(query: str, catalog: Catalog, today: date) -> Question:
    """Understand a query of any content and length."""
    text = _cut(query.encode("utf-8", "replace").decode().replace("\0", " "))
    chunks = len(catalog.layout())
    found = [term for term in catalog.terms(text) if term.text not in _stop_stems(catalog)]
    terms = tuple(sorted(found, key=lambda term: term.document_frequency))
    names = _names(text, catalog)
    common = {term.text for term in terms if is_common(term, chunks)}
    return Question(
        text=text,
        embedded=_without(text, common, catalog) if common else text,
        terms=terms,
        searched=_affordable(terms),
        words=frozenset(_WORD.findall(text.casefold())),
        names=frozenset(term.text for term in names),
        unknown_names=_share_unknown(names),
        periods=tuple(periods(text, today)),
    )


def is_common(term: Term, chunks: int) -> bool:
    """Whether a word stands in so many of the chunks that it tells them apart no more."""
    return term.document_frequency > max(COMMON_LEAST, COMMON_SHARE * chunks)


def _names(text: str, catalog: Catalog) -> list[Term]:
    """A name is a capitalised word that does not begin a sentence, nor a month or weekday.

    Where most words are capitalised, none is taken for a name.
    """
    names = [found[1] for found in _NAME.finditer(text) if found[1] not in _CALENDAR]
    if 2 * len(names) > len(text.split()):
        return []
    return catalog.terms(" ".join(names))


def _share_unknown(names: list[Term]) -> float:
    unknown = sum(not name.document_frequency for name in names)
    return unknown / len(names) if names else 0.0


def _cut(text: str) -> str:
    if len(text) <= MAX_CHARS:
        return text
    half = MAX_CHARS // 2
    return f"{text[:half]} {text[-half:]}"


def _affordable(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    total = 0
    for kept, term in enumerate(terms):
        total += term.document_frequency
        if total > MAX_POSTINGS and kept >= LEAST_TERMS:
            return terms[:kept]
    return terms


def _without(text: str, common: set[str], catalog: Catalog) -> str:
    """The text without its common words; all of it if nothing else would be left."""
    starts = {stem[:3] for stem in common}

    def is_kept(word: str) -> bool:
        stems = {
            term.text
            for part in _WORD.findall(word)
            if part.casefold()[:3] in starts
            for term in catalog.terms(part)
        }
        return not stems & common

    kept = [word for word in text.split() if is_kept(word)]
    return " ".join(kept) if any(_WORD.search(word) for word in kept) else text


_STEMS: frozenset[str] = frozenset()


def _stop_stems(catalog: Catalog) -> frozenset[str]:
    """The stop words as the index stems them."""
    global _STEMS
    if not _STEMS:
        _STEMS = frozenset(term.text for term in catalog.terms(_STOP_WORDS))
    return _STEMS
