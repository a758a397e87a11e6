"""A line that says a fact, as a list, a pipe or a model gives it. Needs no markdown parser.

A comment at its end says of it: `<!-- core -->` puts it into every prompt, `<!-- 2026-11-21 -->` is
the day on which it was recorded.
"""

import re
from datetime import date

_BULLET = re.compile(r"(?:[-*+•][ \t]+(?=\S))?(?:\[[ xX]\](?:\s+|$))?")
_STRUCK = re.compile(r"~~(?!~)(?:(?!~~).)*~~|~~(?!~).*~~\s*\(superseded\b.*\)", re.DOTALL)
_NO_FACT = re.compile(r"#{1,6}[ \t].*|[-*_=][-*_= ]*|(?:`{3,}|~{3,}).*")


def fact_of_line(line: str) -> str | None:
    """What a line says as a fact, without its bullet and check box; None if it is no current fact
    but one that was struck out, a heading or a rule."""
    text = _BULLET.sub("", line.strip(), count=1).strip()
    return None if not text or is_struck_line(text) or _NO_FACT.fullmatch(text) else text


def is_struck_line(text: str) -> bool:
    """Whether a line is a fact that was struck out as a whole."""
    return text.startswith("~~") and _STRUCK.fullmatch(text) is not None


_CORE = re.compile(r"[ \t]*<!--[ \t]*core[ \t]*-->", re.IGNORECASE)
_DAY = re.compile(r"[ \t]*<!--[ \t]*(\d{4}-\d\d-\d\d)[ \t]*-->")


def is_core(text: str) -> bool:
    """Whether a fact belongs to the core."""
    return "<!--" in text and bool(_CORE.search(text))


def without(text: str) -> str:
    """The text without these comments."""
    return _DAY.sub("", _CORE.sub("", text)).rstrip(" \t") if "<!--" in text else text


def dated(item: str, day: date) -> str:
    """An item of a list with the day on which it was recorded."""
    return f"{item} <!-- {day.isoformat()} -->"


def recorded(text: str) -> str | None:
    """The day (ISO) on which a fact says that it was recorded."""
    found = _DAY.search(text) if "<!--" in text else None
    if found is None:
        return None
    try:
        return date.fromisoformat(found[1]).isoformat()
    except ValueError:
        return None
