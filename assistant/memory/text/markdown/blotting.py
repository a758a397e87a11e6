"""A text of which what takes a parser to read is blotted out."""

import re
from collections.abc import Iterator
from heapq import merge

BLOT = "\0"
"""Stands for each character of `blotted` text that is not to be read."""
_OPAQUE = re.compile(
    r"^(?P<run>(?P<mark>[`~])(?P=mark){2,})[^\n`]*\n(?:[^\n]*\n)*? {0,3}(?P=run)(?P=mark)*[ \t\r]*$"
    r"|^<!--(?:(?!-->)[\s\S])*-->[^\n]*$"
    r"|\A---[ \t\r]*\n(?:[^\n]*\n)*?---[ \t\r]*$",
    re.MULTILINE,
)
OPAQUE = ("```", "~~~", "<!--")
"""What begins it, but for front matter."""
_OPENER = re.compile(r"`{3}|~{3}|<[A-Za-z/!?]")


def blotted(text: str) -> str | None:
    """The text with the insides of fences, comments and front matter blotted out, same length.

    In it, a line that starts with `#` is a heading, and one that starts with `- ` an item of a
    list that is nested in nothing. None if that takes a parser to tell.
    """
    if "\r" in text and text.count("\r") != text.count("\r\n"):
        return None
    text = _without_opaque(text)
    if text.startswith("---"):
        return None
    return None if any(_opens(text, mark) for mark in ("```", "~~~", "<")) else text


def _without_opaque(text: str) -> str:
    """The text with what takes a parser blotted out; looked at are only the lines that may begin
    it, which is many times as fast in a long text."""
    parts, at = [], 0
    for begin in _beginnings(text):
        if begin >= at and (found := _OPAQUE.match(text, begin)):
            parts += [text[at:begin], re.sub(r"[^\n]", BLOT, found[0])]
            at = found.end()
    return "".join([*parts, text[at:]]) if parts else text


def _beginnings(text: str) -> Iterator[int]:
    """Where the text begins, and each line that starts with a mark, in order."""
    yield 0
    yield from merge(*(_lines_with(text, mark) for mark in OPAQUE if mark[0] in text))


def _lines_with(text: str, mark: str) -> Iterator[int]:
    at = text.find(f"\n{mark}")
    while at >= 0:
        yield at + 1
        at = text.find(f"\n{mark}", at + 1)


def holds(text: str, mark: str) -> bool:
    """Whether a text holds a mark: a single character is looked for many times as fast."""
    return mark[0] in text and mark in text


def _opens(text: str, mark: str) -> bool:
    """Whether a line, or what a list item or quote holds, may start with the mark."""
    at = text.find(mark) if mark[0] in text else -1
    while at >= 0:
        before = text[text.rfind("\n", 0, at) + 1 : at]
        if not before.strip(" \t>*+-.)0123456789") and _OPENER.match(text, at):
            return True
        at = text.find(mark, at + 1)
    return False
