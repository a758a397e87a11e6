"""Text on its way to a terminal: nothing in it steers the screen, and nothing hides in it."""

import json
import re
import unicodedata
from collections.abc import Collection
from typing import Any

from assistant.characters import JOINING, UNSEEN

SPELLED = frozenset(("Cc", "Cf", "Co", "Cs", "Zl", "Zp"))
KEPT = frozenset("\n\t") | JOINING
"""Line ends, tabs, and what Persian, Indic scripts and emoji need."""
UNTOLD = SPELLED | {"Cn", "Zs"}
"""Not assigned, and spaces that look like the space."""
_CONTROLS = re.compile("[\x7f-\x9f]")


def spelled(text: str) -> str:
    """The text with what steers a terminal, or cannot be seen, as `\\u{1b}`; lines end in LF."""
    plain = text.isprintable() and (text.isascii() or UNSEEN.isdisjoint(text))
    return text if plain else exactly(text.replace("\r\n", "\n"), KEPT)


def exactly(text: str, kept: Collection[str] = ()) -> str:
    """The text with all that steers, breaks lines or shows nothing but `kept` spelled out."""
    return "".join(
        f"\\u{{{ord(char):x}}}"
        if char not in kept and (char in UNSEEN or unicodedata.category(char) in SPELLED)
        else char
        for char in text
    )


def revealed(text: str) -> str:
    """The text with whatever is not seen for what it is spelled out, for somebody to approve.

    Beyond what `exactly` spells: line ends and tabs, spaces other than the space, what no
    version of Unicode has assigned.
    """
    return "".join(f"\\u{{{ord(char):x}}}" if _deceives(char) else char for char in text)


def _deceives(char: str) -> bool:
    if char.isascii():
        return not char.isprintable()
    return char in UNSEEN or unicodedata.category(char) in UNTOLD


def outcome(call: str, decision: str, reason: str = "") -> str:
    """The owner's decision on a call as a line that stays."""
    what = spelled(call)
    if decision == "no":
        return f"you did not allow: {what}" + (f" ({spelled(reason)})" if reason else "")
    return f"you allowed {decision}: {what}"


def as_json(value: Any) -> str:
    """One line of JSON; the control characters that JSON lets through are escaped too."""
    encoded = json.dumps(value, ensure_ascii=False)
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", encoded)


def counted(number: int, thing: str, things: str = "") -> str:
    """So many things, in words that agree: `1 fact`, `2 facts`; `things` if an s will not do."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def shortened(text: str, most: int) -> str:
    """The text, cut to so many characters; the last of them says so."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def local_day(time: str) -> str:
    """The day (ISO) of a time of ISO 8601 on this machine; empty if it is none."""
    from datetime import datetime  # 2 ms that few commands need

    try:
        return datetime.fromisoformat(time).astimezone().date().isoformat()
    except ValueError:
        return ""


def local_time(iso: str) -> str:
    """A time of ISO 8601 as the clock on the wall shows it: `2026-11-21 14:05 CET`."""
    from datetime import datetime  # 2 ms that few commands need

    return f"{datetime.fromisoformat(iso).astimezone():%Y-%m-%d %H:%M %Z}"
