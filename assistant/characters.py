"""Invisible characters, from `characters.txt`, which `python -m scripts.unseen` generates.

`IGNORABLE` is Default_Ignorable_Code_Point of Unicode 17.0 (DerivedCoreProperties.txt), from the
package `regex`: joiners, fillers, direction marks, variation selectors, tags.
"""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

_rows = Path(__file__).with_suffix(".txt").read_text("ascii").split()
IGNORABLE = [tuple(int(end, 16) for end in row.split("..")) for row in _rows]
BLANK = frozenset("\u2800\U00013441\U00013442\U0001d159")
"""Letters and symbols with an empty glyph: braille, Egyptian, the null notehead."""
UNSEEN = BLANK | {chr(point) for first, last in IGNORABLE for point in range(first, last + 1)}
JOINING = frozenset("\u200c\u200d\ufe0e\ufe0f\u180b\u180c\u180d\u180f")
"""Those that Persian, Mongolian, Indic scripts and emoji need to render correctly."""


SURROGATE = re.compile("[\ud800-\udfff]")


def mend(text: str) -> str:
    """Return the text with surrogate pairs joined and lone surrogates replaced."""
    if SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def plain_words(text: str) -> str:
    """Return the words in lower case, without accents and punctuation, between single spaces."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    mapped = (c if c.isalnum() else "" if unicodedata.category(c) == "Mn" else " " for c in letters)
    return " ".join("".join(mapped).split())


STRETCH = 1 << 16
"""The minimum size of a stretch in characters; it may be up to twice as long to end at a line."""


def stretches(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the stretches of a text; each ends before a line feed, except in a very long line."""
    while start < len(text):
        end = text.find("\n", start + STRETCH, start + 2 * STRETCH)
        stop = min(len(text), start + 2 * STRETCH) if end < 0 else end
        yield start, stop
        start = stop


def ends_a_line(text: str, index: int) -> bool:
    """Return whether a line or the text ends at this index."""
    return index >= len(text) or text[index] in "\r\n"
