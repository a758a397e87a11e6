"""Text on its way to a terminal: nothing in it steers the screen, and nothing hides in it."""

import json
import re
import unicodedata
from collections.abc import Collection
from typing import Any

SPELLED = frozenset(("Cc", "Cf", "Co", "Cs", "Zl", "Zp"))
KEPT = frozenset("\n\t\u200c\u200d")
"""Line ends, tabs, and the joiners that Persian, Indic scripts and emoji need."""
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


def as_json(value: Any) -> str:
    """One line of JSON; the control characters that JSON lets through are escaped too."""
    encoded = json.dumps(value, ensure_ascii=False)
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", encoded)
