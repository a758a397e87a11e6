"""The date vocabulary of ten languages (`languages.toml`), as patterns and their meanings. Pure.

A wrong date is worse than none: "may", "march", "sun", "second" and a bare number are not dates.
(General date parsers find one in each of them, and take 0.1 s and more to import.) A language's
patterns are compiled when a text may first be in it, by its script or its time vocabulary.
"""

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta

from assistant.memory.text.language import language_of
from assistant.memory.text.times.period import (
    Period,
    days_from,
    in_month,
    in_season,
    in_year,
    later,
    months_from,
    nth_weekday,
    on_day,
    season_near,
    units_from,
    weekday_near,
)
from assistant.tables import table_of

FULL, DATED, ANY = range(3)
"""A day with its year; also a month or year in figures; also what is relative to a day."""
IMPOSSIBLE = Period(date.max, date.min)
"""A day that is not in the calendar: neither it nor any part of it is a date."""
SEASONS = (3, 6, 9, 12)
"""The first month of each season of the northern hemisphere."""
PARTS = (8, 12, 15, 18, 21)
"""The hour that represents each part of the day."""
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_LATIN = ("german", "spanish", "french")
_WORD = re.compile(r"[^\W\d_]+")
_GERMAN_AM = re.compile(r"(?<=\d)\s(?=am\s\w)", re.IGNORECASE)
_MINUTES = re.compile(r"(past|to)(\d*)")
_DAYS = re.compile(r"days(\d+)")
_NTH = re.compile(r"nth(\d)")
_YEARLIKE = re.compile(r"\d{4}")
_PLACEHOLDERS = re.compile(r"\(\?<[!=].*?\)| [?*]|[DMYWSUNTH](?![a-z])| ")
"""The placeholders and spaces of a form; a lookbehind, which has a fixed width, keeps its own."""

Resolve = Callable[[re.Match[str], date], Period | None]
Rule = tuple[re.Pattern[str], Resolve]
"""A form of date, and the period that it names relative to a day."""


@dataclass(frozen=True, slots=True)
class Language:
    """The vocabulary of a language; the head of `languages.toml` explains each field."""

    months: str = ""
    forms: dict[str, list[str]] = field(default_factory=dict)
    weekdays: str = ""
    numbers: str = ""
    seasons: str = ""
    parts: str = ""
    ordinal: str = ""
    units: dict[str, str] = field(default_factory=dict)
    bare: str = ""
    ahead: str = ""
    monthday: str = ""
    part: str = ""
    clock: str = ""
    sure: str = ""
    before: str = r"(?<!\w)"
    after: str = r"(?!\w)"
    script: str = ""
    telling: str = ""
    says: dict[str, str] = field(default_factory=dict)
    schedule: dict[str, str] = field(default_factory=dict)
    connectives: str = ""
    compounds: dict[str, str] = field(default_factory=dict)

    def pattern(self, form: str) -> re.Pattern[str]:
        """Compile a form, with its placeholders filled."""
        units, weekdays = "|".join(self.units.values()), self.weekdays.replace(" ", "|")
        ordinal = f"(?:{self.ordinal})?" if self.ordinal else ""
        placeholders = {
            " ": r"\s{1,4}",
            "D": rf"(?P<day>[0-3]?\d)(?!\d){ordinal}",
            "M": f"(?P<month>{_longest_first(self.months)})",
            "Y": r"(?P<year>\d{4})(?!\d)",
            "W": f"(?P<weekday>{weekdays})",
            "S": f"(?P<season>{_longest_first(self.seasons)})",
            "H": f"(?P<part>{_longest_first(self.parts)})",
            "U": f"(?P<unit>{units})",
            "N": rf"(?P<n>\d{{1,3}}|{_longest_first(self.numbers)})",
            "T": f"(?:(?P<weekday>{weekdays})|(?P<unit>{units}))",
        }
        near = (f"(?P<days{n}>{'|'.join(self.forms.get(f'{n} day', ()))})" for n in (0, 1))
        form = form.replace("X", f"(?:{'|'.join(near)}|{self.bare})")
        pattern = _PLACEHOLDERS.sub(lambda match: placeholders.get(match[0], match[0]), form)
        return re.compile(f"{self.before}(?:{pattern}){self.after}", re.IGNORECASE)

    def unit(self, word: str) -> str:
        """Return the unit of time that a word names."""
        return next(name for name, words in self.units.items() if _says(words, word))


@functools.cache
def languages() -> dict[str, Language]:
    """Return all languages, by name."""
    tables = table_of(__file__)
    return {name: Language(**table) for name, table in tables.items()}


def rules(text: str, level: int) -> list[Rule]:
    """Return the forms of the languages a text may be in; of the others, only full dates."""
    has_year, spoken = _YEARLIKE.search(text) is not None, _spoken(text)
    result = [*_rules("figures")[level]] if has_year or "." in text else []
    for name in dict.fromkeys([*spoken[:-1], *_LATIN, "english"]):
        if has_year or (name in spoken and _tells(name, text)):
            result += _rules(name)[level if name in spoken else FULL]
    return result


def may_speak(text: str) -> bool:
    """Return whether a text without numbers may name a day in a language other than English."""
    return len(_spoken(text)) > 1


def weekdays(text: str) -> list[tuple[int, int, int]]:
    """Return the weekdays named without a date, each with its position; Monday is 0."""
    return sorted(
        (*match.span(), _position(language.weekdays, match["weekday"]) - 1)
        for language, match in _matches("bare", text, _spoken(text))
    )


def monthdays(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the future days named only by their number, each with its position."""
    for _, match in _matches("monthday", text, _spoken(text)):
        yield *match.span(), int(match["day"])


def in_a_while(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Yield the position, number and unit of each amount of time from now."""
    for language, match in _matches("ahead", text, _spoken(text)):
        yield *match.span(), _count(language, match), language.unit(match["unit"])


def parts_of_the_day(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the parts of the day that a text names: each with its position and hour in `PARTS`."""
    for language, match in _matches("part", text, languages()):
        yield *match.span(), PARTS[_position(language.parts, match["part"]) - 1]


def in_figures(text: str) -> str:
    """Return the text with the times of day of its languages in figures: "8 heures et demie"
    becomes "8:30", and "午後4時" "16:00"."""
    for name in _spoken(text):
        if languages()[name].clock:
            to_figures = functools.partial(_in_figures, languages()[name])
            text = _pattern(name, "clock").sub(to_figures, text)
    return text


def _in_figures(language: Language, match: re.Match[str]) -> str:
    """Return a time of day in figures, with two digits for an hour that is one of twenty-four."""
    hour, minute = _count(language, match), 0
    said = {group: words for group, words in match.groupdict().items() if words}
    for group, words in said.items():
        if named := _MINUTES.fullmatch(group):
            minute = int(named[2] or words) * (-1 if named[1] == "to" else 1)
    is_full = not {"am", "pm"}.isdisjoint(said) and hour <= 12
    if is_full:
        hour = hour % 12 + 12 * ("pm" in said)
    if hour > 23 or abs(minute) > 59:
        return match[0]
    hour, minute = divmod(60 * (13 if (hour, minute < 0) == (1, True) else hour) + minute, 60)
    return f"{hour % 24:{'02' if is_full or match['n'][0] == '0' else ''}}:{minute:02}"


def with_plain_am(text: str) -> str:
    """Return the text, at the same length, with each German "am" that looks like a.m. disarmed:
    "Gleis 7 am Freitag"."""
    return _GERMAN_AM.sub(",", text) if "german" in _spoken(text) else text


def _matches(
    form: str, text: str, names: Iterable[str]
) -> Iterator[tuple[Language, re.Match[str]]]:
    """Yield the matches of a form of each of these languages."""
    for name in names:
        language = languages()[name]
        if getattr(language, form):
            for match in _pattern(name, form).finditer(text):
                yield language, match


@functools.cache
def _pattern(language: str, form: str) -> re.Pattern[str]:
    return languages()[language].pattern(getattr(languages()[language], form))


def _spoken(text: str) -> list[str]:
    """Return the languages a text may be in: English, that of its words, those of its scripts."""
    scripts, language = () if text.isascii() else _scripts(), language_of(text)
    by_words = (n for n in _LATIN if n == language or _pattern(n, "sure").search(text))
    return [*(name for name, script in scripts if script.search(text)), *by_words, "english"]


def _tells(name: str, text: str) -> bool:
    """Return whether a text may name a time in a language."""
    telling = languages()[name].telling
    return not telling or not set(telling.split()).isdisjoint(_WORD.findall(text.casefold()))


@functools.cache
def _scripts() -> list[tuple[str, re.Pattern[str]]]:
    known = languages().items()
    return [(name, re.compile(language.script)) for name, language in known if language.script]


def says(what: str, text: str) -> bool:
    """Return whether a text has a word in any language for `past`, `planned` and so on."""
    return _saying(what).search(text) is not None


def ends_of(what: str, text: str) -> set[int]:
    """Return the positions at which the words end that `says` looks for."""
    return {match.end() for match in _saying(what).finditer(text)}


@functools.cache
def _saying(what: str) -> re.Pattern[str]:
    words = (
        f"{language.before}(?:{language.says[what]}){language.after}"
        for language in languages().values()
        if what in language.says
    )
    return re.compile("|".join(words), re.IGNORECASE)


@functools.cache
def _rules(name: str) -> tuple[list[Rule], list[Rule], list[Rule]]:
    """Return the rules of a language for each level, in the order of the table."""
    language = languages()[name]
    levels: tuple[list[Rule], list[Rule], list[Rule]] = ([], [], [])
    for key, forms in language.forms.items():
        for form in forms:
            rule = (language.pattern(form), _resolve(language, key))
            has_year = "Y" in form
            levels[(FULL if key == "day" else DATED) if has_year else ANY].append(rule)
    full, dated, rest = levels
    return full, [*full, *dated], [*full, *dated, *rest]


def _resolve(language: Language, key: str) -> Resolve:
    """Return the function that resolves the forms under a key."""
    if key == "year":
        return lambda match, _: in_year(_year(match))
    named = {
        "day": _day,
        "nth": _nth,
        "month": _month,
        "season": _season,
        "ago": _ago,
        "past": _past,
        "off": _off,
    }
    if key in named:
        return functools.partial(named[key], language)
    shift, _, unit = key.partition(" ")
    return functools.partial(_shifted, language, int(shift), unit)


def _longest_first(words: str) -> str:
    return "|".join(sorted(re.split(r"[ |](?![^(]*\))", words), key=len, reverse=True))


def _says(words: str, text: str) -> bool:
    return re.fullmatch(words, text, re.IGNORECASE) is not None


@functools.lru_cache(4096)
def _position(words: str, text: str) -> int:
    """Return the 1-based position of a word in a list of words; 0 if it is not in it."""
    positions = (number for number, word in enumerate(words.split(), 1) if _says(word, text))
    return next(positions, 0)


def _year(match: re.Match[str]) -> int:
    """Return the year of a match, 0 if none; 26 is 2026. Raises ValueError if implausible."""
    year = int(match.groupdict().get("year") or 0)
    year += 2000 if 0 < year < 100 else 0
    if year and not 1800 <= year < 2200:
        raise ValueError("hardly a year")
    return year


def _count(language: Language, match: re.Match[str]) -> int:
    number = match.groupdict().get("n") or ""
    return (
        int(number) if number.isdecimal() else _position(language.numbers, number) if number else 1
    )


def _day(language: Language, match: re.Match[str], anchor: date) -> Period | None:
    """Without a year, return the latest by the anchor, as a yearly one."""
    month, day = _position(language.months, match["month"]), int(match["day"])
    if year := _year(match):
        return on_day(year, month, day) or IMPOSSIBLE
    years = range(anchor.year, max(anchor.year - 9, 0), -1)
    past = (candidate for year in years if (candidate := on_day(year, month, day)))
    latest = next((candidate for candidate in past if candidate.start <= anchor), IMPOSSIBLE)
    return latest if latest is IMPOSSIBLE else Period(latest.start, latest.end, yearly=True)


def _nth(language: Language, match: re.Match[str], anchor: date) -> Period:
    """Return the third Saturday of a month, for example; without a year, the nearest one."""
    month = _position(language.months, match["month"])
    weekday = _position(language.weekdays, match["weekday"]) - 1
    numbers = map(_NTH.fullmatch, (group for group, words in match.groupdict().items() if words))
    number = next(int(named[1]) for named in numbers if named)
    year = _year(match)
    around = (year,) if year else range(anchor.year - 1, anchor.year + 2)
    named = (nth_weekday(year, month, weekday, number) for year in around)
    return min(
        filter(None, named), key=lambda day: abs((day.start - anchor).days), default=IMPOSSIBLE
    )


def _month(language: Language, match: re.Match[str], anchor: date) -> Period:
    return _latest(in_month, _position(language.months, match["month"]), _year(match), anchor)


def _season(language: Language, match: re.Match[str], anchor: date) -> Period:
    month = SEASONS[_position(language.seasons, match["season"]) - 1]
    return _latest(in_season, month, _year(match), anchor)


def _latest(make: Callable[[int, int], Period], month: int, year: int, anchor: date) -> Period:
    """Return the period from a month on; without a year the latest by the anchor, yearly."""
    if year:
        return make(year, month)
    latest = make(anchor.year - (month > anchor.month), month)
    return Period(latest.start, latest.end, yearly=True)


def _ago(language: Language, match: re.Match[str], anchor: date) -> Period | None:
    """Three days ago is a day; two weeks ago a week around one; months and years are whole."""
    count, unit = _count(language, match), language.unit(match["unit"])
    if unit == "week":
        day = anchor - timedelta(weeks=count)
        return Period(day - timedelta(days=3), day + timedelta(days=3))
    return units_from(anchor, -count, unit) if unit in _UNIT_DAYS else None


def _past(language: Language, match: re.Match[str], anchor: date) -> Period | None:
    """Return the last three weeks, for example: the days up to the anchor."""
    unit = language.unit(match["unit"])
    if unit not in _UNIT_DAYS:
        return None
    return Period(anchor - timedelta(days=_count(language, match) * _UNIT_DAYS[unit]), anchor)


def _off(language: Language, match: re.Match[str], anchor: date) -> Period | None:
    """Return the day that is an amount of time from today, tomorrow or a weekday."""
    said = {group: words for group, words in match.groupdict().items() if words}
    if "weekday" in said:
        weekday = _position(language.weekdays, said["weekday"]) - 1
        anchor = weekday_near(weekday, 1, anchor).start
    day = anchor + timedelta(days=sum(int(n[1]) for n in map(_DAYS.fullmatch, said) if n))
    if "unit" in said:
        unit = language.unit(said["unit"])
        if unit not in _UNIT_DAYS:
            return None
        day = later(day, _count(language, match), unit)
        if {"same", "weekday"} <= said.keys() and day.weekday() != anchor.weekday():
            return None
    return Period(day, day)


def _shifted(
    language: Language, shift: int, unit: str, match: re.Match[str], anchor: date
) -> Period | None:
    """Return the last, this or the next unit, weekday, month or season, or a day of such a week.

    A weekday is the nearest before or after the anchor; a week, a month, a year are whole.
    """
    groups = match.groupdict()
    if groups.get("month"):
        month = _position(language.months, groups["month"])
        turn = {-1: -(month >= anchor.month), 0: 0, 1: month <= anchor.month}[shift]
        return in_month(anchor.year + turn, month)
    if groups.get("season"):
        month = SEASONS[_position(language.seasons, groups["season"]) - 1]
        return season_near(month, shift, anchor)
    if groups.get("day"):
        month_of = months_from(anchor, shift).start
        return on_day(month_of.year, month_of.month, int(groups["day"])) or IMPOSSIBLE
    weekday = _position(language.weekdays, groups["weekday"]) - 1 if groups.get("weekday") else None
    if unit == "week" and weekday is not None:
        return days_from(anchor, 7 * shift - anchor.weekday() + weekday)
    if weekday is not None:
        return weekday_near(weekday, shift, anchor)
    named = unit or language.unit(groups["unit"])
    return None if named == "day" and not unit else units_from(anchor, shift, named)
