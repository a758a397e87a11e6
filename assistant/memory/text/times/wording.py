"""Schedules and moments out of plain words: "every 30 minutes", "weekdays at 9", "tomorrow at 9".

A text becomes tokens, in any language that has a `schedule` in `languages.toml`; a grammar is a
list of patterns over the kinds of tokens. Nothing is guessed: what it does not know, or knows two
meanings of, it names.
"""

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import available_timezones

from assistant.memory.text.times.languages import Language, languages, with_plain_am
from assistant.memory.text.times.period import later
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
from assistant.tables import beside, patterns

LONGEST = 300
"""Characters in which a schedule is looked for."""
FROM_WHEN = "Say from which day, with its year: “every other Tuesday from 2026-11-24”"
NO_DAY = "The calendar has no such day"
NEXT_DAY = "Say on which day that is: “every Saturday at 01:00”"
ONE_DAY = "Say “every Friday”, or the day: “on 2026-11-27”"
WHOLE_WEEKS = "Say “every 2 weeks on Monday”: so many days are not always a Monday"
MORNING, NOON, EVENING, NIGHT = 8, 12, 18, 21
HALF_A_DAY = timedelta(hours=12)
SIX = time(6)
"""When a night ends."""
_PM = {12: range(1, 3), 15: range(1, 9), 18: range(4, 12), 21: range(6, 12)}
"""Hours that are meant twelve later with a part of the day: "every evening at 8"."""
_WITHIN = {8: {*range(13)}, 12: {11, 12, 13, 14}, 15: {*range(12, 21)}, 18: {0, *range(16, 24)}}
_WITHIN |= {21: {*range(18, 24), *range(6)}}
_NEAR_THE_HOUR = {
    ("half", "past"): 30,
    ("quarter", "past"): 15,
    ("quarter", "to"): -15,
    ("quarter", "before"): -15,
}
"""Minutes from the hour that is named behind these kinds of words."""
_TO_THE_HOUR = (5, 10, 20, 25)
"""Minutes that "at 10 to 8" may say; "at 9 to 5" is none."""
_IN_WORDS = ("half", "quarter", "halfto", "past", "before", "to")
"""Kinds of words that a time of day has that is not in figures alone."""
_BEGINS = ("at", "a", "num", "half", "quarter", "halfto")
_MINUTES = {"minute": 1, "hour": 60}
_FREQUENCIES = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}
_FIRST_DAY = {"week": "BYDAY=MO", "month": "BYMONTHDAY=1", "year": "BYMONTH=1;BYMONTHDAY=1"}
_ABBREVIATED = {
    **dict.fromkeys(("utc", "gmt", "z"), "UTC"),
    **dict.fromkeys(("cet", "cest", "mez", "mesz"), "Europe/Berlin"),
    **dict.fromkeys(("est", "edt"), "America/New_York"),
    **dict.fromkeys(("pst", "pdt"), "America/Los_Angeles"),
    "bst": "Europe/London",
    "jst": "Asia/Tokyo",
}
_TASKS = ("remind", "reminder", "erinnere", "erinnerung")
"""Words that only a task begins with, whatever colon comes behind them."""
_ARTICLES = ("the", "a", "an", "to")
_PREPOSITIONS = ("on", "in", "at", "from", "past", "before")
"""Kinds of words that a text may begin with, too, if no time follows them."""
BEHIND_COLON = "If it is no time but the text, put a colon before it"
_RECURRING = ("every", "adverb", "once", "nth", "ord")
"""Kinds of words that say that something comes round; so do the plurals of days."""
_data = beside(__file__)
_RE = patterns(_data["patterns"])
_WORDS = re.compile(r"(?<![\w-])\w+")
_SPACE = re.compile(r"\s*")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_COLON = re.compile(r"[ \t)]*:(?:\s+|$)")
"""What parts a time from the text: behind it nothing is a time but a time of day."""
_JOINT = re.compile(r"\s*(?:(?P<dash>[—–-](?=\s|$))|,(?=\s)|$)\s*|\s+")
Meaning = tuple[str, Any, bool]
"""What a word stands for: the kind of token, its value, and whether it is a plural."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text begins with, up to `end`: a schedule or the one time `due`, and the `rest`.

    Otherwise `word` was not understood, or `passed`, as `cure` explains; all is empty if the text
    does not begin with a time. `is_timed`: `due` is a time of day, not a day alone.
    """

    schedule: Schedule | None = None
    end: int = 0
    word: str = ""
    cure: str = ""
    passed: bool = False
    due: datetime | None = None
    is_timed: bool = False
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or sign of a time: its kind, what it stands for, and its place."""

    kind: str
    value: Any
    start: int
    end: int
    word: str
    plural: bool = False

    @property
    def half(self) -> str:
        """The half of the day that its word says, "a" or "p"; empty if none."""
        found = _RE["half"].search(self.word)
        return found[0][0].lower() if found else ""


def schedule(
    text: str, now: datetime = datetime.min, days: Schedule | None = None
) -> tuple[Schedule, int] | None:
    """The schedule that a text begins with, and where its words end; None if it begins with none.

    A rhythm that no calendar has ("31 February") is none. With `now`, "every other Friday" begins
    with the next one; without, it is none. A time alone is one on the `days` of another schedule.
    """
    found = _read(text, _RHYTHM, now, days).schedule()
    return (found.schedule, found.end) if found.schedule else None


def starts(text: str) -> Iterator[int]:
    """Where within a text the words of a schedule may begin."""
    words = [*_WORDS.finditer(text)]
    for found, after in zip(words, [*words[1:], None], strict=False):
        kind = _kind(found[0])
        if kind in ("at", "the", "from"):
            numbered = after and (after[0][0].isdigit() or _kind(after[0]) in ("nth", "noon"))
            kind = "on" if numbered else ""
        if kind in (*_RECURRING, "on"):
            yield found.start()


def may_recur(text: str) -> bool:
    """Whether any word of a text is one of those that say that something comes round."""
    return any(_kind(word) in _RECURRING for word in _WORDS.findall(text))


def instruction(text: str, now: datetime = datetime.min, days: Schedule | None = None) -> Reading:
    """When, and what: the schedule that a text begins with and the rest of it.

    All words before a colon belong to the schedule; without one, the rest may not begin as if it
    went on with it. `now` and `days` are those of `schedule`.
    """
    reader = _read(text, _RHYTHM, now, days)
    found = reader.schedule()
    if found.word or not found.end:
        return found if found.word else reader.stuck()
    rest, word = reader.behind(text, whole=True)
    if word:
        return Reading(end=found.end, word=word)
    if found.schedule is None:
        words = text[: found.end].strip()
        cure = f"It does not say on which days; write “every day {words}:”"
        return Reading(end=found.end, word=words, cure=cure)
    return replace(found, rest=rest)


def moment(text: str, now: datetime, *, whole: bool = False) -> Reading:
    """The one time to come that a text begins with, on the local clock: "in 20 minutes", "tomorrow
    at 9", "next Monday at 10", "at 17:00", "2026-11-27 18:40"; and the rest of the text.

    If `whole`, all words before a colon belong to the time.
    """
    reader = _read(text, _MOMENT, now)
    if reader.fault[0]:
        return Reading(None, 0, *reader.fault)
    if not (reader.due or reader.once or reader.times or reader.parts):
        return Reading(word=reader.first_unknown())
    rest, word = reader.behind(text, whole=whole or not reader.is_timed)
    found = Reading(None, reader.end, word, BEHIND_COLON if word else "", rest=rest)
    if reader.due or word:
        return replace(found, due=reader.due, is_timed=True)
    words, part = text[: reader.end].strip(), next(iter(reader.parts), None)
    at = in_part(reader.times[0], part) if reader.times else time(part) if part else NINE
    if at is None:
        return Reading(word=words, cure="The time is not in that part of it")
    day = reader.once or now.date()
    ends_today = day == now.date() and not reader.is_dated
    due = datetime.combine(day, at)
    is_of_night = part in (EVENING, NIGHT) and at < SIX and (day != now.date() or due <= now)
    if is_of_night or (at == time.min and ends_today):
        due += DAY  # the midnight that ends it, or the hours behind that
    if reader.zone:
        due = due.replace(tzinfo=zone_of(reader.zone)).astimezone().replace(tzinfo=None)
    if due > now:
        return replace(found, due=due, is_timed=bool(reader.times))
    again = f"Say “tomorrow at {at:%H:%M}{reader.zone and f' {reader.zone}'}”"
    if at.hour < NOON and (due + HALF_A_DAY > now) and not (reader.halved or part or reader.zone):
        again += f" or “today at {due + HALF_A_DAY:%H:%M}”"
    return Reading(
        end=reader.end,
        word=words,
        cure=again if day == now.date() else "Name a time to come",
        passed=True,
    )


def begins_with_time(text: str) -> str:
    """The first words of a text that begins as if it said when; empty if it does not."""
    return _Reader(text).goes_on(text)


def _read(
    text: str,
    productions: Sequence["_Production"],
    now: datetime = datetime.min,
    days: Schedule | None = None,
) -> "_Reader":
    """Read the time that a text begins with, also one whose time of day stands behind a colon:
    "Mondays: 14:00 call the office"."""
    reader = _Reader(text, now, days)
    reader.read(productions)
    colon = _COLON.match(text, reader.end)
    if reader.end and colon and not reader.is_timed:
        behind = _Reader(text[colon.end() :])
        if behind._ahead(_pattern("clock | at CLOCK")):
            reader = _Reader(text[: reader.end] + " " * len(colon[0]) + behind._text, now, days)
            reader.read(productions)
    return reader


def time_at_the_end(text: str) -> str:
    """The time of day that a text ends with, such as "at 17:00"; empty if it ends with none."""
    text = text.rstrip(" .!?")
    for word in _WORDS.finditer(text):
        reader = _Reader(text[word.start() :], ANCHOR)
        reader.read(_MOMENT)
        reaches = word.start() + reader.end == len(text)
        if reaches and reader.times and not (reader.once or reader.due):
            return text[word.start() :]
    return ""


def sure_times(text: str) -> str:
    """The first words of a text that name a time of day or a rhythm; empty if none do."""
    kinds = ("clock", "noon", "part", "every", "day", "zone")
    return next((token.word for token in _tokens(text) if token.kind in kinds), "")


def in_figures(text: str) -> str:
    """The text with its times of day in figures: "half past seven" is "7:30"."""
    words = re.findall(r"[\w']+", text.lower())
    if "pm" not in words and {*map(_kind, words)}.isdisjoint([*_IN_WORDS, "oclock"]):
        return text
    parts, end = list[str](), 0
    for word in _WORDS.finditer(text):
        if word.start() < end or not (word[0].isdigit() or _kind(word[0]) in _BEGINS):
            continue
        tokens = _tokens(text[word.start() : word.start() + LONGEST])
        first = bool(tokens) and tokens[0].kind == "at"
        named, after = [*tokens[first : first + 2], None, None][:2]
        if named is None or named.kind != "clock":
            continue
        said = named.word.lower().split()
        is_worded = said[0].isalpha() or not {*map(_kind, said)}.isdisjoint(_IN_WORDS)
        is_sure = first or named.value.minute % 5 == 0  # "two past four of us"
        if is_worded and is_sure and not (after and after.kind == "num"):  # "acht Uhr dreißig"
            hour, half = named.value.hour, ""
            if said[-1] == "pm":
                hour, half = hour % 12 or 12, " pm"
            parts += text[end : word.start() + named.start], f"{hour}:{named.value:%M}{half}"
            end = word.start() + named.end
    return "".join([*parts, text[end:]])


# Tokens


@functools.cache
def _connectives() -> frozenset[str]:
    """Words no task begins with: behind a schedule they mean to say more of it."""
    return frozenset(" ".join(language.connectives for language in languages().values()).split())


@functools.cache
def _words() -> dict[str, tuple[Meaning, ...]]:
    """By each word, in lower case, the tokens it stands for."""
    known: dict[str, tuple[Meaning, ...]] = {}
    for language in languages().values():
        for word, meanings in _vocabulary(language) if language.schedule else ():
            known.setdefault(word, meanings)
    return known


def _vocabulary(language: Language) -> Iterator[tuple[str, tuple[Meaning, ...]]]:
    """The words of a language, and what they stand for."""
    for tokens, words in language.schedule.items():
        yield from ((word, tuple(map(_meaning, tokens.split()))) for word in words.split())
    for kind, listed in (("month", language.months), ("num", language.numbers)):
        for number, words in enumerate(listed.split(), start=1):
            yield from ((word, ((kind, number, False),)) for word in words.split("|"))
    for number, words in enumerate(language.weekdays.split()):
        for word in words.split("|"):
            yield word, (("day", number, False),)
            yield f"{word}s", (("day", number, True),)
            for part, token in language.compounds.items():  # "freitagabend"
                yield f"{word}{part}", (("day", number, False), _meaning(token))


def _meaning(token: str) -> Meaning:
    """A token as `languages.toml` writes it: "unit=hour+"."""
    kind, _, value = token.rstrip("+").partition("=")
    made: Any = int(value) if value.lstrip("-").isdigit() else value
    return kind, time(made) if kind == "noon" else made, token.endswith("+")


def _kind(word: str) -> str:
    """The kind of a word within a text; that of "Fridays" and "weekends" is "every"."""
    if _ORDINAL.fullmatch(word):
        return "ord"
    kind, _, plural = _words().get(word.lower(), (("", "", False),))[0]
    return "every" if plural and kind in ("day", "kind") else kind


def _tokens(text: str) -> list[Token]:
    """The words of a text, until one that no schedule has; "half past nine" is one of them."""
    tokens: list[Token] = []
    for token in _single_tokens(text):
        if token.kind == "oclock" and not (tokens and tokens[-1].kind == "num"):
            break  # "Uhr" alone is a watch
        tokens.append(token)
        match [last.kind for last in tokens[-4:]]:
            case [*_, "in" | "every", "clock"] if _RE["hours"].fullmatch(token.word):
                minutes = token.value.hour * 60 + token.value.minute
                tokens[-1:] = [
                    replace(token, kind="num", value=minutes),
                    replace(token, kind="unit", value="minute"),
                ]
            case [*_, "num" | "clock", "pm"]:
                before = _time(tokens[-2])
                _join(tokens, 2, before and clock(before.hour, before.minute, "pm"), text)
            case ["num", "past" | "before" as side, "halfto", "num" | "clock"]:
                minutes = tokens[-4].value * (1 if side == "past" else -1)
                _join(tokens, 4, _near(token, minutes - 30), text)
            case [*_, "halfto", "num" | "clock"]:
                _join(tokens, 2, _near(token, -30), text)
            case [*_, "num", "oclock"]:
                _join(tokens, 2, _time(tokens[-2]), text)
            case [*_, "num", "past", "num" | "clock"]:
                _join(tokens, 3, _near(token, tokens[-3].value), text)
            case [*_, "num", "before", "num" | "clock"]:
                _join(tokens, 3, _near(token, -tokens[-3].value), text)
            case ["at", "num", "to", "num" | "clock"] if tokens[-3].value in _TO_THE_HOUR:
                _join(tokens, 3, _near(token, -tokens[-3].value), text)
            case [*before, share, side, "num" | "clock"] if minutes := _NEAR_THE_HOUR.get(
                (share, side)
            ):
                _join(tokens, 4 if before == ["a"] else 3, _near(token, minutes), text)
    return tokens


def _join(tokens: list[Token], size: int, at: time | None, text: str) -> None:
    """Make the last tokens one time of day, if they name one."""
    if at:
        start, end = tokens[-size].start, tokens[-1].end
        tokens[-size:] = [Token("clock", at, start, end, text[start:end])]


def _time(token: Token) -> time | None:
    """The time of day that a token names, also by a number alone."""
    if token.kind == "num":
        return time(token.value) if token.value < 24 else None
    return token.value  # type: ignore[no-any-return]


def _near(token: Token, minutes: int) -> time | None:
    """The time that many minutes from a full hour; None if it is not a full hour, or too far.

    Before one o'clock it is noon that has passed."""
    hour = _time(token)
    if hour is None or hour.minute or abs(minutes) >= 60:
        return None
    near = datetime.combine(date.min + DAY, hour) + timedelta(minutes=minutes)
    return near.replace(hour=12).time() if (hour.hour, near.hour) == (1, 0) else near.time()


def _single_tokens(text: str) -> Iterator[Token]:
    """The words of a text one by one."""
    at = 0
    while found := _RE["token"].match(text, at + len(_SPACE.match(text, at)[0])):  # type: ignore[index]
        at, word = found.end(), found[0]
        meanings: tuple[Meaning, ...]
        match found.lastgroup:
            case "word":
                meanings = _words().get(word.lower(), ())
                if (
                    meanings
                    and text[at : at + 1] == "."
                    and meanings[0][0] in ("day", "month", "unit")
                ):
                    at += len(word) <= 5  # "Sept."
            case "joint":
                meanings = (({"&": "and", ",": "comma"}.get(word, "to"), word, False),)
            case "pm":
                meanings = (("pm", word, False),)
            case _:
                meaning = _figure(found)
                meanings = ((*meaning, False),) if meaning else ()
        if not meanings:
            return
        for kind, value, plural in meanings:
            yield Token(kind, value, found.start(), at, word, plural)


def zone_at(text: str, place: int) -> str:
    """The zone that a text names at a place, behind a time of day; empty if it names none."""
    found = _RE["token"].match(text, place + len(_SPACE.match(text, place)[0]))  # type: ignore[index]
    kind, value = (found and (found["zone"] or found["offset"]) and _figure(found)) or ("", "")
    return value if kind == "zone" else ""


def _figure(found: re.Match[str]) -> tuple[str, Any] | None:
    """A date, a zone, a time of day, an ordinal, a year or a number; None for one that no calendar
    or clock shows."""
    if found["iso"]:
        return "date", [int(number) for number in found["iso"].split("-")][::-1]
    if found["dotted"]:
        return "date", [int(number) for number in re.findall(r"\d+", found[0])]
    if found["offset"]:
        sign, hours, minutes = found["sign"], int(found["hours"]), found["minutes"] or "00"
        return ("zone", f"{sign}{hours:02}:{minutes}") if hours < 15 else None
    if found["zone"]:
        name = _ABBREVIATED.get(found[0].lower(), found[0])
        return ("zone", name) if name == "UTC" or name in available_timezones() else None
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if found["nth"] or found["dot"]:
        return "ord", hour
    if not (found["half"] or found["sep"] or found["clock"]):
        return "year" if 2000 <= hour < 2100 else "num", hour
    at = clock(hour, minute, found["half"] or "")
    return None if at is None else ("clock", at)


def clock(hour: int, minute: int, half: str = "") -> time | None:
    """A time of day, by the half of it ("am", "p.m.") if one is said; None if no clock shows it."""
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * half.lower().startswith("p")
    return time(hour, minute) if hour < 24 else None


def in_part(at: time, part: int | None) -> time | None:
    """A time within a part of the day; None if it is not in it."""
    if not part:
        return at
    if at.hour in _PM.get(part, ()):
        return at.replace(hour=at.hour + 12)
    return at if part not in _WITHIN or at.hour in _WITHIN[part] else None


class _Words(list[Token]):
    """The tokens that a pattern took."""

    def values(self, *kinds: str) -> list[Any]:
        return [token.value for token in self if token.kind in kinds]

    def has(self, kind: str) -> bool:
        return any(token.kind == kind for token in self)

    def weekdays(self) -> list[str]:
        if self.has("working"):
            return WORKING
        if kinds := self.values("kind"):
            return str(kinds[0]).split(",")
        days = self.values("day")
        if self.has("to"):
            days = [(days[0] + n) % 7 for n in range((days[1] - days[0]) % 7 + 1)]
        return [CODES[day] for day in days]

    def clocks(self) -> list[time]:
        """Its times of day; none, if one of them is none.

        Those before a "pm" are meant so too where that is earlier: "7 and 9 pm", "11 and 1 pm".
        """
        times = list[time]()
        says_pm = False
        for token in reversed(self):
            if token.kind not in ("clock", "noon", "num"):
                continue
            if (at := _time(token)) is None:
                return []
            if token.half:
                says_pm = token.half == "p"
            elif says_pm and at.hour + 12 < times[0].hour:
                at = at.replace(hour=at.hour + 12)
            times.insert(0, at)
        return times

    def day_of_year(self) -> tuple[int, int, int] | None:
        """Year (or 0), month and day; None for a day that no calendar has."""
        if dates := self.values("date"):
            day, month, year = (*dates[0], 0)[:3]
        else:
            (month,), (day,) = self.values("month"), self.values("num", "ord")
            year = (self.values("year") or [0])[0]
        try:
            date(year or 2024, month, day)  # a leap year
        except ValueError:
            return None
        return year, month, day


# The grammar


class _Reader:
    """Reads the tokens that a text begins with, by productions, and keeps what they add up to.

    A production is given the tokens that its pattern took, and says whether they fit to what was
    read before.
    """

    def __init__(
        self, text: str, now: datetime = datetime.min, days: Schedule | None = None
    ) -> None:
        self._text = text[:LONGEST]
        self._now = now
        self._on_days = days
        self._tokens = _tokens(with_plain_am(self._text))
        self._kinds = "".join(f"{token.kind}_" for token in self._tokens)
        sizes = (len(token.kind) + 1 for token in self._tokens)
        self._places = list(itertools.accumulate(sizes, initial=0))
        self._at = self.end = 0
        self._unit, self._count = "", 1
        self._days: list[str] = []
        self._setpos = self._month = 0
        self._monthdays: list[int] = []
        self._window: tuple[time, time] | None = None
        self._begins: date | None = None
        self._lone = ""
        """A weekday without a word that says it comes round."""
        self.fault = ("", "")
        """Words that cannot be a time, and what to write in their place."""
        self.once: date | None = None
        self.is_dated = False
        """Whether the one day is named by its date."""
        self.times: list[time] = []
        self._is_of_night = False
        """Whether a time lies behind the midnight that ends a day."""
        self.halved: list[time] = []
        """Those times that say "am"; of one time also "pm"."""
        self._settled = 0
        """How many of those times lie in a part of the day that is said."""
        self.parts: list[int] = []
        """Parts of the day for which no time is said."""
        self.zone = ""
        self.due: datetime | None = None
        """A moment to the minute, behind which nothing can be said."""

    @property
    def is_timed(self) -> bool:
        """Whether a time of day was read, or an interval."""
        return bool(self.times or self.due or self._unit in _MINUTES)

    def behind(self, text: str, *, whole: bool) -> tuple[str, str]:
        """What follows the time in a text, and those words of it that say more of the time.

        Behind a colon it is a text in any words. If `whole`, no word may stand before one.
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
        return rest, self.goes_on(rest) or ("" if is_known else word)

    def goes_on(self, text: str) -> str:
        """The first words of a text that goes on as if it said more of the time; empty if not."""
        rest = text.lstrip(" ,(")
        word, following = [*(part.strip(":,") for part in rest.split()[:2]), "", ""][:2]
        kinds = [token.kind for token in _tokens(rest[:LONGEST])]
        says_when = not {*kinds} <= {*_ARTICLES, *_PREPOSITIONS}
        if _kind(word) in _PREPOSITIONS:
            says_when |= not (self.times or self.due)
        elif _kind(word) not in _ARTICLES:
            says_when |= word.lower() in _connectives() or bool(_RE["zonelike"].match(rest))
        if not says_when:
            return ""
        return f"{word} {following}" if _kind(word) == "at" or following[:1].isdigit() else word

    def first_unknown(self) -> str:
        """The beginning of the text, with the first word that the grammar does not know."""
        end = self._tokens[-1].end if self._tokens else 0
        following = re.match(r"\s*(?:[^\s:,]|:(?=\d))*", self._text[end:])
        return self._text[: end + len(following[0] if following else "")].strip()

    def stuck(self) -> Reading:
        """Where a text that begins as if it said when says something else."""
        if not self._tokens or self._tokens[0].kind not in ("every", "adverb", "once", "kind"):
            return Reading()
        end = self._tokens[-1].end
        following = re.match(r"\s*([^\s:,]+)", self._text[end:])
        is_begun = len(self._tokens) == 1 or self._tokens[-1].kind == "other"
        return Reading(word=following[1] if following and is_begun else self._text[:end])

    def read(self, productions: Sequence["_Production"]) -> None:
        """Read as long as a production fits, up to the `end` of the words."""
        while not (self.fault[0] or self.due) and self._take(productions):
            pass
        self.end = self._tokens[self._at - 1].end if self._at else 0

    def _take(self, productions: Sequence["_Production"]) -> bool:
        begin = self._at
        if begin:
            self._at += len(self._ahead(_pattern("comma* and?")))
        for pattern, production in productions:
            if self.fault[0]:
                break
            if not (said := self._ahead(pattern)):
                continue
            before = vars(self).copy()
            if production(self, said):
                self._at += len(said)
                return True
            vars(self).update(before, fault=self.fault)  # what does not fit leaves nothing else
        self._at = begin
        return False

    def _ahead(self, pattern: re.Pattern[str]) -> _Words:
        """The next tokens, if they fit a pattern."""
        found = pattern.match(self._kinds, self._places[self._at])
        return _Words(self._tokens[self._at : self._places.index(found.end())] if found else ())

    # What it adds up to

    def schedule(self) -> Reading:
        """What was read, as a schedule."""
        words = self._text[: self.end].strip()
        made = self._schedule(words) if words and not self.fault[0] else None
        return Reading(None, self.end, *self.fault) if self.fault[0] else Reading(made, self.end)

    def _schedule(self, words: str) -> Schedule | None:
        """What was read, as a schedule; None if it is none, or has a fault."""
        times = tuple(sorted({*self.times, *map(time, self.parts)})) or (NINE,)
        timed = bool(self.times)
        if self._lone:
            self.fault = self._lone, ONE_DAY
        if self._is_of_night and (self._days or self._monthdays or self.once):
            self.fault = words, NEXT_DAY
        if self.once:
            return Schedule(once=self.once, times=times, zone=self.zone, is_timed=timed)
        if self._unit in _MINUTES:
            if self._monthdays or self.zone or self._begins:
                return None
            every = timedelta(minutes=_MINUTES[self._unit] * self._count)
            return interval(every, self._window, self._days)
        if self._unit == "day" and self._days and self._count > 1:
            self._unit, (self._count, days) = "week", divmod(self._count, 7)
            if days:
                self.fault = words, WHOLE_WEEKS
        dated = bool(self._days or self._monthdays or self._begins or self._unit == "day")
        if self._count > 1 and not self._begins and self._now > datetime.min:
            self._begins = self._first_day(times)
        if not (rule := self._rule(self._count)):
            return self._at_times_of(self._on_days) if self._on_days and timed else None
        if self._count > 1 and not self._begins:
            self.fault = words, FROM_WHEN
        return Schedule(
            rule, times, begins=self._begins, zone=self.zone, is_timed=timed, is_dated=dated
        )

    def _at_times_of(self, days: Schedule) -> Schedule:
        """Another schedule at the times that were read, in its part of the day if it names one."""
        part = days.times[0].hour if days.times else None
        times = {at if at in self.halved else in_part(at, part) or at for at in self.times}
        zone = self.zone or days.zone
        return replace(days, times=tuple(sorted(times)), zone=zone, is_timed=True)

    def _first_day(self, times: tuple[time, ...]) -> date | None:
        """The next day of the rule with an interval of one."""
        rule = self._rule(1) if self._has_day else "FREQ=DAILY"
        first = Schedule(rule, times, zone=self.zone).following(self._now)
        if first and self.zone:
            first = first.astimezone(zone_of(self.zone))
        return first.date() if first else None

    def _rule(self, count: int) -> str:
        """The RRULE of the days, each `count` units."""
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

    def _each(self, unit: str, count: int = 1) -> bool:
        """Take a unit; False if another one is said."""
        if unit == "fortnight":
            unit, count = "week", count * 2
        if self._unit:
            return self._unit == unit and count == 1  # "on the 1st of every month"
        self._unit, self._count = unit, count
        return True

    def _fails(self, said: _Words, cure: str) -> bool:
        """Note that these words are a time that cannot be."""
        self.fault = self._text[said[0].start : said[-1].end], cure
        return False

    @property
    def _has_day(self) -> bool:
        return bool(self._days or self._monthdays or self.once)

    def except_days(self, said: _Words) -> bool:
        kept = [code for code in self._days or CODES if code not in said.weekdays()]
        if self._monthdays or self.once or self._unit in ("month", "year") or not kept:
            return False
        if not self._days and self._unit == "week":
            return False
        self._days = kept
        return True

    def window(self, said: _Words) -> bool:
        times = said.clocks()
        if not times or self._unit not in _MINUTES or self._window:
            return False
        self._window = times[0], times[1]
        return True

    def begins(self, said: _Words) -> bool:
        found = said.day_of_year()
        if found is None or not found[0]:
            return False
        self._begins = date(*found)
        return True

    def nth(self, said: _Words) -> bool:
        """The first Monday of the month, the last day of each month, every first Monday."""
        nth = said.values("nth", "ord")[0]
        *units, of = said.values("unit") or [""]
        if said[-1].kind == "day" and nth in (1, -1) and said.has("every"):
            of = "month"
        if of != "month" or nth > 5 or self._days or self._monthdays:
            return False
        if units == ["day"]:
            self._monthdays = [nth]
        elif said.has("kind") and said.weekdays() == WORKING:
            self._days, self._setpos = WORKING, nth
        elif said.has("day"):
            self._days = [f"{nth}{code}" for code in said.weekdays()]
        else:
            return False
        return self._each("month")

    def date(self, said: _Words) -> bool:
        """A day of the year, or one day."""
        found = said.day_of_year()
        if found is None:
            return self._fails(said, NO_DAY)
        if self._has_day:
            return False
        year, self._month, day = found
        if year:
            self.once = date(*found)
            return not self._unit
        self._monthdays = [-1 if (self._month, day) == (2, 29) else day]
        return self._each("year")

    def adverb(self, said: _Words) -> bool:
        count, unit = said[0].value.split(",")
        return self._each(unit, int(count))

    def every(self, said: _Words) -> bool:
        if said.has("half") or said.has("quarter"):
            return said[-1].value == "hour" and self._each("minute", 30 if said.has("half") else 15)
        counted = said.values("other", "num", "nth", "ord")
        count = 2 if said.has("other") else counted[0] if counted else 1
        if count == 0:
            return self._fails(said, "Say “every 30 minutes”")
        if said[-1].kind == "unit":
            return self._each(said[-1].value, count)
        if count <= 1 or not self._each("week", count):
            return False
        self._days = said.weekdays()
        return True

    def part_of_every_day(self, said: _Words) -> bool:
        if self._unit not in ("", "day"):
            return False
        self._unit = "day"
        self._add_parts(said)
        self.times += said.values("noon")
        return True

    def monthdays(self, said: _Words) -> bool:
        days, units = said.values("nth", "ord"), said.values("unit")
        if self._has_day or not {*days} <= {-1, *range(1, 32)}:
            return False
        if units not in (["month"], ["day", "month"]) and (units or self._unit != "month"):
            return False
        self._monthdays = days
        return self._each("month")

    def weekdays(self, said: _Words) -> bool:
        if self._has_day or self._unit not in ("", "day", "week", *_MINUTES):
            return False
        if said.values("unit") not in ([], ["day"]):  # "working hours"
            return False
        self._days = said.weekdays()
        one_day = said[-1].kind == "day" and len(self._days) == 1
        is_bare = {token.kind for token in said} <= {"the", "kind"}  # "weekend trip"
        alone = (one_day or is_bare) and not said[-1].plural
        self._lone = said[-1].word if alone and not self._unit and not said.has("every") else ""
        return True

    def part(self, said: _Words) -> bool:
        parts = [token for token in said if token.kind == "part"]
        if (len(said) == 1 and not parts[0].plural and not self._days) or self._unit in _MINUTES:
            return False
        if parts[0].plural and not self._unit and not self._days:
            self._unit = "day"
        self._add_parts(said)
        return True

    def _add_parts(self, said: _Words) -> None:
        """Note parts of the day: more of them behind an "and", or those of the times before: "at 8
        every evening"."""
        self.parts += said.values("part") + [MORNING] * said.has("morgen")
        times = self.times[self._settled :]
        if times and self.parts and self._tokens[self._at - 1].kind != "and":
            del self.times[self._settled :]
            self._add_times(times, self.parts.pop())

    def _add_times(self, times: list[time], part: int | None) -> None:
        """Note times of day, and that they lie in that part of it."""
        for at in times:
            if (meant := in_part(at, part)) is None:
                self.fault = f"{at:%H:%M}", "It is not in that part of the day"
            else:
                self.times.append(meant)
                self._is_of_night |= part in (EVENING, NIGHT) and meant < SIX
        if part is not None:
            self._settled = len(self.times)

    def time_of_day(self, said: _Words) -> bool:
        times = said.clocks()
        if not times or self._unit in _MINUTES:
            return False
        self.halved += [token.value for token in said if token.half == "a"]
        part = self.parts.pop() if self.parts else None
        if named := said.values("part"):
            if part is not None:
                self.fault = said[-1].word, "Two parts of the day are named"
            part = named[0]
        self._add_times(times, part)
        return True

    def in_zone(self, said: _Words) -> bool:
        if self.zone or not self._at:
            return False
        self.zone = said[0].value
        return True

    # Productions of one time

    def in_a_while(self, said: _Words) -> bool:
        """In 20 minutes, in an hour and a half: a time. In three days, in two weeks on Monday: a
        day."""
        weekdays, of_a_week = said.values("day"), said.values("unit") in (["week"], ["fortnight"])
        if self.once or self.times or (weekdays and not of_a_week):
            return False
        if 0 in said.values("num"):
            return self._fails(said, "The time must lie in the future")
        amounts, count, adds = list[tuple[float, str]](), 0.0, False
        for token in said:
            match token.kind:
                case "num":
                    count = token.value
                case "and":
                    adds = True
                case "half" | "quarter":
                    share = 0.5 if token.kind == "half" else 0.25
                    count = count + share if adds else (count or 1) * share
                case "unit":
                    amounts.append((count or 1, token.value))
                    count = 0.0
        amounts[-1] = amounts[-1][0] + count, amounts[-1][1]
        try:
            if all(unit in _MINUTES for _, unit in amounts):
                minutes = sum(count * _MINUTES[unit] for count, unit in amounts)
                due = self._now.astimezone(UTC) + timedelta(minutes=minutes)
                due = due.astimezone().replace(second=0, microsecond=0, tzinfo=None)
                self.due = due if due > self._now else due + timedelta(minutes=1)
                return True
            ((number, unit),) = amounts
            weeks = unit == "fortnight"
            if number != int(number) or unit in _MINUTES:
                return False
            unit, begins = "week" if weeks else unit, self._now.date()
            if weekdays and said[-1].kind == "unit":  # "Monday in a week"
                begins += ((weekdays[0] - begins.weekday() - 1) % 7 + 1) * DAY
            day = later(begins, int(number) * (1 + weeks), unit)
            self.once = day + (weekdays[0] - day.weekday()) * DAY if weekdays else day
        except (OverflowError, ValueError):
            return False
        return True

    def near_day(self, said: _Words) -> bool:
        """Today, tonight, tomorrow, this evening, yesterday."""
        if self.once or said.values("unit") not in ([], ["day"]):
            return False
        kind = said[-1].kind
        if kind == "tonight":
            at = self._kinds.startswith("at_", self._places[self._at + len(said)])
            self.parts = [EVENING if at else NIGHT]
        ahead = {"yesterday": -1, "today": 0, "tonight": 0, "this": 0, "overmorrow": 2}.get(kind, 1)
        ahead += said.has("after")
        self.once = self._now.date() + timedelta(days=ahead)
        return True

    def one_day(self, said: _Words) -> bool:
        """The first day to come that is what they say: Friday, this weekend, 3 December, the 30th,
        the 5th of next month, Friday of next week, next month."""
        today, units, weekdays = self._now.date(), said.values("unit"), said.values("day")
        number, month = (*said.values("ord", "nth"), 0)[0], 0
        first, reach = today, 9 * 366
        if self.once or said[-1].plural:
            return False
        if {token.kind for token in said} <= {"on", "the", "ord", "nth"}:  # "the 5th avenue"
            behind = self._text[said[-1].end :]
            is_followed = self._at + len(said) < len(self._tokens) or _COLON.match(behind)
            if behind and not is_followed and not (said.has("on") and said.has("ord")):
                return False
        if said.has("month") or said.has("date"):
            if (found := said.day_of_year()) is None:
                return self._fails(said, NO_DAY)
            year, month, number = found
            first, reach = (date(*found), 1) if year else (first, reach)
        elif units == ["week"] and not said.has("next"):
            first += 8 * DAY
        elif units:
            begins = {"week": -today.weekday() * DAY, "month": (1 - today.day) * DAY}
            begins["year"] = (1 - today.timetuple().tm_yday) * DAY
            if len(units) > 1 or units[0] not in begins or not said.has("next"):
                return False
            first, reach = later(today + begins[units[0]], 1, units[0]), 31
        elif said.values("kind"):
            if said[-1].value != "SA,SU":
                return False
            weekdays = [5, 6]
        elif weekdays and not number and not said.has("this"):
            first += DAY
        days = (first + ahead * DAY for ahead in range(reach))
        if number:
            named = (day for day in days if day.day == number and month in (0, day.month))
        else:
            named = (day for day in days if not weekdays or day.weekday() in weekdays)
        self.once, self.is_dated = next(named, None), bool(number)
        if self.once is None:
            return self._fails(said, NO_DAY)
        if weekdays and self.once.weekday() not in weekdays:
            self._fails(said, f"{self.once} is a {self.once:%A}")
        return True

    def one_time(self, said: _Words) -> bool:
        times = said.clocks()
        if self.times or not times:
            return False
        self.times = times
        self.halved += [token.value for token in said if token.half]
        return True

    def one_part(self, said: _Words) -> bool:
        if self.parts:
            return False
        self.parts = said.values("part")
        return True


@functools.cache
def _pattern(form: str) -> re.Pattern[str]:
    """A pattern over the kinds of tokens, each of which ends with a line."""
    for name, macro in _data["macros"].items():
        form = form.replace(name, macro)
    return re.compile(re.sub(r"\s*([a-z]+)\s*", r"(?:\1_)", form).replace(" ", ""))


_Production = tuple[re.Pattern[str], Callable[[_Reader, _Words], bool]]


def _grammar(productions: Mapping[str, Sequence[str]]) -> list[_Production]:
    return [
        (_pattern(form), getattr(_Reader, name))
        for name, forms in productions.items()
        for form in forms
    ]


_RHYTHM, _MOMENT = _grammar(_data["rhythm"]), _grammar(_data["moment"])
