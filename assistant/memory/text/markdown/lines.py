"""The lines of a text: where they begin and end, which are nearest, and what tells one again."""

import re
from collections.abc import Iterator

from assistant.memory.text.identity import digest

BREAKS = re.compile(r"\r\n|\r|\n")


def newline(text: str) -> str:
    """The line ending that most of the text's lines have; a line feed if there is none."""
    if "\r" not in text:
        return "\n"
    pairs = text.count("\r\n")
    counts = {"\n": text.count("\n") - pairs, "\r\n": pairs, "\r": text.count("\r") - pairs}
    return max(counts, key=lambda ending: counts[ending])


NEAREST = 2
"""Lines above and below an edit whose digests are journalled, to find its place again."""
LINES = re.compile(r"[^\r\n]+")


def lines_above(text: str, at: int) -> Iterator[str]:
    """The nearest lines that end at or before a character and are not blank, nearest first."""
    found = 0
    while at > 0 and found < NEAREST:
        start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        if line := text[start:at].strip():
            found += 1
            yield line
        at = start - 1


def lines_below(text: str, at: int) -> Iterator[str]:
    """The nearest lines that start at or after a character and are not blank, nearest first."""
    found = 0
    for line in LINES.finditer(text, at):
        if found == NEAREST:
            return
        if said := line[0].strip():
            found += 1
            yield said


def line_digest(line: str) -> str:
    """A short digest of a line, its surrounding white space left out."""
    return digest(line.strip())[:12]
