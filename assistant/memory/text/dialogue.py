"""Classifies a chunk by its text, independent of any query: a leading label, an item, a turn."""

import hashlib
import re

import numpy as np
from numpy.typing import NDArray

MAX_LABEL_WORDS = 4
TURNS = 3
"""Minimum number of chunks of a section that begin with a speaker's name."""
ANSWERS = 2
"""Minimum number of chunks that begin with another label, because a conversation has answers."""
BY_TURNS = 0.9
"""If the label changes this often from line to line, it is a conversation."""
AT_TIMES = 0.3
"""If it changes this often and somebody is addressed, it is a conversation as well."""

_LABEL = re.compile(r"\W{0,70}(\w[^:\n]{0,38}\w|\w):\s")
_WORD = re.compile(r"\w+")
_SPOKEN = re.compile(r"[?？؟]|\b(?:I|you|your|you're|I'm|I'll)\b")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")

LABEL_REACH = 120
"""Maximum position of the end of a label, including leading marks."""
Label = frozenset[str]
_NONE: Label = frozenset()


def label(plain: str) -> Label:
    """Return the folded words of a leading label that ends with a colon: "Wifi password: …"."""
    if ":" not in plain[:LABEL_REACH]:
        return _NONE
    match = _LABEL.match(plain)
    words = _WORD.findall(match[1].casefold()) if match else ()
    return frozenset(words) if len(words) <= MAX_LABEL_WORDS else frozenset()


def number(label: Label) -> int:
    """Return a hash of a label; 0 for none."""
    if not label:
        return 0
    named = hashlib.blake2b(" ".join(sorted(label)).encode(), digest_size=8).digest()
    return int.from_bytes(named, signed=True) or 1


def speaks(plain: str) -> bool:
    """Return whether somebody is addressed."""
    return _SPOKEN.search(plain) is not None


def is_item(text: str) -> bool:
    """Return whether a chunk is an item of a list."""
    return _ITEM.match(text) is not None


def turns(
    section: NDArray[np.int64], label: NDArray[np.int64], spoken: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which chunks, in order, are turns of a conversation; a label is a number, 0 is none.

    A turn needs the turns around it to be understood; a fact in a list stands alone, and so do
    three facts about one person, or the lines of a list of changes ("Bugfix: …").
    """
    result = np.zeros(len(section), dtype=np.bool_)
    labelled = np.flatnonzero(label)
    labelled = labelled[np.argsort(section[labelled], kind="stable")]
    labels, spoken = label[labelled], spoken[labelled]
    sections, group = np.unique(section[labelled], return_inverse=True)
    speaker = np.unique(labels, return_inverse=True)[1]
    pairs, pair, times = np.unique(
        group * len(labelled) + speaker, return_inverse=True, return_counts=True
    )

    def counted(chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.bincount(chosen, minlength=len(sections))

    recurring = counted(pairs[times >= ANSWERS] // max(1, len(labelled)))
    changing = (group[1:] == group[:-1]) & (labels[1:] != labels[:-1])
    share = counted(group[1:][changing]) / np.maximum(counted(group) - 1, 1)
    addressed = (share >= AT_TIMES) & (counted(group[spoken]) > 0)
    talk = (recurring >= 2) & ((share >= BY_TURNS) | addressed)
    result[labelled] = talk[group] & (times[pair] >= TURNS)
    return result
