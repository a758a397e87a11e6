"""What comments say of a fact."""

import pytest

from assistant.memory.text.fact_line import is_core, recorded, without

FACT = "- Penicillin is off limits <!-- core -->\n  since 1990"


def test_the_mark_is_read_and_taken_off() -> None:
    assert is_core(FACT)
    assert without(FACT) == "- Penicillin is off limits\n  since 1990"


def test_the_day_is_read_and_taken_off() -> None:
    assert recorded("- Swims <!-- 2026-11-21 -->") == "2026-11-21"
    assert without("- Swims <!-- 2026-11-21 -->") == "- Swims"
    assert recorded("- Swims on 2026-11-21") is recorded("- Swims <!-- 2026-13-41 -->") is None


@pytest.mark.parametrize(
    "text", ["- plain", "- the core <!-- a note -->", "- core: <!-- corer -->"]
)
def test_other_comments_are_no_marks(text: str) -> None:
    assert not is_core(text)
    assert without(text) == text
