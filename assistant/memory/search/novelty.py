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
    alike = np.tril(vectors @ vectors.T >= ALIKE, -1)
    near, ends = np.nonzero(alike)[1].tolist(), alike.sum(axis=1).cumsum().tolist()
    texts = [each.chunk.plain for each in found]
    told: set[int] = set()
    placed = list(found)
    for number, (each, start, end) in enumerate(zip(found, [0, *ends], ends, strict=False)):
        better = [texts[place] for place in near[start:end] if place not in told]
        if better and not each.turn and _is_told(texts[number], better):
            placed[number] = each.moved("said", each.score - GIVES_WAY)
            told.add(number)
    return sorted(placed, key=lambda each: -each.score)


def _is_told(text: str, better: Sequence[str]) -> bool:
    """Whether one of the better texts has every number and name of it."""
    told = _told(text)
    longest = max(told, key=len, default="")
    likely = (other for other in better if longest in other)
    return any(told.issubset(_WORD.findall(other)) for other in likely)


@lru_cache(KEPT)
def _told(text: str) -> frozenset[str]:
    """The numbers and names in a text."""
    return frozenset(_TOLD.findall(text))
