"""Where a markdown file can be cut so that its pieces, parsed each alone, say the same. Pure.

A heading and a plain list item in the first column end whatever stands open above them, but for a
fence and a block of HTML. Of the items only those are taken whose own words say so (content-defined
chunking, as in LBFS, Muthitacharoen et al., 2001): an edit moves no cut but those beside it.
"""

import re
from collections.abc import Iterator
from zlib import crc32

_CUT = re.compile(r"(?:\A|(?<=[\r\n]))(?:(#{1,6} )|[-*+] (?=\w))[^|\r\n]*(?=[\r\n]|\Z)")
"""A line with a bar may be a table's head, which an item within a list is not."""
ITEMS = 16
"""Of so many items one starts a piece, on average."""


def cut(text: str) -> Iterator[str]:
    """The pieces of a text, in order; together they are the text."""
    start = 0
    for found in _CUT.finditer(text):
        if found.start() > start and (found[1] or _chosen(found[0])):
            yield text[start : found.start()]
            start = found.start()
    if start < len(text):
        yield text[start:]


def _chosen(line: str) -> bool:
    return crc32(line.encode("utf-8", "surrogatepass")) % ITEMS == 0
