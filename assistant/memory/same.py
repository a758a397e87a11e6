"""Is this fact in that file already? Answered without parsing the file, where that is certain."""

import re
import sys
from collections.abc import Iterator

from assistant.memory.chunks import Chunk, chunk
from assistant.memory.plain import fold, plain

_WORD = re.compile(r"(?<!\w)[a-z0-9]+(?!\w)")
_STARTS = re.compile(r"[ \t>]*(?:[-+*]|\d{1,9}[.)]|#{1,6})(?:[ \t]|$)", re.MULTILINE)
_MANY = 64
"""Candidates beyond which parsing the whole file is cheaper than looking at each."""


def key(words: str) -> str:
    """What is equal for equal facts; a text of nothing but punctuation is only like itself."""
    return fold(words) or words.strip()


def chunks_of(text: str, source: str) -> list[Chunk]:
    """The chunks of a file, none split for the sake of an embedding model."""
    return chunk(text, source, count_tokens=len, max_tokens=sys.maxsize)


def same_fact(text: str, source: str, fact: str) -> Chunk | None:
    """The current passage of a file that says `fact` (clean text) and nothing else."""
    wanted = key(fact)
    if not _may_hold(text, fact, wanted):
        return None
    found = (each for each in chunks_of(text, source) if each.status == "current")
    return next((each for each in found if key(each.plain) == wanted), None)


def keys_of(text: str) -> set[str]:
    """The keys of all that the blocks of a file say, struck out or not."""
    found = set()
    at = 0
    while at < len(text):
        start, end = _block_around(text, at)
        found.add(key(plain(text[start:end])))
        at = end + 1
    return found


def _may_hold(text: str, fact: str, wanted: str) -> bool:
    """Whether a block of the text reads like the fact; True if only a parse can tell."""
    lowered = text.lower()
    words = set(_WORD.findall(fact.lower()))
    if not words or len(lowered) != len(text) or ("\r" in text and "\n" not in text):
        return True
    counts = {word: lowered.count(word) for word in words}
    rarest = min(words, key=lambda word: counts[word])
    if counts[rarest] > _MANY:
        return True
    return any(
        all(word in block.lower() for word in words) and key(plain(block)) == wanted
        for block in _blocks_with(text, lowered, rarest)
    )


def _blocks_with(text: str, lowered: str, word: str) -> Iterator[str]:
    at = lowered.find(word)
    while at >= 0:
        start, end = _block_around(text, at)
        yield text[start:end]
        at = lowered.find(word, end)


def _block_around(text: str, at: int) -> tuple[int, int]:
    """The lines around a character that a blank line, list marker or heading sets apart."""
    start = text.rfind("\n", 0, at) + 1
    while start > 0 and not _STARTS.match(text, start):
        above = text.rfind("\n", 0, start - 1) + 1
        if not text[above:start].strip():
            break
        start = above
    end = _line_end(text, at)
    while end < len(text):
        following = _line_end(text, end + 1)
        if not text[end + 1 : following].strip() or _STARTS.match(text, end + 1):
            break
        end = following
    return start, end


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
