"""Finds merge conflict markers, which are not facts: those of git, Mercurial and Subversion, with
or without the common ancestor, and those of Jujutsu; of any length, because it is configurable."""

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
    """Return the line of the first conflict, ignoring examples in fences; None if there is none."""
    first = next(_conflicts(text), None)
    return text.count("\n", 0, first[0][0]) + 1 if first else None


def without_marks(text: str) -> str:
    """Return the text with its conflict markers replaced by spaces, so no position changes."""
    for start, end in chain.from_iterable(_conflicts(text)):
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


def _conflicts(text: str) -> Iterator[list[_SPAN]]:
    """Yield the spans of the markers of each conflict: those of its sides, and those between them.
    A conflict whose end marker was already removed counts."""
    spans: list[_SPAN] = []
    width, has_separator = 0, False
    for mark in _marks(text):
        if mark["of"] == "<":
            if has_separator:
                yield spans
            spans, width, has_separator = [mark.span()], len(mark["mark"]), False
        elif (
            spans
            and len(mark["mark"])
            == width  # a rule and an underline look like Jujutsu's, but have no text
            and (mark["of"] in "|=>" or (mark["said"] or "").strip())
        ):
            spans.append(mark.span())
            if mark["of"] == ">" and has_separator:
                yield spans
                spans, has_separator = [], False
            has_separator = bool(spans) and (has_separator or mark["of"] not in "|>")
    if has_separator:
        yield spans


def _marks(text: str) -> Iterator[re.Match[str]]:
    """Yield the lines outside fences that may be markers."""
    if "<<<<<<<" in text:
        yield from _MARK.finditer(_FENCE.sub(blank, text))
