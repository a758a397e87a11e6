"""What a query asks for: its words, and the times and names in it."""

import calendar
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain

from assistant.memory.index.catalog import Catalog
from assistant.memory.index.postings import Term
from assistant.memory.search.spelling import Spelling
from assistant.memory.text.language import (
    CAPITALISES_NOUNS,
    OFTEN,
    language_of,
    stem,
    without_function_words,
)
from assistant.memory.text.strings import signed, variants
from assistant.memory.text.times.dates import periods
from assistant.memory.text.times.period import Period

MAX_CHARS = 2000
"""A longer query is cut to its beginning and its end, where the question usually is."""
EMBEDDED_CHARS = 600
"""So is what is embedded, lest the model's own limit cut off the end."""
MAX_POSTINGS = 20_000
"""Occurrences read for one query. Rare words come first, so that what falls off says least."""
LEAST_TERMS = 3
"""So many words are read all the same, up to `MOST_POSTINGS`."""
MOST_POSTINGS = 250_000
"""Three words have more only in a memory of more than 80,000 chunks."""

_STOP_LIST = """
a about all also am an and any are as at be been being but by can could d did do does doing done for
from get got had has have having he her here him his how i if in into is it its knew know known ll
m me might mine must my no not of on only or our out please re remember remembers s said say says
shall she should so some such t tell than that the their them then there these they this those to
told too up us ve very was we were what when where which while who whom whose why will with would
you your
"""
_STOP_WORDS = frozenset(_STOP_LIST.split())
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"(?<=[^\W_][,;:'’\"] |.[^\W_] )[\"'‘“(]?([A-Z]\w*[a-z]\w*)")
_CALENDAR = {*calendar.month_name, *calendar.day_name}


@dataclass(frozen=True, slots=True)
class Question:
    """A query, read against a memory.

    `terms` are its distinct words without stop words, rarest first; `searched` those of them whose
    postings are read. `words` are all its words, and `telling` those about something, folded.
    `periods` are the times it names.
    """

    text: str
    language: str
    embedded: str
    terms: tuple[Term, ...]
    searched: tuple[Term, ...]
    words: frozenset[str]
    telling: frozenset[str]
    periods: tuple[Period, ...]


def read(query: str, catalog: Catalog, today: date, spelling: Spelling | None = None) -> Question:
    """Read a query of any content and length; `spelling` corrects what memory does not know."""
    text = _cut(query.encode("utf-8", "replace").decode().replace("\0", " "), MAX_CHARS)
    language = language_of(text)
    found = catalog.words.terms(_telling(text, language), language, variants(text))
    if spelling and not all(term.document_frequency for term in found):
        text = spelling.corrected(text, language)
        found = catalog.words.terms(_telling(text, language), language, variants(text))
    names = _names(text, language, catalog)
    terms = _rarest_first(names.get(term.text, term) for term in found)
    return Question(
        text=text,
        language=language,
        embedded=_cut(text, EMBEDDED_CHARS),
        terms=terms,
        searched=affordable(terms),
        words=frozenset(word.casefold() for word in _WORD.findall(text)),
        telling=frozenset(_telling(text, language).casefold().split()),
        periods=tuple(periods(text, today)),
    )


def _rarest_first(terms: Iterable[Term]) -> tuple[Term, ...]:
    """The terms, each once."""
    return tuple(sorted(dict.fromkeys(terms), key=lambda term: term.document_frequency))


def _telling(text: str, language: str) -> str:
    text = signed(text)
    if language == "english":
        words = _WORD.findall(text)
        return " ".join(word for word in words if word.casefold() not in _STOP_WORDS)
    return without_function_words(text, language)


def affordable(terms: Sequence[Term], most: int = MAX_POSTINGS) -> tuple[Term, ...]:
    """The first of these terms, rarest first, that have `most` postings; `LEAST_TERMS` as long as
    they have `MOST_POSTINGS`, and one at least."""
    total = 0
    for kept, term in enumerate(terms):
        total += term.document_frequency
        if kept and total > (most if kept >= LEAST_TERMS else max(most, MOST_POSTINGS)):
            return tuple(terms[:kept])
    return tuple(terms)


def _names(text: str, language: str, catalog: Catalog) -> dict[str, Term]:
    """The terms of names that no text in the question's language holds, as another stems them.

    A name is a capitalised word that does not begin a sentence, nor a month or weekday. Where most
    words are capitalised, or a language's nouns, none is taken for a name.
    """
    if language in CAPITALISES_NOUNS:
        return {}
    names = [found[1] for found in _NAME.finditer(text) if found[1] not in _CALENDAR]
    if 2 * len(names) > len(text.split()):
        return {}
    return dict(chain.from_iterable(_anywhere(name, language, catalog) for name in names))


def _anywhere(name: str, language: str, catalog: Catalog) -> list[tuple[str, Term]]:
    terms = catalog.words.terms(name, language)
    if len(terms) != 1 or terms[0].document_frequency:
        return []
    stems = {stem(name.casefold(), other) for other in OFTEN}
    others = catalog.words.terms(name, language, [name.casefold(), *sorted(stems)])[1:]
    best = max(others, key=lambda term: term.document_frequency, default=terms[0])
    return [(terms[0].text, best)]


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} {text[-half:]}"
