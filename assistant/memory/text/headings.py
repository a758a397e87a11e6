"""The owner's own headings of a file, below which facts of any day may stand. Pure."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from assistant.memory.text.markdown import blotted
from assistant.memory.text.times.dates import heading_date

PATH = " › "
"""Stands between the headings of a path."""
_HEADING = re.compile(r"^#{1,6}[ \t][^\r\n]*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class OwnersHeading:
    """A heading that facts of any day may stand under: its line, and where that begins."""

    line: str
    at: int


def headings(text: str) -> dict[str, OwnersHeading]:
    """The headings of a file by their paths (`People › Lena`), but for dated ones, what is below
    them, and the file's title."""
    found: dict[str, OwnersHeading] = {}
    above: list[tuple[int, str]] = []
    lines = [(line.start(), line[0].strip()) for line in _HEADING.finditer(blotted(text) or "")]
    marks = [line.split(maxsplit=1)[0] for _, line in lines]
    titled = marks[:1] == ["#"] and marks.count("#") == 1
    for at, line in lines[titled:]:
        mark, _, title = line.partition(" ")
        above = [each for each in above if each[0] < len(mark)] + [(len(mark), title.strip())]
        if title.strip() and not any(heading_date(name) for _, name in above):
            found.setdefault(PATH.join(name for _, name in above), OwnersHeading(line, at))
    return found


def below(heading: Sequence[str], there: Collection[str]) -> str:
    """The innermost of the owner's headings `there` among those above a passage; "" if none is."""
    paths = (PATH.join(heading[start:]) for start in range(len(heading)))
    return next((path for path in paths if path in there), "")
