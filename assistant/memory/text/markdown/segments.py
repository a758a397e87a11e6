"""Where a markdown file can be cut so that its pieces, parsed each alone, say the same. Pure.

A heading and a plain list item in the first column end whatever stands open above them, but for a
fence and a block of HTML. Of the items only those are taken whose own words say so (content-defined
chunking, as in LBFS, Muthitacharoen et al., 2001): an edit moves no cut but those beside it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

from assistant.characters.stretches import STRETCH, ends_a_line, stretches

_CUT = re.compile(r"(?:\A|(?<=[\r\n]))(?:(#{1,6} )|[-*+] (?=\w))[^|\r\n]*(?=[\r\n]|\Z)")
"""A line with a bar may be a table's head, which an item within a list is not."""


@dataclass(frozen=True, slots=True)
class Grain:
    """Of so many items one starts a piece, and of so many pieces one starts a part, on average."""

    items: int = 16
    pieces: int = 32


GRAIN = Grain()


def cuts(text: str, start: int, grain: Grain = GRAIN) -> Iterator[int]:
    """Where the pieces begin that follow the one at `start`."""
    for first, stop in stretches(text, start):
        for found in _CUT.finditer(text, first, stop):
            whole = found.end() < stop or ends_a_line(text, stop)
            if found.start() > start and whole and _is_cut(found, grain):
                yield found.start()


def starts_part(text: str, piece: int, grain: Grain = GRAIN) -> bool:
    """Whether a part of the text begins with a piece, by the words of its first line."""
    found = _CUT.match(text, piece)
    return found is not None and _sum(found[0]) // grain.items % grain.pieces == 0


def _is_cut(found: re.Match[str], grain: Grain) -> bool:
    """Whether a line that may start a piece does; a very long one never."""
    short = len(found[0]) < STRETCH
    return short and bool(found[1] or _sum(found[0]) % grain.items == 0)


def _sum(line: str) -> int:
    return crc32(line.encode("utf-8", "surrogatepass"))
