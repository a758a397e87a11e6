"""Numbers and identifiers as they are written in more ways than one. Pure.

"CR2032" and "CR 2032", "0531 220 44 71" and "05312204471", "parseInvoiceDate" and
"parse_invoice_date" are one each: beside the words of a text stand those of other ways to write it.
"""

import calendar
import re
from collections.abc import Iterator
from itertools import pairwise

from assistant.memory.text.language import is_function_word

LONGEST = 40
"""Characters of a string that is joined or parted."""
LEAST_JOINED = 6
MOST_PARTS = 3
"""What has more, and digits among them, is a serial number, whose parts say nothing."""
MOST_WORDS = 6

_SIGNED = re.compile(r"(?<![^\W_])([A-Za-z])(\+\+|#)(?!\w)")
_SIGNS = {"++": "plusplus", "#": "sharp"}
_WORD = re.compile(r"\w+")
_PART = re.compile(r"\d+|[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+")
_DAY = re.compile(r"\b(?:\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})\b")
_GROUP = re.compile(r"(?P<coded>[A-Za-z]*[0-9][0-9A-Za-z]*|[A-F]{2}(?![0-9A-Za-z]))|[A-Za-z]+")
"""A coded one has a digit, or may be a byte."""
_BETWEEN = frozenset([" ", "-", ".", ":", "/", "(", ")", ") ", " (", " / ", ")-"])
_PREFIX = re.compile(r"[A-Z]{1,4}|[a-z]{1,3}")
_WITH_NUMBERS = frozenset(
    ["day", "week", "year", "room", "step", "page", "no", "nr", "past", "sept"]
    + [name.casefold() for names in (calendar.month_name, calendar.month_abbr) for name in names]
)


def signed(text: str) -> str:
    """The text with C++, C# and their like as words of their own."""
    if "++" not in text and "#" not in text:
        return text
    return _SIGNED.sub(lambda found: found[1] + _SIGNS[found[2]], text)


def variants(text: str) -> list[str]:
    """The words that other ways of writing the strings in a text have, each once."""
    found = (*_parted(text), *_joined(_DAY.sub("\n", text)))
    return list(dict.fromkeys(each.casefold() for each in found))


def _parted(text: str) -> Iterator[str]:
    """The parts of codes, of letters and digits, and of names in camel case; and those whole."""
    for word in _WORD.findall(text):
        if len(word) > LONGEST or word.isdigit() or (word.isalpha() and word[1:].islower()):
            continue
        parts = _PART.findall(word)
        coded = any(part.isdigit() for part in parts)
        if 1 < len(parts) <= (MOST_PARTS if coded else MOST_WORDS):
            yield from parts
            yield word.replace("_", "")


def _joined(text: str) -> Iterator[str]:
    """Groups with digits that only a sign or a space parts; and one with the letters before it."""
    run = ""
    for one, other in pairwise([*_GROUP.finditer(text), None]):
        assert one is not None
        if not (one["coded"] or (other and other["coded"])):
            continue
        run = run or one[0]
        between = text[one.end() : other.start()] if other else ""
        if other and _leads(one[0], between, other[0]):
            yield one[0] + other[0]
        if other and between in _BETWEEN and one["coded"] and other["coded"]:
            run += other[0]
            continue
        if run != one[0] and LEAST_JOINED <= len(run) <= LONGEST:
            yield run
        run = ""


def _leads(letters: str, between: str, number: str) -> bool:
    """Whether letters are the first part of a number: LH 1172."""
    if between not in (" ", "-") or not (number[:2].isdigit() and _PREFIX.fullmatch(letters)):
        return False
    word = letters.casefold()
    return not (word in _WITH_NUMBERS or is_function_word(word, "english"))
