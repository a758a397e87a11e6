"""The superseded note: `~~old~~ (superseded 2026-11-21: new)`, written and read here alone.

A fact that no longer holds stays where it is, struck through, with the day and its successor. An
owner's bare `~~old~~` counts as superseded too.
"""

import re
from datetime import date

from assistant.memory.text.markdown.lines import line_starts
from assistant.memory.text.markdown.parser import PARSER

MARKERS = re.compile(r"(?:[ \t>]*(?:[-+*]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)+|[ \t]*")
"""The list markers that a line may begin with, and check boxes."""
_NOTE_BEGINS = re.compile(r"~~\s*\(superseded\b(?:\s+(\d{4}-\d\d-\d\d))?")
_NOTE = re.compile(r"~~\s*\(superseded\b[^()]*(?:\([^()]*\)[^()]*)*\)")
_SUCCESSOR = re.compile(r"\(superseded\b[^:]*:\s*(.+)\)\s*$", re.DOTALL)
_STRIKABLE = frozenset(
    {"bullet_list_open", "ordered_list_open", "list_item_open", "paragraph_open", "inline"}
)


def note(day: date, successor: str) -> str:
    """The note behind a struck-out fact; `successor` is markdown."""
    return f"(superseded {day.isoformat()}: {successor})"


def naming(successor: str) -> "re.Pattern[str]":
    """Matches the notes that name this successor (markdown); group 1 is what stays without it."""
    return re.compile(rf"(\(superseded \d{{4}}-\d\d-\d\d): {re.escape(successor)}\)")


def successor(text: str) -> str | None:
    """What took the place of a struck-out fact, as markdown, if its note tells."""
    found = _SUCCESSOR.search(text)
    return found[1] if found else None


def without_notes(content: str) -> str:
    """A paragraph's source, without the notes in it."""
    return _NOTE.sub("~~", content) if "~~" in content else content


def struck(source: str) -> tuple[int, int, str | None] | None:
    """Where the words of a fact stand that is struck out as a whole, and the date it gives.

    None for any text that is not of the two forms above.
    """
    if not source.startswith("~~"):
        return None
    note = _NOTE_BEGINS.search(source, 3)
    if note and source.endswith(")"):
        return 2, note.start(), note[1]
    closed = source.find("~~", 3)
    return (2, closed, None) if closed == len(source) - 2 else None


def strike(passage: str, note: str) -> str | None:
    """A list item with what is nested in it, or a paragraph, struck out; the note comes after its
    first words. None for a block of another kind; read the result to see that it counts as struck.
    """
    tokens = PARSER.parse(passage)
    if {token.type for token in tokens if token.nesting >= 0} - _STRIKABLE:
        return None
    starts = [*line_starts(passage), len(passage)]
    result = passage
    spans = [token.map for token in tokens if token.type == "inline" and token.map]
    for number, (first, last) in reversed(list(enumerate(spans))):
        begin = starts[first]
        markers = MARKERS.match(passage, begin)
        begin = markers.end() if markers else begin
        stop = len(passage[: starts[last]].rstrip())
        said = passage[begin:stop]
        tail = f" {note}" if number == 0 else ""
        if number == 0 or not said.startswith("~~"):
            result = f"{result[:begin]}~~{said}~~{tail}{result[stop:]}"
    return result
