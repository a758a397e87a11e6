"""Text on its way to a terminal: nothing in it steers the screen, and nothing hides in it."""

import json
import re
import unicodedata
from collections.abc import Collection
from typing import Any

SPELLED = frozenset(("Cc", "Cf", "Co", "Cs", "Zl", "Zp"))
KEPT = frozenset("\n\t\u200c\u200d")
"""Line ends, tabs, and the joiners that Persian, Indic scripts and emoji need."""
UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that show nothing; `revealed` adds the categories below and selectors."""
UNTOLD = SPELLED | {"Cn", "Zs"}
"""Not assigned, and spaces that look like the space."""
_CONTROLS = re.compile("[\x7f-\x9f]")


def spelled(text: str) -> str:
    """The text with what steers a terminal, or cannot be seen, as `\\u{1b}`; lines end in LF."""
    return text if text.isprintable() else exactly(text.replace("\r\n", "\n"), KEPT)


def exactly(text: str, kept: Collection[str] = ()) -> str:
    """The text with every control, format and line-breaking character but `kept` spelled out."""
    return "".join(
        f"\\u{{{ord(char):x}}}"
        if char not in kept and unicodedata.category(char) in SPELLED
        else char
        for char in text
    )


def revealed(text: str) -> str:
    """The text with whatever is not seen for what it is spelled out, for somebody to approve.

    Beyond what `exactly` spells: line ends and tabs, spaces other than the space, letters that
    show nothing, variation selectors.
    """
    return "".join(f"\\u{{{ord(char):x}}}" if _deceives(char) else char for char in text)


def _deceives(char: str) -> bool:
    if char.isascii():
        return not char.isprintable()
    return (
        char in UNSEEN
        or unicodedata.category(char) in UNTOLD
        or unicodedata.name(char, "").startswith(("VARIATION SELECTOR", "MONGOLIAN FREE VARIATION"))
    )


def outcome(call: str, decision: str, reason: str = "") -> str:
    """The owner's decision on a call as a line that stays."""
    what = spelled(call)
    if decision == "no":
        return f"you did not allow: {what}" + (f" ({spelled(reason)})" if reason else "")
    return f"you allowed {decision}: {what}"


def as_json(value: Any) -> str:
    """One line of JSON; the control characters that JSON lets through are escaped too."""
    encoded = json.dumps(value, ensure_ascii=False)
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", encoded)


def counted(number: int, thing: str, things: str = "") -> str:
    """So many things, in words that agree: `1 fact`, `2 facts`; `things` if an s will not do."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def local_time(iso: str) -> str:
    """A time of ISO 8601 as the clock on the wall shows it: `2026-11-21 14:05 CET`."""
    from datetime import datetime  # 2 ms that few commands need

    return f"{datetime.fromisoformat(iso).astimezone():%Y-%m-%d %H:%M %Z}"
