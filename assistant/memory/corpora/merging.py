"""The owner's facts and passages of their notes as one list, in which the facts keep their place.

However much a vault holds, it takes no more of a recall than its budget, and all sources together
no more than half of it; what they do not take is the facts'. Pure.
"""

from collections.abc import Sequence

from assistant.memory.base import Passage, fill

SHARE = 2
"""Notes may take one part of so many of a recall, in tokens and in passages."""
FAR = 7.0
"""A note whose score lies so far below the best fact's is not worth its tokens."""


def merged(
    facts: Sequence[Passage], notes: Sequence[Passage], k: int, budget: int
) -> list[Passage]:
    """The best of both, best first, at most `k` passages and `budget` tokens.

    `facts` are those that a recall without notes returns, best first.
    """
    best = facts[0].score if facts else float("-inf")
    near = sorted(
        (each for each in notes if each.score >= best - FAR), key=lambda each: -each.score
    )
    room = budget // SHARE if facts else budget
    if k == 1:
        near = [each for each in near if each.score > best]
    places = max(1, k // SHARE) if facts else k
    beside, _ = fill(near, places, room)
    taken = sum(each.tokens for each in beside)
    kept, _ = fill(facts, k - len(beside), budget - taken)
    return sorted([*kept, *beside], key=lambda each: -each.score)
