"""Comments at the end of a fact's line that describe the fact. Never displayed; pure.

`<!-- core -->` puts the fact into every prompt; `<!-- not core -->` keeps it from being chosen for
that. `<!-- for: restaurants, travel -->` lists the occasions it matters for, which also match
queries. `<!-- 2026-11-21 -->` is the day on which it was recorded.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Final, Literal

from assistant.secrets.stand_ins import STAND_IN

MOST_PHRASES = 8
"""The maximum number of phrases in a `for:` comment."""
MOST_CHARACTERS = 80
"""The maximum of their total length in characters."""
CORE: Final = "core"
NOT_CORE: Final = "not core"
_COMMENT = r"[ \t]*<!--[ \t]*(?:{})[ \t]*-->"
_CORE = re.compile(_COMMENT.format("core"), re.IGNORECASE)
_NOT_CORE = re.compile(_COMMENT.format("not core"), re.IGNORECASE)
_DAY = re.compile(_COMMENT.format(r"((?:18|19|20|21)\d\d-\d\d-\d\d)"))
"""Only years that a heading may name, so that no date computed from it leaves the calendar."""
_FOR = re.compile(_COMMENT.format(r"for:((?:(?!-->).)*?)"), re.IGNORECASE)
_COMMENTS = (_CORE, _NOT_CORE, _FOR, _DAY)
_LAST = re.compile(rf"(?:{'|'.join(one.pattern for one in _COMMENTS)})+\s*\Z", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,;\n]")
_HYPHENS = re.compile(r"-{2,}")


def core_mark(text: str) -> Literal["core", "not core", ""]:
    """Return the core mark of a fact: `CORE`, `NOT_CORE` or ""."""
    if "<!--" not in text:
        return ""
    return CORE if _CORE.search(text) else NOT_CORE if _NOT_CORE.search(text) else ""


def is_core(text: str) -> bool:
    """Return whether a fact belongs to the core."""
    return core_mark(text) == CORE


def recorded(text: str) -> str | None:
    """Return the day (ISO) on which a fact was recorded, if a comment gives it."""
    match = _DAY.search(text) if "<!--" in text else None
    return real_day(match[1]) if match else None


def real_day(iso: str) -> str | None:
    """Return the date if it exists in the calendar."""
    try:
        return date.fromisoformat(iso).isoformat()
    except ValueError:
        return None


def matters_for(text: str, shown: str = "") -> tuple[str, ...]:
    """Return the phrases of a fact's `for:` comments. A comment that is part of the `shown` text,
    as in a code block, is ignored."""
    if "<!--" not in text:
        return ()
    comments = (match for match in _FOR.finditer(text) if match[0].strip() not in shown)
    return phrases(match[1] for match in comments)


def searched(plain: str, text: str) -> str:
    """Return the text that a passage is indexed by: its own, and the phrases it matters for."""
    occasions = matters_for(text, plain)
    return f"{plain}\n{', '.join(occasions)}" if occasions else plain


def phrases(given: Iterable[str]) -> tuple[str, ...]:
    """Return the first few phrases of comma-separated texts, with letters, digits, spaces and
    hyphens only; other characters are dropped."""
    kept: list[str] = []
    left = MOST_CHARACTERS
    for phrase in dict.fromkeys(_phrases(given)):
        if len(kept) < MOST_PHRASES and len(phrase) <= left:
            kept.append(phrase)
            left -= len(f"{phrase}, ")
    return tuple(kept)


def _phrases(given: Iterable[str]) -> Iterator[str]:
    for text in given:
        for part in _SEPARATOR.split(STAND_IN.sub(" ", text)):
            letters = unicodedata.normalize("NFC", part)
            spaced = "".join(
                letter if letter == "-" or unicodedata.category(letter)[0] in "LMN" else " "
                for letter in letters
            )
            words = (word.strip("-") for word in _HYPHENS.sub("-", spaced).split())
            if phrase := " ".join(filter(None, words)):
                yield phrase


def without(text: str) -> str:
    """Return the text without these comments."""
    if "<!--" not in text:
        return text
    for comment in _COMMENTS:
        text = comment.sub("", text)
    return text.rstrip(" \t")


def split_comments(line: str) -> tuple[str, str]:
    """Split a line into its text and the comments at its end."""
    last = _LAST.search(line) if "<!--" in line else None
    return (line[: last.start()], last[0]) if last else (line, "")


def merged(base: str, one: str, other: str) -> str:
    """Return the comments of two versions of a line, each kind as changed since `base`; `one` wins
    if both changed it."""
    result = ""
    for kind in (re.compile(f"{_CORE.pattern}|{_NOT_CORE.pattern}", re.IGNORECASE), _FOR, _DAY):
        was, first, second = (
            "".join(match[0] for match in kind.finditer(comments))
            for comments in (base, one, other)
        )
        result += second if first == was else first
    return result


def without_phrases(text: str) -> str:
    """Return the text without its `for:` comments."""
    return _FOR.sub("", text) if "<!--" in text else text


def dated(item: str, day: date) -> str:
    """Return a list item with the day on which it was recorded."""
    return f"{_DAY.sub('', item)} <!-- {day.isoformat()} -->"


def mattering(item: str, occasions: Iterable[str]) -> str:
    """Return the list item with these phrases in its `for:` comment."""
    if (kept := phrases(occasions)) == matters_for(item):
        return item
    bare = without_phrases(item)
    return f"{bare} <!-- for: {', '.join(kept)} -->" if kept else bare


def in_core(item: str, mark: str) -> str:
    """Return the list item with this core mark; "" removes it."""
    if mark == core_mark(item):
        return item
    bare = _NOT_CORE.sub("", _CORE.sub("", item))
    return f"{bare} <!-- {mark} -->" if mark else bare


def inherited(item: str, old: str) -> str:
    """Return the item with the core mark of the fact that it replaces, and with that fact's phrases
    unless it has its own."""
    marked = item if matters_for(item) else mattering(item, matters_for(old))
    return in_core(marked, core_mark(old))
