"""What a merge that failed leaves in a file: the marks of a conflict, which are no facts."""

import re

from assistant.memory.text.markdown.blotting import holds

_MARK = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?: [^\n]*)?\r?$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(?P<run>`{3,}|~{3,})[^\n]*$", re.MULTILINE)


def conflict_in(text: str) -> int | None:
    """The line of the first conflict; None if there is none. One shown in a fence is an example."""
    marks = _marks(text)
    return text.count("\n", 0, marks[0][0]) + 1 if marks else None


def without_marks(text: str) -> str:
    """The text with the marks of its conflicts blotted out by spaces, all else at its place."""
    parts, at = [], 0
    for start, end in _marks(text):
        parts += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*parts, text[at:]]) if parts else text


def _marks(text: str) -> list[tuple[int, int]]:
    """Where the marks of whole conflicts stand: both sides, with what parts them."""
    if not (holds(text, "<<<<<<<") and "\n=======" in text):
        return []
    fences = _fences(text)
    found: list[tuple[int, int]] = []
    begun: list[tuple[int, int]] = []
    for mark in _MARK.finditer(text):
        if any(start < mark.start() < end for start, end in fences):
            continue
        match mark[0][0]:
            case "<":
                begun = [mark.span()]
            case ">" if len(begun) > 1:
                found += [*begun, mark.span()]
                begun = []
            case _ if begun:
                begun.append(mark.span())
    return found


def _fences(text: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence["run"].startswith(opened["run"]) and fence[0].strip() == fence["run"]:
            found.append((opened.start(), fence.end()))
            opened = None
    return found
