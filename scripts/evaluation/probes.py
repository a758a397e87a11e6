"""The queries made for a question, and how the results are scored.

Recall runs with its default settings; only `k` or the budget is set if the measure says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assistant.memory.base import Passage, Query
from scripts.evaluation.room import Room
from scripts.evaluation.suites import Asked, Evidence

AMONG = 8
"""Number of passages in a short list: what fits a screen, and the initial k of a default recall."""
UNLIMITED = 1_000_000
MOST = 150
"""Number of passages requested if the budget is to end the list."""

Score = Callable[[Room, Asked], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of figures: a share from 0 to 1, or a number of `tokens`."""

    name: str
    tokens: bool = False
    less_is_better: bool = False

    def shown(self, value: float) -> str:
        """Return the value as a report prints it: per cent, or tokens."""
        return f"{value:.0f}" if self.tokens else f"{100 * value:.1f}"


@dataclass(frozen=True, slots=True)
class Probe:
    """Scores a question by one or more measures."""

    measures: tuple[Measure, ...]
    score: Score


def held(texts: Sequence[str], evidence: Evidence) -> float:
    """Return the share of the evidence that the texts contain."""
    found = [any(wording in text for wording in each for text in texts) for each in evidence]
    return sum(found) / len(found)


def covered(passages: Sequence[Passage], evidence: Evidence) -> float:
    """Return the share of the evidence that the passages contain."""
    return held([each.text for each in passages], evidence)


def place(passages: Sequence[Passage], evidence: Evidence) -> int | None:
    """Return the rank of the first passage that contains any evidence, from 1; None if there is
    none."""
    holding = (n for n, each in enumerate(passages, 1) if covered([each], evidence))
    return next(holding, None)


def ranked() -> Probe:
    """Measure whether the first passage is right, and the share of the evidence among eight."""

    def score(room: Room, asked: Asked) -> tuple[float, float]:
        found = room.recall(Query(asked.question, k=AMONG, budget=UNLIMITED)).passages
        return float(place(found[:1], asked.evidence) == 1), covered(found, asked.evidence)

    return Probe((Measure("first"), Measure(f"among {AMONG}")), score)


def current() -> Probe:
    """Measure whether the current fact ranks before the stale one; 1 if nothing has changed."""

    def score(room: Room, asked: Asked) -> tuple[float]:
        found = room.recall(Query(asked.question, k=MOST, budget=UNLIMITED)).passages
        now, then = place(found, asked.evidence), place(found, (asked.stale,))
        return (float(not asked.stale or (now is not None and (then is None or now < then))),)

    return Probe((Measure("current before stale"),), score)


def within(*budgets: int) -> Probe:
    """Measure the share of the evidence that fits each token budget."""

    def score(room: Room, asked: Asked) -> list[float]:
        return [_covered_within(room, asked, budget) for budget in budgets]

    return Probe(tuple(Measure(f"within {budget:,} tokens") for budget in budgets), score)


def complete() -> Probe:
    """Measure whether all of the evidence is among eight."""

    def score(room: Room, asked: Asked) -> tuple[float]:
        found = room.recall(Query(asked.question, k=AMONG, budget=UNLIMITED)).passages
        return (float(covered(found, asked.evidence) == 1.0),)

    return Probe((Measure(f"all among {AMONG}"),), score)


def turn(before: Sequence[str] = (), name: str = "in the turn") -> Probe:
    """Measure the share of the evidence sent to the model, and the tokens of the recalled passages.

    `before` is a conversation that precedes the question's own history.
    """

    def score(room: Room, asked: Asked) -> tuple[float, float]:
        got = room.turn(asked.question, (*before, *asked.history))
        return held([got.sent], asked.evidence), float(got.tokens)

    return Probe((Measure(name), Measure(f"tokens {name}", tokens=True)), score)


def whole() -> Probe:
    """Measure whether the model is sent all of the evidence, such as each step of a procedure."""
    one = turn()

    def score(room: Room, asked: Asked) -> tuple[float, float]:
        share, tokens = one.score(room, asked)
        return float(share == 1.0), tokens

    return Probe(one.measures, score)


def disturbed() -> Probe:
    """Measure the tokens recalled for a message that memory has nothing about."""

    def score(room: Room, asked: Asked) -> tuple[float]:
        return (float(room.turn(asked.question).tokens),)

    return Probe((Measure("tokens a message", tokens=True),), score)


def _covered_within(room: Room, asked: Asked, budget: int) -> float:
    found = room.recall(Query(asked.question, k=MOST, budget=budget)).passages
    return covered(found, asked.evidence)
