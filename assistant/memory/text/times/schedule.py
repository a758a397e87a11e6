"""Due times: a calendar rule, an interval, or one day; and their descriptions. Pure.

Due times of a calendar rule are on the wall clock, so a change of time zone or to daylight saving
time repeats none. Those of an interval limited to some hours count from the first of these hours;
those of any other interval from the epoch, so they are the same on every machine.
"""

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from itertools import count
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from dateutil.rrule import rrule

CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
WORKING = list(CODES[:5])
NINE = time(9)
"""The time of day if none is given."""
ANCHOR = datetime(2024, 1, 1)
"""The start of a rule without a first day."""
ORIGIN = datetime(1970, 1, 1)
DAY = timedelta(days=1)
REACH = timedelta(days=366 * 8)
"""The longest gap of any rule: 29 February recurs every eight years at the latest."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When something is due.

    Either on the days of `rule`, an RRULE of RFC 5545 without its times, or `once`; both at each of
    `times`. Without times, at each multiple of `every` on the days of the rule; with `hours`, the
    interval has its times. `begins` is the first day of a rule; `zone`, the time zone of the times,
    is empty for the machine's.
    """

    rule: str = ""
    times: tuple[time, ...] = (NINE,)
    once: date | None = None
    every: timedelta | None = None
    hours: tuple[time, time] | None = None
    begins: date | None = None
    zone: str = ""
    is_timed: bool = False
    """Whether the text named a time of day."""
    is_dated: bool = field(default=True, repr=False)
    """Whether the text named a day, or a daily rule."""

    def latest(self, now: datetime) -> datetime | None:
        """Return the last due time up to now, both on the local clock; None if there was none."""
        return self._nearest(now, -1)

    def following(self, now: datetime) -> datetime | None:
        """Return the first due time after now; None if there is none left."""
        return self._nearest(now, 1)

    def _nearest(self, now: datetime, step: int) -> datetime | None:
        if self.zone:
            zone = zone_of(self.zone)
            there = now.astimezone(zone).replace(tzinfo=None)
            due_there = replace(self, zone="")._nearest(there, step)
            return due_there and due_there.replace(tzinfo=zone).astimezone().replace(tzinfo=None)
        if self.every and not self.hours:
            return next(self._multiples(now, step), None)
        due = (datetime.combine(day, at) for day in self._days_near(now, step) for at in self.times)
        nearest = min if step > 0 else max
        return nearest((moment for moment in due if (moment > now) == (step > 0)), default=None)

    def _days_near(self, now: datetime, step: int) -> list[date]:
        """Return its only day, or the next two days of the rule, as today's times may be past."""
        if self.once:
            return [self.once]
        rule = self._rrule(now)
        neighbour = rule.after if step > 0 else rule.before
        near = neighbour(datetime.combine(now, time.min), inc=True)
        return [day for day in (near, near and neighbour(near)) if day]

    def days(self, first: date, last: date) -> list[date]:
        """Return the days within these on which something is due, for a rule or once."""
        if self.once:
            return [self.once] if first <= self.once <= last else []
        begin, end = (datetime.combine(day, time.min) for day in (first, last))
        counted = "INTERVAL" in self.rule or self.begins
        own = self if counted else replace(self, begins=first.replace(day=1))
        return [moment.date() for moment in own._rrule(begin).between(begin, end, inc=True)]

    def recurrence(self) -> str:
        """Return the RRULE with its times of day, for a calendar; empty for one day."""
        if self.once:
            return ""
        times, rule = self.times, self.rule
        if self.every and not self.hours:
            count, unit = _counted(self.every)
            step = f";INTERVAL={count}" if count > 1 else ""
            return rule.replace("DAILY", f"{unit.upper()}LY{step}", 1)
        if len(times) == 1 or "BYSETPOS" in rule:
            return rule
        hours, minutes_of = (
            sorted({getattr(at, part) for at in times}) for part in ("hour", "minute")
        )
        product = [time(hour, minute) for hour in hours for minute in minutes_of]
        rule = f"{rule};BYHOUR={_joined(hours)};BYMINUTE={_joined(minutes_of)}"
        if len(product) == len(times):
            return rule
        rule = rule.replace("FREQ=WEEKLY;BYDAY", "FREQ=DAILY;BYDAY")
        positions = _joined([product.index(at) + 1 for at in times])
        return f"{rule};BYSETPOS={positions}" if rule.startswith("FREQ=DAILY") else self.rule

    def key(self, due: datetime) -> str:
        """Return a name for a due time that is the same on every machine."""
        if self.every or self.zone:
            return due.astimezone(UTC).strftime("%Y%m%dT%H%MZ")
        return due.strftime("%Y%m%dT%H%M")

    def _rrule(self, near: datetime) -> "rrule":
        """Return the days of the rule; without an interval, only from shortly before."""
        from dateutil.rrule import rrulestr  # 10 ms that only a schedule needs

        begin = ANCHOR if "INTERVAL" in self.rule else (near - REACH).replace(month=1, day=1)
        first = datetime.combine(self.begins or begin, time.min)
        result: rrule = rrulestr(self.rule, dtstart=first)
        return result

    def _multiples(self, now: datetime, step: int) -> Iterator[datetime]:
        """Yield the due times of an interval before (including now) or after now, nearest first."""
        assert self.every
        utc, days = now.astimezone(UTC).replace(tzinfo=None), _days(self.rule)
        first = (utc - ORIGIN) // self.every + (step > 0)
        for number in count():
            due = ORIGIN + (first + step * number) * self.every
            local = datetime.fromtimestamp(due.replace(tzinfo=UTC).timestamp())  # with its fold
            if abs(local - now) > REACH:
                return
            if not days or CODES[local.weekday()] in days:
                yield local


def zone_of(name: str) -> tzinfo:
    """Return the time zone with this name or UTC offset: "Asia/Tokyo", "+05:30"."""
    if name[0] in "+-":
        sign, hours, minutes = name[0], *map(int, name[1:].split(":"))
        return timezone((timedelta(hours=hours, minutes=minutes)) * (-1 if sign == "-" else 1))
    return ZoneInfo(name)


def interval(
    every: timedelta, hours: tuple[time, time] | None = None, days: Sequence[str] = ()
) -> Schedule:
    """Return an interval; with hours, which may include midnight, it counts from the first."""
    rule, times = f"FREQ=DAILY;BYDAY={','.join(days)}" if days else "FREQ=DAILY", set[time]()
    if hours:
        begin, end = (datetime.combine(ORIGIN, hour) for hour in hours)
        steps = range((end - begin) % DAY // every + 1)
        times = {(begin + number * every).time() for number in steps}
    return Schedule(rule, tuple(sorted(times)), every=every, hours=hours)


def _counted(every: timedelta) -> tuple[int, str]:
    """Return an interval as a number of hours, or else of minutes."""
    minutes = every // timedelta(minutes=1)
    return (minutes, "minute") if minutes % 60 else (minutes // 60, "hour")


def _days(rule: str) -> list[str]:
    """Return the weekdays of a rule, as codes."""
    return re.findall(r"(?<=[=,])-?\d?[A-Z]{2}\b", rule.partition("BYDAY")[2])


def _joined(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


_NAMES = dict(zip(CODES, calendar.day_name, strict=True))
_UNITS = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_NTH = {"1": "first", "2": "second", "3": "third", "4": "fourth", "5": "fifth", "-1": "last"}


def describe(schedule: Schedule) -> str:
    """Describe when it is due: "Monday to Friday at 09:00", "every 30 minutes"."""
    zone = f" {schedule.zone}" if schedule.zone else ""
    zone = zone.replace(" +", " UTC+").replace(" -", " UTC-")
    if schedule.every:
        return _interval(schedule) + zone
    times = f"at {listed([f'{at:%H:%M}' for at in schedule.times])}{zone}"
    if schedule.once:
        return f"once, on {schedule.once.isoformat()} {times}"
    begins = f", from {schedule.begins.isoformat()}" if schedule.begins else ""
    return f"{rhythm(schedule)} {times}{begins}"


def rhythm(schedule: Schedule) -> str:
    """Describe a rule's days, without the times: "every Friday", "on the 1st of every month"."""
    parts = dict(part.split("=") for part in schedule.rule.split(";"))
    unit, count = _UNITS[parts["FREQ"]], parts.get("INTERVAL")
    every = f"every {count} {unit}s" if count else f"every {unit}"
    days = _days(schedule.rule)
    if "BYSETPOS" in parts and not days:  # on the day of the month of its start
        return every
    if "BYSETPOS" in parts:
        return f"the {_NTH[parts['BYSETPOS']]} working day of {every}"
    if days and unit == "month":
        return f"the {_NTH[days[0][:-2]]} {_NAMES[days[0][-2:]]} of {every}"
    if days:
        named = _named(days)
        return f"{every} on {named}" if count else named if days == WORKING else f"every {named}"
    if "BYMONTH" in parts:
        day = parts["BYMONTHDAY"].replace("-1", "29")  # of February, and the 28th in other years
        return f"{day} {calendar.month_name[int(parts['BYMONTH'])]} of {every}"
    if "BYMONTHDAY" in parts:
        days = [_ordinal(int(day)) for day in parts["BYMONTHDAY"].split(",")]
        return f"{'the last day' if days == ['last'] else f'on the {listed(days)}'} of {every}"
    return every


def _ordinal(day: int) -> str:
    if day < 0:
        return "last"
    return f"{day}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(0 if 10 < day < 20 else day % 10, 'th') }"


def _interval(schedule: Schedule) -> str:
    assert schedule.every
    number, unit = _counted(schedule.every)
    words = f"every {unit}" if number == 1 else f"every {number} {unit}s"
    if schedule.hours:
        words += " between {:%H:%M} and {:%H:%M}".format(*schedule.hours)
    days = _days(schedule.rule)
    return f"{words}, {_named(days)}" if days else words


def _named(days: Sequence[str]) -> str:
    return "Monday to Friday" if days == WORKING else listed([_NAMES[day] for day in days])


def listed(words: Sequence[str]) -> str:
    """Join words: "a, b and c"."""
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last
