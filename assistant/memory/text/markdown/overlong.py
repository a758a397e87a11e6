"""Cut a text that is too long for the embedding model, at the best place there is."""

import re
import unicodedata
from collections.abc import Callable, Iterator

MAX_CHARS = 2_000
"""No chunk is longer, whatever the model takes: half of recall's default budget."""

SENTENCES = re.compile(
    r"(?:[.!?…]['\"”’»)\]]*(?=\s)|[。！？]['\"”’»」』）]*|(?:\r\n|\r|\n)[ \t]*(?=[\r\n]))\s*"
)
_SPACE = re.compile(r"\s+")
_JOINERS = "\u200d\ufe0e\ufe0f"
_LONGEST_CHARACTER = 16
"""Code points that may belong to one visible character; it is not cut in two."""


def pieces(
    text: str,
    start: int,
    end: int,
    fits: Callable[[str], bool],
    ends: re.Pattern[str],
    max_chars: int = MAX_CHARS,
) -> Iterator[tuple[int, int]]:
    """Ranges of `text` between `start` and `end` that fit, without white space at their borders.

    Cuts after a match of `ends`, else at white space, else between characters. The time is linear
    in the text.
    """
    while True:
        start, end = _trimmed(text, start, end)
        if start >= end:
            return
        room = min(end - start, max_chars)
        stop = _stop(text, start, end, room, fits, ends)
        yield _trimmed(text, start, stop)
        start = stop


def _stop(
    text: str, start: int, end: int, room: int, fits: Callable[[str], bool], ends: re.Pattern[str]
) -> int:
    """Where the first piece from `start` ends, at most `room` characters on."""
    while room > 1:
        stop = end if start + room >= end else _cut(text, start, start + room, ends)
        if fits(text[start:stop]):
            return stop
        room = min(room * 3 // 4, stop - start - 1)
    return start + 1


def _cut(text: str, start: int, limit: int, ends: re.Pattern[str]) -> int:
    """The last good place to cut at or before `limit`."""
    for pattern in (ends, _SPACE):
        found = [match.end() for match in pattern.finditer(text, start, limit)]
        if found and found[-1] > start:
            return found[-1]
    for stop in range(limit, max(start, limit - _LONGEST_CHARACTER), -1):
        if text[stop] not in _JOINERS and not unicodedata.combining(text[stop]):
            return stop
    return limit


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
