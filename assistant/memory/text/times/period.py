"""Spans of days, and calendar arithmetic."""

import calendar
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta


@dataclass(frozen=True, slots=True)
class Period:
    """The days from `start` to `end`, both inclusive.

    `yearly` means these days of any year ("in May"); start and end are then the latest ones that
    began by the day of the question.
    """

    start: date
    end: date
    yearly: bool = False

    @property
    def is_day(self) -> bool:
        """Whether it is a single day."""
        return self.start == self.end

    def covers(self, day: date) -> bool:
        """Return whether it includes a day."""
        return self.overlaps(Period(day, day))

    def overlaps(self, other: "Period") -> bool:
        """Return whether a day is in both; `other` is not yearly."""
        around = self.around(other.start.year, other.end.year)
        return any(own.start <= other.end and other.start <= own.end for own in around)

    def around(self, first: int, last: int) -> Sequence["Period"]:
        """Return the same days of each year around these, or itself if it is not yearly."""
        return _around(self, first, last) if self.yearly else (self,)

    @property
    def iso(self) -> str:
        """ISO 8601: a day `2023-05-08`, a month `2023-05`, a year `2023`, else `start/end`."""
        if self.start == self.end:
            return self.start.isoformat()
        if self.end == in_year(self.start.year).end and self.start.timetuple().tm_yday == 1:
            return f"{self.start.year:04}"
        if self.start.day == 1 and self.end == in_month(self.start.year, self.start.month).end:
            return self.start.isoformat()[:7]
        return f"{self.start.isoformat()}/{self.end.isoformat()}"


@functools.lru_cache(1024)
def _around(yearly: Period, first: int, last: int) -> Sequence[Period]:
    shifts = (
        year - yearly.start.year for year in range(max(first - 1, 1), min(last + 1, 9998) + 1)
    )
    days = ((later(day, n, "year") for day in (yearly.start, yearly.end)) for n in shifts)
    return [Period(start, end) for start, end in days]


def later(day: date, count: int, unit: str) -> date:
    """Return the day that many units later; the last of the month if it has no such day."""
    if unit in ("day", "week"):
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    months = day.month - 1 + count * (12 if unit == "year" else 1)
    year, month = day.year + months // 12, months % 12 + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def period(iso: str) -> Period:
    """Parse the output of `Period.iso`. Raises ValueError."""
    start, _, end = iso.partition("/")
    match [int(part) for part in start.split("-")]:
        case [year]:
            return in_year(year)
        case [year, month]:
            return in_month(year, month)
    return Period(date.fromisoformat(start), date.fromisoformat(end or start))


def on_day(year: int, month: int, day: int) -> Period | None:
    if not (1 <= day <= calendar.monthrange(year, month)[1] and year <= date.max.year):
        return None
    return Period(date(year, month, day), date(year, month, day))


def nth_weekday(year: int, month: int, weekday: int, number: int) -> Period | None:
    """Return the first such weekday of a month for 1, its last for 0; None if it has fewer."""
    days = filter(None, (on_day(year, month, day) for day in range(1, 32)))
    named = [day for day in days if day.start.weekday() == weekday]
    return next(iter(named[number - 1 :]), None)


def in_month(year: int, month: int) -> Period:
    last = calendar.monthrange(year, month)[1]
    return Period(date(year, month, 1), date(year, month, last))


def in_year(year: int) -> Period:
    return Period(date(year, 1, 1), date(year, 12, 31))


def in_season(year: int, month: int) -> Period:
    """Return three months, from the first one of a season."""
    start = date(year, month, 1)
    return Period(start, later(start, 3, "month") - timedelta(days=1))


def weekday_near(weekday: int, shift: int, anchor: date) -> Period:
    """Return the nearest such day before or after the anchor, or that of its own week."""
    back = (anchor.weekday() - weekday - 1) % 7 + 1
    ahead = (weekday - anchor.weekday() - 1) % 7 + 1
    return days_from(anchor, {-1: -back, 0: weekday - anchor.weekday(), 1: ahead}[shift])


def season_near(month: int, shift: int, anchor: date) -> Period | None:
    around = [in_season(anchor.year + turn, month) for turn in (-2, -1, 0, 1)]
    if shift < 0:
        return [period for period in around if period.end < anchor][-1]
    if shift > 0:
        return next(period for period in around if period.start > anchor)
    return next((period for period in around if period.covers(anchor)), around[2])


def days_from(anchor: date, days: int) -> Period:
    day = anchor + timedelta(days=days)
    return Period(day, day)


def months_from(anchor: date, months: int) -> Period:
    start = later(anchor.replace(day=1), months, "month")
    return in_month(start.year, start.month)


def units_from(anchor: date, shift: int, unit: str) -> Period:
    """Return the whole unit that many units from that of the anchor."""
    monday = anchor + timedelta(weeks=shift, days=-anchor.weekday())
    match unit:
        case "day":
            return days_from(anchor, shift)
        case "week":
            return Period(monday, monday + timedelta(days=6))
        case "weekend":
            return Period(monday + timedelta(days=5), monday + timedelta(days=6))
        case "month":
            return months_from(anchor, shift)
        case _:
            return in_year(anchor.year + shift)
