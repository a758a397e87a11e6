"""A chart of memory: its facts on a plane, near one another as their meanings are."""

from dataclasses import dataclass

from assistant.memory.base import Passage


@dataclass(frozen=True, slots=True)
class Topic:
    """Facts that lie together, by the words that tell them from others; a disk on the plane."""

    name: str
    x: float
    y: float
    radius: float


@dataclass(frozen=True, slots=True)
class Charted:
    """A fact in its topic. `until` is the day it was struck
    out (ISO), `near` the places of the facts nearest to it in the chart, nearest first."""

    passage: Passage
    topic: int
    x: float
    y: float
    near: tuple[int, ...] = ()
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """All facts, in the order of the files, and their topics, the largest first."""

    facts: tuple[Charted, ...] = ()
    topics: tuple[Topic, ...] = ()
