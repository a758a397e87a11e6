"""What a chunk's words tell of its kind, whatever is asked: a leading label, a turn, a question."""

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise

MAX_LABEL_WORDS = 4
TURNS = 3
"""A label that leads so many chunks of a section may be a speaker's name."""
ANSWERS = 2
"""Another leads so many: who is not answered does not talk."""
BY_TURNS = 0.9
"""Where the label changes this often from line to line, two talk."""
AT_TIMES = 0.3
"""Where it changes this often and somebody is spoken to, two talk as well."""

_LABEL = re.compile(r"\W{0,70}(\w[^:\n]{0,38}\w|\w):\s")
_WORD = re.compile(r"\w+")
_ASKS = re.compile(r"\?[\"')\]*_]*\s*(?:\[[^\]]*\]\s*)?$")
_SPOKEN = re.compile(r"[?？؟]|\b(?:I|you|your|you're|I'm|I'll)\b")

LABEL_REACH = 120
"""No label ends later, whatever marks lead it."""
Label = frozenset[str]
_NONE: Label = frozenset()


def label(plain: str) -> Label:
    """The words, folded, of what leads a chunk and ends with a colon: "Wifi password: …"."""
    if ":" not in plain[:LABEL_REACH]:
        return _NONE
    found = _LABEL.match(plain)
    words = _WORD.findall(found[1].casefold()) if found else ()
    return frozenset(words) if len(words) <= MAX_LABEL_WORDS else frozenset()


def asks(plain: str) -> bool:
    """Whether a chunk ends with a question; a remark in brackets after it does not count."""
    return _ASKS.search(plain) is not None


def turns(chunks: Sequence[tuple[Hashable, str]]) -> list[bool]:
    """Which of these (section, words) are turns of a conversation.

    A turn is understood from the turns around it; a fact in a list stands alone, and so do three
    facts on one person, or the lines of a list of changes ("Bugfix: …").
    """
    labelled = [(section, label(plain)) for section, plain in chunks]
    times = Counter(labelled)
    sections: dict[Hashable, list[int]] = {}
    for number, (section, words) in enumerate(labelled):
        if words:
            sections.setdefault(section, []).append(number)
    found = [False] * len(labelled)
    for numbers in sections.values():
        speakers = {each for n in numbers if times[each := labelled[n]] >= TURNS}
        if speakers and _is_talk(
            [labelled[n][1] for n in numbers], (chunks[n][1] for n in numbers)
        ):
            for n in numbers:
                found[n] = labelled[n] in speakers
    return found


def _is_talk(labels: Sequence[Label], lines: Iterator[str]) -> bool:
    """Whether lines with these labels are a talk: more than one speaks, by turns."""
    recurring = [each for each, times in Counter(labels).items() if times >= ANSWERS]
    if len(recurring) < 2:
        return False
    changes = sum(one != other for one, other in pairwise(labels)) / (len(labels) - 1)
    if changes >= BY_TURNS:
        return True
    return changes >= AT_TIMES and any(map(_SPOKEN.search, lines))
