"""What is said for the saying, and what only begins like it."""

import pytest

from assistant.model.smalltalk import small_talk


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
