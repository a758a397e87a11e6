"""When something comes round: a rule of the calendar, an interval, or one day. Pure.

Due times of the calendar are those of the clock on the wall, so that a change of zone or of summer
time makes none twice; those of an interval count from the epoch, alike on every machine.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dateutil.rrule import rrule

NINE = time(9)
"""When something is due on a day for which no time is said."""
ANCHOR = datetime(2024, 1, 1)
"""A Monday: every second week, month and so on is counted from here."""
ORIGIN = datetime(1970, 1, 1)
REACH = timedelta(days=366 * 8)
"""No rule lets more time pass: 29 February comes round every eight years at the most."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When something is due.

    Either `rule`, an RRULE of RFC 5545 without its times, or `once`; both at each of `times`. Or
    `every`, within the hours from `start` to before `end` and on `weekdays` (Monday is 0).
    """

    rule: str = ""
    times: tuple[time, ...] = (NINE,)
    once: date | None = None
    every: timedelta | None = None
    start: time = time.min
    end: time | None = None
    weekdays: tuple[int, ...] = ()
    is_timed: bool = False
    """Whether the words named a time of day."""
    is_dated: bool = field(default=True, repr=False)
    """Whether the words named a day, or a rule that is every day's."""

    def latest(self, now: datetime) -> datetime | None:
        """The last due time up to now, both on the local clock; None if there was none."""
        if self.every:
            return next(self._multiples(now, -1), None)
        if self.once:
            return max((each for each in self._at(self.once) if each <= now), default=None)
        days = self._rrule(now)
        last = days.before(now.replace(hour=23, minute=59), inc=True)
        found = max((t for t in self._on(last) if t <= now), default=None)
        if found is None and last is not None:
            found = max(self._on(days.before(last)), default=None)
        return found

    def following(self, now: datetime) -> datetime | None:
        """The first due time after now; None if there is none any more."""
        if self.every:
            return next(self._multiples(now, 1), None)
        if self.once:
            return min((each for each in self._at(self.once) if each > now), default=None)
        days = self._rrule(now)
        first = days.after(datetime.combine(now, time.min), inc=True)
        found = min((t for t in self._on(first) if t > now), default=None)
        if found is None and first is not None:
            found = min(self._on(days.after(first)), default=None)
        return found

    def days(self, first: date, last: date) -> list[date]:
        """The days within these on which something is due, for a rule or once."""
        if self.once:
            return [self.once] if first <= self.once <= last else []
        begin, end = (datetime.combine(day, time.min) for day in (first, last))
        return [each.date() for each in self._rrule(begin).between(begin, end, inc=True)]

    def key(self, due: datetime) -> str:
        """A name for a due time that is the same on every machine."""
        if self.every:
            return due.astimezone(UTC).strftime("%Y%m%dT%H%MZ")
        return due.strftime("%Y%m%dT%H%M")

    def _at(self, day: date) -> list[datetime]:
        return [datetime.combine(day, each) for each in self.times]

    def _on(self, day: datetime | None) -> list[datetime]:
        return self._at(day.date()) if day else []

    def _rrule(self, near: datetime) -> "rrule":
        """The days of the rule; where nothing is counted, only from a while before."""
        from dateutil.rrule import rrulestr  # 10 ms that only a schedule costs

        begin = ANCHOR if "INTERVAL" in self.rule else datetime.combine(near - REACH, time.min)
        found: rrule = rrulestr(self.rule, dtstart=min(begin, ANCHOR).replace(month=1, day=1))
        return found

    def _multiples(self, now: datetime, step: int) -> Iterator[datetime]:
        """The due times of an interval before (with now) or after now, the nearest first."""
        assert self.every
        utc = now.astimezone(UTC).replace(tzinfo=None)
        count = (utc - ORIGIN) // self.every + (step > 0)
        for number in range(8 * 366 * 24 * 60):
            due = ORIGIN + (count + step * number) * self.every
            local = due.replace(tzinfo=UTC).astimezone().replace(tzinfo=None)
            if abs(local - now) > REACH:
                return
            if self._within(local):
                yield local

    def _within(self, local: datetime) -> bool:
        if self.weekdays and local.weekday() not in self.weekdays:
            return False
        at, end = local.time(), self.end or time.max
        if self.start <= end:
            return self.start <= at <= end
        return at >= self.start or at <= end
