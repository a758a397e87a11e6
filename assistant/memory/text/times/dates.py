"""Finds dates in headings, facts and questions, in the languages of `languages.toml`. Pure."""

import functools
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise

from assistant.errors import UsageError
from assistant.memory.text.times import languages
from assistant.memory.text.times.languages import ANY, DATED, FULL, IMPOSSIBLE, Resolve
from assistant.memory.text.times.period import Period, months_from, on_day, weekday_near
from assistant.tables import patterns, table_of

LONGEST = 366
"""Maximum number of days between two dates that form a span."""
NEAR = 40
"""The number of characters around a date in which the other end of its span is searched."""
RE = patterns(table_of(__file__))


@dataclass(frozen=True, slots=True)
class Mention:
    """A period, and its position in the text: its first character and its end; whether it is named
    by its date, rather than relative to the day of writing."""

    start: int
    end: int
    period: Period
    is_dated: bool = True


def heading_date(text: str) -> str | None:
    """Return the day (ISO) that a heading names, the last one if several; None if none.

    `2026-05-08`, `8 May 2023`, `May 8, 2023`, `1:56 pm on 8 May, 2023`; other words may surround
    it.
    """
    days = [mention.period.iso for mention in _matches(text, FULL, None)]
    return days[-1] if days else None


def mentions(text: str, anchor: str | None) -> tuple[str, ...]:
    """Return the distinct dates that a text mentions, in order, as `Period.iso` formats them.

    With the day it was recorded as `anchor` (ISO), "yesterday" and "last May" are dates as well,
    and "8 May" is the nearest one.
    """
    return tuple(dict.fromkeys(mention.period.iso for mention in mentioned(text, anchor)))


def mentioned(text: str, anchor: str | None) -> list[Mention]:
    """Return the dates that a text mentions, as in `mentions`, with their positions."""
    day = date.fromisoformat(anchor) if anchor else None
    matches = _matches(text, DATED if day is None else ANY, day)
    sure = [mention for mention in matches if not mention.period.yearly or mention.period.is_day]
    return [replace(mention, period=_nearest(mention.period, day)) for mention in sure]


def asked(query: str, today: date) -> list[Mention]:
    """Return the times a question asks about, in order; a month without a year is any year's."""
    return _matches(query, ANY, today)


_AGO = re.compile(r"(\d{1,5})\s*(d|days?|w|weeks?)")
_DAYS = "Give a day such as 2026-11-01, yesterday, 7d, friday or last week"


def day_of(text: str, today: date, *, last: bool = False) -> date:
    """Return the day that an option names: of a week or a month, its first or `last` day.

    A weekday, or a day without a year, is the latest one. Raises UsageError.
    """
    word = text.strip().lower()
    with suppress(OverflowError):  # before the beginning of the calendar
        if ago := _AGO.fullmatch(word.removesuffix("ago").strip()):
            return today - timedelta(days=int(ago[1]) * (7 if ago[2][0] == "w" else 1))
        for start, end, weekday in languages.weekdays(word):
            if (start, end) == (0, len(word)):
                return today - timedelta(days=(today.weekday() - weekday) % 7)
    mention = next(iter(_matches(text.strip(), ANY, today)), None)
    if mention is None or (mention.start, mention.end) != (0, len(text.strip())):
        raise UsageError(f"{text!r} is not a date", _DAYS)
    return mention.period.end if last else mention.period.start


def _matches(text: str, level: int, anchor: date | None) -> list[Mention]:
    """Return the matches of the rules, in text order; each rule searches what earlier ones left."""
    results: list[Mention] = []

    def take(resolve: Resolve, match: re.Match[str]) -> str:
        try:
            taken = resolve(match, anchor or date.min)
        except (ValueError, OverflowError):  # a 13th month, or before the calendar begins
            taken = None
        if taken is None:
            return match[0]
        if taken != IMPOSSIBLE:
            results.append(Mention(match.start(), match.end(), taken))
        return "\0" * len(match[0])

    for pattern, resolve in languages.rules(text, level):
        text = pattern.sub(functools.partial(take, resolve), text)
    return sorted(results, key=lambda mention: mention.start)


def _nearest(named: Period, anchor: date | None) -> Period:
    """Return a yearly day in the year that brings it nearest to the anchor."""
    if anchor is None or not named.yearly:
        return named
    years = (anchor.year - 1, anchor.year, anchor.year + 1)
    near = [day for y in years if (day := on_day(y, named.start.month, named.start.day))]
    best = min(near, key=lambda period: abs((period.start - anchor).days), default=named)
    return Period(best.start, best.end)


# Days in the future


def numbered(text: str, anchor: date) -> Iterator[Mention]:
    """Yield the days that a text names by their number alone.

    Only those that are surely in the future: "paid on the 1st" is about a past one.
    """
    named = [*languages.monthdays(text)]
    for index, (start, end, number) in enumerate(named):
        months = (months_from(anchor, shift).start for shift in range(3))
        days = (on_day(month.year, month.month, number) for month in months)
        upcoming = next((period for period in days if period and period.start >= anchor), None)
        if upcoming is None:
            continue
        neighbours = named[max(index - 1, 0) : index + 2]
        spans_days = any(
            RE["between"].fullmatch(text, before[1], after[0])
            for before, after in pairwise(neighbours)
        )
        if _is_to_come(text, start, end, upcoming.start.weekday(), spans_days):
            yield Mention(start, end, upcoming)


def _is_to_come(text: str, start: int, end: int, weekday: int, is_sure: bool) -> bool:
    """Return whether a day named by its number is in the future, according to its sentence.

    It has a time, or the matching weekday, or its sentence has a word for the future.
    """
    ends = [0, *(match.end() for match in RE["sentence_ends"].finditer(text)), len(text)]
    begins = max(at for at in ends if at <= start)
    sentence = text[begins : min(at for at in ends if at >= end)]
    says = functools.partial(languages.says, text=sentence)
    is_past = (says("past") and not says("planned")) or (says("paid") and not says("due"))
    if is_past and not RE["planned_for"].search(text, begins, start):
        return False
    named = [to for _, to, day in languages.weekdays(text) if day == weekday and to <= start]
    return bool(
        is_sure
        or RE["time_behind"].match(text, end)
        or RE["time_before"].search(text, begins, start)
        or says("due")
        or (RE["by"].search(text, begins, start) and not (says("done") or says("paid")))
        or any(text[to:start].strip(" ,").lower() in ("", "the", "den", "dem") for to in named)
    )


def without(text: str, dates: Sequence[Mention]) -> str:
    """Return the text with these dates blanked out."""
    for mention in dates:
        text = text[: mention.start] + "\0" * (mention.end - mention.start) + text[mention.end :]
    return text


def ahead(text: str, day: date) -> Iterator[Mention]:
    """Yield the days that a text names by their weekdays alone, relative to the day of writing.

    Dates in the text must be blanked out, by zero characters.
    """
    named = languages.weekdays(text)
    undated = [span for span in named if not RE["date_follows"].match(text, span[1])]
    to, habit = RE["to_weekday"], languages.says("open", text)
    ended = -1
    for (start, end, weekday), after in zip(undated, [*undated[1:], None], strict=False):
        begin = weekday_near(weekday, 1, day)
        if after and to.fullmatch(text, end, after[0]):
            ended = after[0]
            last = weekday_near(after[2], 1, begin.start)
            if not habit:
                yield Mention(start, after[1], Period(begin.start, last.end), is_dated=False)
        elif start != ended:
            yield Mention(start, end, begin, is_dated=False)


# From one day to another: "27 to 29 November", "from 27 November to 3 December"


def spans(
    text: str, dates: Sequence[Mention], numbered: Sequence[Mention] = ()
) -> Iterator[Mention]:
    """Yield the days, and the spans of which two of these are the ends."""
    ordered = sorted([*dates, *numbered], key=lambda mention: mention.start)
    taken: Mention | None = None
    for mention, after in zip(ordered, [*ordered[1:], None], strict=False):
        if mention is taken:
            continue
        if after and (span := _between(text, mention, after)):
            taken = after
            yield Mention(mention.start, after.end, span)
        elif mention in numbered:
            yield mention
        else:
            yield from (replace(mention, period=day) for day in _with_numbers(text, mention))


def _between(text: str, first: Mention, last: Mention) -> Period | None:
    """Return the span from the first to the last day, named one after the other."""
    start, end = first.period, last.period
    if not (start.is_day and end.is_day and RE["between"].fullmatch(text, first.end, last.start)):
        return None
    if end.start < start.start and str(end.start.year) not in text[last.start : last.end]:
        next_year = on_day(start.start.year + 1, end.start.month, end.start.day)
        return next_year and _span(start, next_year.start)
    return _span(start, end.start)


def _with_numbers(text: str, named: Mention) -> Iterator[Period]:
    """Yield the span of a day and others of its month named only by number, or each day."""
    if not named.period.is_day:
        yield named.period
        return
    day, span = named.period.start, None
    before = RE["before"].search(text[max(0, named.start - NEAR) : named.start])
    after = RE["behind"].match(text, named.end) if text[named.start].isalpha() else None
    earlier, later = (re.findall(r"\d+", m["days"] or "") if m else [] for m in (before, after))
    numbers = [*map(int, earlier), day.day, *map(int, later)]
    days = [on_day(day.year, day.month, number) for number in numbers]
    if before and before["first"]:
        span = _span(on_day(day.year, day.month, int(re.sub(r"\D", "", before["first"]))), day)
    elif after and after["last"]:
        end = on_day(int(after["year"] or day.year), day.month, int(after["last"]))
        span = end and _span(on_day(end.start.year, day.month, day.day), end.start)
    if span or not (numbers == sorted(set(numbers)) and all(days)):
        yield span or named.period
    else:
        yield from filter(None, days)


def _span(begin: Period | None, end: date) -> Period | None:
    if begin is None or not 0 < (end - begin.start).days <= LONGEST:
        return None
    return Period(begin.start, end)
