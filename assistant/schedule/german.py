"""The words of a schedule in German, as the English ones that `words.py` reads. Pure."""

import calendar
import re
from dataclasses import dataclass

LONGEST = 300
"""Characters in which a schedule is looked for."""
_DAYS = ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag")
_MONTHS = (
    *("januar", "februar", "märz", "april", "mai", "juni"),
    *("juli", "august", "september", "oktober", "november", "dezember"),
)
_FORMS = {
    r"(?:ein)?mal\s+(?:pro|am|im|in\s+der)": "once a",
    r"(?:eines\s+jeden|jedes|des|im)\s+monats?": "of every month",
    r"(?:an\s+)?(?:werk|wochen)tagen|(?:werk|wochen)tags": "weekdays",
    r"(?:werk|arbeits)tag": "weekday",
    r"(?:am|an|jedes)\s+wochenenden?": "weekends",
    r"(?:14|vierzehn)-?tägig|zweiwöchentlich": "fortnightly",
    r"halbe\s+stunde": "half hour",
    r"viertelstunde": "quarter hour",
    r"(?:morgens|vormittags)": "every morning",
    r"mittags": "every noon",
    r"nachmittags": "every afternoon",
    r"abends": "every evening",
    r"nachts": "every night",
    r"jede[nrsm]?|alle": "every",
    r"erste[nrms]?": "first",
    r"zweite[nrms]?": "second",
    r"dritte[nrms]?": "third",
    r"vierte[nrms]?": "fourth",
    r"letzte[nrms]?": "last",
    r"minuten?": "minutes",
    r"stunden?": "hours",
    r"tage?": "day",
    r"wochen?": "week",
    r"monate?": "month",
    r"jahre?": "year",
}
_WORDS = {
    **dict(zip(_DAYS, calendar.day_name, strict=True)),
    **{f"{day}s": f"{name}s" for day, name in zip(_DAYS, calendar.day_name, strict=True)},
    **dict(zip(_MONTHS, calendar.month_name[1:], strict=True)),
    **{"sonnabend": "Saturday", "sonnabends": "Saturdays", "jänner": "January"},
    **{"morgen": "morning", "vormittag": "morning", "mittag": "noon", "mitternacht": "midnight"},
    **{"nachmittag": "afternoon", "abend": "evening", "nacht": "night"},
    **{"zwei": "two", "drei": "three", "vier": "four", "fünf": "five", "sechs": "six"},
    **{"acht": "eight", "zehn": "ten", "zwanzig": "twenty", "dreißig": "thirty"},
    **{"täglich": "daily", "stündlich": "hourly", "wöchentlich": "weekly"},
    **{"monatlich": "monthly", "jährlich": "yearly", "uhr": "o'clock", "um": "at", "am": "on"},
    **{"an": "on", "den": "the", "dem": "the", "von": "from", "bis": "to", "und": "and"},
    **{"oder": "or", "zwischen": "between"},
}
_ORDINAL = r"(?<=\d)\.(?=\s*(?:[,:]|und\b|[a-zäöü]))"
_PARTS = "abend|morgen|vormittag|nachmittag|mittag|nacht"
_NAMED = rf"(?P<weekday>{'|'.join(_DAYS)}|sonnabend)(?P<part>{_PARTS})"
_WORD = re.compile(
    rf"(?<!\w)(?:{_NAMED}|{'|'.join([*_FORMS, *sorted(_WORDS, key=len, reverse=True)])})(?!\w)"
    rf"|{_ORDINAL}",
    re.IGNORECASE,
)
STARTS = (
    r"jede[nrsm]?\s|alle\s+(?:\d|[a-zäöüß]+\s+\w)|(?:täg|stünd|wöchent|monat|jähr)lich\b"
    rf"|(?:werk|wochen)tags\b|(?:{'|'.join(_DAYS)}|sonnabend)s\b|(?:ein)?mal\s+(?:pro|am|im|in)\b"
    r"|am\s+\w|an\s+(?:werk|jede)|(?:morgen|mittag|abend|nacht)s\b|um\s+\d|von\s+montag\b"
)
"""Where the words of a schedule may begin within a text."""
RECURS = (
    r"\bjede[nrsm]?\b|\balle\b|lich\b|tags\b|wochenenden?\b|tägig\b|\bmal\s|monats?\b"
    r"|(?:morgen|mittag|abend|nacht)s\b"
)
"""Words that say of a schedule that it comes round."""
_TELLS = re.compile(rf"(?<!\w)(?:{STARTS}|(?:{'|'.join(_DAYS)})\b)|\d\s+uhr\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class English:
    """A text in English, and for each place in it that of the original."""

    text: str
    places: tuple[tuple[int, int], ...]

    def place(self, end: int) -> int:
        """Where in the original a place of this text is."""
        here, there = max(each for each in self.places if each[0] <= end)
        return there + end - here


def in_english(text: str) -> English | None:
    """The beginning of a text with the German words of schedules in English; None without any."""
    text = text[:LONGEST]
    if not _TELLS.search(text):
        return None
    made, places, at = "", [(0, 0)], 0
    for found in _WORD.finditer(text):
        made += text[at : found.start()] + _english(found)
        at = found.end()
        places.append((len(made), at))
    return English(made + text[at:], tuple(places))


def _english(found: "re.Match[str]") -> str:
    if found["weekday"]:
        return f"{_WORDS[found['weekday'].lower()]} {_WORDS[found['part'].lower()]}"
    said = found[0].lower()
    if said == ".":
        return "th"
    if english := _WORDS.get(said):
        return english
    return next(new for form, new in _FORMS.items() if re.fullmatch(form, said, re.IGNORECASE))
