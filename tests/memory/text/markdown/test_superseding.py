"""How a fact is struck through, and how that is read."""

import pytest

from assistant.memory.text.markdown import PARSER, named_successor, strike_out, words_of

NOTE = "(superseded 2026-11-21: Vit à Évora)"


@pytest.mark.parametrize(
    "passage",
    ["- Lives in Berlin", "1. Lives in Berlin", "* Lives in\n  Berlin", "Lives in Berlin",
     "- Lives in Berlin\n  - Since 2019\n    more", "- Lives in *Berlin* with ~~Bo~~ Ann"],
)  # fmt: skip
def test_a_struck_passage_is_superseded_and_keeps_its_words(passage: str) -> None:
    result = strike_out(passage, "(superseded 2026-11-21: Lives in Lisbon)")
    assert result is not None
    words = words_of(PARSER.parse(result), result)
    assert words.struck
    assert words.until == "2026-11-21"
    assert "Lives in Berlin" in words.text
    assert "Lisbon" not in words.text


@pytest.mark.parametrize(
    "passage", ["```\nx\n```", "# x", "> x", "| a |\n|---|\n| b |", "<p>x</p>"]
)
def test_what_is_no_fact_cannot_be_struck_out(passage: str) -> None:
    assert strike_out(passage, "(superseded 2026-11-21: y)") is None


def test_what_is_said_of_a_fact_stays_behind_it_when_it_is_struck_out() -> None:
    marks = "<!-- for: voyages --> <!-- 2024-05-01 -->"
    result = strike_out(f"- [ ] Vit à Nîmes {marks}", NOTE)
    assert result == f"- [ ] ~~Vit à Nîmes~~ {NOTE} {marks}"
    words = words_of(PARSER.parse(result), result)
    assert (words.text, words.struck, words.until) == ("Vit à Nîmes", True, "2026-11-21")
    assert named_successor(result) == "Vit à Évora"
    earlier = f"- ~~Vit à Nîmes {marks}~~ {NOTE}"
    assert words_of(PARSER.parse(earlier), earlier) == words
