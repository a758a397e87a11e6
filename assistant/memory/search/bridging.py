"""Answers that name another than the question does: a fact near the top says who is meant. Pure.

"Which of the hens could go in the pot?" finds "The hens are called Agnes, Beryl and Coriander", and
the answer is "Agnes lays no more but stays". So what holds a name that one of the best brings in
comes nearer, but never before them all.
"""

import calendar
import re
from collections.abc import Sequence

from assistant.memory.search.selection import STEP, Scored, words_of
from assistant.memory.text.language import CAPITALISES_NOUNS

BEST = 3
"""So many of the best may bring in a name."""
SURE = 3.0
"""If they lie no farther than this below the first."""
MOST_FACTS = 8
"""A name in more of the candidates than this tells none of them apart."""
NEARER = 1.0
"""So much more the facts on one who was brought in count."""
_NAME = re.compile(r"(?<=[\w,;:)] )[(\"'‘“]?([A-Z]\w*[a-z]\w*)")
_CALENDAR = frozenset(each.casefold() for each in (*calendar.month_name, *calendar.day_name))


def over_names(found: Sequence[Scored], question: str, language: str) -> list[Scored]:
    """The candidates, best first, those nearer that hold a name which one of the best brings in."""
    ranked = sorted(found, key=lambda each: -each.score)
    best = [each for each in ranked[:BEST] if each.score >= ranked[0].score - SURE]
    said = {*words_of(question), *_CALENDAR}
    named = {name for each in best for name in _names(each, language)} - said
    if not named:
        return ranked
    held = [named.intersection(words_of(each.chunk.plain)) for each in ranked]
    common = {name for name in named if sum(name in names for names in held) > MOST_FACTS}
    most = ranked[0].score - STEP
    return [
        each.moved("bridge", min(each.score + NEARER, most))
        if n >= len(best) and names - common and each.score < most and not each.turn
        else each
        for n, (each, names) in enumerate(zip(ranked, held, strict=True))
    ]


def _names(each: Scored, language: str) -> list[str]:
    """The names in a fact, folded: capitalised words that do not begin a sentence."""
    if each.turn or language in CAPITALISES_NOUNS:
        return []
    return [name.casefold() for name in _NAME.findall(each.chunk.plain)]
