"""The markers of a merge conflict, which are not facts. Those of git, Mercurial and Subversion,
with or without the common ancestor, and those of Jujutsu; of any length, because it is
configurable."""

import re
from collections.abc import Iterator
from itertools import chain

from assistant.memory.text.markdown import FENCE, blank

_MARK = re.compile(
    r"^(?P<mark>(?P<of>[<|=>%+\\-])(?P=of){6,})(?P<said>[ \t][^\r\n]*)?\r?$", re.MULTILINE
)
_FENCE = re.compile(rf"^ {{0,3}}{FENCE}", re.MULTILINE)
_SPAN = tuple[int, int]


def conflict_in(text: str) -> int | None:
    """The line of the first conflict; None if there is none. One shown in a fence is an example."""
    first = next(_conflicts(text), None)
    return text.count("\n", 0, first[0][0]) + 1 if first else None


def without_marks(text: str) -> str:
    """The text with the marks of its conflicts blotted out by spaces, all else at its place."""
    for start, end in chain.from_iterable(_conflicts(text)):
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


def _conflicts(text: str) -> Iterator[list[_SPAN]]:
    """Where the marks of each conflict stand: of its sides, and of what parts them. One whose end
    was taken out already is one still."""
    spans: list[_SPAN] = []
    width, parted = 0, False
    for mark in _marks(text):
        if mark["of"] == "<":
            if parted:
                yield spans
            spans, width, parted = [mark.span()], len(mark["mark"]), False
        elif (
            spans
            and len(mark["mark"])
            == width  # a rule and an underline look like Jujutsu's, but for words
            and (mark["of"] in "|=>" or (mark["said"] or "").strip())
        ):
            spans.append(mark.span())
            if mark["of"] == ">" and parted:
                yield spans
                spans, parted = [], False
            parted = bool(spans) and (parted or mark["of"] not in "|>")
    if parted:
        yield spans


def _marks(text: str) -> Iterator[re.Match[str]]:
    """The lines that may be marks, and stand in no fence."""
    if "<<<<<<<" in text:
        yield from _MARK.finditer(_FENCE.sub(blank, text))
