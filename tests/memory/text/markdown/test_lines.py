"""The lines of a text: their endings, their neighbours, what tells one again."""

import pytest

from assistant.memory.text.markdown import line_digest, lines_above, lines_below, newline


@pytest.mark.parametrize(
    ("text", "ending"),
    [("", "\n"), ("a\nb", "\n"), ("a\r\nb\r\n", "\r\n"), ("a\rb\rc\n", "\r"), ("a\r\nb\n\n", "\n")],
)
def test_the_ending_of_most_lines_is_the_texts(text: str, ending: str) -> None:
    assert newline(text) == ending


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_nearest_lines_with_words_are_neighbours(end: str) -> None:
    text = end.join(["one", "", "two", "three", " ", "four", "five", "six", ""])
    at = text.index("four")
    assert list(lines_above(text, at)) == ["three", "two"]
    assert list(lines_below(text, at)) == ["four", "five"]
    assert list(lines_above(text, 0)) == list(lines_below(text, len(text))) == []


def test_a_line_is_told_again_whatever_stands_around_it() -> None:
    assert line_digest("  - a fact\r") == line_digest("- a fact")
    assert line_digest("- a fact") != line_digest("- a Fact")
