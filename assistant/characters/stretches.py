"""A long text a stretch at a time: a call that goes through 50 MB makes all other threads wait."""

from collections.abc import Iterator

STRETCH = 1 << 16
"""Characters that are gone through at once, or up to twice as many to end with a line."""


def stretches(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """The stretches of a text; each ends before a line feed, but in a very long line."""
    while start < len(text):
        end = text.find("\n", start + STRETCH, start + 2 * STRETCH)
        stop = min(len(text), start + 2 * STRETCH) if end < 0 else end
        yield start, stop
        start = stop


def ends_a_line(text: str, at: int) -> bool:
    """Whether a line ends at a character, or the text."""
    return at >= len(text) or text[at] in "\r\n"
