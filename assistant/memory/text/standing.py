"""Where a chunk stands, in words: the path of its file and the headings above it. Pure.

What only files a note says nothing of it: dates, "Remembered", "Notes".
"""

import calendar
import functools
import re
from pathlib import PurePosixPath

from assistant.memory.text.times.dates import heading_date

_FILING_WORDS = """
a and auto bulk captured daily day entries facts general inbox index journal log main memory misc
miscellaneous note notes of on other readme remembered section session sessions the today week
"""
_FILING = frozenset(_FILING_WORDS.split())
"""Words that say where something was filed and not what it is about."""
_CALENDAR = frozenset(
    name.casefold()
    for names in (calendar.month_name, calendar.month_abbr, calendar.day_name, calendar.day_abbr)
    for name in names
)
_OF_A_DATE = frozenset(["am", "pm", "at", "on"])
_WORD = re.compile(r"[^\W_]+")


@functools.lru_cache(256)
def standing(source: str, heading: tuple[str, ...]) -> str:
    """What file and headings say of what stands under them; nothing if they only file it."""
    titles = [told for title in heading if (told := _undated(title)) and _tells(told)]
    said = {word.casefold() for title in titles for word in _WORD.findall(title)}
    path = (words for words in path_words(source) if not said.issuperset(_words(words)))
    return " › ".join([*filter(_tells, path), *titles])


@functools.lru_cache(256)
def path_words(source: str) -> tuple[str, ...]:
    """The words of a source's folders and of its name, each as a phrase."""
    path = PurePosixPath(source)
    return tuple(" ".join(_WORD.findall(part)) for part in (*path.parts[:-1], path.stem))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _tells(text: str) -> bool:
    """Whether it has a word that is more than filing, or a number."""
    return any(not (word in _FILING or word.isdigit()) for word in _words(text))


def _undated(title: str) -> str:
    """A heading without the day it names."""
    if heading_date(title) is None:
        return title
    kept = (word for word in title.split() if not _of_a_date(word))
    return " ".join(kept).strip(" -–—:,")


def _of_a_date(word: str) -> bool:
    bare = word.strip(".,:;()–—-").casefold()
    return not bare or bare in _CALENDAR or bare in _OF_A_DATE or bool(re.search(r"\d", bare))
