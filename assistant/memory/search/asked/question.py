"""What a query asks for: the words that tell chunks apart, the text to embed, the times it names.

The question is embedded without the words that stand in much of the memory (the speaker's name in
every line of a conversation, the owner's in every fact): they say nothing about which chunk is
meant, and pull the vector towards all of them. Whether a name leads a chunk is a signal of its own.
"""

import calendar
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain

from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.index.sqlite.postings import Term
from assistant.memory.search.asked import events
from assistant.memory.search.asked.general import is_general, is_greeting, speaks_of_owner
from assistant.memory.search.asked.naming import named
from assistant.memory.search.asked.spelling import Spelling
from assistant.memory.search.means import ALL, Means
from assistant.memory.text.language import (
    CAPITALISES_NOUNS,
    OFTEN,
    count_words,
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
COMMON_SHARE = 0.1
"""A word in more of the chunks than this is common; so are at least `COMMON_LEAST` chunks."""
COMMON_LEAST = 8
MAX_POSTINGS = 20_000
"""Occurrences read for one query. Rare words come first, so that what falls off says least."""
LEAST_TERMS = 3
"""So many words are read all the same, up to `MOST_POSTINGS`."""
MOST_POSTINGS = 250_000
"""Three words have more only in a memory of more than 80,000 chunks."""
BARE = 2
"""So few words are no question; what is asked for is what says them."""

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
_LATEST = re.compile(
    r"\b(?:latest|newest|most recent(?:ly)?|last|current(?:ly)?|now|nowadays|at the moment"
    r"|these days|by now|at present|neueste[nrs]?|letzte[nrs]?|aktuelle?[nrs]?|jetzt|zuletzt"
    r"|último|última|actual(?:mente)?|ahora|más reciente|dernier|dernière|actuel(?:le)?|maintenant"
    r"|последн\w+|сейчас|текущ\w+|теперь)\b|最新|最近|目前|现在|今の|現在|최신|최근|지금|الأخير|الآن|अभी|नवीनतम",
    re.IGNORECASE,
)
_CALENDAR = {*calendar.month_name, *calendar.day_name}


@dataclass(frozen=True, slots=True)
class Question:
    """A query, read against a memory.

    `terms` are its distinct words, stop words left out, rarest first; `searched` those of them
    whose postings are read. `words` are all its words, folded. `names` are the terms of the names
    in it; `unknown_names` is the share of them that no chunk holds. `telling` are the words that
    are about something, folded. `latest`: how it is now, or was last, is asked for.
    `owners`: it speaks of its owner. `general`: it asks for what anybody could answer, by its form;
    `greeting`: for nothing. `heard`: it is a word or two that memory has; `unheard`: that it has
    not. `dating` are the ids of the facts that tell when the events were that it names a time by.
    """

    text: str
    language: str
    embedded: str
    terms: tuple[Term, ...]
    searched: tuple[Term, ...]
    words: frozenset[str]
    telling: frozenset[str]
    latest: bool
    owners: bool
    general: bool
    greeting: bool
    heard: bool
    unheard: bool
    names: frozenset[str]
    unknown_names: float
    periods: tuple[Period, ...]
    dating: frozenset[str]


def read(
    query: str,
    catalog: Catalog,
    today: date,
    spelling: Spelling | None = None,
    means: Means = ALL,
) -> Question:
    """Understand a query of any content and length; `spelling` corrects it if it must be."""
    said = _cut(query.encode("utf-8", "replace").decode().replace("\0", " "), MAX_CHARS)
    language = language_of(said)
    text = named(said, language, catalog) if means.naming else said
    written = variants if means.strings else _as_written
    found = catalog.words.terms(_telling(text, language), language, written(text))
    if spelling and not all(term.document_frequency for term in found):
        text = spelling.corrected(text, language)
        found = catalog.words.terms(_telling(text, language), language, written(text))
    words, bare = _WORD.findall(text), count_words(text) <= BARE
    names = _names(text, language, catalog)
    terms = _rarest_first(names.get(term.text, term) for term in found)
    times = dict(events.times(text, language, catalog, today)) if means.events else {}
    return Question(
        text=text,
        language=language,
        embedded=_cut(_uncommon(text, terms, language, catalog), EMBEDDED_CHARS),
        terms=terms,
        searched=affordable(terms),
        words=frozenset(word.casefold() for word in words),
        telling=frozenset(_telling(_LATEST.sub(" ", text), language).casefold().split()),
        latest=means.later and bool(_LATEST.search(text)),
        owners=speaks_of_owner(said),
        general=is_general(said),
        greeting=is_greeting(said),
        heard=bare and all(each.document_frequency for each in terms),
        unheard=bare and not catalog.words.holds_any(terms),
        names=frozenset(term.text for term in names.values()),
        unknown_names=_share_unknown([*names.values()], catalog),
        periods=(*periods(text, today), *times),
        dating=frozenset(chain.from_iterable(times.values())),
    )


def _rarest_first(terms: Iterable[Term]) -> tuple[Term, ...]:
    """The terms, each once."""
    return tuple(sorted(dict.fromkeys(terms), key=lambda term: term.document_frequency))


def _as_written(_text: str) -> list[str]:
    """No other way to write anything."""
    return []


def _telling(text: str, language: str) -> str:
    text = signed(text)
    if language == "english":
        words = _WORD.findall(text)
        return " ".join(word for word in words if word.casefold() not in _STOP_WORDS)
    return without_function_words(text, language)


def is_common(term: Term, chunks: int) -> bool:
    """Whether a word stands in so many of the chunks that it tells them apart no more."""
    return term.document_frequency > max(COMMON_LEAST, COMMON_SHARE * chunks)


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
    """The terms of the names in a text, by what each is in its language.

    A name is a capitalised word that does not begin a sentence, nor a month or weekday. Where most
    words are capitalised, or a language's nouns, none is taken for a name.
    """
    if language in CAPITALISES_NOUNS:
        return {}
    names = [found[1] for found in _NAME.finditer(text) if found[1] not in _CALENDAR]
    if 2 * len(names) > len(text.split()):
        return {}
    found = {term.text: term for term in catalog.words.terms(" ".join(names), language)}
    if all(term.document_frequency for term in found.values()):
        return found
    return dict(chain.from_iterable(_anywhere(name, language, catalog) for name in names))


def _anywhere(name: str, language: str, catalog: Catalog) -> list[tuple[str, Term]]:
    """The terms of one name: where no text in the language holds it, as another stems it."""
    said = catalog.words.terms(name, language)
    if len(said) != 1 or said[0].document_frequency:
        return [(term.text, term) for term in said]
    stems = {stem(name.casefold(), other) for other in OFTEN}
    others = catalog.words.terms(name, language, [name.casefold(), *sorted(stems)])[1:]
    return [(said[0].text, max(others, key=lambda term: term.document_frequency, default=said[0]))]


def _share_unknown(names: list[Term], catalog: Catalog) -> float:
    """The share of names that neither a chunk nor a heading holds."""
    unsaid = [name for name in names if not name.document_frequency]
    headed = catalog.words.in_headings(unsaid)
    unknown = sum(not len(headed[name.text][0]) for name in unsaid)
    return unknown / len(names) if names else 0.0


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} {text[-half:]}"


def _uncommon(text: str, terms: Sequence[Term], language: str, catalog: Catalog) -> str:
    """The text without those of its terms that are common; all of it if nothing else is left."""
    chunks = len(catalog.layout())
    common = {term.text for term in terms if is_common(term, chunks)}
    if not common:
        return text
    starts = {stem[:3] for stem in common}

    def is_kept(word: str) -> bool:
        stems = {
            term.text
            for part in _WORD.findall(word)
            if part.casefold()[:3] in starts
            for term in catalog.words.terms(part, language)
        }
        return not stems & common

    kept = [word for word in text.split() if is_kept(word)]
    return " ".join(kept) if any(_WORD.search(word) for word in kept) else text
