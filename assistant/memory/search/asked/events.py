"""Times that a question names by an event: "before the move", "since my birthday".

An event has a day if exactly one dated fact holds its words; of several, or of none, nothing is
known, and a question so asked names no time.
"""

import functools
import re
from collections.abc import Iterator
from datetime import date, timedelta

import numpy as np

from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.text.language import is_function_word
from assistant.memory.text.times.period import Period, period

MOST_FACTS = 40
"""Words in more facts than this name no event."""
LONGEST_FACT = 240
"""A longer text speaks of more than its event."""
_DAY = len("2026-05-08")
_A_DAY = timedelta(days=1)
_WORD = re.compile(r"[^\W\d_]+")
_YEARLY = re.compile(
    r"birthday|anniversary|geburtstag|hochzeitstag|cumpleaños|aniversario|anniversaire",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"(?:\b(?P<before>before|vor|antes de|avant)|\b(?P<since>since|seit|desde|depuis)"
    r"|\b(?P<after>after|nach|después de|après))\s+"
    r"(?:the|my|our|his|her|their|dem|der|den|meine[rm]|unsere[rm]|la|el|las|los|le|mi|nuestr[oa]"
    r"|mon|ma|notre)\s+(?P<event>[^\W\d_]+(?:\s[^\W\d_]+)?)",
    re.IGNORECASE,
)


def times(text: str, language: str, catalog: Catalog, today: date) -> Iterator[Period]:
    """The times that a question names by events of which memory knows the day."""
    for asked in _ASKED.finditer(text):
        day = _day_of(asked["event"], language, catalog, today)
        if day is None:
            continue
        if asked["before"]:
            yield Period(date.min, day - _A_DAY)
        elif day < today:
            yield Period(day if asked["since"] else day + _A_DAY, today)


def _day_of(event: str, language: str, catalog: Catalog, today: date) -> date | None:
    """The one day that memory has for an event, by both of its words or by the first."""
    words = [word for word in _WORD.findall(event) if not is_function_word(word, language)]
    if not words or event.split()[0] != words[0]:
        return None
    days = _days(" ".join(words), language, catalog) or _days(words[0], language, catalog)
    if len(days) != 1:
        return None
    day = days.pop()
    return _latest(day, today) if _YEARLY.search(words[0]) else day


def _days(words: str, language: str, catalog: Catalog) -> set[date]:
    """The days of the facts that hold all of these words; what tells several days has none."""
    terms = catalog.words.terms(words, language)
    if not terms or not all(0 < term.document_frequency <= MOST_FACTS for term in terms):
        return set()
    rows = [found for found, _ in catalog.words.in_chunks(terms).values()]
    shared = functools.reduce(np.intersect1d, rows)
    layout = catalog.layout()
    if np.isin(shared, layout.rowid[layout.turn]).any():  # a talk dates what is said, not what was
        return set()
    chunks = [stored.chunk for stored in catalog.chunks(shared.tolist())]
    dated = [each for each in chunks if each.status == "current" and each.mentions]
    told = {mention for each in dated for mention in each.mentions}
    if any(len(each.plain) > LONGEST_FACT for each in dated):
        return set()
    sure = len(dated) == 1 and len(told) == 1 and len(min(told)) == _DAY
    return {period(min(told)).start} if sure else set()


def _latest(day: date, today: date) -> date:
    """The last time a day that comes round every year was, by today."""
    day = day if (day.month, day.day) != (2, 29) else date(day.year, 3, 1)
    this = day.replace(year=today.year)
    return this if this <= today else day.replace(year=today.year - 1)
