"""Dates in German, Spanish, French, Russian, Arabic, Hindi, Chinese, Japanese and Korean.

A language's forms are made when a text may first be in it: by its script, or its words for times.
"""

import functools
import re
from collections.abc import Iterator
from datetime import date, timedelta

from assistant.memory.text.language import language_of
from assistant.memory.text.times.languages.known import VOCABULARIES
from assistant.memory.text.times.languages.vocabulary import DAY, MONTH, WEEK, YEAR, Vocabulary
from assistant.memory.text.times.period import (
    Period,
    days_from,
    in_month,
    in_year,
    months_from,
    on_day,
    weekday_near,
)
from assistant.memory.text.times.rules import IMPOSSIBLE, Resolve, Rule, latest_on

FULL, DATED, ANY = range(3)
"""A day with its year; also a month or year by its number; also what depends on the day it is."""
_SCRIPTS = (
    (re.compile(r"[\u0400-\u04ff]"), ("russian",)),
    (re.compile(r"[\u0600-\u06ff]"), ("arabic",)),
    (re.compile(r"[\u0900-\u097f]"), ("hindi",)),
    (re.compile(r"[\uac00-\ud7af]"), ("korean",)),
    (re.compile(r"[\u3040-\u30ff\u3400-\u9fff]"), ("chinese", "japanese")),
)
_LATIN = ("german", "spanish", "french")
_WORD = re.compile(r"[^\W\d_]+")
_YEARLIKE = re.compile(r"\d{4}")
_ALWAYS: frozenset[str] = frozenset()
_NOT_AFTER = re.compile(r"\(\?<!.*?\)")
_WORDS = ("am", "vom", "zum", "bis", "ab", "den", "der", "dem", "on", "until", "from")
_BEFORE_DOTS = "|".join(rf"(?<=\b{word} )" for word in _WORDS)
"""Two numbers alone are a date only behind such words, behind a day, and before a time."""
_DOTTED = re.compile(
    rf"(?:{_BEFORE_DOTS}|(?<=tag )|(?<=tag, )|(?<=\d\.[-–])"
    r"|(?<![\w./-])(?=\d{1,2}\. ?\d{1,2}\.\s?(?::\s|(?:um|at|ab|[-–])\s?\d)))"
    r"(?P<day>[0-3]?\d)\. ?(?P<month>1[0-2]|0?[1-9])\.(?!\w)",
    re.IGNORECASE,
)
_PLACES = re.compile(r"[DMYWUNT](?![a-z])")


def rules(text: str, level: int) -> list[Rule]:
    """The forms of the languages a text may be in; in what may be any, full dates alone."""
    found = [Rule(_ALWAYS, _DOTTED, _dotted)] if level == ANY else []
    if not text.isascii():
        for script, languages in _SCRIPTS:
            if script.search(text):
                found += [rule for name in languages for rule in _rules(name)[level]]
    words = frozenset(_WORD.findall(text.casefold()))
    spoken = None
    for name in _LATIN:
        if not words.isdisjoint(_telling(name)):
            found += _rules(name)[level]
        elif level == ANY and not words.isdisjoint(_unsure(name)):
            spoken = spoken or language_of(text)
            found += _rules(name)[ANY if spoken == name else FULL]
        elif _YEARLIKE.search(text) and not words.isdisjoint(_unsure(name)):
            found += _rules(name)[FULL]
    return found


def may_speak(text: str) -> bool:
    """Whether a text without any number may still name a day, in one of these languages."""
    if not text.isascii() and any(script.search(text) for script, _ in _SCRIPTS):
        return True
    words = _WORD.findall(text.casefold())
    return any(not _telling(name).isdisjoint(words) for name in _LATIN)


def weekdays(text: str) -> Iterator[tuple[int, int, int]]:
    """The weekdays that are named without saying which: each with its place, Monday is 0."""
    words = frozenset(_WORD.findall(text.casefold()))
    named = {name for name in _LATIN if not words.isdisjoint(_telling(name))}
    if not named and any(not words.isdisjoint(_unsure(name)) for name in _LATIN):
        named = {language_of(text)}.intersection(_LATIN)
    scripts = (names for script, names in _SCRIPTS if script.search(text))
    for name in sorted(named.union(*scripts)):
        for match in _bare(name).finditer(text):
            weekday = _place(VOCABULARIES[name].weekdays, match["weekday"]) - 1
            yield match.start(), match.end(), weekday


@functools.cache
def _bare(language: str) -> re.Pattern[str]:
    known = VOCABULARIES[language]
    return _pattern(known, known.bare)


@functools.cache
def _telling(language: str) -> frozenset[str]:
    return frozenset(VOCABULARIES[language].telling.split())


@functools.cache
def _unsure(language: str) -> frozenset[str]:
    """Words for times that are words of other languages too."""
    known = VOCABULARIES[language]
    days = _NOT_AFTER.sub("", " ".join(known.days))
    named = _WORD.findall(f"{known.months} {days} {known.weekdays}".casefold())
    units = {"german": "tag", "spanish": "mes", "french": "an ans jours"}[language].split()
    return frozenset(each for each in (*named, *units) if len(each) > 1) - _telling(language)


@functools.cache
def _rules(language: str) -> tuple[list[Rule], list[Rule], list[Rule]]:
    known = VOCABULARIES[language]
    full = [_rule(known, known.full, functools.partial(_on, known))]
    dated = full + [
        _rule(known, form, resolve)
        for form, resolve in (
            (known.month, functools.partial(_month, known)),
            (known.year, lambda match, _: in_year(_year(match))),
        )
        if form
    ]
    return full, dated, [*dated, *_anchored(known)]


def _anchored(known: Vocabulary) -> Iterator[Rule]:
    """What depends on the day it is said on, longer forms first."""
    yield _rule(known, known.yearless, functools.partial(_yearless, known))
    yield _rule(known, known.ago, functools.partial(_ago, known))
    for shift, form in known.weeks:
        yield _rule(known, form, functools.partial(_in_week, known, shift))
    for shift, form in known.shifted:
        yield _rule(known, form, functools.partial(_shifted, known, shift))
    for shift, unit, form in known.spans:
        yield _rule(known, form, functools.partial(_span, unit, shift))
    for form, days in known.days.items():
        yield _rule(known, form, functools.partial(_days, days))
    if known.any_month:
        yield _rule(known, known.any_month, functools.partial(_any_month, known))


def _rule(known: Vocabulary, form: str, resolve: Resolve) -> Rule:
    return Rule(_ALWAYS, _pattern(known, form), resolve)


def _pattern(known: Vocabulary, form: str) -> re.Pattern[str]:
    units = "|".join(known.units.values())
    weekdays = known.weekdays.replace(" ", "|")
    places = {
        "D": r"(?P<day>[0-3]?\d)(?!\d)",
        "M": f"(?P<month>{_longest_first(known.months)})",
        "Y": r"(?P<year>\d{4})(?!\d)",
        "W": f"(?P<weekday>{weekdays})",
        "U": f"(?P<unit>{units})",
        "N": rf"(?P<n>\d{{1,3}}|{_longest_first(known.numbers)})",
        "T": f"(?:(?P<weekday>{weekdays})|(?P<unit>{units}))",
    }
    pattern = _PLACES.sub(lambda found: places[found[0]], form)
    return re.compile(f"{known.before}(?:{pattern}){known.after}", re.IGNORECASE)


def _longest_first(words: str) -> str:
    return "|".join(sorted(re.split(r"[ |](?![^(]*\))", words), key=len, reverse=True))


def _dotted(match: re.Match[str], anchor: date) -> Period | None:
    """15.12., as it is written in German and its neighbours."""
    return latest_on(int(match["month"]), int(match["day"]), anchor) or IMPOSSIBLE


def _place(words: str, said: str) -> int:
    """The place of what was said in a list of words, from 1 up."""
    found = (re.fullmatch(each, said, re.IGNORECASE) for each in words.split())
    return next(number for number, match in enumerate(found, start=1) if match)


def _year(match: re.Match[str]) -> int:
    year = int(match["year"])
    if not 1800 <= year < 2200:
        raise ValueError("hardly a year")
    return year


def _on(known: Vocabulary, match: re.Match[str], _: date) -> Period | None:
    month = _place(known.months, match["month"])
    return on_day(_year(match), month, int(match["day"])) or IMPOSSIBLE


def _month(known: Vocabulary, match: re.Match[str], _: date) -> Period:
    return in_month(_year(match), _place(known.months, match["month"]))


def _yearless(known: Vocabulary, match: re.Match[str], anchor: date) -> Period | None:
    month = _place(known.months, match["month"])
    return latest_on(month, int(match["day"]), anchor) or IMPOSSIBLE


def _any_month(known: Vocabulary, match: re.Match[str], anchor: date) -> Period:
    month = _place(known.months, match["month"])
    found = in_month(anchor.year - (month > anchor.month), month)
    return Period(found.start, found.end, yearly=True)


def _days(days: int, match: re.Match[str], anchor: date) -> Period:
    return days_from(anchor, days)


def _unit(known: Vocabulary, said: str) -> str:
    each = known.units.items()
    return next(unit for unit, form in each if re.fullmatch(form, said, re.IGNORECASE))


def _span(unit: str, shift: int, match: re.Match[str], anchor: date) -> Period | None:
    if unit == WEEK:
        monday = anchor + timedelta(weeks=shift, days=-anchor.weekday())
        return Period(monday, monday + timedelta(days=6))
    if unit == MONTH:
        return months_from(anchor, shift)
    return in_year(anchor.year + shift) if unit == YEAR else None


def _shifted(known: Vocabulary, shift: int, match: re.Match[str], anchor: date) -> Period | None:
    """A weekday is the nearest before or after the day; a week, a month, a year are whole."""
    if match["weekday"]:
        return weekday_near(_place(known.weekdays, match["weekday"]) - 1, shift, anchor)
    return _span(_unit(known, match["unit"]), shift, match, anchor)


def _in_week(known: Vocabulary, shift: int, match: re.Match[str], anchor: date) -> Period | None:
    """A week, or the weekday that lies in it."""
    week = _span(WEEK, shift, match, anchor)
    if week is None or not match["weekday"]:
        return week
    return days_from(week.start, _place(known.weekdays, match["weekday"]) - 1)


def _ago(known: Vocabulary, match: re.Match[str], anchor: date) -> Period | None:
    """Three days ago is a day; two weeks ago a week around one; months and years are whole."""
    said = match["n"] or ""
    count = int(said) if said.isdecimal() else _place(known.numbers, said) if said else 1
    unit = _unit(known, match["unit"])
    if unit == DAY:
        return days_from(anchor, -count)
    if unit == WEEK:
        day = anchor - timedelta(weeks=count)
        return Period(day - timedelta(days=3), day + timedelta(days=3))
    return _span(unit, -count, match, anchor)
