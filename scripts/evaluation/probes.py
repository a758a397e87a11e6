"""What is asked of a memory with a question, and how the answer is scored.

Recall is asked with its settings as they are by default; only `k` or the budget is set where the
measure says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assistant.memory.base import Passage, Query
from scripts.evaluation.room import Room
from scripts.evaluation.suites import Asked, Evidence

AMONG = 8
"""Passages of a short list: what fits a screen, and the k of a default recall at first."""
UNLIMITED = 1_000_000
MOST = 150
"""Passages asked for where the budget is to end the list."""

Score = Callable[[Room, Asked], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of figures: a share from 0 to 1, or a number of `tokens`."""

    name: str
    tokens: bool = False
    less_is_better: bool = False

    def shown(self, value: float) -> str:
        """The value as a report prints it: per cent, or tokens."""
        return f"{value:.0f}" if self.tokens else f"{100 * value:.1f}"


@dataclass(frozen=True, slots=True)
class Probe:
    """Scores a question by one or more measures at once."""

    measures: tuple[Measure, ...]
    score: Score


def held(texts: Sequence[str], evidence: Evidence) -> float:
    """The share of the evidence that the texts hold."""
    found = [any(wording in text for wording in each for text in texts) for each in evidence]
    return sum(found) / len(found)


def covered(passages: Sequence[Passage], evidence: Evidence) -> float:
    """The share of the evidence that the passages hold."""
    return held([each.text for each in passages], evidence)


def place(passages: Sequence[Passage], evidence: Evidence) -> int | None:
    """Where the first passage that holds any of the evidence stands, from 1; None if nowhere."""
    holding = (n for n, each in enumerate(passages, 1) if covered([each], evidence))
    return next(holding, None)


def ranked() -> Probe:
    """Whether the first passage is right, and how much of the evidence is among eight."""

    def score(room: Room, asked: Asked) -> tuple[float, float]:
        found = room.recall(Query(asked.question, k=AMONG, budget=UNLIMITED)).passages
        return float(place(found[:1], asked.evidence) == 1), covered(found, asked.evidence)

    return Probe((Measure("first"), Measure(f"among {AMONG}")), score)


def current() -> Probe:
    """Whether what is so now stands before what was so; 1 where nothing has changed."""

    def score(room: Room, asked: Asked) -> tuple[float]:
        found = room.recall(Query(asked.question, k=MOST, budget=UNLIMITED)).passages
        now, then = place(found, asked.evidence), place(found, (asked.stale,))
        return (float(not asked.stale or (now is not None and (then is None or now < then))),)

    return Probe((Measure("current before stale"),), score)


def within(*budgets: int) -> Probe:
    """How much of the evidence fits each budget of tokens."""

    def score(room: Room, asked: Asked) -> list[float]:
        return [_covered_within(room, asked, budget) for budget in budgets]

    return Probe(tuple(Measure(f"within {budget:,} tokens") for budget in budgets), score)


def complete() -> Probe:
    """Whether all of the evidence is among eight."""

    def score(room: Room, asked: Asked) -> tuple[float]:
        found = room.recall(Query(asked.question, k=AMONG, budget=UNLIMITED)).passages
        return (float(covered(found, asked.evidence) == 1.0),)

    return Probe((Measure(f"all among {AMONG}"),), score)


def turn(before: Sequence[str] = (), name: str = "in the turn") -> Probe:
    """How much of the evidence the model is sent, and the tokens of what was recalled.

    `before` is a talk that the question's own history follows.
    """

    def score(room: Room, asked: Asked) -> tuple[float, float]:
        got = room.turn(asked.question, (*before, *asked.history))
        return held([got.sent], asked.evidence), float(got.tokens)

    return Probe((Measure(name), Measure(f"tokens {name}", tokens=True)), score)


def whole() -> Probe:
    """Whether the model is sent all of the evidence, as of a procedure each step."""
    one = turn()

    def score(room: Room, asked: Asked) -> tuple[float, float]:
        share, tokens = one.score(room, asked)
        return float(share == 1.0), tokens

    return Probe(one.measures, score)


def disturbed() -> Probe:
    """What a message costs that memory has nothing on."""

    def score(room: Room, asked: Asked) -> tuple[float]:
        return (float(room.turn(asked.question).tokens),)

    return Probe((Measure("tokens a message", tokens=True),), score)


def _covered_within(room: Room, asked: Asked, budget: int) -> float:
    found = room.recall(Query(asked.question, k=MOST, budget=budget)).passages
    return covered(found, asked.evidence)
