"""Marks at the end of a fact's line."""

import pytest

from assistant.memory.text.annotations import annotated, is_core, occasions, searched, without

FACT = "- Penicillin is off limits <!-- core --> <!--for: doctors,  pharmacy-->\n  since 1990"


def test_marks_are_read_and_taken_off() -> None:
    assert is_core(FACT)
    assert occasions(FACT) == "doctors,  pharmacy"
    assert without(FACT) == "- Penicillin is off limits\n  since 1990"
    assert searched(FACT, "Penicillin") == "Penicillin\ndoctors,  pharmacy"


@pytest.mark.parametrize(
    "text", ["- plain", "- the core <!-- a note -->", "- core: <!-- corer -->"]
)
def test_other_comments_are_no_marks(text: str) -> None:
    assert not is_core(text) and not occasions(text)
    assert without(text) == text
    assert searched(text, "plain") == "plain"


def test_a_fact_is_marked_once_on_its_first_line() -> None:
    marked = annotated(FACT, core=True, matters_for="travel --> <b>\n planes")
    assert marked == (
        "- Penicillin is off limits <!-- core --> <!-- for: travel b planes -->\n  since 1990"
    )
    assert annotated(marked) == without(FACT)
