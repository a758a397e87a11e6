"""The future days that a fact mentions, with a clock time or a recurrence. Pure.

`dates.py` reads days; this module adds what only looks ahead: next Friday, in three days, a
birthday, every second Tuesday. Days that a fact reports as past are left out.
"""

import functools
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from itertools import pairwise

from assistant.memory.text.times import languages
from assistant.memory.text.times.dates import (
    RE,
    Mention,
    ahead,
    mentioned,
    numbered,
    spans,
    without,
)
from assistant.memory.text.times.period import Period, later
from assistant.memory.text.times.schedule import DAY, ORIGIN, Schedule, rhythm, zone_of
from assistant.memory.text.times.tokens import clock, in_figures, in_part, zone_at
from assistant.memory.text.times.wording import may_recur, schedule, starts
from assistant.tables import patterns, table_of

LONGEST = timedelta(days=31)
"""A longer span is an occasion only on its first day."""
YEARLESS = "2024-01-01"
"""The anchor for yearly days if the date of writing is unknown."""
EVER = ORIGIN.date()
"""The start of a recurrence without a first day."""
FROM_WHEN = ", but it does not say from when"
NEAR = timedelta(days=120)
"""A day this near, without its year, cannot mean last year's."""
A_YEAR = timedelta(days=300)
"""Whole years are too vague to be due."""
_BEFORE_HOUR = (" at", "@", " um", " ab", " gegen", " a las", " a la", " à", " в")
"""Words that turn a bare number into a time."""
_BEFORE_SPAN = (" from", " between", " von", " zwischen")
"""Words that turn two bare numbers into a span of hours."""
LATEST = date(9999, 12, 29)
"""From here on, a day in another time zone may be outside the calendar."""
_RE = patterns(table_of(__file__))


@dataclass(frozen=True, slots=True)
class Occasion:
    """A day or a span that a fact mentions. `time` is `18:40`, `18:40 Asia/Tokyo`, or empty.

    If it recurs, `rule` is an RRULE and `rhythm` describes it; `start` is then the first day, or
    `EVER` if none is given. `since` is the first year of a yearly day.
    """

    start: date
    end: date
    time: str = ""
    rule: str = ""
    rhythm: str = ""
    since: int = 0

    @property
    def zone(self) -> str:
        """The time zone of its time and days; empty for the machine's."""
        return self.time.partition(" ")[2]

    def within(self, first: date, last: date) -> Iterator[tuple[date, date, str]]:
        """Yield its spans on these days, with their times, all on the local clock."""
        if not self.zone:
            yield from ((begin, end, self.time) for begin, end in self._spans(first, last))
            return
        at, zone = time.fromisoformat(self.time[:5]), zone_of(self.zone)
        first, last = max(first, EVER + DAY), min(last, LATEST)
        for begin, end in self._spans(first - DAY, last + DAY):
            local = datetime.combine(begin, at, zone).astimezone()
            if first <= local.date() <= last:
                yield local.date(), end + (local.date() - begin), f"{local:%H:%M}"

    def _spans(self, first: date, last: date) -> Iterator[tuple[date, date]]:
        if self.rule:
            begins = None if self.start == EVER else self.start
            first = max(first, self.start)
            yield from ((day, day) for day in _falling(self.rule, begins, first, last))
        elif self.end - self.start > LONGEST:
            if first <= self.start <= last:
                yield self.start, self.end
        elif self.start <= last and first <= self.end:
            yield self.start, self.end


@functools.lru_cache(1024)
def _falling(rule: str, begins: date | None, first: date, last: date) -> Sequence[date]:
    """Return the days of a rule within these; cached, as many facts share a rule."""
    return Schedule(rule, begins=begins).days(first, last)


def may_speak(text: str) -> bool:
    """Return whether a text may contain a day: most facts name none."""
    return _RE["may_speak"].search(text) is not None or languages.may_speak(text)


def occasions(text: str, anchor: str | None) -> tuple[Occasion, ...]:
    """Return the occasions of a fact; `anchor` is the day (ISO) it was recorded, for relative
    days."""
    if not may_speak(text):
        return ()
    text = languages.in_figures(in_figures(text))
    day = date.fromisoformat(anchor) if anchor else None
    rest, recurring = _recurring(text, anchor)
    dated = languages.says("yearly", text)
    result: list[Occasion] = list(recurring)
    rest = _as_moved(rest, anchor)
    for mention, at in _timed(rest, anchor or (YEARLESS if dated else None), day, dated):
        start, end = mention.period.start, mention.period.end
        at = "" if _is_week(mention.period) else at
        if dated and start == end:
            result.append(_yearly(text, start, at))
        elif not _is_past(rest, mention.period, at, day) or _is_planned(rest, mention, day):
            result.append(Occasion(start, end, at))
    return tuple(dict.fromkeys(result))


def days_ahead(text: str, today: date) -> list[Period]:
    """Return the future days that a message names, whatever it says about them."""
    named = _days(text, today.isoformat(), today, False) if may_speak(text) else []
    spans = [mention.period for mention in named if mention.period.end >= today]
    return [Period(max(span.start, today), span.end) for span in spans]


def _recurring(text: str, anchor: str | None) -> tuple[str, list[Occasion]]:
    """Return the text without the words of a recurrence, and its occasions.

    "Every other Wednesday" without a first day may be any Wednesday.
    """
    for begin in starts(text) if may_recur(text) else ():
        words = text[begin:]
        parsed = schedule(words) or schedule(words, ORIGIN)
        if parsed is None:
            continue
        plan, end = parsed
        if plan.every:
            break
        is_daily = "DAILY" in plan.rule
        rest, within = _bounded(text[:begin] + text[begin + end :], begin, anchor, is_daily)
        first, last = max(plan.begins or EVER, within.start), within.end
        unknown = "INTERVAL=" in plan.rule and first.year == EVER.year
        daily = plan.rule == "FREQ=DAILY" or (unknown and is_daily)
        habit = daily or _RE["habit"].search(text, 0, begin + end)
        is_dated = plan.is_dated or ("INTERVAL=" in plan.rule and not unknown)
        vague = not is_dated or (habit and not plan.is_timed and not _time(text))
        by_chance = plan.rule.startswith("FREQ=YEARLY") and not _RE["each"].match(text, begin)
        if not plan.rule or vague or by_chance or languages.says("yearly", text):
            continue
        rule, rhythm_text = plan.rule, rhythm(plan)
        if unknown:
            rule, first = re.sub(r";INTERVAL=\d+", "", rule), EVER
            rhythm_text += FROM_WHEN
        if last < date.max:
            rule, rhythm_text = f"{rule};UNTIL={last:%Y%m%d}", f"{rhythm_text} until {last}"
        times = [f"{at:%H:%M} {plan.zone}".rstrip() for at in plan.times]
        if not plan.is_timed:
            times = ["" if _days(rest, YEARLESS, None, True) else _time(text)]
        return rest, [Occasion(first, first, at, rule, rhythm_text) for at in times]
    return text, []


def _bounded(text: str, at: int, anchor: str | None, is_daily: bool) -> tuple[str, Period]:
    """Return the text without the bounds of the recurrence whose words were at a position, and its
    first and last day. A bound whose day is not understood bounds nothing."""
    day = date.fromisoformat(anchor) if anchor else None
    named = list[Mention]()
    for mention in _days(text, anchor, day, False):
        number = not mention.period.is_day and RE["before"].search(text, 0, mention.start)
        named.append(replace(mention, start=number.start()) if number else mention)
    undated = without(text, named)
    clauses = _clauses(undated.replace(": ", "; "))
    own = bisect([begin for begin, _ in clauses], at) - 1
    about = [own]
    for step in (-1, 1):
        near = own + step
        while 0 <= near < len(clauses) and _RE["only_times"].fullmatch(undated, *clauses[near]):
            about.append(near)
            near += step
    bounds = {bound.end(): bound for bound in _RE["bound"].finditer(undated)}
    first, last = EVER, date.max
    for mention in named:
        index = bisect([begin for begin, _ in clauses], mention.start) - 1
        span, said = mention.period, bounds.get(mention.start)
        spans = not span.is_day and is_daily and abs(index - own) == 1
        if not (index in about or spans):
            continue
        if said and said["last"]:
            last = span.end
        elif said:
            is_over = said["since"] and (day is None or span.start > day)
            first = EVER if is_over else span.start
            last = last if span.is_day or said["since"] or _is_week(span) else span.end
        elif spans or not span.is_day:
            first, last = span.start, span.end
        else:
            continue
        begins = said.start() if said else mention.start
        text = f"{text[:begins]}{' ' * (mention.end - begins)}{text[mention.end :]}"
    return text, Period(first, last)


def _yearly(text: str, day: date, time: str) -> Occasion:
    """Return a yearly occasion; 29 February is on the 28th in other years."""
    last = "-1" if (day.month, day.day) == (2, 29) else str(day.day)
    rule = f"FREQ=YEARLY;BYMONTH={day.month};BYMONTHDAY={last}"
    since = day.year if str(day.year) in text else 0
    start = day if since else EVER
    return Occasion(start, start, time, rule, "every year", since)


def _as_moved(text: str, anchor: str | None) -> str:
    """Return the text, at the same length, with the words blanked out that surely say from when
    something was moved: "the dentist was moved from 3 to 8 December", "the visit on Friday was
    moved to Monday", "moved from 10:00 to 11:30"."""
    if not (ends := languages.ends_of("moved", text)):
        return text
    named = [(mention.start, mention.end) for mention in mentioned(text, anchor)]
    named += [(start, end) for start, end, _ in languages.weekdays(text)]
    named += [(start, end) for start, end, _ in languages.monthdays(text)]
    undated = text
    for start, end in named:
        undated = undated[:start] + "\0" * (end - start) + undated[end:]
    untimed = _RE["moved_time"].sub(
        lambda at: "\0" * len(at[0]) if at["at"] or _is_sure(at) else at[0], undated
    )
    for begin, end in _clauses(untimed):
        if ends.isdisjoint(range(begin, end + 1)):
            continue
        for old in _RE["moved_from"].finditer(undated, begin, end):
            if (old["at"] or _is_sure(old)) and (old.start() - 1 in ends or old["onto"]):
                text = text[: old.start()] + " " * len(old[0]) + text[old.end() :]
        links = (
            m
            for words in (undated, untimed)
            for form in ("moved_to", "moved_onto")
            for m in RE[form].finditer(words, begin, end)
            if form == "moved_onto" or m.start() in ends
        )
        if link := next(links, None):
            for start, stop in ((begin, link.start("to")), link.span("old")):
                if start >= 0:
                    text = text[:start] + " " * (stop - start) + text[stop:]
    return text


def _clauses(text: str) -> list[tuple[int, int]]:
    """Return the positions of the clauses of a text."""
    separators = (mark.span() for mark in _RE["clause"].finditer(text) if not mark["span"])
    marks = [(0, 0), *separators, (len(text), len(text))]
    return [(before[1], after[0]) for before, after in pairwise(marks)]


def _timed(
    text: str, anchor: str | None, day: date | None, yearly: bool
) -> list[tuple[Mention, str]]:
    """Return the spans that a text names, with the times of their or of adjacent clauses."""
    text = languages.with_plain_am(text)
    marks = _clauses(text)
    clauses, begins = [text[begin:end] for begin, end in marks], [begin for begin, _ in marks]
    times = [*map(_time, clauses)]
    named = [(m, bisect(begins, m.end - 1) - 1) for m in _days(text, anchor, day, yearly)]
    taken = {index for _, index in named}
    for index in sorted({*range(len(clauses))} - taken):
        near = [n for n in (index - 1, index + 1) if n in taken and not times[n]]
        if times[index] and near:
            times[near[0]] = _time(" ".join(clauses[min(index, near[0]) : max(index, near[0]) + 1]))
    timed = {mention.period for mention, index in named if times[index]}
    pairs = [(mention, times[index]) for mention, index in named]
    return [(mention, time) for mention, time in pairs if time or mention.period not in timed]


def _days(text: str, anchor: str | None, day: date | None, yearly: bool) -> list[Mention]:
    dates = mentioned(text, anchor)
    numbers = [*numbered(text, day)] if day and not yearly else []
    named = [*spans(text, dates, numbers)]
    if day is not None:
        text = without(text, [*dates, *numbers])
        weeks = [mention for mention in named if _is_week(mention.period)]
        for start, end, count, unit in languages.in_a_while(text):
            with suppress(OverflowError, ValueError):
                begin = later(day, count, unit)
                named.append(Mention(start, end, Period(begin, begin), is_dated=False))
                weeks += [named[-1]] if unit == "week" else []
        for week in weeks:
            text, days = _in_week(text, week)
            named = [*(mention for mention in named if mention != week or not days), *days]
        named += ahead(text, day)
    return [mention for mention in named if mention.period.end - mention.period.start < A_YEAR]


def _is_week(period: Period) -> bool:
    return period.end - period.start == timedelta(days=6) and period.start.weekday() == 0


def _in_week(text: str, week: Mention) -> tuple[str, list[Mention]]:
    """Return the text with the weekdays blanked out that belong to a week, and the days they name;
    following weekdays that may or may not belong to it are blanked out too."""
    monday, days, at = week.period.start, list[Mention](), week.end
    monday -= timedelta(days=monday.weekday())
    for start, end, weekday in languages.weekdays(text):
        pattern = _RE["also"] if days and at > week.end else _RE["in_week"]
        day = monday + timedelta(days=weekday)
        mention = Mention(start, end, Period(day, day), is_dated=False)
        if days and RE["between"].fullmatch(text, at, start) and day > days[-1].period.start:
            days[-1] = replace(days[-1], end=end, period=Period(days[-1].period.start, day))
            at = end
        elif _RE["before_week"].fullmatch(text, end, week.start) or pattern.fullmatch(
            text, at, start
        ):
            days.append(mention)
            at = max(at, end)
        elif start < at or _RE["parted"].search(text, at, start):
            continue
        text = without(text, [mention])
    return text, days


def _is_past(text: str, period: Period, time: str, day: date | None) -> bool:
    """Return whether a fact reports something as past when it was written.

    For a past day without a year, the next one may be the nearest: "we met on 3 May".
    """
    if day is None or period.end < day:
        return day is not None
    if not languages.says("past", text):
        return False
    if period.start <= day:
        return not time
    return str(period.start.year) not in text and not languages.says("planned", text)


def _is_planned(text: str, mention: Mention, day: date | None) -> bool:
    """Return whether a future day is named by its date: "was booked for 7 December". A distant one
    without a year may mean the last one, unless the text says "for"."""
    if day is None or not mention.is_dated or mention.period.start <= day:
        return False
    near = mention.period.start - day <= NEAR
    return near or RE["planned_for"].search(text, 0, mention.start) is not None


def _time(text: str) -> str:
    """Return the first time of day in a text, as `18:40`, with its zone if named; "at 8" is 20:00
    next to "tonight".

    A span gives the time at which it begins, in the half of its end: "from 6 to 8 pm" is 18:00.
    """
    undated = without(text, mentioned(text, YEARLESS))  # "ab 3.12."
    for match in _RE["clock"].finditer(undated):
        end = _RE["end"].match(undated, match.end())
        before = f" {text[: match.start()]}".rstrip().lower()
        spans = end and before.endswith(_BEFORE_SPAN) and _RE["closes"].match(undated, end.end())
        named = _is_sure(match) or before.endswith(_BEFORE_HOUR) or spans
        begins = end and _is_sure(end) and not languages.says("numbered", before.split(" ")[-1])
        if before.endswith((" half", "viertel")) or _RE["fraction"].match(undated, match.end()):
            return ""  # "half eight" is 7:30 to some, and 8:30 to others
        if not (named or begins):
            continue
        half = match["half"] or (_half(match, end) if end and end["half"] else "")
        at = _clock(match, half) or _clock(match, "")
        if at and not half and not match["hour"].startswith("0") and at.hour <= 12:
            part = _adjacent_part(text, match) or (end and _adjacent_part(text, end))
            meant = in_part(at, part) if part else None
            if meant is None and (1 <= at.hour < 6 or (part and at.hour == 12)):
                return ""  # "at 3" is in the afternoon to most, "12 at night" on either day
            at = meant or at
        if at:
            zone = zone_at(text, match.end()) or (end and zone_at(text, end.end())) or ""
            return f"{at:%H:%M} {zone}".rstrip()
    if noon := _RE["noon"].search(undated):
        return "00:00" if noon["midnight"] else "12:00"
    return ""


def without_times(text: str) -> str:
    """Return the text without times of day in figures."""
    return _RE["clock"].sub(" ", text)


def _clock(match: re.Match[str], half: str) -> time | None:
    """Return the time of day of a figure, in `half` unless it names one."""
    return clock(int(match["hour"]), int(match["minute"] or 0), match["half"] or half)


def _half(begin: re.Match[str], end: re.Match[str]) -> str:
    """Return the half of the day of the start of a span: that of its end, if possible."""
    first, last = ((int(at["hour"]) % 12, int(at["minute"] or 0)) for at in (begin, end))
    is_pm = end["half"][0] in "pP"
    return "pm" if is_pm == (first < last) else "am"


def _is_sure(match: re.Match[str]) -> bool:
    """Return whether a figure is a time of day, whatever precedes it."""
    return bool((match["sep"] or ".") != "." or match["half"] or match["clock"])


def _adjacent_part(text: str, match: re.Match[str]) -> int | None:
    """Return the part of the day that is named next to a time."""
    for start, end, part in languages.parts_of_the_day(text):
        is_before = end <= match.start() and _RE["to_time"].fullmatch(text, end, match.start())
        if is_before or _RE["to_part"].fullmatch(text, match.end(), start):
            return part
    return None
