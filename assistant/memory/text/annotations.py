"""What a comment at the end of a fact's line says of it: `<!-- core -->` puts it into every prompt,
`<!-- 2026-11-21 -->` is the day on which it was recorded. Pure.
"""

import re
from datetime import date

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
