"""No pattern goes through a long text at once: other threads would wait meanwhile."""

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from assistant.characters import STRETCH, stretches
from assistant.memory.text.chunk import cuts
from assistant.secrets.detector import Detector

WORDS = "one two, "
TEXTS = {
    "one line": WORDS * (12 * STRETCH // len(WORDS)),
    "lines": "- Ole has a boat, and Ada a key\n" * (12 * STRETCH // 32),
    "lines that end as on old machines": "- Ole has a boat, and Ada\r" * (12 * STRETCH // 26),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_stretches_are_the_text_and_none_is_long(text: str) -> None:
    found = list(stretches(text))
    assert "".join(text[first:stop] for first, stop in found) == text
    assert max(stop - first for first, stop in found) <= 2 * STRETCH


def entered(work: Callable[[], Iterator[Any]]) -> int:
    """How often the interpreter goes on by a line, where it lets other threads have their turn."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for _ in work():
            pass
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_others_get_their_turn_at_each_stretch(text: str) -> None:
    assert entered(lambda: cuts(text)) >= len(text) // (2 * STRETCH)


def test_what_lies_across_the_end_of_a_stretch_is_found_whole() -> None:
    token = "hf_" + "aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY3z"
    for at in range(2 * STRETCH - len(token) - 3, 2 * STRETCH + 4, 3):
        text = f"{'x ' * (at // 2)}{token} {'y ' * STRETCH}"
        begin = text.index(token)
        assert [span[:2] for span in Detector().find(text)] == [(begin, begin + len(token))]
