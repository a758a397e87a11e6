"""Messages that hold all it takes to answer them."""

import pytest

from assistant.agent.prompt.selfcontained import is_self_contained


@pytest.mark.parametrize(
    "text",
    ["2+2?", "what is 17 times 23", "12 * (", "convert 72 fahrenheit to celsius", "15 % of 80",
     "what's 3/8 as a decimal", "how many kilometres are 26.2 miles", 'translate "je ne sais quoi"',
     "sum of the numbers from 1 to 100", 'correct the spelling: "definately recieve"'],
)  # fmt: skip
def test_nothing_remembered_changes_the_answer(text: str) -> None:
    assert is_self_contained(text) is (text != "12 * (")


@pytest.mark.parametrize(
    "text",
    ["what is 4711", "0531 220 44 71", "26/00871", "translate my letter to Ada", "2080SQR8YVKLA",
     "how many guests are coming", "how many eggs are in the cake", "summarize the lease", "",
     "what is 2.4 bar for", "1-8-6-3", "convert the shed", "9" * 1000],
)  # fmt: skip
def test_what_memory_may_know_is_asked_of_it(text: str) -> None:
    assert not is_self_contained(text)
