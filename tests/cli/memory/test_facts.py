"""What `recall` shows of an answer."""

from typing import cast

import pytest

from assistant.cli.memory.facts import show_answer
from assistant.memory.base import Passage, Query, Recall
from assistant.memory.protocol import Keeper

LONG = Passage("p1", "- A fact", "A fact", "MEMORY.md", 1, 1, 0, 8)


class Answering:
    """A memory that finds a passage only where tokens are free."""

    def __init__(self, *behind: str) -> None:
        self._behind = behind

    def recall(self, query: Query) -> Recall:
        if query.budget == 1:
            return Recall(query.text, 0, (), behind=self._behind)
        return Recall(query.text, 2, (LONG,))


@pytest.mark.parametrize(("behind", "blamed"), [((), True), (("MEMORY.md",), False)])
def test_the_budget_is_blamed_only_if_all_was_looked_at(
    behind: tuple[str, ...], blamed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = cast(Keeper, Answering(*behind))
    show_answer(memory, Query("fact", budget=1), as_json=False)
    assert ("The budget is too small" in capsys.readouterr().err) == blamed
