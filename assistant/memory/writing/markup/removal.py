"""What goes from a file with a fact."""

import re

from assistant.memory.text.markdown import BREAKS, MARKERS
from assistant.memory.writing.markup.insertion import ATX
from assistant.memory.writing.markup.items import Splice


def removal(text: str, start: int, end: int) -> Splice:
    """The edit that takes a passage away: its whole lines, or only its characters where they
    share a line with others."""
    first = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    broken = BREAKS.search(text, end)
    last = broken.end() if broken else len(text)
    lead = text[first:start]
    if MARKERS.fullmatch(lead) and not text[end:last].strip():
        return Splice(first, text[first:last], "")
    spaces = len(text[end:last]) - len(text[end:last].lstrip(" \t"))
    return Splice(start, text[start : end + spaces], "")


def with_emptied_heading(text: str, cut: Splice, title: str) -> Splice:
    """The cut, widened by the heading `## {title}` if it stands above and nothing is left of it."""
    above = text[: cut.at].rstrip()
    below = text[cut.at + len(cut.removed) :]
    line = re.compile(rf"(?:\A|(?<=[\r\n]))## {re.escape(title)}[ \t]*\Z")
    heading = line.search(above)
    if heading is None or not (below.strip() == "" or ATX.match(below.lstrip())):
        return cut
    start = heading.start()
    kept = text[:start].rstrip()
    blank = BREAKS.match(text, len(kept)) if kept else None
    start = blank.end() if blank else start
    stop = len(text) if not below.strip() else cut.at + len(cut.removed)
    return Splice(start, text[start:stop], "")
