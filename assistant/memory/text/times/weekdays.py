"""Weekdays that one looks forward to: "on Friday", "am Freitag", "from Monday to Wednesday"."""

import calendar
import re
from collections.abc import Iterator
from datetime import date, timedelta

from assistant.memory.text.times import foreign

NAMES = [name.lower() for name in calendar.day_name]
_BARE = re.compile(
    rf"(?<!past )(?<!every )(?<!each )(?<!other )(?<!second )\b(?P<day>{'|'.join(NAMES)})\b",
    re.IGNORECASE,
)
_DATE_FOLLOWS = re.compile(r",? ?(?:the |den |dem |der |el |le )?\0")
_HABIT = re.compile(
    r"\b(?:open|opens|opened|closed|hours|works?|working|usually|ge(?:öffnet|schlossen)|offen)\b",
    re.IGNORECASE,
)
"""What is so from one weekday to another, is so every week."""
_TO = re.compile(r"\s*[-–]\s*|\s+(?:to|until|till|through|bis|au|al|a)\s+", re.IGNORECASE)


def ahead(text: str, day: date) -> Iterator[tuple[date, date]]:
    """The days that a text names by their weekdays alone, seen from the day it was written on.

    What in the text is a date stands blanked, by zero characters.
    """
    english = ((m.start(), m.end(), NAMES.index(m["day"].lower())) for m in _BARE.finditer(text))
    found = [
        each
        for each in sorted([*english, *foreign.weekdays(text)])
        if not _DATE_FOLLOWS.match(text, each[1])
    ]
    ended, habit = -1, _HABIT.search(text) is not None
    for (start, end, weekday), after in zip(found, [*found[1:], None], strict=False):
        begin = _next(day, weekday)
        if after and _TO.fullmatch(text, end, after[0]):
            ended = after[0]
            if not habit:
                yield begin, _next(begin, after[2])
        elif start != ended:
            yield begin, begin


def _next(day: date, weekday: int) -> date:
    """The first such day after a day."""
    return day + timedelta(days=(weekday - day.weekday() - 1) % 7 + 1)
