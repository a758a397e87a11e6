"""What a chunk's words tell of its kind."""

from collections.abc import Sequence

import numpy as np
import pytest

from assistant.memory.text import dialogue
from assistant.memory.text.dialogue import label, number, speaks


def turns(chunks: Sequence[tuple[int, str]]) -> list[bool]:
    """Which of these (section, words) are turns."""
    said = [plain for _, plain in chunks]
    return dialogue.turns(
        np.array([section for section, _ in chunks], dtype=np.int64),
        np.array([number(label(plain)) for plain in said], dtype=np.int64),
        np.array([speaks(plain) for plain in said], dtype=np.bool_),
    ).tolist()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Caroline: I went there.", {"caroline"}),
        ("Wifi password: hunter2", {"wifi", "password"}),
        ("Mr Farrugia: yes", {"mr", "farrugia"}),
        ("It was late: so we went home, all of us together: yes", {"it", "was", "late"}),
        ("At 10:30 we met", set()),
        ("https://example.org/a is the address", set()),
        ("A sentence far too long to be the label of anything at all: no", set()),
        ("one two three four five: no", set()),
        ("no label here", set()),
        ("", set()),
    ],
)
def test_a_label_leads_a_chunk_and_is_short(words: str, expected: set[str]) -> None:
    assert label(words) == expected


def test_a_label_that_recurs_in_a_section_is_a_speaker() -> None:
    talk = [(1, f"{who}: hello") for who in ("Ann", "Bob", "Ann", "Bob", "Ann")]
    assert turns(talk) == [True, False, True, False, True]
    assert turns([(number, "Ann: hello") for number in range(5)]) == [False] * 5
    assert turns([(1, "no label")] * 5) == [False] * 5


@pytest.mark.parametrize(
    "lines",
    [
        ["Mia: likes sushi", "Mia: allergic to nuts", "Mia: shoe size 31"],
        ["Mia: likes sushi", "Mia: size 31", "Mia: six", "Tom: size 35", "Tom: nine", "Tom: left"],
        [
            "Bugfix: no crash",
            "Bugfix: no leak",
            "Feature: tabs",
            "Bugfix: quieter",
            "Feature: dark",
        ],
    ],
)
def test_facts_with_labels_are_no_talk(lines: list[str]) -> None:
    assert turns([(1, line) for line in lines]) == [False] * len(lines)


def test_who_says_more_at_a_time_talks_too() -> None:
    said = ["Ann: hi", "Ann: how are you?", "Bob: fine", "Bob: and tired", "Bob: yes", "Ann: oh"]
    assert all(turns([(1, line) for line in said]))
