"""What goes from a file with a fact: its own lines, and a heading that nothing is left of."""

import pytest

from assistant.memory.writing.markup import removal, with_emptied_heading

DAY = "Remembered -- 2026-11-21"


@pytest.mark.parametrize(
    ("text", "fact", "left"),
    [
        ("- a\n- b\n- c\n", "b", "- a\n- c\n"),
        ("- a\r\n- b\r\n", "b", "- a\r\n"),
        ("- a\n- b", "b", "- a\n"),
        ("  * b  \n- c\n", "b", "- c\n"),
        ("- [ ] b\n- c\n", "b", "- c\n"),
        ("one. b. two\n", "b. ", "one. two\n"),
        ("# T\n\nb\n", "b", "# T\n\n"),
    ],
)
def test_a_whole_line_goes_and_of_a_shared_one_the_words(text: str, fact: str, left: str) -> None:
    start = text.index(fact)
    cut = removal(text, start, start + len(fact))
    assert cut.apply(text) == left
    assert cut.reverse(left) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"# M\n\n## {DAY}\n\n- b\n", "# M\n"),
        (f"# M\n\n## {DAY}\n\n- b\n\n## Other\n\n- c\n", "# M\n\n## Other\n\n- c\n"),
        (f"# M\n\n## {DAY}\n\n- b\n- c\n", f"# M\n\n## {DAY}\n\n- c\n"),
        ("# M\n\n## Mine\n\n- b\n", "# M\n\n## Mine\n\n"),
    ],
)
def test_a_heading_of_ours_goes_with_its_last_fact(text: str, left: str) -> None:
    start = text.index("- b") + 2
    cut = with_emptied_heading(text, removal(text, start, start + 1), DAY)
    assert cut.apply(text) == left
    assert cut.reverse(left) == text
