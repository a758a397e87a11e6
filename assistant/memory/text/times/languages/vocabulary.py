"""How a language's words for dates are written down, as patterns; `foreign.py` says what they mean.

In a form, D, M, Y stand for a day, a month, a year, W for a weekday, U for a unit of time, N for a
number, T for a unit or a weekday. A word that only might be a date is in no form.
"""

from dataclasses import dataclass

DAY, WEEK, MONTH, YEAR = "day", "week", "month", "year"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of a language. Months and weekdays are in their order, numbers from one up.

    `days` are so many days from today; `shifted` says of a unit or weekday that it is the last
    (-1), this (0) or the next (1); `weeks` and `spans` are whole words for that. `bare` is a
    weekday without any of these, such as one looks forward to. `telling` words are those by which
    the language is known; other texts are asked for full dates alone.
    """

    months: str
    weekdays: str
    units: dict[str, str]
    numbers: str
    days: dict[str, int]
    shifted: tuple[tuple[int, str], ...]
    ago: str
    bare: str
    full: str
    yearless: str
    month: str = ""
    year: str = ""
    any_month: str = ""
    weeks: tuple[tuple[int, str], ...] = ()
    spans: tuple[tuple[int, str, str], ...] = ()
    before: str = r"(?<!\w)"
    after: str = r"(?!\w)"
    telling: str = ""


NO_LONGER_NUMBER = "(?<![一二三四五六七八九十百の])"
"""No part of a longer number."""
NUMBERED_MONTHS = "0?1 0?2 0?3 0?4 0?5 0?6 0?7 0?8 0?9 10 11 12"
