"""Tokens that are known by their own form, whatever stands around them: `tokens.txt`.

The table is ours because detect-secrets, the library for it, scans files for a report and does not
rewrite text.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from assistant.secrets.detection.formats import Format

CHARACTERS = {
    "<alnum>": "[A-Za-z0-9]",
    "<word>": r"[\w-]",
    "<hex>": "[0-9a-f]",
    "<base64>": "[A-Za-z0-9+/]",
    "<space>": "[ ]",
}


WORD = r"\w"


def _tokens() -> Iterator[Format]:
    for line in Path(__file__).with_name("tokens.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield _token(*(part.strip() for part in line.split(" | ", 3)))


def _token(kind: str, marks: str, before: str, rest: str) -> Format:
    """A token that begins with one of the marks, with none of `before` in front of it."""
    listed = marks.split(" ")
    start = "|".join(map(re.escape, listed))
    pattern = f"(?<!{WORD if before == '-' else before})(?:{start}){rest}"
    for name, characters in CHARACTERS.items():
        pattern = pattern.replace(name, characters)
    return Format(kind, tuple(each.lower() for each in listed), pattern, is_token=True)


TOKENS = tuple(_tokens())
