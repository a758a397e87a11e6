"""Questions by rules: they ask for the value, keep the subject, and never hold the answer."""

import pytest

from assistant.upkeep.evaluate import facts, question_for, questions, sample


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("The door code of the office is 4711", "What is the door code of the office?"),
        ("My brother's birthday is on 3 June.", "What is my brother's birthday?"),
        ("Ana's boots are size 39. They pinch.", "What are Ana's boots?"),
        ("Moved to Lisbon in May 2021", "Moved to Lisbon in what?"),
        ("Always answer in German", "Always answer what?"),
        ("Sister Ana breeds sheep", "Sister Ana what?"),
        ("Prefers tea without sugar", "Prefers tea what?"),
    ],
)
def test_a_rule_asks_for_what_a_fact_says(fact: str, question: str) -> None:
    assert question_for(fact) == question


@pytest.mark.parametrize("fact", ["", "Yes", "4711", "…", "It is 9", "She is not a doctor"])
def test_nothing_is_asked_where_too_little_would_be_left(fact: str) -> None:
    assert question_for(fact) is None


def test_facts_are_current_short_stated_once_and_of_memory_files() -> None:
    texts = {
        "MEMORY.md": "# Memory\n\n- Has a dog\n- ~~Lives in Berlin~~ (superseded 2026-01-01: x)\n"
        f"- Likes tea\n- {'long ' * 100}\n",
        "memory/people.md": "\n- likes TEA.\n- Ana breeds sheep\n  - by the sea\n",
        "AGENTS.md": "- Answer in German\n",
    }
    found = facts(texts)
    assert [(each.source, each.start_line) for each in found] == [
        ("MEMORY.md", 3),
        ("memory/people.md", 3),
    ]
    (asked,) = [each for each in questions(found) if each.fact.source == "memory/people.md"]
    assert (asked.fact.start_line, asked.fact.end_line) == (3, 4)


def test_a_sample_is_the_same_each_time_and_in_order() -> None:
    found = facts({"MEMORY.md": "".join(f"- fact {number}\n" for number in range(50))})
    picked = sample(found, 10)
    assert picked == sample(found, 10)
    assert [each.start_line for each in picked] == sorted({each.start_line for each in picked})
    assert len(picked) == 10
    assert sample(found, 99) == found
