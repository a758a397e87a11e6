"""Times that a question names by an event: "before the move", "since my birthday".

An event has a day if exactly one dated fact holds its words, or as many days as a few tell that lie
close together ("We left for Crete", "We came home from Crete"); of others, or of none, nothing is
known, and a question so asked names no time.
"""

import calendar
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import chain, takewhile

import numpy as np
import regex

from assistant.memory.index.catalog import Catalog
from assistant.memory.text.chunk import Chunk
from assistant.memory.text.language import is_function_word, stem
from assistant.memory.text.times.period import Period, period

MOST_FACTS = 40
"""Words in more facts than this name no event."""
OPENING = 4
"""Words that a fact begins with."""
LONGEST_FACT = 240
"""A longer text speaks of more than its event."""
LONGEST_NAME = 7
"""So many words after "before" are looked at."""
MOST_TELLING = 4
"""Of them so many that tell something."""
LONGEST_EVENT = timedelta(days=45)
"""Facts recorded within so many days may tell of one event."""
MOST_TOLD = 3
"""If they are no more than this."""
_Days = dict[date, str]
"""The days of an event, if they are known, and the ids of the facts that tell them."""
_DAY = len("2026-05-08")
_A_DAY = timedelta(days=1)
_WORD = re.compile(r"[^\W\d_]+")
_POSSESSIVE = re.compile("['’]s$")
_YEARLY = re.compile(
    r"birthday|anniversary|geburtstag|hochzeitstag|cumpleaños|aniversario|anniversaire",
    re.IGNORECASE,
)
_WORDS = {
    "before": "before|prior to|until|vor|bevor|ehe|antes de(?: que)?|avant(?: que| de)?|до|перед"
    "|قبل",
    "since": "since|seit(?:dem)?|desde(?: que)?|depuis(?: que)?|с|со|منذ",
    "after": "after|following|nach(?:dem)?|después de(?: que)?|après(?: que)?|после|بعد",
    "during": "during|while",
}
"""What stands before an event in seven languages."""
_WORDS_AFTER = {
    "before": "之前|以前|前|の前|する前|る前|기 전|전에|से पहले|के पहले",
    "since": "以来|之后|以後|から|이후|부터|के बाद से|से अब तक",
    "after": "后|の後|した後|た後|후에|뒤에|के बाद",
}
"""What stands behind one in Chinese, Japanese, Korean and Hindi."""
_WHOSE = r"""
the my our his her their i we he she they it dem der den das die meine[rmn]? unsere[rmn]? ich wir
la el las los le les l' mi mis nuestr[oa] yo nous je on mon ma notre
"""
_ARTICLE = rf"(?:(?:{'|'.join(_WHOSE.split())})\s+)?"
_LINKING = "in at on to of from with for into near by our my the a an"
_LINKS = frozenset(_LINKING.split())
"""What leads from the first word of an event to one that says which: "the holiday in Crete"."""
_BEGINNING = """
had got get came come back home went go going started start starting began begin beginning left
leave turned turn did made make took
"""
_BEGUN = frozenset(_BEGINNING.split())
"""Words that say of no event which it is."""
_CALENDAR = frozenset(map(str.casefold, (*calendar.month_name, *calendar.day_name)))
"""What dates without an event."""
_ASKING_WORDS = "when which what who whom whose where why how that then this these those"
_ASKING = frozenset(_ASKING_WORDS.split())
"""Words that no event begins with."""


def _named(words: dict[str, str]) -> str:
    return "|".join(f"(?P<{when}>{either})" for when, either in words.items())


_VERB = r"(?:(?:ask|look|nam|call)(?:s|e|ed|ing)?|tak(?:e|es|en|ing)|took)\s"
"""What makes "after" say something else: "who looks after the cat"."""
_ASKED = (
    regex.compile(
        rf"(?<!\w)(?<!\b{_VERB})(?:{_named(_WORDS)})\s+(?P<whose>{_ARTICLE})"
        rf"(?P<event>[^\W\d_]+(?:['’]s)?(?:\s[^\W\d_]+(?:['’]s)?){{0,{LONGEST_NAME - 1}}})",
        re.IGNORECASE,
    ),
    re.compile(rf"(?P<whose>)(?P<event>[^\W\d_a-zA-Z]{{2,12}}?)\s?(?:{_named(_WORDS_AFTER)})"),
)
_TO_COME = re.compile(
    r"\b(?:will|shall|plan\w*|next|soon|going to|werden?|wird|nächste\w*|será|va a|prochaine?"
    r"|будет|скоро)\b",
    re.IGNORECASE,
)


def times(
    text: str, language: str, catalog: Catalog, today: date
) -> Iterator[tuple[Period, tuple[str, ...]]]:
    """The times that a question names by events of which memory knows the day, and by which facts
    (their ids)."""
    for asked in chain.from_iterable(form.finditer(text) for form in _ASKED):
        days = _days_of(asked["event"], language, catalog, today)
        if days and (period := _period(asked.groupdict(), min(days), max(days), today)):
            yield period, tuple(days.values())


def _period(asked: Mapping[str, str | None], first: date, last: date, today: date) -> Period | None:
    """The time that lies so to an event of these days; none that is to come."""
    if asked["before"]:
        return Period(date.min, first - _A_DAY)
    if last >= today:
        return None
    if asked.get("during"):
        return Period(first, last)
    return Period(last if asked["since"] else last + _A_DAY, today)


def _days_of(event: str, language: str, catalog: Catalog, today: date) -> _Days:
    """The days that memory has for an event, by as many of its words as one fact holds."""
    for words in _ways(event, language):
        if found := _days(words, language, catalog):
            yearly = _YEARLY.search(words.split()[0])
            return {_latest(day, today) if yearly else day: fact for day, fact in found.items()}
    return {}


def _ways(event: str, language: str) -> Iterator[str]:
    """What may name an event, most words first: its first words, the first alone, and the second
    if that says which ("the holiday in Crete", "Griet's wedding", "I came home from Crete")."""
    said = [_POSSESSIVE.sub("", word) for word in event.split()]
    folded = [word.casefold() for word in said]
    telling = [
        n
        for n, word in enumerate(folded)
        if word not in _CALENDAR and not is_function_word(word, language)
    ]
    if not telling or _ASKING.intersection(folded[: telling[0]]):
        return
    words = [said[n] for n in telling[:MOST_TELLING]]
    begun = len(list(takewhile(_BEGUN.__contains__, words)))
    yield from (" ".join(words[:end]) for end in range(len(words), max(1, begun), -1))
    if begun:
        yield from words[begun : begun + 1]
        return
    yield words[0]
    between = said[telling[0] + 1 : telling[1]] if len(words) > 1 else []
    if (between and _LINKS.issuperset(between)) or event.split()[telling[0]] != words[0]:
        yield from words[1:2]


def _days(words: str, language: str, catalog: Catalog) -> _Days:
    """The day of the fact that holds all of these words; what tells several days has none.

    A fact that names no day, and speaks of nothing to come, was recorded when it was so.
    """
    terms = catalog.words.terms(words, language)
    if not terms or not all(0 < term.document_frequency <= MOST_FACTS for term in terms):
        return {}
    rows = [found for found, _ in catalog.words.in_chunks(terms).values()]
    shared = functools.reduce(np.intersect1d, rows)
    layout = catalog.layout()
    if layout.turn[layout.positions(shared)].any():  # a talk dates what is said, not what was
        return {}
    chunks = [stored.chunk for stored in catalog.chunks(shared.tolist())]
    current = [each for each in chunks if each.status == "current"]
    dated = [each for each in current if each.mentions]
    told = {mention for each in dated for mention in each.mentions}
    if any(len(each.plain) > LONGEST_FACT for each in dated):
        return {}
    if not dated:
        return _recorded(current, words, language)
    sure = len(dated) == 1 and len(told) == 1 and len(min(told)) == _DAY
    return {period(min(told)).start: dated[0].id} if sure else {}


def _recorded(facts: Sequence[Chunk], words: str, language: str) -> _Days:
    """The day on which the one fact was recorded that tells of an event; of several the one that
    begins with it."""
    past = [each for each in facts if each.date and not _TO_COME.search(each.plain)]
    event = stem(words.split()[0].casefold(), language)
    begin = [each for each in past if event in _stems(each.plain, language)]
    told = next((each for each in (past, begin) if _is_one(each)), [])
    return {date.fromisoformat(each.date or ""): each.id for each in told}


def _is_one(facts: Sequence[Chunk]) -> bool:
    """Whether a few facts were recorded within the days of one event."""
    days = [date.fromisoformat(each.date or "") for each in facts]
    return 0 < len(days) <= MOST_TOLD and max(days) - min(days) <= LONGEST_EVENT


def _stems(text: str, language: str) -> list[str]:
    """The stems of the words that a text begins with."""
    return [stem(word.casefold(), language) for word in _WORD.findall(text)[:OPENING]]


def _latest(day: date, today: date) -> date:
    """The last time a day that comes round every year was, by today."""
    day = day if (day.month, day.day) != (2, 29) else date(day.year, 3, 1)
    this = day.replace(year=today.year)
    return this if this <= today else day.replace(year=today.year - 1)
