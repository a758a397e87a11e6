"""From one day to another: "27 to 29 November", "from 27 November to 3 December". Pure."""

import re
from collections.abc import Iterator, Sequence
from datetime import date

from assistant.memory.text.times.period import Period, on_day
from assistant.memory.text.times.rules import Mention

LONGEST = 366
"""Days that a span of two named days may have."""
NEAR = 40
"""Characters beside a date in which the other end of its span is looked for."""
_TO = r"\s*(?:-|–|—|to|until|till|through|thru|bis|al|au|hasta(?:\sel)?|jusqu['’]au)\s*"
_ARTICLE = r"(?:(?:the|zum|den|el|le)\s+)?(?:(?:\w*day|\w+tag|mittwoch|sonnabend),?\s+)?"
_BETWEEN = re.compile(rf"(?:{_TO}|\s*/\s*){_ARTICLE}", re.IGNORECASE)
_FIRST = re.compile(
    rf"(?<![\w.,:/-])(?P<day>[0-3]?\d)(?:st|nd|rd|th|\.)?{_TO}{_ARTICLE}\Z", re.IGNORECASE
)
"""A number before "29 November"."""
_LAST = re.compile(
    rf"{_TO}(?P<day>[0-3]?\d)(?:st|nd|rd|th)?(?:,?\s(?P<year>20\d\d)\b)?(?![\w:%]|[.,]\d)",
    re.IGNORECASE,
)
"""A number behind "November 27"."""


def spans(text: str, found: Sequence[Mention]) -> list[Period]:
    """The days and spans of days, where two of what was found may be the ends of one."""
    return list(_joined(text, found))


def _joined(text: str, found: Sequence[Mention]) -> Iterator[Period]:
    following = [*found[1:], None]
    taken: Mention | None = None
    for each, after in zip(found, following, strict=False):
        if each is taken:
            continue
        span = _between(text, each, after) if after else None
        if span is not None:
            taken = after
        yield span or _with_number(text, each) or each.period


def _between(text: str, first: Mention, last: Mention) -> Period | None:
    """The span of two days that are named one after the other."""
    start, end = first.period, last.period
    if start.start != start.end or end.start != end.end:
        return None
    if not _BETWEEN.fullmatch(text, first.end, last.start):
        return None
    begin: Period | None = start
    if end.start < start.start and str(start.start.year) not in text[first.start : first.end]:
        begin = _before(start.start, end.start)
    return _span(begin, end.start)


def _before(day: date, end: date) -> Period | None:
    """The latest such day of a year before another day."""
    near = (on_day(year, day.month, day.day) for year in (end.year, end.year - 1))
    return next((each for each in near if each and each.start < end), None)


def _with_number(text: str, named: Mention) -> Period | None:
    """The span of a day and of another one of its month, of which only the number is said."""
    day = named.period.start
    if day != named.period.end:
        return None
    if first := _FIRST.search(text[max(0, named.start - NEAR) : named.start]):
        return _span(on_day(day.year, day.month, int(first["day"])), day)
    if text[named.start].isalpha() and (last := _LAST.match(text, named.end)):
        year = int(last["year"] or day.year)
        end = on_day(year, day.month, int(last["day"]))
        return _span(on_day(year, day.month, day.day), end.start) if end else None
    return None


def _span(begin: Period | None, end: date) -> Period | None:
    if begin is None or not 0 < (end - begin.start).days <= LONGEST:
        return None
    return Period(begin.start, end)
