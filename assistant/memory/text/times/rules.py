"""Forms of dates: what each looks like, and the period it names. Pure."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from functools import partial

from assistant.memory.text.times.period import Period, on_day

Resolve = Callable[[re.Match[str], date], Period | None]
NO_DAY = date.min
"""The anchor of what nothing dates."""
IMPOSSIBLE = Period(date.max, date.min)
"""What a rule makes of a day that no calendar has: no date, and no part of it is one either."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A form of date; it is looked for where one of the words it `needs` occurs."""

    needs: frozenset[str]
    pattern: re.Pattern[str]
    resolve: Resolve


@dataclass(frozen=True, slots=True)
class Mention:
    """A period, and where in the text it is named: its first character and its end."""

    start: int
    end: int
    period: Period


def scan(text: str, rules: Iterable[Rule], anchor: date | None) -> list[Mention]:
    """What the rules find, in the order of the text; what one rule took is gone for the next."""
    found: list[Mention] = []

    def take(resolve: Resolve, match: re.Match[str]) -> str:
        try:
            taken = resolve(match, anchor or NO_DAY)
        except (ValueError, OverflowError):  # a 13th month, or before the calendar begins
            taken = None
        if taken is None:
            return match[0]
        if taken != IMPOSSIBLE:
            found.append(Mention(match.start(), match.end(), taken))
        return "\0" * len(match[0])

    for rule in rules:
        text = rule.pattern.sub(partial(take, rule.resolve), text)
    return sorted(found, key=lambda each: each.start)


def latest_on(month: int, day: int, anchor: date) -> Period | None:
    """A day without a year: the latest by the anchor, and that of any year."""
    years = range(anchor.year, max(anchor.year - 9, 0), -1)
    past = (found for year in years if (found := on_day(year, month, day)))
    latest = next((found for found in past if found.start <= anchor), None)
    return latest and Period(latest.start, latest.end, yearly=True)
