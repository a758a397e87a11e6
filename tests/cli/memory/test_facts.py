"""What `recall` shows of an answer."""

from typing import cast

import pytest

from assistant.cli.commands.facts import show_answer
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
def test_nothing_is_blamed_for_what_was_not_looked_at_yet(
    behind: tuple[str, ...], blamed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = cast(Keeper, Answering(*behind))
    show_answer(memory, Query("fact", budget=1), as_json=False)
    said = capsys.readouterr().err
    assert ("The budget is too small" in said) == blamed
    assert ("so far: it is still being indexed" in said) == bool(behind)
