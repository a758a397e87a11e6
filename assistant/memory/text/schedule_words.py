"""Schedules and moments out of plain words: "every 30 minutes", "weekdays at 9", "tomorrow at 9".

One grammar reads one word after the other, in any language of `languages.toml`. Nothing is
guessed: what it does not know, or knows two meanings of, it names.
"""

import calendar
import functools
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from assistant.memory.text.schedule import NINE, Schedule

LONGEST = 300
"""Characters in which a schedule is looked for."""
CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_DAYS = [name.lower() for name in calendar.day_name]
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_SHORT_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_ONES = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: number for number, word in enumerate(_ONES.split(), start=1)}
_NUMBERS |= {"fifteen": 15, "twenty": 20, "thirty": 30, "forty-five": 45}
_NTH = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
_PARTS = {"morning": 8, "lunchtime": 12, "noon": 12, "midday": 12, "afternoon": 15, "evening": 18}
_PARTS |= {"night": 21, "midnight": 0}
_LATER = {15: range(1, 7), 18: range(4, 12), 21: range(6, 12)}
"""Hours that are meant twelve later with a part of the day: "every evening at 8"."""
_WITHIN = {8: {*range(4, 13)}, 12: {11, 12, 13, 14}, 15: {*range(12, 19)}, 18: {*range(16, 24)}}
_WITHIN |= {21: {*range(18, 24), *range(6)}}
_UNITS = {"minute": 1, "min": 1, "hour": 60, "hr": 60}
_FREQUENCIES = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}
_ADVERBS = {"hourly": ("hour", 1), "daily": ("day", 1), "weekly": ("week", 1)}
_ADVERBS |= {"fortnightly": ("week", 2), "monthly": ("month", 1)}
_ADVERBS |= {"yearly": ("year", 1), "annually": ("year", 1)}
_PLAIN = """every each once on at the of in a an per from starting beginning since between to until
    till through and or except excluding half quarter other next this tomorrow today tonight
    overmorrow working business"""
_CONNECTIVES = """during unless if when while only but not before after without except besides
    around about approximately circa unlike every each on at in from until till through between
    starting excluding including for within"""
"""Words no task begins with: behind a schedule they mean to say more of it."""
_ABBREVIATED = {"jst": "Asia/Tokyo", "utc": "UTC", "gmt": "UTC", "z": "UTC"}
_TOKEN = re.compile(
    r"(?P<iso>20\d\d-\d\d-\d\d)(?:T(?=\d)|(?!\d))"
    r"|(?P<dotted>\d{1,2}\.\s?\d{1,2}\.(?:\s?20\d\d)?)(?!\w)"
    r"|(?P<zone>\b[A-Z][A-Za-z]+(?:/[A-Z][A-Za-z_]+){1,2}\b|\b(?:UTC|GMT|JST)\b|(?<=\d)Z\b)"
    r"|(?P<hour>\d{1,4})(?:(?P<sep>[:.h])(?P<minute>[0-5]\d)(?!\d)(?:\s?(?:h|uhr)\b)?)?"
    r"(?:\s?(?P<half>[ap](?:m\b|\.m\.))|(?P<nth>st|nd|rd|th)\b|\s?(?P<clock>h\b|o'?clock\b|uhr\b)"
    r"|(?P<dot>\.)(?=\s*(?:$|[,:]|und\b|oder\b|[^\W\d_]))|(?=Z\b)|(?!\w|%|€|\$|:\d))"
    r"|(?P<fourteen>14-?tägig|vierzehntägig)\b"
    r"|(?P<word>[^\W\d_]+(?:-five|['’][a-z]+)?)"
    r"|(?P<sign>[,&–-])",
    re.IGNORECASE,
)
STARTS = re.compile(
    r"\b(?:every|each|daily|hourly|weekly|fortnightly|monthly|yearly|annually|once\s+(?:a|per)"
    rf"|(?:on\s+)?(?:{'|'.join(_DAYS)})s\b|on\s+\w|(?:on\s+)?week(?:days|ends)\b|at\s+\d"
    rf"|(?:on\s+)?the\s+(?:\d|{'|'.join(_NTH)})|\d+(?:st|nd|rd|th)\s+of\s+(?:the|each|every)\b"
    rf"|(?:{'|'.join(_NTH)})\s+(?:{'|'.join(_DAYS)}|(?:week|work)?day)\s+(?:of|in)\b"
    r"|jede[nrsm]?\s|alle\s+(?:\d|\w+\s+\w)|(?:täg|stünd|wöchent|monat|jähr)lich\b"
    r"|(?:werk|wochen)tags\b|\w+tags\b|mittwochs\b|sonnabends\b|(?:ein)?mal\s+(?:pro|am|im|in)\b"
    r"|am\s+\w|an\s+(?:werk|jede)|(?:morgen|mittag|abend|nacht)s\b|um\s+\d|von\s+montag\b)",
    re.IGNORECASE,
)
"""Where the words of a schedule may begin within a text."""
_TASKS = ("remind", "reminder", "erinnere", "erinnerung")
"""Words that only a task begins with, whatever colon comes behind them."""
FROM_WHEN = "Say from which day, with its year: “every other Tuesday from 2026-11-24”"
ONE_DAY = "Say “every Friday”, or the day: “on 2026-11-27”"


@dataclass(frozen=True, slots=True)
class Reading:
    """How far a text was understood. `word` was not, as `cure` explains; then nothing was."""

    schedule: Schedule | None = None
    end: int = 0
    word: str = ""
    cure: str = ""


def schedule(text: str) -> tuple[Schedule, int] | None:
    """The schedule that a text begins with, and where its words end; None if it begins with none.

    A rhythm that no calendar has ("31 February") is none.
    """
    found = _Grammar(text[:LONGEST]).read()
    return (found.schedule, found.end) if found.schedule else None


def instruction(text: str) -> tuple[Schedule, str] | Reading | None:
    """When, and what: the schedule that a text begins with and the rest of it.

    All words before a colon belong to the schedule; without one, the rest may not begin as if it
    went on with it. A `Reading` names the word that is not understood; None if the text does not
    begin with a schedule.
    """
    grammar = _Grammar(text[:LONGEST])
    found = grammar.read()
    if not found.end and not found.word:
        return grammar.stuck()
    if found.word:
        return found
    rest = text[found.end :]
    joint = re.match(r"\s*(?:[:—–-](?=\s|$)|,(?=\s)|$)\s*|\s+", rest)
    colon = re.match(r"[^\n]*?:(?=\s|$)", rest)
    left = re.match(r"[\s,(]*([^\s,:]+)", rest)
    goes_on = left is not None and (
        (colon is not None and left.end() <= colon.end() and left[1] != "-")
        or left[1].lower() in _connectives()
        or grammar.knows(found.end + left.start(1))
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
    return _Grammar(text[:LONGEST]).moment(now)


def begins_with_time(text: str) -> str:
    """The first word of a text that goes on as if it said more of a time; empty if none does."""
    rest = text.lstrip(" ,:")
    word = (rest.split() or [""])[0].strip(":,")
    known = _Grammar(rest[:LONGEST]).knows(0) and word.lower() not in ("to", "of", "the", "a", "an")
    return word if known or word.lower() in _connectives() - {"about"} else ""


def sure_times(text: str) -> str:
    """The first words of a text that name a time of day or a rhythm; empty if none do."""
    for token in _tokens(text):
        if token.kind in ("clock", "part", "every", "day", "zone"):
            return token.word
    return ""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    value: Any
    start: int
    end: int
    word: str
    plural: bool = False


@functools.cache
def _languages() -> list[dict[str, Any]]:
    text = Path(__file__).with_name("languages.toml").read_text("utf-8")
    return list(tomllib.loads(text).values())


@functools.cache
def _connectives() -> frozenset[str]:
    others = " ".join(each["connectives"] for each in _languages())
    return frozenset(f"{_CONNECTIVES} {others}".split())


@functools.cache
def _words() -> dict[str, tuple[tuple[str, Any, bool], ...]]:
    """By each word, in lower case, the tokens it stands for: kind, value, plural."""
    known: dict[str, tuple[tuple[str, Any, bool], ...]]
    known = {word: ((word, word, False),) for word in _PLAIN.split()}
    known["each"] = known["every"]

    def add(kind: str, words: dict[str, Any], plural: bool = True) -> None:
        for word, value in words.items():
            known[word] = ((kind, value, False),)
            if plural:
                known[f"{word}s"] = ((kind, value, True),)

    add("num", _NUMBERS, plural=False)
    add("nth", _NTH, plural=False)
    add("unit", {name: name for name in (*_UNITS, *_FREQUENCIES, "fortnight")})
    add("adverb", _ADVERBS, plural=False)
    add("day", {day: number for number, day in enumerate(_DAYS)})
    add("day", {day[:3]: number for number, day in enumerate(_DAYS)}, plural=False)
    add("day", {"tues": 1, "thur": 3, "thurs": 3}, plural=False)
    add("kind", {"weekday": CODES[:5], "workday": CODES[:5], "weekend": CODES[5:]})
    add("month", _MONTHS | _SHORT_MONTHS | {"sept": 9}, plural=False)
    add("part", _PARTS)
    for word in ("noon", "midday", "midnight"):
        known[word] = (("clock", time(_PARTS[word]), False),)
    for table in _languages():
        for english, words in table.get("schedule", {}).items():
            said = tuple(token for each in english.split() for token in known[each])
            for word in words.split():
                known.setdefault(word, said)
                if said[0][0] == "day" and not said[0][2]:  # "freitagabend"
                    for part in table["part"]:
                        known[f"{word}{part}"] = (*said, *known[table["part"][part]])
    return known


def _tokens(text: str) -> Iterator[_Token]:
    """The words of a text, until one that no schedule has; `end` closes them."""
    at = 0
    while found := _TOKEN.match(text, at + len(re.match(r"[\s]*", text[at:])[0])):  # type: ignore[index]
        start, end, said = found.start(), found.end(), found[0]
        kind = found.lastgroup
        if found["iso"]:
            try:
                yield _Token("date", date.fromisoformat(found["iso"]), start, end, said)
            except ValueError:
                break
        elif found["dotted"]:
            numbers = [int(each) for each in re.findall(r"\d+", said)]
            yield _Token("dotted", numbers, start, end, said)
        elif found["zone"]:
            name = _ABBREVIATED.get(said.lower(), said)
            if name != "UTC" and name not in available_timezones():
                break
            yield _Token("zone", (name, said), start, end, said)
        elif found["hour"]:
            if (token := _number(found)) is None:
                break
            yield token
        elif found["fourteen"]:
            yield _Token("adverb", ("week", 2), start, end, said)
        elif kind == "word":
            meanings = _words().get(said.lower())
            if said.lower() == "morgen":
                meanings = (("morgen", said, False),)
            if not meanings:
                break
            if text[end : end + 1] == "." and meanings[0][0] in ("day", "month"):
                end += len(said) <= 5  # "Sept."
            for meaning, value, plural in meanings:
                yield _Token(meaning, value, start, end, said, plural)
        else:
            yield _Token({"&": "and", ",": ","}.get(said, "to"), said, start, end, said)
        at = end


def _number(found: re.Match[str]) -> _Token | None:
    """A time of day, an ordinal or a number; None for a time that no clock shows."""
    start, end, said = found.start(), found.end(), found[0]
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if found["nth"] or found["dot"]:
        return _Token("ord", hour, start, end, said)
    if found["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * found["half"].lower().startswith("p")
    elif not (found["sep"] or found["clock"]):
        return _Token("num", hour, start, end, said)
    return _Token("clock", time(hour, minute), start, end, said) if hour < 24 else None


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


class _Grammar:
    """Reads tokens from the first on; a production that does not fit leaves them as they are."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._at = 0
        self._read = _Read()

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

    def read(self) -> Reading:
        """The schedule that the text begins with."""
        end = 0
        while self._production():
            end = self._tokens[self._at - 1].end
            if self._read.fault[0]:
                return Reading(None, end, *self._read.fault)
        if not end:
            return Reading()
        made, read = self._made(), self._read
        if read.fault[0]:
            return Reading(None, end, *read.fault)
        return Reading(made, end)

    # Tokens

    def _kind(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at].kind if at < len(self._tokens) else ""

    def _take(self, *kinds: str) -> _Token | None:
        if self._kind() in kinds:
            self._at += 1
            return self._tokens[self._at - 1]
        return None

    def _skip(self, *kinds: str) -> None:
        while self._take(*kinds):
            pass

    def _tried(self, *productions: Callable[[], bool]) -> bool:
        for production in productions:
            at = self._at
            if production():
                return True
            self._at = at
        return False

    def _production(self) -> bool:
        at = self._at
        if at:
            self._skip(",")
            self._take("and")
        if self._tried(
            self._except, self._window, self._begins, self._nth, self._date, self._frequency,
            self._monthdays, self._days, self._part, self._times, self._zone,
        ):  # fmt: skip
            return True
        self._at = at
        return False

    def _listed(self, take: Callable[[], Any]) -> list[Any]:
        """What stands in a list: "mon, wed & fri"."""
        found = []
        while (each := take()) is not None:
            found.append(each)
            at = self._at
            self._skip(",")
            self._take("and", "or")
            self._skip("on", "the", "at")
            before, self._at = self._at, self._at
            if before == at or take() is None:
                self._at = at
                break
            self._at = before
        return found

    # What comes round

    def _frequency(self) -> bool:
        read = self._read
        if adverb := self._take("adverb"):
            return self._set_unit(*adverb.value)
        if self._take("once"):
            self._skip("a", "per", "on", "in", "the")
            self._take("every")
            unit = self._take("unit")
            return unit is not None and self._set_unit(unit.value, 1)
        self._take("on")
        if not self._take("every"):
            return False
        if self._take("half"):
            self._skip("a", "an")
            return self._take("unit") is not None and self._set_unit("minute", 30)
        if self._take("quarter"):
            self._skip("of", "a", "an")
            return self._take("unit") is not None and self._set_unit("minute", 15)
        count = 1
        if self._take("other"):
            count = 2
        elif nth := self._take("num", "nth", "ord"):
            count = nth.value
            if nth.kind == "ord" and self._kind() not in ("unit", "day"):
                return False
        if unit := self._take("unit"):
            return count > 0 and self._set_unit(unit.value, count)
        if count > 1:
            days = self._listed(self._day)
            if not days or not self._set_unit("week", count):
                return False
            read.days = [CODES[each.value] for each in days]
            return True
        return self._tried(self._every_day, self._part_of_every_day)

    def _every_day(self) -> bool:
        done = self._days()
        self._read.lone = ""
        return done

    def _part_of_every_day(self) -> bool:
        def part() -> _Token | None:
            is_time = self._kind() == "clock" and self._tokens[self._at].word[0].isdigit()
            return None if is_time else self._take("part", "morgen", "clock")

        parts = self._listed(part)
        if not parts or self._read.unit not in ("", "day"):
            return False
        for each in parts:
            if each.kind == "clock":
                self._read.times.append(each.value)
            else:
                self._read.parts.append(_PARTS["morning"] if each.kind == "morgen" else each.value)
        self._read.unit = "day"
        return True

    def _set_unit(self, unit: str, count: int) -> bool:
        read = self._read
        if unit == "fortnight":
            unit, count = "week", count * 2
        unit = {"min": "minute", "hr": "hour"}.get(unit, unit)
        if read.unit:
            return read.unit == unit and count == 1  # "on the 1st of every month"
        read.unit, read.count = unit, count
        return True

    def _nth(self) -> bool:
        """The first Monday of the month, the last day of each month."""
        read = self._read
        self._skip("on", "every", "the")
        nth = self._take("nth", "ord")
        if nth is None or nth.value > 5 or read.days or read.monthdays:
            return False
        named = self._take("day", "kind", "unit")
        if named is None or not self._of_the_month():
            return False
        if named.kind == "unit":
            if named.value != "day":
                return False
            read.monthdays = [nth.value]
        elif named.kind == "kind":
            if named.value != CODES[:5]:
                return False
            read.days, read.setpos = list(CODES[:5]), nth.value
        else:
            read.days = [f"{nth.value}{CODES[named.value]}"]
        return self._set_unit("month", 1)

    def _of_the_month(self) -> bool:
        if not self._take("of", "in"):
            return False
        self._skip("the", "every", "a", "of")
        unit = self._take("unit")
        return unit is not None and unit.value == "month"

    def _monthdays(self) -> bool:
        read = self._read
        self._skip("on", "the")
        if read.days or read.monthdays or read.once:
            return False
        found = self._listed(lambda: self._take("ord", "nth"))
        if not found or not all(each.value in range(-1, 32) and each.value for each in found):
            return False
        at = self._at
        if self._kind() == "every" and self._kind(1) == "unit":  # "am 1. jedes Monats"
            self._at += 1
            of_month = self._tokens[self._at].value == "month"
            self._at += 1
        else:
            if (unit := self._take("unit")) and unit.value != "day":
                self._at = at
            of_month = self._of_the_month()
        if not of_month:
            self._at = at
            if read.unit != "month":
                return False
        read.monthdays = [each.value for each in found]
        return self._set_unit("month", 1)

    def _date(self) -> bool:
        """A day of the year, or one day."""
        read = self._read
        self._skip("on", "every", "the")
        found = self._day_of_year()
        if found is None or read.days or read.monthdays or read.once:
            return False
        year, month, day = found
        try:
            date(year or 2024, month, day)  # a leap year
        except ValueError:
            return False
        if year:
            read.once = date(year, month, day)
            return not read.unit
        read.month, read.monthdays = month, [day]
        return self._set_unit("year", 1)

    def _day_of_year(self) -> tuple[int, int, int] | None:
        """Year (or 0), month and day."""
        if iso := self._take("date"):
            return iso.value.year, iso.value.month, iso.value.day
        if dotted := self._take("dotted"):
            day, month, *year = dotted.value
            return (year or [0])[0], month, day
        if month := self._take("month"):
            number = self._take("num", "ord")
        else:
            number = self._take("num", "ord")
            self._take("of")
            month = self._take("month")
        if month is None or number is None:
            return None
        at = self._at
        self._skip(",")
        year = self._take("num")
        if year is None or not 2000 <= year.value < 2100:
            self._at, year = at, None
        return (year.value if year else 0), month.value, number.value

    def _begins(self) -> bool:
        """From a day on."""
        if not self._take("from", "starting", "beginning", "since"):
            return False
        self._skip("on", "the")
        found = self._day_of_year()
        if found is None or not found[0]:
            return False
        try:
            self._read.begins = date(*found)
        except ValueError:
            return False
        return True

    def _day(self) -> _Token | None:
        return self._take("day")

    def _days(self) -> bool:
        read = self._read
        begin = self._at
        self._skip("on", "the", "from", "in", "an")
        spans = any(each.kind == "from" for each in self._tokens[begin : self._at])
        if read.days or read.monthdays or read.once:
            return False
        begin = self._at
        named = self._named_days()
        if named is None or (spans and self._at == begin + 1):
            return False
        codes, lone = named
        if read.unit not in ("", "day", "week", "minute", "hour"):
            return False
        read.days = codes
        read.lone = "" if read.unit else lone
        return True

    def _named_days(self) -> tuple[list[str], str] | None:
        """Weekdays that are named, and the one that may be a single day."""
        if self._kind() in ("working", "business") and self._kind(1) == "unit":
            self._at += 2
            return list(CODES[:5]), ""
        if kind := self._take("kind"):
            return list(kind.value), ""
        first = self._day()
        if first is None:
            return None
        at = self._at
        if self._take("to", "through", "until", "till") and (last := self._day()):
            span = range((last.value - first.value) % 7 + 1)
            return [CODES[(first.value + n) % 7] for n in span], ""
        self._at = at - 1
        days = self._listed(self._day)
        lone = days[0].word if len(days) == 1 and not days[0].plural else ""
        return [CODES[each.value] for each in days], lone

    def _except(self) -> bool:
        read = self._read
        if not self._take("except", "excluding"):
            return False
        self._skip("on", "the")
        named = self._named_days()
        if named is None or read.monthdays or read.once or read.unit in ("month", "year"):
            return False
        if not read.days and read.unit == "week":
            return False
        read.days = [code for code in read.days or CODES if code not in named[0]]
        return bool(read.days) and self._kind() not in ("part", "morgen")

    # Times of the day

    def _clock(self) -> _Token | None:
        if found := self._take("clock"):
            return found
        if self._kind() == "num" and self._tokens[self._at].value < 24:
            found = self._take("num")
            assert found is not None
            return _Token("clock", time(found.value), found.start, found.end, found.word)
        return None

    def _times(self) -> bool:
        read = self._read
        at = self._take("at")
        if not at and self._kind() != "clock":
            return False
        if read.unit in ("minute", "hour"):
            return False
        found = self._listed(self._clock)
        if not found:
            return False
        part = read.parts.pop() if read.parts else None
        before = self._at
        self._skip("in", "the", "at", "on")
        if said := self._take("part"):
            if part is not None:
                read.fault = said.word, "Two parts of the day are named"
            part = said.value
        else:
            self._at = before
        times = [_in_part(each.value, part) for each in found]
        if None in times:
            read.fault = found[times.index(None)].word, "It is not in that part of the day"
        read.times += [each for each in times if each is not None]
        return True

    def _part(self) -> bool:
        read = self._read
        begin = self._at
        self._skip("in", "the", "at", "on")
        parts = self._listed(lambda: self._take("part"))
        if not parts or (begin == self._at - 1 and not parts[0].plural and not read.days):
            return False
        if read.unit in ("minute", "hour"):
            return False
        if parts[0].plural and not read.unit and not read.days:
            read.unit = "day"
        read.parts += [each.value for each in parts]
        return True

    def _window(self) -> bool:
        read = self._read
        self._take("between", "from")
        first = self._clock()
        if first is None or not self._take("and", "to", "till", "until"):
            return False
        last = self._clock()
        if last is None or read.unit not in ("minute", "hour") or read.window:
            return False
        read.window = first.value, last.value
        return True

    def _zone(self) -> bool:
        zone = self._take("zone")
        if zone is None or self._read.zone:
            return False
        self._read.zone = zone.value[0]
        return True

    # The schedule

    def _made(self) -> Schedule | None:
        read = self._read
        parts = [time(each) for each in read.parts]
        times = tuple(sorted({*read.times, *parts})) or (NINE,)
        timed = bool(read.times)
        if read.lone:
            read.fault = read.lone, ONE_DAY
        if read.once:
            return Schedule(once=read.once, times=times, zone=read.zone, is_timed=timed)
        if read.unit in ("minute", "hour"):
            if read.monthdays or read.zone or read.begins:
                return None
            start, end = read.window or (time.min, None)
            every = timedelta(minutes=_UNITS[read.unit] * read.count)
            days = tuple(CODES.index(code) for code in read.days)
            return Schedule(every=every, start=start, end=end, weekdays=days, times=())
        if not (rule := self._rule()):
            return None
        if read.count > 1 and not read.begins:
            words = self._text[: self._tokens[self._at - 1].end].strip()
            read.fault = words, FROM_WHEN
        dated = bool(read.days or read.monthdays or read.unit == "day")
        return Schedule(
            rule, times, begins=read.begins, zone=read.zone, is_timed=timed, is_dated=dated
        )

    def _rule(self) -> str:
        read = self._read
        unit = read.unit or ("week" if read.days else "")
        if not unit:
            return ""
        parts = [f"INTERVAL={read.count}"] if read.count > 1 else []
        if read.days:
            unit = "week" if unit == "day" else unit
            parts.append(f"BYDAY={','.join(read.days)}")
            parts += [f"BYSETPOS={read.setpos}"] if read.setpos else []
        elif read.monthdays:
            parts += [f"BYMONTH={read.month}"] if read.month else []
            parts.append(f"BYMONTHDAY={','.join(map(str, read.monthdays))}")
        elif read.begins:
            pass  # counted from that day
        elif unit == "year":
            parts += ["BYMONTH=1", "BYMONTHDAY=1"]
        elif unit != "day":
            parts.append({"week": "BYDAY=MO", "month": "BYMONTHDAY=1"}[unit])
        return ";".join([f"FREQ={_FREQUENCIES[unit]}", *parts])

    # One time

    def moment(self, now: datetime) -> tuple[datetime, int] | Reading:
        """The one time to come that the text begins with."""
        day: date | None = None
        at: list[time] = []
        part: int | None = None
        named_today = False
        while True:
            begin = self._at
            if begin:
                self._skip(",")
            if (later := self._in_a_while(now)) is not None and not (day or at):
                if isinstance(later, datetime):
                    return later, self._tokens[self._at - 1].end
                day = later
            elif day is None and (found := self._one_day(now)) is not None:
                day, said_part, named_today = found
                part = said_part if said_part is not None else part
            elif not at and (clock := self._moment_clock()) is not None:
                at = [clock]
            elif part is None and (said := self._moment_part()) is not None:
                part = said
            else:
                self._at = begin
                break
        if self._at == 0:
            word = (self._text.split() or [""])[0]
            return Reading(word=word)
        end = self._tokens[self._at - 1].end
        if zone := self._take("zone"):
            end = zone.end
        chosen = _in_part(at[0], part) if at else (time(part) if part is not None else NINE)
        if chosen is None:
            return Reading(word=self._text[:end].strip(), cure="The time is not in that part of it")
        if day is None and not at and part is None:
            return Reading(word=self._text[:end].strip())
        due = datetime.combine(day or now.date(), chosen)
        if zone:
            due = due.replace(tzinfo=ZoneInfo(zone.value[0])).astimezone().replace(tzinfo=None)
        if due <= now:
            cure = "It has passed"
            if day is None or named_today:
                cure += f"; say “tomorrow at {chosen:%H:%M}”"
            return Reading(word=self._text[:end].strip(), cure=cure)
        return due, end

    def _in_a_while(self, now: datetime) -> datetime | date | None:
        """In 20 minutes, in half an hour: a time. In three days: a day."""
        begin = self._at
        if self._take("in"):
            count: float | None = None
            if self._take("half"):
                self._skip("a", "an")
                count = 0.5
            elif self._take("quarter"):
                self._skip("of", "a", "an")
                count = 0.25
            elif number := self._take("num"):
                count = number.value
            elif self._take("a", "an"):
                count = 1
            unit = self._take("unit")
            if unit and count is not None and count > 0:
                try:
                    if unit.value in _UNITS:
                        later = now + timedelta(minutes=count * _UNITS[unit.value])
                        return later.replace(second=0, microsecond=0)
                    if count == int(count):
                        return _shifted(now.date(), int(count), unit.value)
                except (OverflowError, ValueError):
                    pass
        self._at = begin
        return None

    def _one_day(self, now: datetime) -> tuple[date, int | None, bool] | None:
        """A day, the part of it, and whether it is today."""
        begin, today = self._at, now.date()
        self._skip("on", "the")
        if token := self._take("today", "tonight", "tomorrow", "overmorrow", "morgen"):
            if token.kind == "tonight":
                return today, _PARTS["night"] if self._kind() != "at" else _PARTS["evening"], True
            days = {"today": 0, "tomorrow": 1, "morgen": 1, "overmorrow": 2}[token.kind]
            return today + timedelta(days=days), None, days == 0
        if self._take("this") and self._kind() == "part":
            return today, None, True
        self._take("next")
        if weekday := self._take("day"):
            if weekday.plural:
                self._at = begin
                return None
            ahead = (weekday.value - today.weekday() - 1) % 7 + 1
            return today + timedelta(days=ahead), None, False
        found = self._day_of_year()
        if found is not None:
            year, month, day = found
            try:
                if year:
                    return date(year, month, day), None, False
                near = date(today.year, month, day)
                return near if near >= today else date(today.year + 1, month, day), None, False
            except ValueError:
                pass
        self._at = begin
        return None

    def _moment_clock(self) -> time | None:
        begin = self._at
        named = self._take("at")
        if (named or self._kind() == "clock") and (found := self._clock()):
            value: time = found.value
            return value
        self._at = begin
        return None

    def _moment_part(self) -> int | None:
        begin = self._at
        self._skip("in", "the", "at", "on")
        if found := self._take("part"):
            value: int = found.value
            return value
        self._at = begin
        return None


def _in_part(at: time, part: int | None) -> time | None:
    """A time within a part of the day; None if it is not in it."""
    if part is None or part == 0:
        return at
    if at.hour in _LATER.get(part, ()):
        return at.replace(hour=at.hour + 12)
    return at if part not in _WITHIN or at.hour in _WITHIN[part] else None


def _shifted(day: date, count: int, unit: str) -> date:
    if unit in ("day", "week", "fortnight"):
        return day + timedelta(days=count * {"day": 1, "week": 7, "fortnight": 14}[unit])
    months = day.month - 1 + count * (12 if unit == "year" else 1)
    year, month = day.year + months // 12, months % 12 + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))
