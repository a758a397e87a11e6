"""Whether a place in markdown is inside of code or a quotation, as the text comes. Pure."""

import copy
import re
from typing import Self

MARKER = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)]|>)\s+|>)*(?P<fence>`{3,}|~{3,})")
"""The head of a line that opens or closes a fence, in a list or a quotation as well."""
QUOTATION = re.compile(r"\s*>")
ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
CODE = 4
"""Columns that a line of code is indented, beyond the list item that it stands in."""
HEAD = 120
"""Characters of a line that are looked at for a marker."""


class Fences:
    """The text so far, as far as it matters: the fence that is open, the column where the text of
    the list item begins, whether a paragraph may go on, and the line that is begun."""

    def __init__(self) -> None:
        self._fence = ""
        self._column = 0
        self._paragraph = False
        self._begin()

    def feed(self, text: str) -> None:
        """Take some more text in."""
        first, *lines = text.split("\n")
        self._add(first)
        for line in lines:
            self._end()
            self._add(line)

    def after(self, text: str) -> Self:
        """As it will be after some more text."""
        ahead = copy.copy(self)
        ahead.feed(text)
        return ahead

    @property
    def quoted(self) -> bool:
        """What stands here is shown, not meant: in a fence, a code span, an indented block of code
        or a quotation."""
        marked = MARKER.match(self._head) or QUOTATION.match(self._head)
        return bool(self._fence or self._runs % 2 or marked or self._is_code())

    def _is_code(self) -> bool:
        """Whether the line is indented so far that it is code, and goes on with no paragraph."""
        return not self._paragraph and _indent(self._head) >= self._column + CODE

    def _begin(self) -> None:
        self._head = ""
        self._more = False  # there are characters behind the head
        self._runs = 0  # of backticks
        self._ticking = False  # the last character is one

    def _add(self, text: str) -> None:
        if not text:
            return
        runs = len(re.findall("`+", text))
        self._runs += runs - (self._ticking and text[0] == "`")
        self._ticking = text[-1] == "`"
        room = HEAD - len(self._head)
        self._head += text[:room]
        self._more = self._more or bool(text[room:].strip())

    def _end(self) -> None:
        """The line is over."""
        found = MARKER.match(self._head)
        if found and not self._fence:
            if found["fence"][0] == "~" or self._runs == 1:
                self._fence = found["fence"]
        elif found and found["fence"].startswith(self._fence):
            rest = self._head[found.end() :].strip()
            self._fence = self._fence if rest or self._more else ""
        self._place(bool(found) or bool(self._fence))
        self._begin()

    def _place(self, fenced: bool) -> None:
        """What the line that is over says of where the next one stands."""
        if fenced or not self._head.strip():
            self._paragraph = False
        elif not self._is_code():
            if item := ITEM.match(self._head):
                self._column = len(item[0].expandtabs(CODE))
            elif not self._paragraph:
                self._column = min(self._column, _indent(self._head))
            self._paragraph = not self._head.lstrip().startswith("#")


def _indent(line: str) -> int:
    """The columns before the first character of a line."""
    line = line.expandtabs(CODE)
    return len(line) - len(line.lstrip())
