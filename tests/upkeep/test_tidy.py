"""What is proposed, and above all what never is."""

import random
from dataclasses import replace

import pytest

from assistant.memory.base import Pair, Passage
from assistant.upkeep.tidy import Relation, are_twins, by_rules, propose


def passage(text: str, line: int, source: str = "MEMORY.md") -> Passage:
    return Passage(text, f"- {text}", text, source, line, line, 0, len(text) + 2)


def pair(earlier: str, later: str) -> Pair:
    return Pair(passage(earlier, 1), passage(later, 2), 0.9)


@pytest.mark.parametrize(
    ("earlier", "later", "relation"),
    [
        ("The spare key is with Anna", "Anna has the spare key", "same"),
        ("Prefers tea without sugar", "Without sugar, prefers tea", "same"),
        ("The birthday of Tom is 3 June", "3 June is the birthday of Tom", "same"),
        ("Lives in Berlin", "Lives in Lisbon", "changed"),
        ("The door code is 4711", "The door code is 4712", "changed"),
        ("The dentist is Dr. Alvarez on Main Street", "The dentist is Dr. Ruiz on Main Street",
         "changed"),
        ("The meeting is on Monday at 3 pm", "The meeting is on Tuesday at 3 pm", "changed"),
        ("Ana eats meat", "Ana does not eat meat", "changed"),
        ("Ana doesn't eat meat", "Ana eats meat", "changed"),
        ("Room 12 is blue", "Room 13 is blue", "different"),
        ("Ana likes rye", "Ben likes rye", "different"),
        ("ana likes rye", "ben likes rye", "different"),
        ("Ana likes rye", "Ana likes wheat", "different"),
        ("Ana gave Ben the key", "Ben gave Ana the key", "different"),
        ("The flight goes from Porto to Lisbon", "The flight goes to Porto from Lisbon",
         "different"),
        ("Has a dog", "Is afraid of heights", "different"),
    ],
)  # fmt: skip
def test_the_rules_say_only_what_is_nearly_certain(
    earlier: str, later: str, relation: Relation
) -> None:
    assert by_rules(pair(earlier, later)) == relation


def test_a_merge_takes_the_later_away_and_a_change_strikes_the_earlier_out() -> None:
    merge, change = propose(
        [
            Pair(passage("The spare key is with Anna", 1), passage("Anna has the spare key", 2), 1),
            Pair(passage("Lives in Berlin", 3), passage("Lives in Lisbon", 4), 1),
        ]
    )
    assert (merge.kind, merge.old.start_line, merge.new.start_line) == ("merge", 2, 1)
    assert (change.kind, change.old.start_line, change.new.start_line) == ("supersede", 3, 4)


def test_a_fact_is_in_one_proposal_at_most() -> None:
    facts = [passage(f"Lives in {city}", n) for n, city in enumerate(["Berlin", "Rome", "Porto"])]
    pairs = [Pair(facts[0], facts[1], 1), Pair(facts[1], facts[2], 1), Pair(facts[0], facts[2], 1)]
    assert len(propose(pairs)) == 1


def test_facts_of_two_projects_are_left_alone() -> None:
    shop, blog = (
        replace(passage("Tests need TZ=UTC", line), heading=(f"Project: ~/{name} -- 2026-11-01",))
        for line, name in enumerate(("shop", "blog"))
    )
    assert propose([Pair(shop, blog, 1), Pair(blog, passage(shop.plain, 3), 1)]) == ()
    assert len(propose([Pair(shop, replace(shop, id="again"), 1)])) == 1


def test_procedures_are_left_alone() -> None:
    source = "AGENTS.md"
    told = Pair(passage("The tool is make", 1, source), passage("The tool is just", 2, source), 1)
    assert propose([told]) == ()


def test_twins_are_never_merged_whatever_the_model_says() -> None:
    pairs = [pair(*twins) for twins in twins_of(1_000)]
    assert propose(pairs, lambda pairs: ["same"] * len(pairs)) == ()
    assert all(by_rules(each) != "same" for each in pairs)


def test_a_true_paraphrase_may_be_merged_when_the_model_says_so() -> None:
    told = [
        pair("Anna keeps the spare key", "The spare key can be fetched from Anna"),
        pair("Works as a teacher in Porto", "Is employed in Porto, as a teacher at a school"),
    ]
    merged = propose(told, lambda pairs: ["same"] * len(pairs))
    assert [proposal.kind for proposal in merged] == ["merge", "merge"]
    assert not any(are_twins(each.earlier, each.later) for each in told)


def twins_of(count: int) -> list[tuple[str, str]]:
    """Pairs that differ in a number, a name, a date or a negation, half of them reworded."""
    chance = random.Random(7)
    names = ["Ana", "Ben", "Carla", "Dmitri", "Elif", "Farid", "Greta", "Hiro", "Ines", "Jonas"]
    made = []
    for number in range(count):
        one, other = chance.sample(names, 2)
        n, day = chance.randrange(10, 9_000), chance.randrange(1, 28)
        made.append(
            [
                (f"Locker {n} opens with 4711", f"Locker {n + 1} opens with 4711"),
                (f"{one} keeps bees in the garden", f"{other} keeps bees in the garden"),
                (f"The rent is due on {day} May", f"On {day + 1} May the rent is due"),
                (f"{one} is allergic to nuts", f"{one} is not allergic to nuts"),
                (f"Gate {n} is for {one}", f"For {other} there is gate {n}"),
                (f"{one} won't sing on Mondays", f"On Mondays {one} will sing"),
                (f"The bill of {n} euro is paid", f"Paid is the bill of {n + 7} euro"),
                (f"{one} meets {other} at noon", f"At noon, {other} meets {one}"),
            ][number % 8]
        )
    return made
