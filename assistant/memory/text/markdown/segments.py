"""Where a markdown file can be cut so that its pieces, parsed each alone, say the same. Pure.

A heading and a plain list item in the first column end whatever stands open above them, but for a
fence and a block of HTML. Of the items only those are taken whose own words say so (content-defined
chunking, as in LBFS, Muthitacharoen et al., 2001): an edit moves no cut but those beside it.
"""

import re
from collections.abc import Iterator
from zlib import crc32

from assistant.characters.stretches import STRETCH, ends_a_line, stretches

_CUT = re.compile(r"(?:\A|(?<=[\r\n]))(?:(#{1,6} )|[-*+] (?=\w))[^|\r\n]*(?=[\r\n]|\Z)")
"""A line with a bar may be a table's head, which an item within a list is not."""
ITEMS = 16
"""Of so many items one starts a piece, on average."""
PIECES = 32
"""Of so many pieces one starts a part, on average."""


def cuts(text: str, start: int) -> Iterator[int]:
    """Where the pieces begin that follow the one at `start`."""
    for first, stop in stretches(text, start):
        for found in _CUT.finditer(text, first, stop):
            whole = found.end() < stop or ends_a_line(text, stop)
            if found.start() > start and whole and _is_cut(found):
                yield found.start()


def starts_part(text: str, piece: int) -> bool:
    """Whether a part of the text begins with a piece, by the words of its first line."""
    found = _CUT.match(text, piece)
    return found is not None and _sum(found[0]) // ITEMS % PIECES == 0


def _is_cut(found: re.Match[str]) -> bool:
    """Whether a line that may start a piece does; a very long one never."""
    short = len(found[0]) < STRETCH
    return short and bool(found[1] or _sum(found[0]) % ITEMS == 0)


def _sum(line: str) -> int:
    return crc32(line.encode("utf-8", "surrogatepass"))
