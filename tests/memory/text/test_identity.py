"""`fold`: which facts are the same, and which only look alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.memory.text.identity import fact_of_line, fold


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lives in Lisbon", "lives  in\nLisbon."),
        ("Anna, my sister: a doctor!", "anna my sister a doctor"),
        ('The code is "4711"', "The code is 4711"),
        ("the code is “4711”", "the code is 4711"),
        ("I don't like well-known places", "i don’t like well known places"),
        ("Tea (green) [always]", "tea green always"),
        ("2019–2023", "2019-2023"),
        ("it was −5 degrees", "it was -5 degrees"),
        ("likes tea — and coffee…", "likes tea and coffee"),
        ("Straße", "STRAẞE"),
        ("ΟΔΟΣ", "οδος"),
        ("cafe\u0301", "CAFÉ"),
        ("zero\u200bwidth \u202ebidi", "zerowidth bidi"),
        ("I ❤️ tea :)", "I ❤ tea"),
        ("ＬＩＳＢＯＮ", "lisbon"),
        ("tea,coffee", "tea, coffee"),
        ("東京に住む。", "東京に住む"),
    ],
)
def test_the_same_fact(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the door code is 4711", "the door code is 4712"),
        ("trains in Maßen", "trains in Massen"),
        ("writes C++", "writes C"),
        ("writes C#", "writes C"),
        ("it was -5 degrees", "it was 5 degrees"),
        ("it was −5 degrees", "it was 5 degrees"),
        ("owes -$5", "owes $5"),
        ("costs $5", "costs €5"),
        ("costs $5", "costs 5"),
        ("5 % off", "5 off"),
        ("3.5 kg", "35 kg"),
        (".5 kg", "5 kg"),
        ("10:30", "1030"),
        ("blood group A-", "blood group A"),
        ("blood group A+", "blood group A-"),
        ("10²", "102"),
        ("1½ cups", "11/2 cups"),
        ("drinks coffee", "does not drink coffee"),
        ("Anna is pregnant", "Anna is pregnant?"),
        ("is 5' wide", 'is 5" wide'),
        ("mail a@b.c", "mail abc"),
        ("in /etc/hosts", "in etc hosts"),
        ("feels 😀", "feels 😢"),
        ("10 < x", "10 > x"),
        ("2*3*4", "234"),
        ("résumé", "resume"),
    ],
)
def test_not_the_same_fact(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@given(st.text())
def test_fold_of_any_text(text: str) -> None:
    folded = fold(text)
    assert folded == " ".join(folded.split())
    assert fold(f"  {text.strip()} . ") == folded or not text.isascii()


@given(st.text("0123456789 ab.,:-'\"()"))
def test_fold_keeps_every_letter_and_digit(text: str) -> None:
    kept = [character for character in fold(text) if character.isalnum()]
    assert kept == [character for character in text if character.isalnum()]


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("- Lives in Ghent", "Lives in Ghent"),
        ("* [x] Bought milk", "Bought milk"),
        ("• Mia paints", "Mia paints"),
        ("-5 degrees is too cold", "-5 degrees is too cold"),
        ("2024. was good", "2024. was good"),
        ("#1 priority: sleep", "#1 priority: sleep"),
        ("Rex is ~~a cat~~ a dog", "Rex is ~~a cat~~ a dog"),
        ("~~Lives~~ in ~~Lisbon~~", "~~Lives~~ in ~~Lisbon~~"),
    ],
)
def test_a_fact_is_what_stands_behind_its_bullet(line: str, fact: str) -> None:
    assert fact_of_line(line) == fact


@pytest.mark.parametrize(
    "line",
    [
        "- ~~Lives in Lisbon~~ (superseded 2026-03-01: Lives in Ghent)",
        "- [ ] ~~Lives in Lisbon~~",
        "~~Had a tram pass (of ~~old~~)~~ (superseded 2026-03-01: Walks (to work))",
        "## Remembered -- 2026-03-01",
        "---",
        "```python",
        "- ",
        "",
    ],
)
def test_what_holds_no_longer_or_says_nothing_is_no_fact(line: str) -> None:
    assert fact_of_line(line) is None
