"""The mark of a core fact."""

import pytest

from assistant.memory.text.annotations import is_core, without

FACT = "- Penicillin is off limits <!-- core -->\n  since 1990"


def test_the_mark_is_read_and_taken_off() -> None:
    assert is_core(FACT)
    assert without(FACT) == "- Penicillin is off limits\n  since 1990"


@pytest.mark.parametrize(
    "text", ["- plain", "- the core <!-- a note -->", "- core: <!-- corer -->"]
)
def test_other_comments_are_no_marks(text: str) -> None:
    assert not is_core(text)
    assert without(text) == text
