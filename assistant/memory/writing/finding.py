"""Is this fact in that file already? Answered without parsing the file, where that is certain."""

import re
import sys
import unicodedata
from collections.abc import Collection, Iterator

from assistant.memory.text.chunk import chunks_of
from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import blotted, plain
from assistant.memory.writing.markup import escape

_WORD = re.compile(r"(?<!\w)[a-z0-9]+(?!\w)")
_STARTS = re.compile(r"[ \t]*(?:>|\0|(?:[-+*]|\d{1,9}[.)]|#{1,6})(?:[ \t]|$))", re.MULTILINE)
_HEADING = re.compile(r"#{1,6}[ \t]|\0")
_ITEM = re.compile(r"[-+*][ \t]+\S")
_FEW = 8
"""A word that stands so often in a file is rare enough to search by."""


def line_stating(text: str, source: str, fact: str) -> int | None:
    """The line of the current passage that says `fact` (clean text) and nothing else."""
    wanted = fact_key(fact)
    known = blotted(text)
    shown = text if known is None else known
    lowered = shown.lower()
    words = _words(fact)
    lone = "\r" in text and text.count("\r") != text.count("\r\n")
    if not words or lone or len(lowered) != len(text):
        return _parsed(text, source, wanted)
    for start, end in _candidates(shown, lowered, escape(fact).lower(), words):
        if fact_key(plain(shown[start:end])) != wanted:
            continue
        if known is None or not _is_alone(known, start, end):
            return _parsed(text, source, wanted)
        if all(each.status == "current" for each in chunks_of(text[start:end], source)):
            return text.count("\n", 0, start) + 1
    return None


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a range is, for certain, a list item with nothing around it or nested in it."""
    known = blotted(text)
    if known is None:
        return False
    first, last = _block_around(known, start)
    return first == start and not known[end:last].strip() and _is_alone(known, first, last)


def _parsed(text: str, source: str, wanted: str) -> int | None:
    found = (each for each in chunks_of(text, source) if each.status == "current")
    return next((each.start_line for each in found if fact_key(each.plain) == wanted), None)


def _is_alone(known: str, start: int, end: int) -> bool:
    """Whether a block of a masked text is such a list item."""
    following = known[end : end + 80].lstrip("\r\n")
    return bool(_ITEM.match(known, start)) and not following.startswith((" ", "\t"))


def fact_keys(text: str, wanted: Collection[str] | None = None) -> set[str]:
    """The keys of all that the blocks of a file say, struck out or not; if only some facts are
    `wanted`, blocks that do not hold a word of them may be left out."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lowered = text.lower()
    found: set[str] = set()
    at = 0
    telling = _telling(wanted) if wanted is not None and len(lowered) == len(text) else None
    while at < len(text):
        if telling is not None:
            word = telling.search(lowered, at)
            if word is None:
                break
            at = word.start()
        start, end = _block_around(text, at)
        found.add(fact_key(plain(text[start:end])))
        at = max(end, at) + 1
    return found


def _telling(facts: Collection[str]) -> "re.Pattern[str] | None":
    """Matches one word of each of these facts; None if they are many, or one has no such word."""
    words = {max(_words(fact), key=len, default="") for fact in facts}
    if "" in words or len(words) > _FEW * _FEW:
        return None
    return re.compile("|".join(map(re.escape, words)) or r"(?!)")


def _words(fact: str) -> set[str]:
    """The words of a fact that any text which says it holds, however that is spelled."""
    return set(_WORD.findall(unicodedata.normalize("NFC", fact).lower()))


def _candidates(
    text: str, lowered: str, verbatim: str, words: set[str]
) -> Iterator[tuple[int, int]]:
    """The blocks of a text that hold all of these words, one that may be verbatim first."""
    at = lowered.find(verbatim)
    if at >= 0:
        yield _block_around(text, at)
    word = _rarest(lowered, words)
    at = lowered.find(word)
    while at >= 0:
        start, end = _block_around(text, at)
        block = lowered[start:end]
        if all(each in block for each in words):
            yield start, end
        at = lowered.find(word, end)


def _rarest(text: str, words: set[str]) -> str:
    """A word that is rare in a text, if not the rarest: long numbers and words are looked at
    first."""
    best, least = "", sys.maxsize
    for word in sorted(words, key=lambda word: (word.isalpha() or len(word) < 3, -len(word))):
        count = text.count(word)
        if count < least:
            best, least = word, count
        if count <= _FEW:
            break
    return best


def _block_around(text: str, at: int) -> tuple[int, int]:
    """The lines around a character that a blank line, list marker or heading sets apart."""
    start = text.rfind("\n", 0, at) + 1
    while start > 0 and not _STARTS.match(text, start):
        above = text.rfind("\n", 0, start - 1) + 1
        if not text[above:start].strip() or _HEADING.match(text, above):
            break
        start = above
    end = _line_end(text, at)
    while end < len(text) and not _HEADING.match(text, start):
        following = _line_end(text, end + 1)
        if not text[end + 1 : following].strip() or _STARTS.match(text, end + 1):
            break
        end = following
    return start, end


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
