"""Facts and notes as one list: what each may take of a recall."""

from assistant.memory.base import Passage
from assistant.memory.sources.library import merged

ALL = 1000


def passage(name: str, score: float, words: int = 1) -> Passage:
    text = "word " * words
    return Passage(name, text, text, f"{name}.md", 1, 1, 0, len(text), score=score)


def ids(facts: list[Passage], notes: list[Passage], k: int, budget: int = ALL) -> list[str]:
    return [each.id for each in merged(facts, notes, k, budget)]


def test_the_best_of_both_come_best_first() -> None:
    facts = [passage("a", 0.9), passage("b", 0.5)]
    notes = [passage("x", 0.6), passage("y", 1.0)]
    assert ids(facts, notes, 4) == ["y", "a", "x", "b"]


def test_facts_that_match_as_well_keep_half_the_places_and_half_the_tokens() -> None:
    facts = [passage(f"f{number}", 0.9 - number / 10) for number in range(4)]
    notes = [passage(f"n{number}", 1.3 - number / 100) for number in range(4)]
    assert ids(facts, notes, 4) == ["n0", "n1", "f0", "f1"]
    longer = [passage(f"n{number}", 1.3, words=20) for number in range(4)]
    budget = 2 * longer[0].tokens
    assert ids(facts, longer, 9, budget) == ["n0", "f0", "f1", "f2", "f3"]
    assert ids([], notes, 3) == ["n0", "n1", "n2"]


def test_facts_that_hardly_match_keep_no_note_away() -> None:
    facts = [passage(f"f{number}", 0.4) for number in range(4)]
    notes = [passage(f"n{number}", 1.0 - number / 100) for number in range(4)]
    assert ids(facts, notes, 4) == ["n0", "n1", "n2", "n3"]
    assert ids([passage("close", 0.51), *facts], notes, 4) == ["n0", "n1", "n2", "close"]
    assert ids(facts, notes[:1], 3) == ["n0", "f0", "f1"]


def test_where_one_is_asked_for_a_note_must_be_better_than_the_best_fact() -> None:
    facts = [passage("a", 9)]
    assert ids(facts, [passage("x", 9)], 1) == ["a"]
    assert ids(facts, [passage("x", 9.1)], 1) == ["x"]
