"""What a chunk's words tell of its kind, whatever is asked: a leading label, a turn, a question."""

import re
from collections import Counter
from collections.abc import Hashable, Sequence

MAX_LABEL_WORDS = 4
TURNS = 3
"""A label that leads so many chunks of a section is a speaker's name."""

_LABEL = re.compile(r"\W*(\w[^:\n]{0,38}\w|\w):\s")
_WORD = re.compile(r"\w+")
_ASKS = re.compile(r"\?[\"')\]*_]*\s*(?:\[[^\]]*\]\s*)?$")


def label(plain: str) -> frozenset[str]:
    """The words, folded, of what leads a chunk and ends with a colon: "Wifi password: …"."""
    found = _LABEL.match(plain)
    words = _WORD.findall(found[1].casefold()) if found else ()
    return frozenset(words) if len(words) <= MAX_LABEL_WORDS else frozenset()


def asks(plain: str) -> bool:
    """Whether a chunk ends with a question; a remark in brackets after it does not count."""
    return _ASKS.search(plain) is not None


def turns(chunks: Sequence[tuple[Hashable, str]]) -> list[bool]:
    """Which of these (section, words) are turns of a conversation.

    A turn is understood from the turns around it; a fact in a list stands alone.
    """
    keys = [(section, label(plain)) for section, plain in chunks]
    times = Counter(keys)
    return [bool(key[1]) and times[key] >= TURNS for key in keys]
