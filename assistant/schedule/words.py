"""Schedules out of plain words: "every 30 minutes", "weekdays at 9", "each Friday".

Reading takes one form after the other from the beginning of a text, as long as one fits; what is
left is the reader's. Nothing is guessed: words that say no rhythm give no schedule.
"""

import calendar
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, time, timedelta

from assistant.schedule import german
from assistant.schedule.base import NINE, Schedule

_DAYS = [name.lower() for name in calendar.day_name]
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTS = {word: number for number, word in enumerate(_NUMBERS, start=1)}
_COUNTS |= {"a": 1, "an": 1, "other": 2, "second": 2, "third": 3, "fourth": 4, "fifteen": 15}
_COUNTS |= {"twelve": 12, "twenty": 20, "thirty": 30, "forty-five": 45}
_NTH = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
_PARTS = {
    "morning": time(8),
    "noon": time(12),
    "midday": time(12),
    "lunchtime": time(12),
    "afternoon": time(15),
    "evening": time(18),
    "night": time(21),
    "midnight": time(0),
}
_LATER = {time(15): range(1, 12), time(18): range(4, 12), time(21): range(6, 12)}
"""Hours that are meant twelve later behind a part of the day: "every evening at 8"."""
_UNITS = {"minute": 1, "min": 1, "hour": 60, "hr": 60}
_FREQUENCIES = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}
_ADVERBS = {"daily": "day", "weekly": "week", "fortnightly": "week", "monthly": "month"}
_ADVERBS |= {"yearly": "year", "annually": "year"}


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_DAY = rf"(?:{_any([*_DAYS, *(d[:3] for d in _DAYS), 'tues', 'thur', 'thurs'])})s?\b\.?"
_AND = r"\s*(?:,\s*(?:and\s+)?|and\s+|&\s*|or\s+)"
_CLOCK = (
    r"(?:(?:[01]?\d|2[0-3])(?:[:.h][0-5]\d|\s?h\b)?(?:\s*(?:am|pm|a\.m\.|p\.m\.))?(?:\s*o'?clock)?"
    r"|noon|midday|midnight)(?!\w|%|:\d|\.\d)"
)
_EVERY = r"(?:on\s+)?(?:every|each)\s+"
_ORDINAL = r"(?:[12]?\d|3[01])(?:st|nd|rd|th)"
_MONTH = rf"(?P<month>{_any(_MONTHS)})\b\.?"
_FORMS = [
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("half", r"(?:every|each)\s+(?:half(?:\s+an)?|quarter(?:\s+of\s+an)?)\s+hour\b"),
        ("every", rf"(?:every|each)\s+(?:(?P<n>\d{{1,4}}|{_any(_COUNTS)})\s+)?"
                  r"(?P<unit>minute|min|hour|hr|day|week|fortnight|month|year)s?\b"),
        ("hourly", r"hourly\b"),
        ("nth_day", rf"(?:on\s+|{_EVERY})?(?:the\s+)?(?P<nth>{_any(_NTH)})\s+"
                    rf"(?P<day>{_DAY}|day|weekday|workday)\s+(?:of|in)\s+"
                    r"(?:the|each|every|a)\s+month\b"),
        ("yearday", rf"(?:on\s+|{_EVERY})?(?:the\s+)?(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\s+"
                    rf"(?:of\s+)?{_MONTH}(?:\s+(?P<year>20\d\d)\b)?"),
        ("yearday", rf"(?:on\s+|{_EVERY})?{_MONTH}\s+(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b"
                    r"(?:,?\s+(?P<year>20\d\d)\b)?"),
        ("monthdays", rf"(?:on\s+)?(?:the\s+)?(?P<list>{_ORDINAL}(?:{_AND}(?:the\s+)?{_ORDINAL})*)"
                      r"(?:\s+(?:day\s+)?(?:of|in)\s+(?:the|each|every|a)\s+month\b)?"),
        ("isoday", r"(?:on\s+)?(?P<iso>20\d\d-\d\d-\d\d)(?!\d)"),
        ("part", rf"(?:{_EVERY}|in\s+the\s+|at\s+)"
                 rf"(?P<list>(?:{_any(_PARTS)})s?\b(?:{_AND}(?:{_any(_PARTS)})s?\b)*)"),
        ("weekdays", rf"(?:on\s+(?:the\s+)?|{_EVERY})?"
                     r"(?P<kind>weekdays?|workdays?|working\s+days?|business\s+days?|weekends?)\b"),
        ("span", rf"(?:on\s+|from\s+|{_EVERY})?(?P<first>{_DAY})\s*(?:-|–|to|through|till|until)"
                 rf"\s*(?P<last>{_DAY})"),
        ("days", rf"(?:on\s+(?:{_EVERY})?|{_EVERY})?(?P<other>other\s+|second\s+)?"
                 rf"(?P<list>{_DAY}(?:{_AND}(?:on\s+)?{_DAY})*)(?P<part>\s+(?:{_any(_PARTS)})s?\b)?"),
        ("adverb", rf"(?:once\s+(?:a|per|every)\s+(?P<unit>day|week|month|year)"
                   rf"|(?P<adverb>{_any(_ADVERBS)}))\b"),
        ("between", rf"(?:between|from)\s+(?P<from>{_CLOCK})\s*(?:and|to|till|until|-|–)\s*"
                    rf"(?P<to>{_CLOCK})"),
        ("times", rf"(?:at|@|um)\s*(?P<list>{_CLOCK}(?:{_AND}(?:at\s+)?{_CLOCK})*)"),
        ("times", r"(?P<list>(?:[01]?\d|2[0-3])[:.h][0-5]\d|(?:1[0-2]|[1-9])\s*[ap]m)(?![\w:])"),
    )
]  # fmt: skip
_GAP = re.compile(r"[\s,]*(?:(?:and|on|,)\s+(?=(?:every|each|at|on|the|week|mon|tue|wed|thu|fri"
                  r"|sat|sun)))?", re.IGNORECASE)  # fmt: skip
STARTS = re.compile(
    rf"\b(?:every|each|daily|hourly|weekly|fortnightly|monthly|yearly|annually|once\s+(?:a|per)"
    rf"|(?:on\s+)?(?:{_any(_DAYS)})s\b|on\s+\w|(?:on\s+)?week(?:days|ends)\b|at\s+\d"
    rf"|(?:on\s+)?the\s+(?:\d|{_any(_NTH)})|{_ORDINAL}\s+of\s+(?:the|each|every)\b"
    rf"|(?:{_any(_NTH)})\s+(?:{_any(_DAYS)}|(?:week|work)?day)\s+(?:of|in)\b"
    rf"|{german.STARTS})",
    re.IGNORECASE,
)
"""Where the words of a schedule may begin within a text."""


@dataclass(slots=True)
class _Read:
    """What has been read so far."""

    unit: str = ""
    count: int = 1
    days: list[str] = field(default_factory=list)
    monthdays: list[int] = field(default_factory=list)
    month: int = 0
    once: date | None = None
    times: list[time] = field(default_factory=list)
    parts: list[time] = field(default_factory=list)
    """Parts of the day for which no time is said."""
    window: tuple[time, time] | None = None


def schedule(text: str) -> tuple[Schedule, int] | None:
    """The schedule that a text begins with, and where its words end; None if it begins with none.

    A rhythm that no calendar has ("31 February") is none. What is German is read as English.
    """
    found = _read(text)
    if found is None and (translated := german.in_english(text)):
        found = _read(translated.text)
        return (found[0], translated.place(found[1])) if found else None
    return found


def _read(text: str) -> tuple[Schedule, int] | None:
    read, end = _Read(), 0
    while True:
        gap = _GAP.match(text, end)
        at = gap.end() if gap else end
        found = next(((n, m) for n, form in _FORMS if (m := form.match(text, at))), None)
        if found is None or not _take(read, *found):
            break
        end = found[1].end()
    made = _made(read)
    return (made, end) if made else None


def _take(read: _Read, name: str, found: "re.Match[str]") -> bool:
    """Note what one form says; False if it does not fit what was read before."""
    if name in ("times", "between", "part"):
        return _take_time(read, name, found)
    if name in ("every", "half", "hourly", "adverb"):
        return _take_unit(read, name, found)
    if read.days or read.monthdays or read.once:
        return False
    return _take_day(read, name, found)


def _take_time(read: _Read, name: str, found: "re.Match[str]") -> bool:
    if name == "between":
        read.window = (_clock(found["from"]), _clock(found["to"]))
    elif name == "times":
        clocks = [_clock(each) for each in re.findall(_CLOCK, found["list"], re.IGNORECASE)]
        part = read.parts.pop() if read.parts else time.min
        read.times += [_in_part(each, part) for each in clocks]
    else:
        said = re.findall(_any(_PARTS), found["list"].lower())
        read.parts += [_PARTS[each] for each in said]
        if read.times and not read.unit:  # "at 8 in the evening"
            part = read.parts.pop()
            read.times = [_in_part(each, part) for each in read.times]
        read.unit = read.unit or ("day" if re.match(r"(?i)(?:on\s+)?e", found[0]) else "")
    return True


def _take_unit(read: _Read, name: str, found: "re.Match[str]") -> bool:
    if read.unit and not (read.unit == "day" and (read.times or read.parts)):
        # "on the 1st of every month": what was read stands, and this says the same
        return name == "every" and found["unit"].lower() == read.unit
    if name == "half":
        read.unit, read.count = "minute", 30 if "half" in found[0].lower() else 15
    elif name == "hourly":
        read.unit = "hour"
    elif name == "adverb":
        adverb = (found["adverb"] or "").lower()
        read.unit = _ADVERBS.get(adverb) or found["unit"].lower()
        read.count = 2 if adverb == "fortnightly" else 1
    else:
        word, unit = (found["n"] or "1").lower(), found["unit"].lower()
        count = int(word) if word.isdigit() else _COUNTS[word]
        if not count:
            return False
        if unit == "fortnight":
            unit, count = "week", count * 2
        read.unit, read.count = {"min": "minute", "hr": "hour"}.get(unit, unit), count
    return True


def _take_day(read: _Read, name: str, found: "re.Match[str]") -> bool:
    match name:
        case "weekdays":
            read.days = list(_CODES[5:] if "end" in found["kind"].lower() else _CODES[:5])
        case "span":
            first, last = (_code(found[each]) for each in ("first", "last"))
            read.days = [_CODES[(first + n) % 7] for n in range((last - first) % 7 + 1)]
        case "days":
            listed = re.findall(_DAY, found["list"], re.IGNORECASE)
            read.days = [_CODES[_code(each)] for each in listed]
            read.count = 2 if found["other"] else read.count
            if found["part"]:
                read.parts.append(_PARTS[found["part"].strip().lower().removesuffix("s")])
        case "nth_day":
            return _take_nth(read, found)
        case "monthdays":
            read.monthdays = [int(each) for each in re.findall(r"\d+", found["list"])]
            read.unit = read.unit or ("month" if "month" in found[0].lower() else "")
        case _:
            return _take_date(read, name, found)
    return True


def _take_nth(read: _Read, found: "re.Match[str]") -> bool:
    nth, day = _NTH[found["nth"].lower()], found["day"].lower()
    read.unit = "month"
    if day == "day":
        read.monthdays = [nth]
    elif day in ("weekday", "workday"):
        read.days = [f"{code}:{nth}" for code in _CODES[:5]]
    else:
        read.days = [f"{nth}{_CODES[_code(day)]}"]
    return True


def _take_date(read: _Read, name: str, found: "re.Match[str]") -> bool:
    try:
        if name == "isoday":
            read.once = date.fromisoformat(found["iso"])
        elif found["year"]:
            month = _MONTHS[found["month"].lower()]
            read.once = date(int(found["year"]), month, int(found["day"]))
        else:
            read.month, read.monthdays = _MONTHS[found["month"].lower()], [int(found["day"])]
            date(2024, read.month, read.monthdays[0])  # a leap year
            read.unit = "year"
    except ValueError:
        return False
    return True


def _made(read: _Read) -> Schedule | None:
    """The schedule of what was read; None if it says no rhythm, or one that never comes."""
    times = tuple(sorted({*read.times, *read.parts})) or (NINE,)
    timed = bool(read.times or read.parts)
    if read.once:
        return Schedule(once=read.once, times=times, is_timed=timed)
    if read.unit in ("minute", "hour"):
        start, end = read.window or (time.min, None)
        every = timedelta(minutes=_UNITS[read.unit] * read.count)
        days = tuple(_CODES.index(code) for code in read.days)
        return Schedule(every=every, start=start, end=end, weekdays=days, times=())
    if read.window or not (rule := _rule(read)):
        return None
    dated = bool(read.days or read.monthdays or read.unit == "day")
    return Schedule(rule, times, is_timed=timed, is_dated=dated)


def _rule(read: _Read) -> str:
    unit = read.unit or ("week" if read.days else "")
    if not unit or (read.monthdays and not read.unit):
        return ""
    parts = [f"INTERVAL={read.count}"] if read.count > 1 else []
    if read.days and ":" in read.days[0]:
        codes, nth = zip(*(each.split(":") for each in read.days), strict=True)
        parts += [f"BYDAY={','.join(codes)}", f"BYSETPOS={nth[0]}"]
    elif read.days:
        unit = "week" if unit == "day" else unit
        parts.append(f"BYDAY={','.join(read.days)}")
    elif read.monthdays:
        parts += [f"BYMONTH={read.month}"] if read.month else []
        parts.append(f"BYMONTHDAY={','.join(map(str, read.monthdays))}")
    elif unit != "day":
        parts.append({"week": "BYDAY=MO", "month": "BYMONTHDAY=1"}.get(unit, ""))
        if unit == "year":
            parts[-1:] = ["BYMONTH=1", "BYMONTHDAY=1"]
    return ";".join([f"FREQ={_FREQUENCIES[unit]}", *parts])


def _code(day: str) -> int:
    return [name[:3] for name in _DAYS].index(day.lower()[:3])


def _in_part(at: time, part: time) -> time:
    return at.replace(hour=at.hour + 12) if at.hour in _LATER.get(part, ()) else at


def _clock(text: str) -> time:
    """A time of day: 9, 9:30, 9pm, 14h30, noon."""
    lower = text.lower().strip()
    if lower in _PARTS:
        return _PARTS[lower]
    hour, minute, *_ = [*re.findall(r"\d+", lower), "0"]
    late = re.search(r"p\.?m", lower) is not None
    early = re.search(r"a\.?m", lower) is not None
    return time(int(hour) % 12 + 12 * late if late or early else int(hour), int(minute))
