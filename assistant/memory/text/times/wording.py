"""Schedules and moments out of plain words: "every 30 minutes", "weekdays at 9", "tomorrow at 9".

A text becomes tokens, in any language that has a `schedule` in `languages.toml`; a grammar is a
list of patterns over the kinds of tokens. Nothing is guessed: what it does not know, or knows two
meanings of, it names.
"""

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from assistant.memory.text.times.languages import Language, languages, later
from assistant.memory.text.times.schedule import CODES, NINE, WORKING, Schedule

LONGEST = 300
"""Characters in which a schedule is looked for."""
FROM_WHEN = "Say from which day, with its year: “every other Tuesday from 2026-11-24”"
ONE_DAY = "Say “every Friday”, or the day: “on 2026-11-27”"
MORNING, EVENING, NIGHT = 8, 18, 21
_PM = {15: range(1, 7), 18: range(4, 12), 21: range(6, 12)}
"""Hours that are meant twelve later with a part of the day: "every evening at 8"."""
_WITHIN = {8: {*range(4, 13)}, 12: {11, 12, 13, 14}, 15: {*range(12, 19)}, 18: {*range(16, 24)}}
_WITHIN |= {21: {*range(18, 24), *range(6)}}
_MINUTES = {"minute": 1, "hour": 60}
_FREQUENCIES = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}
_FIRST_DAY = {"week": "BYDAY=MO", "month": "BYMONTHDAY=1", "year": "BYMONTH=1;BYMONTHDAY=1"}
_ABBREVIATED = {"jst": "Asia/Tokyo", "utc": "UTC", "gmt": "UTC", "z": "UTC"}
_TASKS = ("remind", "reminder", "erinnere", "erinnerung")
"""Words that only a task begins with, whatever colon comes behind them."""
_RECURRING = ("every", "adverb", "once", "nth", "ord")
"""Kinds of words that say that something comes round; so do the plurals of days."""
_TOKEN = re.compile(
    r"(?P<iso>20\d\d-\d\d-\d\d)(?:T(?=\d)|(?!\d))"
    r"|(?P<dotted>\d{1,2}\.\s?\d{1,2}\.(?:\s?20\d\d)?)(?!\w)"
    r"|(?P<zone>\b[A-Z][A-Za-z]+(?:/[A-Z][A-Za-z_]+){1,2}\b|\b(?:UTC|GMT|JST)\b|(?<=\d)Z\b)"
    r"|(?P<hour>\d{1,4})(?:(?P<sep>[:.h])(?P<minute>[0-5]\d)(?!\d)(?:\s?(?:h|uhr)\b)?)?"
    r"(?:\s?(?P<half>[ap](?:m\b|\.m\.))|(?P<nth>st|nd|rd|th)\b|\s?(?P<clock>h\b|o'?clock\b|uhr\b)"
    r"|(?P<dot>\.)(?=\s*(?:$|[,:]|und\b|oder\b|[^\W\d_]))|(?=Z\b)|(?!\w|%|€|\$|:\d))"
    r"|(?P<word>[^\W\d_]+(?:-five|['’][a-z]+)?)"
    r"|(?P<sign>[,&–-])",
    re.IGNORECASE,
)
_WORDS = re.compile(r"(?<![\w-])\w+")
_SPACE = re.compile(r"\s*")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
Meaning = tuple[str, Any, bool]
"""What a word stands for: the kind of token, its value, and whether it is a plural."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How far a text was understood. `word` was not, as `cure` explains; then nothing was."""

    schedule: Schedule | None = None
    end: int = 0
    word: str = ""
    cure: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or sign of a time: its kind, what it stands for, and its place."""

    kind: str
    value: Any
    start: int
    end: int
    word: str
    plural: bool = False


def schedule(text: str) -> tuple[Schedule, int] | None:
    """The schedule that a text begins with, and where its words end; None if it begins with none.

    A rhythm that no calendar has ("31 February") is none.
    """
    found = _Tokens(text).schedule()
    return (found.schedule, found.end) if found.schedule else None


def starts(text: str) -> Iterator[int]:
    """Where within a text the words of a schedule may begin."""
    words = [*_WORDS.finditer(text)]
    for found, after in zip(words, [*words[1:], None], strict=False):
        kind = _kind(found[0])
        if kind in ("at", "the"):
            numbered = after and (after[0][0].isdigit() or _kind(after[0]) == "nth")
            kind = "on" if numbered else ""
        if kind in (*_RECURRING, "on"):
            yield found.start()


def may_recur(text: str) -> bool:
    """Whether any word of a text is one of those that say that something comes round."""
    return any(_kind(word) in _RECURRING for word in _WORDS.findall(text))


def instruction(text: str) -> tuple[Schedule, str] | Reading | None:
    """When, and what: the schedule that a text begins with and the rest of it.

    All words before a colon belong to the schedule; without one, the rest may not begin as if it
    went on with it. A `Reading` names the word that is not understood; None if the text does not
    begin with a schedule.
    """
    tokens = _Tokens(text)
    found = tokens.schedule()
    if not found.end and not found.word:
        return tokens.stuck()
    if found.word:
        return found
    rest = text[found.end :]
    joint = re.match(r"\s*(?:[:—–-](?=\s|$)|,(?=\s)|$)\s*|\s+", rest)
    colon = re.match(r"[^\n]*?:(?=\s|$)", rest)
    left = re.match(r"[\s,(]*([^\s,:]+)", rest)
    goes_on = left is not None and (
        (colon is not None and left.end() <= colon.end() and left[1] != "-")
        or left[1].lower() in _connectives()
        or tokens.knows(found.end + left.start(1))
    )
    if left and left[1].lower() in _TASKS:
        goes_on = False
    if colon and rest.lstrip(" \t)").startswith(":"):
        goes_on = False
        joint = re.match(r"[ \t)]*:\s*", rest)
    elif joint and joint[0].strip() in ("—", "–", "-") and not colon:
        goes_on = False
    if goes_on and left:
        return Reading(end=found.end, word=left[1])
    if found.schedule is None:
        said = text[: found.end].strip()
        return Reading(end=found.end, word=said, cure="It says no rhythm")
    return (found.schedule, rest[joint.end() :]) if joint else Reading(word=rest.split()[0])


def moment(text: str, now: datetime) -> tuple[datetime, int] | Reading:
    """The one time to come that a text begins with, on the local clock, and where its words end:
    "in 20 minutes", "tomorrow at 9", "next Monday at 10", "at 17:00", "2026-11-27 18:40"."""
    return _Tokens(text).moment(now)


def begins_with_time(text: str) -> str:
    """The first word of a text that goes on as if it said more of a time; empty if none does."""
    rest = text.lstrip(" ,:")
    word = (rest.split() or [""])[0].strip(":,")
    known = _Tokens(rest).knows(0) and word.lower() not in ("to", "of", "the", "a", "an")
    return word if known or word.lower() in _connectives() - {"about"} else ""


def sure_times(text: str) -> str:
    """The first words of a text that name a time of day or a rhythm; empty if none do."""
    kinds = ("clock", "noon", "part", "every", "day", "zone")
    return next((each.word for each in _tokens(text) if each.kind in kinds), "")


@functools.cache
def _connectives() -> frozenset[str]:
    """Words no task begins with: behind a schedule they mean to say more of it."""
    return frozenset(" ".join(each.connectives for each in languages().values()).split())


@functools.cache
def _words() -> dict[str, tuple[Meaning, ...]]:
    """By each word, in lower case, the tokens it stands for."""
    known: dict[str, tuple[Meaning, ...]] = {}
    for language in languages().values():
        for word, meanings in _vocabulary(language, known) if language.schedule else ():
            known.setdefault(word, meanings)
    return known


def _vocabulary(
    language: Language, known: Mapping[str, tuple[Meaning, ...]]
) -> Iterator[tuple[str, tuple[Meaning, ...]]]:
    """The words of a language, and what they stand for; `known` are those of English."""
    for kind, words in language.schedule.items():
        if isinstance(words, str):  # for this kind, or for these English words
            meant = tuple(each for word in kind.split() for each in known.get(word, ()))
            yield from ((word, meant or ((kind, word, False),)) for word in words.split())
            continue
        for word, value in words.items():
            made = time(value) if kind == "noon" else value
            yield word, ((kind, made, False),)
            if kind in ("unit", "kind", "part", "noon"):
                yield f"{word}s", ((kind, made, True),)
    for kind, listed in (("month", language.months), ("num", language.numbers)):
        for number, words in enumerate(listed.split(), start=1):
            yield from ((word, ((kind, number, False),)) for word in words.split("|"))
    for number, words in enumerate(language.weekdays.split()):
        for word in words.split("|"):
            yield word, (("day", number, False),)
            yield f"{word}s", (("day", number, True),)
            for part, english in language.compounds.items():  # "freitagabend"
                yield f"{word}{part}", (("day", number, False), *known[english])


def _kind(word: str) -> str:
    """The kind of a word within a text; that of "Fridays" and "weekends" is "every"."""
    if _ORDINAL.fullmatch(word):
        return "ord"
    kind, _, plural = _words().get(word.lower(), (("", "", False),))[0]
    return "every" if plural and kind in ("day", "kind") else kind


def _tokens(text: str) -> Iterator[Token]:
    """The words of a text, until one that no schedule has."""
    at = 0
    while found := _TOKEN.match(text, at + len(_SPACE.match(text, at)[0])):  # type: ignore[index]
        start, at, said = found.start(), found.end(), found[0]
        kind = found.lastgroup
        token = functools.partial(Token, start=start, end=at, word=said)
        if found["iso"]:
            try:
                yield token("date", date.fromisoformat(found["iso"]))
            except ValueError:
                return
        elif found["dotted"]:
            yield token("dotted", [int(each) for each in re.findall(r"\d+", said)])
        elif found["zone"]:
            name = _ABBREVIATED.get(said.lower(), said)
            if name != "UTC" and name not in available_timezones():
                return
            yield token("zone", name)
        elif found["hour"]:
            number = _number(found)
            if number is None:
                return
            yield token(*number)
        elif kind == "word":
            meanings = _words().get(said.lower())
            if not meanings:
                return
            if text[at : at + 1] == "." and meanings[0][0] in ("day", "month"):
                at += len(said) <= 5  # "Sept."
            for meaning, value, plural in meanings:
                yield Token(meaning, value, start, at, said, plural)
        else:
            yield token({"&": "and", ",": "comma"}.get(said, "to"), said)


def _number(found: re.Match[str]) -> tuple[str, Any] | None:
    """A time of day, an ordinal, a year or a number; None for a time that no clock shows."""
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if found["nth"] or found["dot"]:
        return "ord", hour
    if not (found["half"] or found["sep"] or found["clock"]):
        return "year" if 2000 <= hour < 2100 else "num", hour
    return None if (at := clock(hour, minute, found["half"] or "")) is None else ("clock", at)


def clock(hour: int, minute: int, half: str = "") -> time | None:
    """A time of day, by the half of it ("am", "p.m.") if one is said; None if no clock shows it."""
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * half.lower().startswith("p")
    return time(hour, minute) if hour < 24 else None


@dataclass(slots=True)
class _Read:
    """What has been read of a schedule so far."""

    unit: str = ""
    count: int = 1
    days: list[str] = field(default_factory=list)
    setpos: int = 0
    monthdays: list[int] = field(default_factory=list)
    month: int = 0
    once: date | None = None
    times: list[time] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)
    """Parts of the day for which no time is said."""
    window: tuple[time, time] | None = None
    begins: date | None = None
    zone: str = ""
    lone: str = ""
    """A weekday without a word that says it comes round."""
    fault: tuple[str, str] = ("", "")

    def set_unit(self, unit: str, count: int = 1) -> bool:
        """Take a unit; False if another one is said."""
        if unit == "fortnight":
            unit, count = "week", count * 2
        if self.unit:
            return self.unit == unit and count == 1  # "on the 1st of every month"
        self.unit, self.count = unit, count
        return True

    def schedule(self, words: str) -> Schedule | None:
        """What was read, as a schedule; None if it is none, or has a `fault`."""
        parts = [time(each) for each in self.parts]
        times = tuple(sorted({*self.times, *parts})) or (NINE,)
        timed = bool(self.times)
        if self.lone:
            self.fault = self.lone, ONE_DAY
        if self.once:
            return Schedule(once=self.once, times=times, zone=self.zone, is_timed=timed)
        if self.unit in _MINUTES:
            if self.monthdays or self.zone or self.begins:
                return None
            start, end = self.window or (time.min, None)
            every = timedelta(minutes=_MINUTES[self.unit] * self.count)
            days = tuple(CODES.index(code) for code in self.days)
            return Schedule(every=every, start=start, end=end, weekdays=days, times=())
        if not (rule := self.rule()):
            return None
        if self.count > 1 and not self.begins:
            self.fault = words, FROM_WHEN
        dated = bool(self.days or self.monthdays or self.unit == "day")
        return Schedule(
            rule, times, begins=self.begins, zone=self.zone, is_timed=timed, is_dated=dated
        )

    def rule(self) -> str:
        """The RRULE of the days."""
        unit = self.unit or ("week" if self.days else "")
        if not unit:
            return ""
        parts = [f"INTERVAL={self.count}"] if self.count > 1 else []
        if self.days:
            unit = "week" if unit == "day" else unit
            parts.append(f"BYDAY={','.join(self.days)}")
            parts += [f"BYSETPOS={self.setpos}"] if self.setpos else []
        elif self.monthdays:
            parts += [f"BYMONTH={self.month}"] if self.month else []
            parts.append(f"BYMONTHDAY={','.join(map(str, self.monthdays))}")
        elif unit in _FIRST_DAY and not self.begins:
            parts.append(_FIRST_DAY[unit])
        return ";".join([f"FREQ={_FREQUENCIES[unit]}", *parts])


# The grammar

_MACROS = {
    "DAYS": "((working) unit | kind | day to day | day (SEP day)*)",
    "DATE": "(date | dotted | month (num|ord) (comma* year)? | (num|ord) of? month (comma* year)?)",
    "OFMONTH": "((of|in) (the|every|a|of)* unit)",
    "CLOCK": "(clock|noon|num)",
    "SEP": "((comma+ and? | and) (on|the|at)*)",
}
Production = Callable[[_Read, Sequence[Token]], bool]
_PRODUCTIONS: list[tuple[re.Pattern[str], Production]] = []


@functools.cache
def _pattern(form: str) -> re.Pattern[str]:
    """A pattern over the kinds of tokens, each of which ends with a line."""
    for name, macro in _MACROS.items():
        form = form.replace(name, macro)
    return re.compile(re.sub(r"\s*([a-z]+)\s*", r"(?:\1_)", form).replace(" ", ""))


def _production(form: str) -> Callable[[Production], Production]:
    """What reads these tokens; it says whether they fit to what was read before."""

    def added(production: Production) -> Production:
        _PRODUCTIONS.append((_pattern(form), production))
        return production

    return added


def _values(said: Sequence[Token], *kinds: str) -> list[Any]:
    return [each.value for each in said if each.kind in kinds]


def _has(said: Sequence[Token], kind: str) -> bool:
    return any(each.kind == kind for each in said)


def _weekdays(said: Sequence[Token]) -> list[str]:
    if _has(said, "working"):
        return WORKING
    if kinds := _values(said, "kind"):
        return str(kinds[0]).split()
    days = _values(said, "day")
    if _has(said, "to"):
        days = [(days[0] + n) % 7 for n in range((days[1] - days[0]) % 7 + 1)]
    return [CODES[day] for day in days]


def _clocks(said: Sequence[Token]) -> list[time] | None:
    values = _values(said, "clock", "noon", "num")
    times = [time(each) if isinstance(each, int) and each < 24 else each for each in values]
    return times if all(isinstance(each, time) for each in times) else None


def _day_of_year(said: Sequence[Token]) -> tuple[int, int, int] | None:
    """Year (or 0), month and day; None for a day that no calendar has."""
    if dates := _values(said, "date"):
        year, month, day = dates[0].year, dates[0].month, dates[0].day
    elif dotted := _values(said, "dotted"):
        day, month, year = (*dotted[0], 0)[:3]
    else:
        (month,), (day,) = _values(said, "month"), _values(said, "num", "ord")
        year = (_values(said, "year") or [0])[0]
    try:
        date(year or 2024, month, day)  # a leap year
    except ValueError:
        return None
    return year, month, day


@_production("except (on|the)* DAYS (?!part|morgen)")
def _except(read: _Read, said: Sequence[Token]) -> bool:
    kept = [code for code in read.days or CODES if code not in _weekdays(said)]
    if read.monthdays or read.once or read.unit in ("month", "year") or not kept:
        return False
    if not read.days and read.unit == "week":
        return False
    read.days = kept
    return True


@_production("(between|from)? CLOCK (and|to) CLOCK")
def _window(read: _Read, said: Sequence[Token]) -> bool:
    times = _clocks(said)
    if times is None or read.unit not in _MINUTES or read.window:
        return False
    read.window = times[0], times[1]
    return True


@_production("from (on|the)* DATE")
def _begins(read: _Read, said: Sequence[Token]) -> bool:
    found = _day_of_year(said)
    if found is None or not found[0]:
        return False
    read.begins = date(*found)
    return True


@_production("(on|every|the)* (nth|ord) (day|kind|unit) OFMONTH?")
def _nth(read: _Read, said: Sequence[Token]) -> bool:
    """The first Monday of the month, the last day of each month, every first Monday."""
    nth = _values(said, "nth", "ord")[0]
    if said[-1].kind == "day" and nth in (1, -1) and _has(said, "every"):
        said = [*said, Token("unit", "month", 0, 0, "")]
    *units, of = _values(said, "unit") or [""]
    if of != "month" or nth > 5 or read.days or read.monthdays:
        return False
    if units == ["day"]:
        read.monthdays = [nth]
    elif _has(said, "kind") and _weekdays(said) == WORKING:
        read.days, read.setpos = WORKING, nth
    elif _has(said, "day"):
        read.days = [f"{nth}{code}" for code in _weekdays(said)]
    else:
        return False
    return read.set_unit("month")


@_production("(on|every|the)* DATE")
def _date(read: _Read, said: Sequence[Token]) -> bool:
    """A day of the year, or one day."""
    found = _day_of_year(said)
    if found is None or read.days or read.monthdays or read.once:
        return False
    year, month, day = found
    if year:
        read.once = date(year, month, day)
        return not read.unit
    read.month, read.monthdays = month, [day]
    return read.set_unit("year")


@_production("adverb")
def _adverb(read: _Read, said: Sequence[Token]) -> bool:
    count, unit = said[0].value.split()
    return read.set_unit(unit, int(count))


@_production("once (a|on|in|the)* every? unit")
def _once(read: _Read, said: Sequence[Token]) -> bool:
    return read.set_unit(said[-1].value)


@_production("on? every (half (a|an)* | quarter (of|a|an)*) unit")
def _part_of_an_hour(read: _Read, said: Sequence[Token]) -> bool:
    minutes = 30 if _has(said, "half") else 15
    return said[-1].value == "hour" and read.set_unit("minute", minutes)


@_production("on? every (other|num|nth|ord)? (unit | day (SEP day)*)")
def _every(read: _Read, said: Sequence[Token]) -> bool:
    counted = [each for each in said if each.kind in ("other", "num", "nth", "ord")]
    count = 1 if not counted else 2 if counted[0].kind == "other" else counted[0].value
    if said[-1].kind == "unit":
        return count > 0 and read.set_unit(said[-1].value, count)
    if count <= 1 or not read.set_unit("week", count):
        return False
    read.days = _weekdays(said)
    return True


@_production("on? every (on|the|in|an)* DAYS")
def _every_weekday(read: _Read, said: Sequence[Token]) -> bool:
    done = _days(read, said)
    read.lone = ""
    return done


@_production("on? every (part|morgen|noon) (SEP (part|morgen|noon))*")
def _part_of_every_day(read: _Read, said: Sequence[Token]) -> bool:
    if read.unit not in ("", "day"):
        return False
    read.times += _values(said, "noon")
    read.parts += _values(said, "part") + [MORNING for each in said if each.kind == "morgen"]
    read.unit = "day"
    return True


@_production("(on|the|every)* (nth|ord) (SEP (nth|ord))* (every unit | unit? OFMONTH)?")
def _monthdays(read: _Read, said: Sequence[Token]) -> bool:
    days, units = _values(said, "nth", "ord"), _values(said, "unit")
    if read.days or read.monthdays or read.once or not {*days} <= {-1, *range(1, 32)}:
        return False
    if units not in (["month"], ["day", "month"]) and (units or read.unit != "month"):
        return False
    read.monthdays = days
    return read.set_unit("month")


@_production("(on|the|in|an)* DAYS | from day to day")
def _days(read: _Read, said: Sequence[Token]) -> bool:
    if read.days or read.monthdays or read.once or read.unit not in ("", "day", "week", *_MINUTES):
        return False
    if _values(said, "unit") not in ([], ["day"]):  # "working hours"
        return False
    read.days = _weekdays(said)
    alone = said[-1].kind == "day" and len(read.days) == 1 and not said[-1].plural
    read.lone = said[-1].word if alone and not read.unit else ""
    return True


@_production("(in|the|at|on)* part (SEP part)*")
def _part(read: _Read, said: Sequence[Token]) -> bool:
    parts = [each for each in said if each.kind == "part"]
    if (len(said) == 1 and not parts[0].plural and not read.days) or read.unit in _MINUTES:
        return False
    if parts[0].plural and not read.unit and not read.days:
        read.unit = "day"
    read.parts += [each.value for each in parts]
    return True


@_production("(at CLOCK | clock | noon) (SEP CLOCK)* ((in|the|at|on)* part)?")
def _times(read: _Read, said: Sequence[Token]) -> bool:
    times = _clocks(said)
    if times is None or read.unit in _MINUTES:
        return False
    part = read.parts.pop() if read.parts else None
    if named := _values(said, "part"):
        if part is not None:
            read.fault = said[-1].word, "Two parts of the day are named"
        part = named[0]
    for at in times:
        if (meant := _in_part(at, part)) is None:
            read.fault = f"{at:%H:%M}", "It is not in that part of the day"
        else:
            read.times.append(meant)
    return True


@_production("zone")
def _zone(read: _Read, said: Sequence[Token]) -> bool:
    if read.zone:
        return False
    read.zone = said[0].value
    return True


class _Tokens:
    """The tokens that a text begins with, read from the first on."""

    def __init__(self, text: str) -> None:
        self._text = text[:LONGEST]
        self._tokens = list(_tokens(self._text))
        self._kinds = "".join(f"{each.kind}_" for each in self._tokens)
        sizes = (len(each.kind) + 1 for each in self._tokens)
        self._places = list(itertools.accumulate(sizes, initial=0))
        self._at = 0

    def knows(self, place: int) -> bool:
        """Whether a word of the grammar stands at a place."""
        return any(each.start == place for each in self._tokens)

    def stuck(self) -> Reading | None:
        """Where a text that begins as if it said when says something else."""
        if not self._tokens or self._tokens[0].kind not in ("every", "adverb", "once", "kind"):
            return None
        end = self._tokens[-1].end
        following = re.match(r"\s*([^\s:,]+)", self._text[end:])
        return Reading(word=following[1] if following else self._text[:end])

    def schedule(self) -> Reading:
        """The schedule that the text begins with."""
        read, end = _Read(), 0
        while self._production(read):
            end = self._tokens[self._at - 1].end
            if read.fault[0]:
                return Reading(None, end, *read.fault)
        if not end:
            return Reading()
        made = read.schedule(self._text[:end].strip())
        return Reading(None, end, *read.fault) if read.fault[0] else Reading(made, end)

    def _production(self, read: _Read) -> bool:
        begin = self._at
        if begin:
            self._take("comma* and?")
        for pattern, production in _PRODUCTIONS:
            said = self._ahead(pattern)
            if said and production(read, said):
                self._at += len(said)
                return True
        self._at = begin
        return False

    def _ahead(self, pattern: re.Pattern[str]) -> Sequence[Token]:
        """The next tokens, if they fit a pattern."""
        found = pattern.match(self._kinds, self._places[self._at])
        return self._tokens[self._at : self._places.index(found.end())] if found else ()

    def _take(self, form: str) -> Sequence[Token]:
        """The next tokens, if they fit a form; they are read then."""
        said = self._ahead(_pattern(form))
        self._at += len(said)
        return said

    # One time

    def moment(self, now: datetime) -> tuple[datetime, int] | Reading:
        """The one time to come that the text begins with."""
        day: date | None = None
        at: time | None = None
        part: int | None = None
        is_today = False
        while True:
            begin = self._at
            if begin:
                self._take("comma*")
            if not (day or at) and (due := self._in_a_while(now)):
                if isinstance(due, datetime):
                    return due, self._tokens[self._at - 1].end
                day = due
            elif day is None and (found := self._one_day(now.date())):
                day, said, is_today = found
                part = said if said is not None else part
            elif at is None and (said_at := self._take("at CLOCK | clock | noon")):
                at = next(iter(_clocks(said_at) or ()), None)
            elif part is None and (named := self._take("(in|the|at|on)* part")):
                part = named[-1].value
            else:
                self._at = begin
                break
        if day is None and at is None and part is None:
            return Reading(word=(self._text.split() or [""])[0])
        zone = self._take("zone")
        words = self._text[: self._tokens[self._at - 1].end].strip()
        chosen = _in_part(at, part) if at else NINE if part is None else time(part)
        if chosen is None:
            return Reading(word=words, cure="The time is not in that part of it")
        due = datetime.combine(day or now.date(), chosen)
        if zone:
            due = due.replace(tzinfo=ZoneInfo(zone[0].value)).astimezone().replace(tzinfo=None)
        if due > now:
            return due, self._tokens[self._at - 1].end
        again = f"; say “tomorrow at {chosen:%H:%M}”" if day is None or is_today else ""
        return Reading(word=words, cure=f"It has passed{again}")

    def _in_a_while(self, now: datetime) -> datetime | date | None:
        """In 20 minutes, in half an hour: a time. In three days: a day."""
        begin = self._at
        said = self._take("in (num|a|an)? ((half|quarter) (of|a|an)*)? unit")
        if not said:
            return None
        unit = said[-1].value
        share = 0.5 if _has(said, "half") else 0.25 if _has(said, "quarter") else 1
        count = (_values(said, "num") or [1])[0] * share
        try:
            if unit in _MINUTES and count:
                at = now + timedelta(minutes=count * _MINUTES[unit])
                at = at.replace(second=0, microsecond=0)
                return at if at > now else at + timedelta(minutes=1)
            if count and count == int(count):
                weeks = unit == "fortnight"
                return later(now.date(), int(count) * (1 + weeks), "week" if weeks else unit)
        except (OverflowError, ValueError):
            pass
        self._at = begin
        return None

    def _one_day(self, today: date) -> tuple[date, int | None, bool] | None:
        """A day, the part of it, and whether it is today."""
        begin = self._at
        if said := self._take("(on|the)* (today|tonight|tomorrow|overmorrow|morgen)"):
            if said[-1].kind == "tonight":
                return today, EVENING if self._ahead(_pattern("at")) else NIGHT, True
            ahead = {"today": 0, "overmorrow": 2}.get(said[-1].kind, 1)
            return today + timedelta(days=ahead), None, not ahead
        if self._take("(on|the)* this (?=part)"):
            return today, None, True
        if (said := self._take("(on|the)* next? day")) and not said[-1].plural:
            ahead = (said[-1].value - today.weekday() - 1) % 7 + 1
            return today + timedelta(days=ahead), None, False
        if (said := self._take("(on|the)* next? DATE")) and (found := _day_of_year(said)):
            year, month, day = found
            for each in (year,) if year else range(today.year, today.year + 9):
                try:
                    if year or date(each, month, day) >= today:
                        return date(each, month, day), None, False
                except ValueError:
                    continue  # 29 February
        self._at = begin
        return None


def _in_part(at: time, part: int | None) -> time | None:
    """A time within a part of the day; None if it is not in it."""
    if not part:
        return at
    if at.hour in _PM.get(part, ()):
        return at.replace(hour=at.hour + 12)
    return at if part not in _WITHIN or at.hour in _WITHIN[part] else None
