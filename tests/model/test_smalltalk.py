"""What is said for the saying, and what only begins like it."""

import pytest

from assistant.model.smalltalk import is_sum, small_talk


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Hi!", "greeting"),
        ("hello there, how are you?", "greeting"),
        ("Good morning :)", "greeting"),
        ("Grüezi", "greeting"),
        ("¡Buenos días!", "greeting"),
        ("Привет", "greeting"),
        ("你好！", "greeting"),
        ("नमस्ते", "greeting"),
        ("안녕하세요", "greeting"),
        ("Thank you so much!!", "thanks"),
        ("Danke schön.", "thanks"),
        ("ありがとうございます", "thanks"),
        ("good night 🌙", "farewell"),
        ("Tschüss!", "farewell"),
        ("What can you do?", "abilities"),
        ("how can you help me", "abilities"),
        ("sounds good!", "chat"),
        ("Are you a robot?", "chat"),
    ],
)
def test_what_is_said_for_the_saying(text: str, kind: str) -> None:
    assert small_talk(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "hi, where is my spare key?",
        "good morning routine",
        "hello kitty",
        "Thanks to whom?",
        "thank you notes",
        "what can you do about my knee?",
        "how does this work contract end?",
        "see you later list",
        "Morning flight to Porto",
        "yes",
        "Wie heißt hallo auf Polnisch?",
        "hi " * 500,
    ],
)
def test_what_only_begins_like_it_is_asked_for(text: str) -> None:
    assert small_talk(text) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2+2?", True),
        ("what is 17 times 23", True),
        ("15 % of 80", True),
        ("１２＋３０", True),
        ("wie viel ist 12 * 7", True),
        ("12 * (", False),
        ("what is 4711", False),
        ("0531 220 44 71", False),
        ("26/00871", False),
        ("Zimmer 12 oder 14", False),
        ("1-8-6-3", False),
        ("what is on 11/12", False),
        ("kalorien 100 - 200", False),
        ("how many guests are coming, 12 x 4 or more?", False),
        ("", False),
    ],
)
def test_a_sum_is_told_from_what_memory_may_know(text: str, found: bool) -> None:
    assert is_sum(text) == found
