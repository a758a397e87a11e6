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


def with_newlines(text: str, ending: str) -> str:
    """The text with all its lines ended like that."""
    return BREAKS.sub(ending, text) if "\r" in text or ending != "\n" else text


def breaks_in(text: str) -> int:
    """How many lines of a text are ended; a search for one character outruns a pattern."""
    if "\r" not in text:
        return text.count("\n")
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def line_starts(text: str) -> list[int]:
    """Where the lines of a text begin."""
    starts = [0]
    while (end := after_break(text, starts[-1])) is not None:
        starts.append(end)
    return starts


def after_break(text: str, at: int) -> int | None:
    """Where the line after the one with this character begins; None if there is none."""
    feed = text.find("\n", at)
    lone = text.find("\r", at, len(text) if feed < 0 else feed)
    if lone < 0 or lone + 1 == feed:
        return feed + 1 if feed >= 0 else None
    return lone + 1


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
