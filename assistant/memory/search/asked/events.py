"""Times that a question names by an event: "before the move", "since my birthday".

An event has a day if exactly one dated fact holds its words; of several, or of none, nothing is
known, and a question so asked names no time.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import chain

import numpy as np
import regex

from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.text.chunks import Chunk
from assistant.memory.text.language import is_function_word, stem
from assistant.memory.text.times.period import Period, period

MOST_FACTS = 40
"""Words in more facts than this name no event."""
OPENING = 4
"""Words that a fact begins with."""
LONGEST_FACT = 240
"""A longer text speaks of more than its event."""
_Days = dict[date, str]
"""The day of an event, if it is known, and the id of the fact that tells it."""
_DAY = len("2026-05-08")
_A_DAY = timedelta(days=1)
_WORD = re.compile(r"[^\W\d_]+")
_YEARLY = re.compile(
    r"birthday|anniversary|geburtstag|hochzeitstag|cumpleaños|aniversario|anniversaire",
    re.IGNORECASE,
)
_WORDS = {
    "before": "before|prior to|vor|bevor|ehe|antes de(?: que)?|avant(?: que| de)?|до|перед|قبل",
    "since": "since|seit(?:dem)?|desde(?: que)?|depuis(?: que)?|с|со|منذ",
    "after": "after|nach(?:dem)?|después de(?: que)?|après(?: que)?|после|بعد",
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


def _named(words: dict[str, str]) -> str:
    return "|".join(f"(?P<{when}>{either})" for when, either in words.items())


_VERB = r"(?:(?:ask|look|nam|call)(?:s|e|ed|ing)?|tak(?:e|es|en|ing)|took)\s"
"""What makes "after" say something else: "who looks after the cat"."""
_ASKED = (
    regex.compile(
        rf"(?<!\w)(?<!\b{_VERB})(?:{_named(_WORDS)})\s+(?P<whose>{_ARTICLE})"
        r"(?P<event>[^\W\d_]+(?:['’]s)?(?:\s[^\W\d_]+)?)",
        re.IGNORECASE,
    ),
    re.compile(rf"(?P<whose>)(?P<event>[^\W\d_a-zA-Z]{{2,12}}?)\s?(?:{_named(_WORDS_AFTER)})"),
)
_TO_COME = re.compile(
    r"\b(?:will|shall|plan\w*|next|soon|going to|werden?|wird|nächste\w*|será|va a|prochaine?"
    r"|будет|скоро)\b",
    re.IGNORECASE,
)


def times(text: str, language: str, catalog: Catalog, today: date) -> Iterator[tuple[Period, str]]:
    """The times that a question names by events of which memory knows the day, and by which fact
    (its id)."""
    for asked in chain.from_iterable(form.finditer(text) for form in _ASKED):
        for day, fact in _day_of(asked["event"], language, catalog, today).items():
            if asked["before"]:
                yield Period(date.min, day - _A_DAY), fact
            elif day < today:
                yield Period(day if asked["since"] else day + _A_DAY, today), fact


def _day_of(event: str, language: str, catalog: Catalog, today: date) -> _Days:
    """The one day that memory has for an event, by both of its words or by the first."""
    words = [word for word in _WORD.findall(event) if not is_function_word(word, language)]
    if not words or event.split()[0] not in (words[0], f"{words[0]}'s", f"{words[0]}’s"):
        return {}
    found = _days(" ".join(words), language, catalog) or _days(words[0], language, catalog)
    yearly = _YEARLY.search(words[0])
    return {_latest(day, today) if yearly else day: fact for day, fact in found.items()}


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
    telling = past if len(past) == 1 else begin
    return {date.fromisoformat(each.date or ""): each.id for each in telling if len(telling) == 1}


def _stems(text: str, language: str) -> list[str]:
    """The stems of the words that a text begins with."""
    return [stem(word.casefold(), language) for word in _WORD.findall(text)[:OPENING]]


def _latest(day: date, today: date) -> date:
    """The last time a day that comes round every year was, by today."""
    day = day if (day.month, day.day) != (2, 29) else date(day.year, 3, 1)
    this = day.replace(year=today.year)
    return this if this <= today else day.replace(year=today.year - 1)
