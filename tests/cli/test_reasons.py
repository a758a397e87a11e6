"""Why a passage matches, in words."""

import pytest

from assistant.cli.memory_text import reasons

ADA, MAY = "The spare key is with Ada, next door", "On 3 May I met Lena in Porto"


@pytest.mark.parametrize(
    ("query", "text", "shares", "mentioned", "said"),
    [
        ("who has the spare key?", ADA, {"dense": 0.57}, None, "same meaning · shares: spare, key"),
        ("neighbour", ADA, {"dense": 0.22}, None, "similar meaning"),
        ("what is the boat called?", ADA, {"dense": 0.1}, None, "among the closest matches"),
        ("what was in May?", MAY, {"date": 6.0}, "2026-05-03", "shares: may · mentions 3 May"),
        ("in spring", MAY, {"date": 5.0}, "2026-05", "mentions 2026-05"),
        ("that week", ADA, {"date": 4.0}, None, "recorded on 21 November"),
        ("what did Mia say?", "Mia: hello", {"speaker": 2.9}, None, "shares: mia · said by the "
         "person you name"),
        ("Wer hat den Schlüssel?", "Ada hat den Schlüssel", {}, None, "shares: schlüssel"),
        ("boats", ADA, {"heading": 0.2}, None, "its heading matches"),
    ],
)  # fmt: skip
def test_reasons_are_words(
    query: str, text: str, shares: dict[str, float], mentioned: str | None, said: str
) -> None:
    assert reasons(query, text, shares, "2026-11-21", mentioned) == said
