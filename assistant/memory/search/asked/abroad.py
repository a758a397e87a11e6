"""Passages in another language than the question: no word of it can speak for them. Pure."""

from collections.abc import Sequence

from assistant.memory.search.selection import Scored
from assistant.memory.text.language import language_of, language_of_script

MORE = 0.3
"""By so much more their meaning counts, for what the question's words add to the others."""


def from_abroad(found: Sequence[Scored], language: str) -> list[Scored]:
    """The candidates with what is added to those in another language than the question's."""
    return [
        each if language_of(each.chunk.plain) == language else _with_more(each) for each in found
    ]


def is_of_another_script(found: Sequence[Scored], question: str) -> bool:
    """Whether the nearest of them by meaning is in another script than the question."""
    nearest = max(found, key=_meaning, default=None)
    own = language_of_script(question)
    return nearest is not None and language_of_script(nearest.chunk.plain) != own


def _with_more(each: Scored) -> Scored:
    return each.moved("language", each.score + MORE * max(0.0, _meaning(each)))


def _meaning(each: Scored) -> float:
    return each.shares.get("dense", 0.0)
