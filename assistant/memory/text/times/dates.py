"""Dates in headings, facts and questions; no language model, no locale. English is read here,
nine other languages by `foreign.py`.

A wrong date is worse than none: "may", "march", "sun", "second" and a bare number are no dates.
(General date parsers find one in each of them, and cost 0.1 s and more to import.)
"""

import calendar
import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, timedelta

from assistant.memory.text.times import foreign
from assistant.memory.text.times.period import (
    Period,
    days_from,
    in_month,
    in_season,
    in_year,
    months_from,
    on_day,
    season_near,
    weekday_near,
)
from assistant.memory.text.times.rules import IMPOSSIBLE, Mention, Resolve, Rule, latest_on, scan


def heading_date(text: str) -> str | None:
    """The day (ISO) a heading names, the last if it names several; None if it names none.

    `2026-05-08`, `8 May 2023`, `May 8, 2023`, `1:56 pm on 8 May, 2023`; words around it are fine.
    """
    days = [found.period.iso for found in _found(text, foreign.FULL, None)]
    return days[-1] if days else None


def mentions(text: str, anchor: str | None) -> tuple[str, ...]:
    """The dates a text speaks of, in its order and each once, as `Period.iso` writes them.

    With the day it was recorded as `anchor` (ISO), "yesterday" and "last May" are dates as well,
    and "8 May" is the one nearest to it.
    """
    return tuple(dict.fromkeys(each.period.iso for each in mentioned(text, anchor)))


def mentioned(text: str, anchor: str | None) -> list[Mention]:
    """The dates a text speaks of, as `mentions` knows them, each with its place."""
    day = date.fromisoformat(anchor) if anchor else None
    found = _found(text, foreign.DATED if day is None else foreign.ANY, day)
    return [replace(e, period=_nearest(e.period, day)) for e in found if not _is_vague(e.period)]


def periods(query: str, today: date) -> list[Period]:
    """The times a question asks about, in its order; a month without a year is any year's."""
    return list(dict.fromkeys(each.period for each in _found(query, foreign.ANY, today)))


def _found(text: str, level: int, anchor: date | None) -> list[Mention]:
    hints = _hints(text)
    english = [each for each in (_DAYS, _DATED, _RULES)[level] if each.needs & hints]
    return scan(text, [*foreign.rules(text, level), *english], anchor)


def _is_vague(found: Period) -> bool:
    return found.yearly and found.start != found.end


def _nearest(found: Period, anchor: date | None) -> Period:
    """A yearly day in the year that puts it nearest to the anchor."""
    if anchor is None or not found.yearly:
        return found
    years = (anchor.year - 1, anchor.year, anchor.year + 1)
    near = [day for y in years if (day := on_day(y, found.start.month, found.start.day))]
    best = min(near, key=lambda each: abs((each.start - anchor).days), default=found)
    return Period(best.start, best.end)


_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_SHORT = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_MONTH_NUMBERS = {**_MONTHS, **_SHORT, "sept": 9}
_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first month of each, as in the northern half of the world."""
_NUMBERS = {"a": 1, "an": 1, "a couple of": 2, "one": 1, "two": 2, "three": 3, "four": 4}
_NUMBERS |= {"five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12}
_SHIFT = {"last": -1, "this": 0, "next": 1}

_NEAR = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}
_YEAR = "a year"
_HINTS = frozenset([*_MONTH_NUMBERS, *_SEASONS, *_SHIFT, "past", "ago", *_NEAR])
_YEARLIKE = re.compile(r"(?:1[89]|2[01])\d\d")
_WORD = re.compile(r"[a-z]+")


def _hints(text: str) -> set[str]:
    """What may be part of a date; in most facts nothing is, and no rule need run."""
    found = set(_HINTS.intersection(_WORD.findall(text.lower())))
    return found | {_YEAR} if _YEARLIKE.search(text) else found


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_S = r"\s{1,4}"
_Y = r"(?P<year>(?:1[89]|2[01])\d\d)\b"
_D = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_M = rf"(?P<month>{_any(_MONTH_NUMBERS)})\b\.?"
_NAMES = {"march", "april", "may", "june", "august"}
"""Months that are a verb or a person too."""
_CLEAR = rf"(?P<month>{_any(_MONTHS.keys() - _NAMES)})"
_N = rf"(?P<n>\d{{1,3}}|{_any(_NUMBERS)})"


def _rule(needs: Iterable[str], pattern: str, resolve: Resolve) -> Rule:
    flags = re.IGNORECASE | re.ASCII  # else "ſept" would be a month
    return Rule(frozenset(needs), re.compile(pattern, flags), resolve)


def _month_of(match: re.Match[str]) -> int:
    return _MONTH_NUMBERS[match["month"].lower()]


def _named_day(match: re.Match[str], anchor: date) -> Period | None:
    return on_day(int(match["year"]), _month_of(match), int(match["day"])) or IMPOSSIBLE


def _iso_day(match: re.Match[str], anchor: date) -> Period | None:
    return on_day(int(match["year"]), int(match["month"]), int(match["day"]))


def _numeric_day(match: re.Match[str], anchor: date) -> Period | None:
    """25.12.2023 is read by its dots, 25/12/2023 and 12/25/2023 only because 25 is no month."""
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    if match["dot"] == "." or first > 12 or first == second:
        return on_day(year, second, first)
    return on_day(year, first, second) if second > 12 else None


def _yearless_day(match: re.Match[str], anchor: date) -> Period | None:
    """8 May; in lower case, "may" and "march" need more than a number beside them."""
    name = match["month"]
    sure = match["sure"] or not match["day_sign"].isdigit()
    if name in {"may", "march", "mar"} and not sure:
        return None
    month, day = _month_of(match), int(match["day"])
    return latest_on(month, day, anchor) or IMPOSSIBLE


def _any_month(match: re.Match[str], anchor: date) -> Period:
    month = _month_of(match)
    found = in_month(anchor.year - (month > anchor.month), month)
    return Period(found.start, found.end, yearly=True)


def _any_season(match: re.Match[str], anchor: date) -> Period:
    month = _SEASONS[match["season"].lower()]
    found = in_season(anchor.year - (month > anchor.month), month)
    return Period(found.start, found.end, yearly=True)


def _shifted(match: re.Match[str], anchor: date) -> Period | None:
    """last, this, next: week, weekend, month, year, night, a weekday, a month, a season."""
    shift, unit = _SHIFT[match["shift"].lower()], match["unit"].lower()
    monday = anchor - timedelta(days=anchor.weekday())
    if unit == "week":
        start = monday + timedelta(weeks=shift)
        return Period(start, start + timedelta(days=6))
    if unit == "weekend":
        start = monday + timedelta(weeks=shift, days=5)
        return Period(start, start + timedelta(days=1))
    if unit == "month":
        return months_from(anchor, shift)
    if unit == "year":
        return in_year(anchor.year + shift)
    if unit in _WEEKDAYS:
        return weekday_near(_WEEKDAYS[unit], shift, anchor)
    if unit in _SEASONS:
        return season_near(_SEASONS[unit], shift, anchor)
    if unit in _MONTHS:
        month = _MONTHS[unit]
        turn = {-1: -(month >= anchor.month), 0: 0, 1: month <= anchor.month}[shift]
        return in_month(anchor.year + turn, month)
    if unit == "night":
        return days_from(anchor, {-1: -1, 0: 0}.get(shift, 1))
    return days_from(anchor, 0) if shift == 0 else None  # this morning, afternoon, evening


def _number(match: re.Match[str]) -> int:
    return int(match["n"]) if match["n"].isdigit() else _NUMBERS[match["n"].lower()]


def _ago(match: re.Match[str], anchor: date) -> Period | None:
    """Three days ago is a day; two weeks ago a week around one; months and years are whole."""
    count = _number(match)
    match match["unit"].lower():
        case "day":
            return days_from(anchor, -count)
        case "week":
            day = anchor - timedelta(weeks=count)
            return Period(day - timedelta(days=3), day + timedelta(days=3))
        case "month":
            return months_from(anchor, -count)
        case _:
            return in_year(anchor.year - count)


_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


def _past(match: re.Match[str], anchor: date) -> Period:
    """The last three weeks: the days up to the anchor."""
    count = _number(match) if match["n"] else 1
    return Period(anchor - timedelta(days=count * _UNIT_DAYS[match["unit"].lower()]), anchor)


_DAYS = [
    _rule(
        [_YEAR], r"(?<![\w-])(?P<year>\d{4})([-/])(?P<month>\d\d)\2(?P<day>\d\d)(?![\d-])", _iso_day
    ),
    _rule([_YEAR], rf"(?<![\d.]){_D}(?:{_S}of)?{_S}{_M},?{_S}{_Y}", _named_day),
    _rule([_YEAR], rf"\b{_M}{_S}{_D},?{_S}{_Y}", _named_day),
    _rule(
        [_YEAR],
        rf"(?<![\w/.])(?P<first>\d{{1,2}})(?P<dot>[/.])(?P<second>\d{{1,2}})(?P=dot){_Y}",
        _numeric_day,
    ),
]
_DATED = [
    *_DAYS,
    _rule(
        [_YEAR],
        rf"\b{_M},?{_S}(?:of{_S})?{_Y}",
        lambda found, _: in_month(int(found["year"]), _month_of(found)),
    ),
    _rule(
        [_YEAR],
        rf"\b(?P<season>{_any(_SEASONS)}){_S}(?:of{_S})?(?:in{_S})?{_Y}",
        lambda found, _: in_season(int(found["year"]), _SEASONS[found["season"].lower()]),
    ),
    _rule(
        [_YEAR],
        rf"\b(?:in|during|since|until|till|throughout|by|year|early|late|mid|end{_S}of)"
        rf"[ -](?:the{_S}year{_S})?{_Y}(?![-/.:]?\d|\w)",
        lambda found, _: in_year(int(found["year"])),
    ),
]
_UNITS = "week|weekend|month|year|night|morning|afternoon|evening"
_RULES = [
    *_DATED,
    _rule(
        _MONTH_NUMBERS,
        rf"\b(?P<sure>(?:on|by|until|till|since|from|before|after){_S}(?:the{_S})?)?"
        rf"(?P<day_sign>{_D}(?:{_S}of)?){_S}{_M}(?!\w)",
        _yearless_day,
    ),
    _rule(
        _MONTH_NUMBERS,
        rf"\b(?P<sure>(?:on|by|until|till|since|from|before|after){_S})?"
        rf"{_M}{_S}(?P<day_sign>{_D})(?![\w:%]|[.,]\d)",
        _yearless_day,
    ),
    _rule(
        _SHIFT,
        rf"\b(?P<shift>{_any(_SHIFT)}){_S}"
        rf"(?P<unit>{_UNITS}|{_any(_WEEKDAYS)}|{_any(_MONTHS)}|{_any(_SEASONS)})\b",
        _shifted,
    ),
    _rule(["ago"], rf"\b{_N}{_S}(?P<unit>day|week|month|year)s?{_S}ago\b", _ago),
    _rule(
        ["last", "past"],
        rf"\b(?:last|past){_S}(?:{_N}{_S})?(?P<unit>day|week|month|year)s?\b",
        _past,
    ),
    _rule(
        _NEAR,
        rf"\b(?P<word>{_any(_NEAR)})\b",
        lambda found, day: days_from(day, _NEAR[found["word"].lower()]),
    ),
    _rule(
        _MONTH_NUMBERS,
        rf"\b(?:in|during|early|late|mid|each|every)[ -]{_M}(?!{_S}?\d|\w)",
        _any_month,
    ),
    _rule(_MONTHS, rf"\b{_CLEAR}\b", _any_month),
    _rule(
        _SEASONS,
        rf"\b(?:in|during|each|every){_S}(?:the{_S})?(?P<season>{_any(_SEASONS)})\b",
        _any_season,
    ),
]
