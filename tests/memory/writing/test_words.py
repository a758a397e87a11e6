"""The words of a fact: known again in every form, and not in what only resembles them."""

import unicodedata

import pytest

from assistant.memory.text.identity import digest
from assistant.memory.text.markdown import line_digest
from assistant.memory.writing.entries import Edit
from assistant.memory.writing.words import GONE, Words

SAFE = Words(["The safe opens with zanzibar-17"])


@pytest.mark.parametrize(
    "text",
    ["the SAFE opens with Zanzibar-17.", "- The *safe* opens\n  with zanzibar-17",
     "Eve says: the safe opens with zanzibar 17", "~~The safe opens with zanzibar-17~~"],
)  # fmt: skip
def test_a_fact_is_known_whatever_stands_between_its_words(text: str) -> None:
    assert SAFE.stand_in(text)


@pytest.mark.parametrize("text", ["The safe opens with zanzibar-18", "zanzibar", "Unsafe openings"])
def test_what_resembles_it_is_not(text: str) -> None:
    assert not SAFE.stand_in(text)


def test_a_short_word_is_not_found_in_a_longer_one() -> None:
    assert Words(["tea"]).stand_in("likes tea!")
    assert not Words(["tea"]).stand_in("steam")
    assert Words(["tea"]).without("steam or tea") == f"steam or {GONE}"


@pytest.mark.parametrize("fact", ["我住在柏林", "🦭🦭"])
def test_facts_without_spaced_words_are_known(fact: str) -> None:
    assert Words([fact]).stand_in(f"昨天说{fact}了")


def test_two_spellings_of_one_text_are_one() -> None:
    fact = "Zoë besucht José im Café"
    for form in ("NFC", "NFD"):
        words = Words([unicodedata.normalize(form, fact)])
        assert words.stand_in(unicodedata.normalize("NFD", f"- {fact}"))
        assert words.are(unicodedata.normalize("NFC", fact.upper()))


def test_no_digest_of_its_line_stays_to_confirm_a_guess() -> None:
    line, other = line_digest("- The safe opens with zanzibar-17"), line_digest("- other")
    edit = Edit("MEMORY.md", 0, "", "x", digest("a"), digest("b"), (line, other), (other, line))
    assert SAFE.unlearnt(edit).above == ("", other)
    assert SAFE.unlearnt(edit).below == (other, "")
