"""The lists of `words.txt`: what names of secrets are made of, in many languages."""

import re
from pathlib import Path


def _lists() -> dict[str, tuple[str, ...]]:
    text = Path(__file__).with_name("words.txt").read_text(encoding="utf-8")
    parts = re.split(r"^\[(.+)\]$", re.sub("(?m)^#.*$", "", text), flags=re.MULTILINE)
    return {
        title: tuple(word.replace("_", " ") for word in words.split())
        for title, words in zip(parts[1::2], parts[2::2], strict=True)
    }


WORDS = _lists()
"""Each list by its title, in lower case."""
