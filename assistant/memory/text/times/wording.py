"""Parses schedules and moments: "every 30 minutes", "weekdays at 9", "tomorrow at 9".

A text becomes tokens, in any language that has a `schedule` in `languages.toml`; a grammar is a
list of patterns over the kinds of tokens. Nothing is guessed: unknown and ambiguous words are
reported.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import zip_longest
from typing import NoReturn

from assistant.memory.text.times.languages import with_plain_am
from assistant.memory.text.times.period import later, units_from, weekday_near
from assistant.memory.text.times.schedule import (
    ANCHOR,
    CODES,
    DAY,
    NINE,
    WORKING,
    Schedule,
    interval,
    zone_of,
)
from assistant.memory.text.times.tokens import (
    LONGEST,
    SHARES,
    WORD,
    Token,
    Words,
    connectives,
    in_part,
    kind_of,
    matched,
    pattern,
    tokens,
)
from assistant.tables import table_of

FROM_WHEN = "Say from which day, with its year: “every other Tuesday from 2026-11-24”"
NO_DAY = "The calendar has no such day"
NEXT_DAY = "Say on which day that is: “every Saturday at 01:00”"
ONE_DAY = "Say “every Friday”, or the day: “on 2026-11-27”"
WHOLE_WEEKS = "Say “every 2 weeks on Monday”: so many days are not always a Monday"
MORNING, NOON, EVENING, NIGHT = 8, 12, 18, 21
HALF_A_DAY = timedelta(hours=12)
ONE, SIX = time(1), time(6)
"""The beginning and end of the last hours of a night."""
_MINUTES = {"minute": 1, "hour": 60}
_FREQUENCIES = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}
_FIRST_DAY = {"week": "BYDAY=MO", "month": "BYMONTHDAY=1", "year": "BYMONTH=1;BYMONTHDAY=1"}
_TASKS = ("remind", "reminder", "erinnere", "erinnerung")
"""Words that can only begin a task, even if a colon follows later."""
_ARTICLES = ("the", "a", "an", "to")
_PREPOSITIONS = ("on", "in", "at", "from", "past", "before")
"""Kinds of words that a task may begin with, too, if no time follows them."""
BEHIND_COLON = "If it belongs to the text, not to the time, put a colon before it"
_RECURRING = ("every", "adverb", "once", "nth", "ord")
"""Kinds of words that indicate a recurrence; so do the plurals of days."""
_data = table_of(__file__)
_ZONELIKE = re.compile(_data["zonelike"], re.IGNORECASE)
_BOUND = re.compile(_data["bound"], re.IGNORECASE)
_QUOTED = re.compile(_data["quoted"])
_AMOUNT = re.compile(r"[\d.]+(?:\sh)?")
_COLON = re.compile(r"[ \t)]*:(?:\s+|$)")
"""Separates a time from the text; after it only a time of day is a time."""
_JOINT = re.compile(r"\s*(?:(?P<dash>[—–-](?=\s|$))|,(?=\s)|$)\s*|\s+")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text begins with, up to `end`: a schedule or the one time `due`, and the `rest`.

    Otherwise `word` was not understood, or has `passed`, as `cure` explains; all is empty if the
    text does not begin with a time. `is_timed`: `due` is a time of day, not only a day.
    """

    schedule: Schedule | None = None
    end: int = 0
    word: str = ""
    cure: str = ""
    passed: bool = False
    due: datetime | None = None
    is_timed: bool = False
    rest: str = ""


class _Impossible(Exception):
    """Raised for words that cannot be a time, which are in its reading."""

    def __init__(self, end: int, word: str, cure: str) -> None:
        super().__init__(cure)
        self.reading = Reading(end=end, word=word, cure=cure)


class _Unfit(Exception):
    """Raised for words that do not go with those before."""


def _require(*conditions: object) -> None:
    if not all(conditions):
        raise _Unfit


def schedule(
    text: str, now: datetime = datetime.min, days: Schedule | None = None
) -> tuple[Schedule, int] | None:
    """Return the schedule that a text begins with, and the end of its words; None if none.

    An impossible rhythm ("31 February") is none. With `now`, "every other Friday" begins with the
    next one; without, it is none. A time alone uses the `days` of another schedule.
    """
    with suppress(_Impossible):
        reader = _read(text, _RHYTHM, now)
        if made := reader.schedule(days):
            return made, reader.end
    return None


def starts(text: str) -> Iterator[int]:
    """Yield the positions in a text where the words of a schedule may begin."""
    words = [*WORD.finditer(text)]
    for word, after in zip_longest(words, words[1:]):
        kind = kind_of(word[0])
        numbered = after and (after[0][0].isdigit() or kind_of(after[0]) in ("nth", "noon"))
        if kind in (*_RECURRING, "on") or (kind in ("at", "the", "from") and numbered):
            yield word.start()


def may_recur(text: str) -> bool:
    """Return whether a text has a word that indicates a recurrence."""
    return any(kind_of(word) in _RECURRING for word in WORD.findall(text))


def instruction(text: str, now: datetime = datetime.min, days: Schedule | None = None) -> Reading:
    """Return when and what: the schedule that a text begins with, and the rest.

    All words before a colon belong to the schedule; without one, the rest must not begin with words
    that could continue it. `now` and `days` are those of `schedule`.
    """
    try:
        reader = _read(text, _RHYTHM, now)
        made = reader.schedule(days)
    except _Impossible as impossible:
        return impossible.reading
    if not reader.end:
        return reader.stuck()
    rest, word = reader.remainder(text, whole=True)
    if word:
        return Reading(end=reader.end, word=word)
    words, cure = text[: reader.end].strip(), ""
    if made is None:
        cure = f"It does not say on which days; write “every day {words}:”"
    elif now > datetime.min:
        cure = reader.question(made.times)
    if cure:
        return Reading(end=reader.end, word=words, cure=cure)
    return Reading(made, reader.end, rest=rest)


def moment(text: str, now: datetime, *, whole: bool = False) -> Reading:
    """Return the future time that a text begins with, on the local clock: "in 20 minutes",
    "tomorrow at 9", "next Monday at 10", "at 17:00", "2026-11-27 18:40"; and the rest of the text.

    If `whole`, all words before a colon belong to the time.
    """
    try:
        reader = _read(text, _MOMENT, now)
    except _Impossible as impossible:
        return impossible.reading
    if not (reader.due or reader.once or reader.times or reader.parts):
        return Reading(word=reader.first_unknown())
    rest, word = reader.remainder(text, whole=whole or not reader.is_timed)
    if word:
        return Reading(word=word, cure=BEHIND_COLON)
    reading = Reading(due=reader.due, is_timed=reader.is_timed, rest=rest)
    if reader.due:
        return reading
    words, day = text[: reader.end].strip(), reader.once or now.date()
    at = (*reader.times, *map(time, reader.parts), NINE)[0]
    due = datetime.combine(day, at)
    is_of_night = reader.is_of_night and (day != now.date() or due <= now)
    if is_of_night or (at == time.min and day == now.date() and not reader.is_dated):
        due += DAY  # the midnight that ends it, or the hours after that
    if reader.zone:
        due = due.replace(tzinfo=zone_of(reader.zone)).astimezone().replace(tzinfo=None)
    if due > now:
        cure = reader.question([at])
        return Reading(word=words, cure=cure) if cure else replace(reading, due=due)
    cure = f"Say “tomorrow at {at:%H:%M}{reader.zone and f' {reader.zone}'}”"
    if at.hour < NOON and (due + HALF_A_DAY > now) and not (reader.is_settled or reader.zone):
        cure += f" or “today at {due + HALF_A_DAY:%H:%M}”"
    return Reading(
        word=words, cure=cure if day == now.date() else "Name a future time", passed=True
    )


def begins_with_time(text: str) -> str:
    """Return the first words of a text that begins like a time; "" if it does not.

    "The weekly review" does not.
    """
    first, second = [*map(kind_of, WORD.findall(text)[:2]), "", ""][:2]
    if first in _ARTICLES and second == "adverb":
        return ""
    return _Reader(text).continuation(text)


def _read(text: str, productions: Sequence["_Production"], now: datetime) -> "_Reader":
    """Read the time that a text begins with, even if its time of day is after a colon: "Mondays:
    14:00 call the office"."""
    reader = _Reader(text, now)
    reader.read(productions)
    colon = _COLON.match(text, reader.end)
    if reader.end and colon and not reader.is_timed:
        rest = text[colon.end() :]
        if _Reader(rest)._ahead(_pattern("clock | at CLOCK")):
            return _read(f"{text[: reader.end]}{' ' * len(colon[0])}{rest}", productions, now)
    return reader


def time_within(text: str, *, at_the_end: bool = False) -> str:
    """Return the time of day that a text has, such as "at 17:00", or ends with; "" if none.

    One in quotation marks, or behind an article before the end, is of a thing: "the 7:15 train".
    """
    text = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), text).rstrip(" .!?")
    before = ""
    for word in WORD.finditer(text):
        reader = _Reader(text[word.start() :], ANCHOR)
        with suppress(_Impossible):
            reader.read(_MOMENT)
            if reader.times and not (reader.once or reader.due):
                end = word.start() + reader.end
                is_sure = not at_the_end and before not in _ARTICLES and reader.is_in_figures
                if end == len(text) or is_sure:
                    return text[word.start() : end]
        before = kind_of(word[0])
    return ""


class _Reader:
    """Reads the first tokens of a text by productions, and accumulates their results.

    A production is given the tokens that its pattern matched. It raises _Unfit if they do not go
    with what was read before.
    """

    def __init__(self, text: str, now: datetime = datetime.min) -> None:
        self._text = text[:LONGEST]
        self._now = now
        self._tokens = tokens(with_plain_am(self._text))
        self._at = self.end = 0
        self._unit, self._count = "", 1
        self._days: list[str] = []
        self._setpos = self._month = 0
        self._monthdays: list[int] = []
        self._window: tuple[time, time] | None = None
        self._begins: date | None = None
        self._lone = ""
        """A weekday without a word that indicates a recurrence."""
        self.once: date | None = None
        self.is_dated = False
        """Whether the one day is named by its date."""
        self.times: list[time] = []
        self.is_of_night = False
        """Whether a time is after the midnight that ends a day."""
        self._halved: list[time] = []
        """The times written with "am", or like "03:00"."""
        self._settled = 0
        """The number of times that are in a named part of the day."""
        self.parts: list[int] = []
        """Parts of the day without a time."""
        self.zone = ""
        self.due: datetime | None = None
        """A moment to the minute, which ends the reading."""

    @property
    def is_timed(self) -> bool:
        """Whether a time of day or an interval was read."""
        return bool(self.times or self.due or self._unit in _MINUTES)

    @property
    def is_in_figures(self) -> bool:
        """Whether a time of day was read, such as "9:00" or "9 Uhr", and no amount ("9", "3 h")."""
        words = (token.word for token in self._tokens[: self._at] if token.kind == "clock")
        return any(not _AMOUNT.fullmatch(word) for word in words)

    @property
    def is_settled(self) -> bool:
        """Whether the half of the day is named, in figures or by a part of the day."""
        return bool(self._halved or self._settled or self.parts)

    def question(self, times: Sequence[time]) -> str:
        """Return what to ask about one of these times: "Friday at 3" is seldom at night."""
        unclear = () if self.zone or self.parts else self.times[self._settled :]
        for at in unclear:
            if ONE <= at < SIX and at in times and at not in self._halved:
                return f"Say “at {at:%H:%M}” or “at {at.replace(hour=at.hour + 12):%H:%M}”"
        return ""

    def remainder(self, text: str, *, whole: bool) -> tuple[str, str]:
        """Return the text after the time, and its first words if they may belong to the time.

        After a colon any text may follow. If `whole`, no word may come before one.
        """
        rest = text[self.end :]
        if colon := _COLON.match(rest):
            return rest[colon.end() :], ""
        joint = _JOINT.match(rest)
        rest = rest[joint.end() :] if joint else rest
        word = re.split(r"[\s,:]", rest.lstrip(" ,("), maxsplit=1)[0]
        later = re.match(r"[^\n]*?:(?=\s|$)", rest)
        is_text = not word or word.lower() in _TASKS or (joint and joint["dash"] and not later)
        if joint and is_text:
            return rest, ""
        is_known = joint and not (whole and later and word != "-")
        return rest, self.continuation(rest) or ("" if is_known else word)

    def continuation(self, text: str) -> str:
        """Return the first words of a text that may continue the time; "" if it does not."""
        rest = text.lstrip(" ,(")
        word, following = [*(part.strip(":,") for part in rest.split()[:2]), "", ""][:2]
        if bound := _BOUND.match(rest):
            return bound[0]
        kinds = [token.kind for token in tokens(rest[:LONGEST])]
        says_when = not {*kinds} <= {*_ARTICLES, *_PREPOSITIONS}
        if kind_of(word) in _PREPOSITIONS:
            says_when |= not (self.times or self.due)
        elif kind_of(word) not in _ARTICLES:
            says_when |= word.lower() in connectives() or bool(_ZONELIKE.match(rest))
        if not says_when:
            return ""
        return f"{word} {following}" if kind_of(word) == "at" or following[:1].isdigit() else word

    def first_unknown(self) -> str:
        """Return the beginning of the text up to the first word unknown to the grammar."""
        end = self._tokens[-1].end if self._tokens else 0
        following = re.match(r"\s*(?:[^\s:,]|:(?=\d))*", self._text[end:])
        return self._text[: end + len(following[0] if following else "")].strip()

    def stuck(self) -> Reading:
        """Return where a text that begins like a time stops being one."""
        if not self._tokens or self._tokens[0].kind not in ("every", "once"):
            return Reading()
        end = self._tokens[-1].end
        following = re.match(r"\s*([^\s:,]+)", self._text[end:])
        is_begun = len(self._tokens) == 1 or self._tokens[-1].kind == "other"
        return Reading(word=following[1] if following and is_begun else self._text[:end])

    def read(self, productions: Sequence["_Production"]) -> None:
        """Read as long as a production matches, up to the `end` of the words."""
        while not self.due and self._take(productions):
            self.end = self._tokens[self._at - 1].end

    def _take(self, productions: Sequence["_Production"]) -> bool:
        begin = self._at
        if begin:
            self._at += len(self._ahead(_pattern("comma* and?")))
        for form, production in productions:
            if not (words := self._ahead(form)):
                continue
            before = vars(self).copy()
            try:
                production(self, words)
            except _Unfit:
                vars(self).update(before)
            else:
                self._at += len(words)
                return True
        self._at = begin
        return False

    def _ahead(self, form: re.Pattern[str]) -> Words:
        """Return the next tokens if they match a pattern."""
        return matched(form, self._tokens, self._at)

    # The result

    def schedule(self, days: Schedule | None) -> Schedule | None:
        """Return what was read as a schedule, None if it is none; a time alone uses the `days` of
        another."""
        words = self._text[: self.end].strip()
        times = tuple(sorted({*self.times, *map(time, self.parts)})) or (NINE,)
        timed = bool(self.times)
        if self.is_of_night and self._has_day:
            raise _Impossible(self.end, words, NEXT_DAY)
        if self._lone:
            raise _Impossible(self.end, self._lone, ONE_DAY)
        if self.once:
            return Schedule(once=self.once, times=times, zone=self.zone, is_timed=timed)
        if self._unit in _MINUTES:
            if self._monthdays or self.zone or self._begins:
                return None
            every = timedelta(minutes=_MINUTES[self._unit] * self._count)
            return interval(every, self._window, self._days)
        if self._unit == "day" and self._days and self._count > 1:
            self._unit, (self._count, rest) = "week", divmod(self._count, 7)
            if rest:
                raise _Impossible(self.end, words, WHOLE_WEEKS)
        dated = bool(self._days or self._monthdays or self._begins or self._unit == "day")
        if self._count > 1 and not self._begins and self._now > datetime.min:
            self._begins = self._first_day(times)
        if not (rule := self._rule(self._count)):
            return self._at_times_of(days) if days and timed else None
        if self._count > 1 and not self._begins:
            raise _Impossible(self.end, words, FROM_WHEN)
        return Schedule(
            rule, times, begins=self._begins, zone=self.zone, is_timed=timed, is_dated=dated
        )

    def _at_times_of(self, days: Schedule) -> Schedule:
        """Return another schedule at the times that were read, in its part of the day if any."""
        part = days.times[0].hour if days.times else None
        times = {at if at in self._halved else in_part(at, part) or at for at in self.times}
        zone = self.zone or days.zone
        return replace(days, times=tuple(sorted(times)), zone=zone, is_timed=True)

    def _first_day(self, times: tuple[time, ...]) -> date | None:
        """Return the next day of the rule with an interval of one."""
        rule = self._rule(1) if self._has_day else "FREQ=DAILY"
        first = Schedule(rule, times, zone=self.zone).following(self._now)
        if first and self.zone:
            first = first.astimezone(zone_of(self.zone))
        return first.date() if first else None

    def _rule(self, count: int) -> str:
        """Return the RRULE of the days, every `count` units."""
        unit = self._unit or ("week" if self._days else "")
        if not unit:
            return ""
        parts = [f"INTERVAL={count}"] if count > 1 else []
        if self._days:
            unit = "week" if unit == "day" else unit
            parts.append(f"BYDAY={','.join(self._days)}")
            parts += [f"BYSETPOS={self._setpos}"] if self._setpos else []
        elif self._monthdays:
            parts += [f"BYMONTH={self._month}"] if self._month else []
            parts.append(f"BYMONTHDAY={','.join(map(str, self._monthdays))}")
        elif unit in _FIRST_DAY and not self._begins:
            parts.append(_FIRST_DAY[unit])
        elif unit in ("month", "year") and self._begins and self._begins.day > 28:
            days = range(28, self._begins.day + 1)  # the last of these that a month has
            parts += [f"BYMONTH={self._begins.month}"] if unit == "year" else []
            parts.append(f"BYMONTHDAY={','.join(map(str, days))};BYSETPOS=-1")
        return ";".join([f"FREQ={_FREQUENCIES[unit]}", *parts])

    # Productions of schedules

    def _set_unit(self, unit: str, count: int = 1) -> None:
        """Set the unit, unless another one was read."""
        if self._unit:
            _require(self._unit == unit, count == 1)  # "on the 1st of every month"
        else:
            self._unit, self._count = unit, count

    def _fails(self, words: Sequence[Token], cure: str) -> NoReturn:
        """Report that these words are an impossible time."""
        end = words[-1].end
        raise _Impossible(end, self._text[words[0].start : end], cure)

    @property
    def _has_day(self) -> bool:
        return bool(self._days or self._monthdays or self.once)

    def except_days(self, words: Words) -> None:
        kept = [code for code in self._days or CODES if code not in words.weekdays()]
        _require(kept, not (self._monthdays or self.once), self._unit not in ("month", "year"))
        _require(self._days or self._unit != "week")
        self._days = kept

    def window(self, words: Words) -> None:
        times = words.clocks()
        _require(times, self._unit in _MINUTES, not self._window)
        self._window = times[0], times[1]

    def begins(self, words: Words) -> None:
        day = words.day_of_year()
        if day is None or not day[0]:
            raise _Unfit
        self._begins = date(*day)

    def nth(self, words: Words) -> None:
        """Read the first Monday of the month, the last day of each month, every first Monday."""
        nth = words.values("nth", "ord")[0]
        _require(nth in (-1, *range(1, 6)), not (self._days or self._monthdays))
        _require(words.has("unit") or nth in (1, -1))  # not "every second Monday"
        if words.has("day"):
            self._days = [f"{nth}{code}" for code in words.weekdays()]
        elif words.has("workday"):
            self._days, self._setpos = WORKING, nth
        else:
            self._monthdays = [nth]
        self._set_unit("month")

    def date(self, words: Words) -> None:
        """Read a day of the year, or a single day."""
        named = words.day_of_year()
        if named is None:
            self._fails(words, NO_DAY)
        _require(not self._has_day)
        year, self._month, day = named
        if year:
            _require(not self._unit)
            self.once = date(*named)
        else:
            self._monthdays = [-1 if (self._month, day) == (2, 29) else day]
            self._set_unit("year")

    def every(self, words: Words) -> None:
        count = (*words.values("other", "num", "nth", "ord"), 1)[0]
        if count == 0:
            self._fails(words, "Say “every 30 minutes”")
        if shares := words.values(*SHARES):
            self._set_unit("minute", shares[0])
        elif words[-1].kind == "unit":
            self._set_unit(words[-1].value, count)
        else:
            _require(count > 1)
            self._set_unit("week", count)
            self._days = words.weekdays()

    def part_of_every_day(self, words: Words) -> None:
        _require(self._unit in ("", "day"))
        self._unit = "day"
        self._add_parts(words)
        self.times += words.values("noon")

    def monthdays(self, words: Words) -> None:
        days = words.values("nth", "ord")
        _require(not self._has_day, {*days} <= {-1, *range(1, 32)})
        _require(words.has("unit") or self._unit == "month")
        self._monthdays = days
        self._set_unit("month")

    def weekdays(self, words: Words) -> None:
        _require(not self._has_day, self._unit in ("", "day", "week", *_MINUTES))
        _require(self._unit != "day" or not words.has("every"))  # "daily at 9, every Friday"
        self._days = words.weekdays()
        one_day = words[-1].kind == "day" and len(self._days) == 1
        is_bare = {token.kind for token in words} <= {"the", "workday", "weekend"}  # "weekend trip"
        alone = (one_day or is_bare) and not words[-1].plural
        self._lone = words[-1].word if alone and not self._unit and not words.has("every") else ""

    def habit(self, words: Words) -> None:
        """Read parts of every day: evenings, Friday evenings."""
        self._lone = ""
        self._unit = self._unit or ("" if self._days else "day")
        self.part(words)

    def part(self, words: Words) -> None:
        _require(self._unit not in _MINUTES, len(words) > 1 or words.has("parts") or self._days)
        self._add_parts(words)

    def _add_parts(self, words: Words) -> None:
        """Add parts of the day: further ones after an "and", or those of the preceding times: "at 8
        every evening"."""
        self.parts += words.values("part", "parts") + [MORNING] * words.has("morgen")
        times = self.times[self._settled :]
        if times and self.parts and self._tokens[self._at - 1].kind != "and":
            del self.times[self._settled :]
            self._add_times(times, self.parts.pop(), words)

    def _add_times(self, times: list[time], part: int | None, words: Words) -> None:
        """Add times of day that are in this part of it."""
        for at in times:
            meant = in_part(at, part)
            if meant is None or (meant != at and at in self._halved):  # "am" in the evening
                self._fails(words, "It is not in that part of the day")
            self.times.append(meant)
            self.is_of_night |= part in (EVENING, NIGHT) and meant < SIX
        if part is not None:
            self._settled = len(self.times)

    def time_of_day(self, words: Words) -> None:
        times = words.clocks()
        _require(times, self._unit not in _MINUTES)
        self._halved += [
            token.value for token in words if token.half == "a" or token.word[0] == "0"
        ]
        part = self.parts.pop() if self.parts else None
        if named := words.values("part", "parts"):
            if part is not None:
                self._fails(words[-1:], "Two parts of the day are named")
            part = named[0]
        self._add_times(times, part, words)

    def in_zone(self, words: Words) -> None:
        _require(not self.zone)
        self.zone = words[0].value

    # Productions of one time

    def one_time(self, words: Words) -> None:
        _require(not self.times)
        self.time_of_day(words)

    def one_part(self, words: Words) -> None:
        _require(not (self.parts or self._settled))
        self._add_parts(words)

    def in_a_while(self, words: Words) -> None:
        """Read a time, "in 20 minutes", "in an hour and a half", or a day, "in three days", "in two
        weeks on Monday"."""
        weekdays = words.values("day")
        _require(not (self.once or self.times))
        if 0 in words.values("num"):
            self._fails(words, "The time must be in the future")
        amounts, count, adds = list[tuple[float, str]](), 0.0, False
        for token in words:
            if token.kind == "num":
                count = token.value
            elif token.kind in SHARES:
                share = token.value / 60
                count = count + share if adds else (count or 1) * share
            elif token.kind == "unit":
                if token.plural and not count:
                    self._fails(words, "Say how many")
                amounts.append((count or 1, token.value))
                count = 0.0
            adds |= token.kind == "and"
        amounts[-1] = amounts[-1][0] + count, amounts[-1][1]
        try:
            if all(unit in _MINUTES for _, unit in amounts):
                minutes = sum(count * _MINUTES[unit] for count, unit in amounts)
                due = self._now.astimezone(UTC) + timedelta(minutes=minutes)
                due = due.astimezone().replace(second=0, microsecond=0, tzinfo=None)
                self.due = due if due > self._now else due + timedelta(minutes=1)
                return
            ((number, unit),) = amounts
            _require(number == int(number))
            begins = self._now.date()
            if weekdays and words[-1].kind == "unit":  # "Monday in a week"
                begins = weekday_near(weekdays[0], 1, begins).start
            day = later(begins, int(number), unit)
            self.once = weekday_near(weekdays[0], 0, day).start if weekdays else day
        except (OverflowError, ValueError):
            raise _Unfit from None

    def near_day(self, words: Words) -> None:
        """Read today, tonight, tomorrow, this evening, yesterday."""
        _require(not self.once)
        if words.has("tonight"):
            after = [token.kind for token in self._tokens[self._at + len(words) :][:1]]
            self.parts = [EVENING if after == ["at"] else NIGHT]
            self._add_parts(words)
        ahead = sum(words.values("yesterday", "tomorrow", "overmorrow", "morgen", "after"))
        self.once = self._now.date() + timedelta(days=ahead)

    def one_day(self, words: Words) -> None:
        """Read a day, which is the next of its kind: Friday, this weekend, 3 December, the 30th,
        the 5th of next month, Friday of next week, next month."""
        units, weekdays = words.values("unit"), words.values("day")
        number, month = (*words.values("ord", "nth"), 0)[0], 0
        today = first = self._now.date()
        reach = 9 * 366
        _require(not self.once, not words[-1].plural)
        if {token.kind for token in words} <= {"on", "the", "ord", "nth"}:  # "the 5th avenue"
            rest = self._text[words[-1].end :]
            is_followed = self._at + len(words) < len(self._tokens) or _COLON.match(rest)
            _require(not rest or is_followed or (words.has("on") and words.has("ord")))
        if words.has("month") or words.has("date"):
            if (named_day := words.day_of_year()) is None:
                self._fails(words, NO_DAY)
            year, month, number = named_day
            first, reach = (date(*named_day), 1) if year else (first, reach)
        elif words.has("next") and units:
            first, reach = units_from(today, 1, units[0]).start, 31
        elif units:  # "Friday week"
            first += 8 * DAY
        elif words.has("weekend"):
            weekdays = [5, 6]
        elif weekdays and not number and not words.has("this"):
            first += DAY
        days = (first + ahead * DAY for ahead in range(reach))
        if number:
            named = (day for day in days if day.day == number and month in (0, day.month))
        else:
            named = (day for day in days if not weekdays or day.weekday() in weekdays)
        self.once, self.is_dated = next(named, None), bool(number)
        if self.once is None:
            self._fails(words, NO_DAY)
        if weekdays and self.once.weekday() not in weekdays:
            self._fails(words, f"{self.once} is a {self.once:%A}")


@functools.cache
def _pattern(form: str) -> re.Pattern[str]:
    """Compile a pattern over the kinds of tokens, with its macros expanded."""
    for name, macro in _data["macros"].items():
        form = form.replace(name, macro)
    return pattern(form)


_Production = tuple[re.Pattern[str], Callable[[_Reader, Words], None]]


def _grammar(productions: Mapping[str, Sequence[str]]) -> list[_Production]:
    return [
        (_pattern(form), getattr(_Reader, name))
        for name, forms in productions.items()
        for form in forms
    ]


_RHYTHM, _MOMENT = _grammar(_data["rhythm"]), _grammar(_data["moment"])
