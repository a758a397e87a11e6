"""The vocabulary of times: tokens, and the times of day that they name. Pure.

It covers every language that has a `schedule` in `languages.toml`; `wording.py` is the grammar.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from itertools import islice
from typing import Any
from zoneinfo import available_timezones

from assistant.memory.text.times.languages import Language, languages
from assistant.memory.text.times.schedule import ANCHOR, CODES, WORKING
from assistant.tables import patterns, table_of

LONGEST = 300
"""The number of characters in which a time is searched."""
_WITHIN = {8: {*range(13)}, 12: {11, 12, 13, 14}, 15: {*range(12, 21)}, 18: {0, *range(16, 24)}}
_WITHIN |= {21: {*range(18, 24), *range(6)}}
"""The hours of each part of the day; others are meant twelve later: "every evening at 8"."""
SHARES = ("half", "quarter")
"""Kinds of words that are a fraction of an hour."""
_TO_THE_HOUR = (5, 10, 20, 25)
"""Minutes that are allowed as in "at 10 to 8"; "at 9 to 5" is not a time."""
_BEGINS = ("at", "a", "num", "half", "quarter", "halfto")
_data = table_of(__file__)
_RE = patterns(_data["patterns"])
WORD = re.compile(r"(?<![\w-])\w+")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
Meaning = tuple[str, Any, bool]
"""The meaning of a word: the kind of token, its value, and whether it is a plural."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or sign of a time: its kind, its value, and its position."""

    kind: str
    value: Any
    start: int
    end: int
    word: str
    plural: bool = False

    @property
    def sign(self) -> str:
        """What a pattern matches: its kind, and the value of a unit."""
        return f"<unit={self.value}>" if self.kind == "unit" else f"<{self.kind}>"

    @property
    def half(self) -> str:
        """The half of the day that its word names, "a" or "p"; "" if none."""
        match = _RE["half"].search(self.word)
        return match[0][0].lower() if match else ""


@functools.cache
def pattern(form: str) -> re.Pattern[str]:
    """Compile a pattern over the signs of tokens; `unit` is any unit, `unit=week` that one."""
    signs = re.sub(r"\s*([a-z]+(?:=[a-z]+)?)\s*", r"(?:<\1>)", form).replace(" ", "")
    return re.compile(signs.replace("<unit>", r"<unit=\w+>"))


def matched(form: re.Pattern[str], tokens: Sequence[Token], begin: int = 0) -> "Words":
    """Return the tokens, from `begin` on, that match a pattern; none if it does not match."""
    signs = [token.sign for token in tokens]
    match = form.match("".join(signs), len("".join(signs[:begin])))
    return Words(tokens[begin : begin + match[0].count(">")] if match else ())


@functools.cache
def connectives() -> frozenset[str]:
    """Return the words that no task begins with: after a schedule they must belong to it."""
    return frozenset(" ".join(language.connectives for language in languages().values()).split())


@functools.cache
def _words() -> dict[str, tuple[Meaning, ...]]:
    """Return the tokens of each word, in lower case."""
    known: dict[str, tuple[Meaning, ...]] = {}
    for language in languages().values():
        for word, meanings in _vocabulary(language) if language.schedule else ():
            known.setdefault(word, meanings)
    return known


def _vocabulary(language: Language) -> Iterator[tuple[str, tuple[Meaning, ...]]]:
    """Yield the words of a language with their meanings."""
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
    """Parse a token of `languages.toml`: "unit=hour+"."""
    kind, _, value = token.rstrip("+").partition("=")
    made: Any = int(value) if value.lstrip("-").isdigit() else value
    return kind, time(made) if kind == "noon" else made, token.endswith("+")


def kind_of(word: str) -> str:
    """Return the kind of a word in a text; that of "Fridays" and "weekends" is "every"."""
    if _ORDINAL.fullmatch(word):
        return "ord"
    kind, _, plural = _words().get(word.lower(), (("", "", False),))[0]
    return "every" if plural and kind in ("day", "workday", "weekend") else kind


def tokens(text: str) -> list[Token]:
    """Return the tokens of a text, up to the first unknown word; "half past nine" is one token."""
    tokens: list[Token] = []
    single = [*_single_tokens(text)]
    while single:
        before = tokens[-1].kind if tokens else ""
        token, size = _in_words(single, before) or (single[0], 1)
        if token.kind == "oclock":
            break  # "Uhr" alone is a watch
        if before in ("in", "every") and _RE["hours"].fullmatch(token.word):
            minutes = token.value.hour * 60 + token.value.minute
            tokens.append(replace(token, kind="num", value=minutes))
            token = replace(token, kind="unit", value="minute")
        tokens.append(token)
        del single[:size]
    return tokens


def _in_words(tokens: Sequence[Token], before: str) -> tuple[Token, int] | None:
    """Merge the first tokens into a time of day, and count them: "half past nine", "fünf vor halb
    acht", "ten pm". `before` is the kind of the preceding token.

    An hour before one is noon.
    """
    time_words = matched(pattern(_data["worded"]), tokens[:7])
    if len(time_words) < 2:
        return None
    *shares, hour = (token for token in time_words if token.kind in ("num", "clock", *SHARES))
    minutes = sum(share.value for share in shares)
    is_named = before == "at" and minutes in _TO_THE_HOUR
    if time_words.has("to") and shares[0].kind == "num" and not is_named:
        return None
    minutes *= -1 if time_words.has("to") or time_words.has("before") else 1
    minutes -= 30 * time_words.has("halfto")
    at = _time(hour)
    if at is None or abs(minutes) >= 60 or (minutes and at.minute):
        return None
    near = datetime.combine(ANCHOR, at) + timedelta(minutes=minutes)
    near = near.replace(hour=12) if (at.hour, near.hour) == (1, 0) else near
    meant = clock(near.hour, near.minute, "pm" if time_words.has("pm") else "")
    words = " ".join(token.word for token in time_words)
    return (
        (Token("clock", meant, time_words[0].start, time_words[-1].end, words), len(time_words))
        if meant
        else None
    )


def _time(token: Token) -> time | None:
    """Return the time of day that a token names, even as a bare number."""
    if token.kind == "num":
        return time(token.value) if token.value < 24 else None
    return token.value  # type: ignore[no-any-return]


def _single_tokens(text: str) -> Iterator[Token]:
    """Yield the words of a text one by one."""
    at = 0
    while token_match := _RE["token"].match(text, at):
        at, word = token_match.end(), token_match[0].lstrip()
        start = at - len(word)
        meanings: tuple[Meaning, ...]
        match token_match.lastgroup:
            case "word":
                meanings = _words().get(word.lower(), ())
                is_short = len(word) <= 5 and {"day", "month", "unit"} & {
                    kind for kind, *_ in meanings
                }
                at += bool(is_short) and text[at : at + 1] == "."  # "Sept."
            case "joint":
                meanings = (({"&": "and", ",": "comma"}.get(word, "to"), word, False),)
            case "pm":
                meanings = (("pm", word, False),)
            case _:
                meaning = _figure(token_match)
                meanings = ((*meaning, False),) if meaning else ()
        if not meanings:
            return
        for kind, value, plural in meanings:
            yield Token(kind, value, start, at, word, plural)


def zone_at(text: str, position: int) -> str:
    """Return the time zone at a position of a text, after a time of day; "" if there is none."""
    match = _RE["token"].match(text, position)
    figure = match and (match["zone"] or match["offset"]) and _figure(match)
    return str(figure[1]) if figure else ""


def _figure(match: re.Match[str]) -> tuple[str, Any] | None:
    """Return a date, a zone, a time of day, an ordinal, a year or a number; None if it does not
    exist in a calendar or on a clock."""
    if match["iso"]:
        return "date", [int(number) for number in match["iso"].split("-")][::-1]
    if match["numbered"]:
        return "date", [int(number) for number in re.findall(r"\d+", match[0])]
    if match["offset"]:
        sign, hours, minutes = match["sign"], int(match["hours"]), match["minutes"] or "00"
        return ("zone", f"{sign}{hours:02}:{minutes}") if hours < 15 else None
    if match["zone"]:
        name = _data["zones"].get(match["zone"].upper(), match["zone"])
        return ("zone", name) if name == "UTC" or name in available_timezones() else None
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    if match["nth"] or match["dot"]:
        return "ord", hour
    if not (match["half"] or match["sep"] or match["clock"]):
        return "year" if 2000 <= hour < 2100 else "num", hour
    at = clock(hour, minute, match["half"] or "")
    return None if at is None else ("clock", at)


def clock(hour: int, minute: int, half: str = "") -> time | None:
    """Return a time of day, in `half` ("am", "p.m.") if given; None if it does not exist."""
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * half.lower().startswith("p")
    return time(hour, minute) if hour < 24 else None


def in_part(at: time, part: int | None) -> time | None:
    """Return a time within a part of the day; None if it is outside."""
    hours = _WITHIN.get(part or 0, {at.hour})
    if at.hour in hours:
        return at
    return at.replace(hour=at.hour + 12) if at.hour + 12 in hours else None


class Words(list[Token]):
    """The tokens that matched a pattern."""

    def values(self, *kinds: str) -> list[Any]:
        return [token.value for token in self if token.kind in kinds]

    def has(self, kind: str) -> bool:
        return any(token.kind == kind for token in self)

    def weekdays(self) -> list[str]:
        if self.has("working") or self.has("workday"):
            return WORKING
        if self.has("weekend"):
            return ["SA", "SU"]
        days = self.values("day")
        if self.has("to"):
            days = [(days[0] + n) % 7 for n in range((days[1] - days[0]) % 7 + 1)]
        return [CODES[day] for day in days]

    def clocks(self) -> list[time]:
        """Return its times of day; none if any of them is invalid.

        Those before a "pm" are p.m. too if earlier: "7 and 9 pm", "11 and 1 pm".
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
        """Return year (or 0), month and day; None for a day that is not in the calendar."""
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


def sure_times(text: str) -> str:
    """Return the first word of a text that names a time of day or a rhythm; "" if none does."""
    kinds = ("clock", "noon", "part", "parts", "every", "day", "zone")
    return next((token.word for token in tokens(text) if token.kind in kinds), "")


MOST_TOKENS = 9
"""The number of tokens that are read for a time in words: "at", seven of the time, one after."""


def in_figures(text: str) -> str:
    """Return the text with its times of day in figures: "half past seven" becomes "7:30"."""
    parts, end = list[str](), 0
    for word in WORD.finditer(text):
        if word.start() < end or not (word[0].isdigit() or kind_of(word[0]) in _BEGINS):
            continue
        following = _single_tokens(text[word.start() : word.start() + LONGEST])
        tokens = [*islice(following, MOST_TOKENS)]
        first = bool(tokens) and tokens[0].kind == "at"
        token, size = _in_words(tokens[first:], "at" if first else "") or (None, 0)
        after = [token.kind for token in tokens[first + size :][:1]]
        if token and after != ["num"]:  # "acht Uhr dreißig"
            hour, half = token.value.hour, ""
            if token.word.endswith("pm"):
                hour, half = hour % 12 or 12, " pm"
            parts += text[end : word.start() + token.start], f"{hour}:{token.value:%M}{half}"
            end = word.start() + token.end
    return "".join([*parts, text[end:]])
