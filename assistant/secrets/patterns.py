"""The words and the patterns of this package, from `words.txt` and `patterns.toml`."""

import re
from pathlib import Path

from assistant.tables import table_of


def data(name: str) -> str:
    """Return the text of a file next to this module."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


_sections = re.split(r"^\[(.+)\]$", re.sub("(?m)^#.*$", "", data("words.txt")), flags=re.MULTILINE)
WORDS = {
    title: tuple(word.replace("_", " ") for word in words.split())
    for title, words in zip(_sections[1::2], _sections[2::2], strict=True)
}
"""Each word list by its title, in lower case."""

_data = table_of(__file__)
PARTS: dict[str, str] = _data["parts"] | {
    "prepositions": "|".join(WORDS["prepositions"]),
    "links": "|".join(WORDS["links"]).replace(" ", r"[ \t]"),
}
"""Parts of patterns, by their names, which patterns contain in angle brackets."""


def expanded(pattern: str) -> str:
    """Return a pattern with the names replaced by the parts."""
    for name, part in PARTS.items():
        pattern = pattern.replace(f"<{name}>", part)
    return pattern


PATTERNS = {name: re.compile(expanded("".join(lines))) for name, lines in _data["patterns"].items()}
