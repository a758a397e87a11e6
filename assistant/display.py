"""Formats text for a terminal: nothing in it controls the screen, and nothing is hidden."""

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from assistant.characters import JOINING, UNSEEN

SPELLED = frozenset(("Cc", "Cf", "Co", "Cs", "Zl", "Zp"))
KEPT = frozenset("\n\t") | JOINING
"""Line ends, tabs, and what Persian, Indic scripts and emoji need."""
UNTOLD = SPELLED | {"Cn", "Zs"}
"""Unassigned characters, and spaces that look like the space."""
HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@$")
_CONTROLS = re.compile("[\x7f-\x9f]")


def spelled(text: str) -> str:
    """Escape control and invisible characters, as in `\\u{1b}`; line ends become LF."""
    plain = text.isprintable() and (text.isascii() or UNSEEN.isdisjoint(text))
    return text if plain else exactly(text.replace("\r\n", "\n"), KEPT)


def exactly(text: str, kept: Collection[str] = (), categories: Collection[str] = SPELLED) -> str:
    """Escape every control, line-breaking or invisible character, except `kept`."""
    return "".join(
        f"\\u{{{ord(char):x}}}"
        if char not in kept and (char in UNSEEN or unicodedata.category(char) in categories)
        else char
        for char in text
    )


def revealed(text: str) -> str:
    """Escape every deceptive character, in a text that somebody is to approve.

    In addition to what `exactly` escapes: line ends and tabs, spaces other than the space, and
    unassigned characters.
    """
    return exactly(text, " ", UNTOLD)


def outcome(call: str, decision: str, reason: str = "") -> str:
    """Return the owner's decision on a call as a permanent line."""
    call_text = spelled(call)
    if decision == "no":
        return f"you did not allow: {call_text}" + (f" ({spelled(reason)})" if reason else "")
    return f"you allowed {decision}: {call_text}"


def as_json(value: Any) -> str:
    """Return one line of JSON, with dataclasses as objects; control characters that JSON allows are
    escaped too."""
    encoded = json.dumps(value, ensure_ascii=False, default=asdict)
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", encoded)


def counted(number: int, thing: str, things: str = "") -> str:
    """Return a number with its noun: `1 fact`, `2 facts`; `things` is an irregular plural."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def shortened(text: str, most: int) -> str:
    """Cut the text to `most` characters; the last becomes an ellipsis if it was cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


ARGUMENT = 80
"""Characters of an argument in a call's one-line form."""


def compact_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call on one line: the tool, its first argument bare, the others named."""
    words = [name]
    for key, value in arguments.items():
        words.append(abbreviated(value) if len(words) == 1 else f"{key}={abbreviated(value)}")
    return " ".join(words)[: 2 * ARGUMENT]


def abbreviated(value: Any) -> str:
    """Return the beginning of an argument, on one line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return shortened(" ".join(text.split()), ARGUMENT)


def local_day(time: str) -> str:
    """Return the local day (ISO) of an ISO 8601 time; empty if it is invalid."""
    from datetime import datetime  # takes 2 ms, which few commands need

    try:
        return datetime.fromisoformat(time).astimezone().date().isoformat()
    except ValueError:
        return ""


def local_time(iso: str) -> str:
    """Return an ISO 8601 time in local time: `2026-11-21 14:05 CET`."""
    from datetime import datetime  # takes 2 ms, which few commands need

    return f"{datetime.fromisoformat(iso).astimezone():%Y-%m-%d %H:%M %Z}"


def in_words(rows: Iterable[str]) -> Iterator[str]:
    """Yield the rows of a unified diff, with `line 3` in place of `@@ -3,4 +3,5 @@`."""
    return (HUNK.sub(lambda hunk: f"line {max(1, int(hunk[1]))}", row) for row in rows)
