"""What says again what a better passage said gives room to what adds something. Pure."""

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from assistant.memory.embedding.embedder import Vectors
from assistant.memory.search.selection import KEPT, Scored

ALIKE = 0.6
"""The least cosine of two wordings of one fact; MiniLM gives a true paraphrase about 0.74."""
GIVES_WAY = 6.0
"""So far below its place another wording goes: behind the rest of what is plausible."""
_WORD = re.compile(r"\w+")
_TOLD = re.compile(r"\b(?:(?<=\w[ ,'’(])[A-Z]\w+|[^\W\d]*+\d\w*)")


def with_room(found: Sequence[Scored], vectors: Vectors) -> list[Scored]:
    """Best first, another wording behind what says something else; `vectors` are in this order.

    A number or a name that a better wording lacks is something else; so is what is said in a talk.
    Who asks for superseded facts, too, is told all, each below what took its place.
    """
    if any(each.chunk.status == "superseded" for each in found):
        return list(found)
    near = _nearer_the_top(vectors)
    kept: set[int] = set()
    placed = list(found)
    for number, each in enumerate(found):
        better = kept.intersection(near.get(number, ()))
        if better and not each.turn and _is_told(each, [found[place] for place in better]):
            placed[number] = each.moved("said", each.score - GIVES_WAY)
        else:
            kept.add(number)
    return sorted(placed, key=lambda each: -each.score)


def _nearer_the_top(vectors: Vectors) -> dict[int, list[int]]:
    """By the number of each: those before it whose meaning is alike."""
    near: dict[int, list[int]] = {}
    for number, place in np.argwhere(np.tril(vectors @ vectors.T >= ALIKE, -1)).tolist():
        near.setdefault(number, []).append(place)
    return near


def _is_told(each: Scored, better: Sequence[Scored]) -> bool:
    """Whether one of the better has every number and name of it."""
    told = _told(each.chunk.plain)
    longest = max(told, key=len, default="")
    likely = [other.chunk.plain for other in better if longest in other.chunk.plain]
    return any(told.issubset(_WORD.findall(text)) for text in likely)


@lru_cache(KEPT)
def _told(text: str) -> frozenset[str]:
    """The numbers and names in a text."""
    return frozenset(_TOLD.findall(text))
