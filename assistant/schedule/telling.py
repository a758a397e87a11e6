"""A schedule as words that leave no doubt how it was understood. Pure."""

import calendar
from collections.abc import Sequence
from datetime import time

from assistant.schedule.base import Schedule

_NAMES = dict(zip(("MO", "TU", "WE", "TH", "FR", "SA", "SU"), calendar.day_name, strict=True))
_UNITS = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_NTH = {"1": "first", "2": "second", "3": "third", "4": "fourth", "5": "fifth", "-1": "last"}
_WORKING = list(_NAMES)[:5]


def told(schedule: Schedule) -> str:
    """When it is due: "Monday to Friday at 09:00", "every 30 minutes"."""
    if schedule.every:
        return _interval(schedule)
    times = f"at {listed([_clock(each) for each in schedule.times])}"
    if schedule.once:
        return f"once, on {schedule.once.isoformat()} {times}"
    return f"{rhythm(schedule)} {times}"


def rhythm(schedule: Schedule) -> str:
    """A rule's days in words, without the times: "every Friday", "day 1 of every month"."""
    parts = dict(each.split("=") for each in schedule.rule.split(";"))
    unit, count = _UNITS[parts["FREQ"]], parts.get("INTERVAL")
    every = f"every {count} {unit}s" if count else f"every {unit}"
    days = parts.get("BYDAY", "").split(",") if "BYDAY" in parts else []
    if "BYSETPOS" in parts:
        return f"the {_NTH[parts['BYSETPOS']]} working day of {every}"
    if days and unit == "month":
        return f"the {_NTH[days[0][:-2]]} {_NAMES[days[0][-2:]]} of {every}"
    if days:
        named = "Monday to Friday" if days == _WORKING else listed([_NAMES[d] for d in days])
        return f"{every} on {named}" if count else _each(named)
    if "BYMONTH" in parts:
        return f"{parts['BYMONTHDAY']} {calendar.month_name[int(parts['BYMONTH'])]} of {every}"
    if "BYMONTHDAY" in parts:
        last = parts["BYMONTHDAY"] == "-1"
        days = parts["BYMONTHDAY"].split(",")
        named = f"day{'s' if len(days) > 1 else ''} {listed(days)}"
        return f"{'the last day' if last else named} of {every}"
    return every


def _each(days: str) -> str:
    return days if " to " in days else f"every {days}"


def _interval(schedule: Schedule) -> str:
    assert schedule.every
    minutes = int(schedule.every.total_seconds()) // 60
    number, unit = (minutes // 60, "hour") if minutes % 60 == 0 else (minutes, "minute")
    words = f"every {unit}" if number == 1 else f"every {number} {unit}s"
    if schedule.end:
        words += f" between {_clock(schedule.start)} and {_clock(schedule.end)}"
    if schedule.weekdays:
        names = [calendar.day_name[each] for each in schedule.weekdays]
        working = schedule.weekdays == (0, 1, 2, 3, 4)
        words += f", {'Monday to Friday' if working else listed(names)}"
    return words


def listed(words: Sequence[str]) -> str:
    """Words as one says them: "a, b and c"."""
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


def _clock(at: time) -> str:
    return f"{at:%H:%M}"
