"""Word pieces are those that a plain search through a dictionary finds."""

import numpy as np
import pytest

from assistant.memory.embedding.foreign.unigram import Unigram

LIKELY = {
    "a": -2.0,
    "b": -2.5,
    "ab": -3.0,
    "aba": -3.25,
    "ü": -4.0,
    "üa": -4.5,
    "花": -5.0,
    "c": 0.0,
}
UNKNOWN = 99


@pytest.fixture(scope="module")
def model() -> Unigram:
    pieces = [piece.encode() for piece in LIKELY]
    scores = np.array(list(LIKELY.values()), np.float32)
    ends = np.cumsum([0, *map(len, pieces)])
    return Unigram(b"".join(pieces), ends, scores, np.flatnonzero(scores), UNKNOWN)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("abab", ["aba", "b"]),
        ("abba", ["ab", "b", "a"]),
        ("üaü花", ["üa", "ü", "花"]),
        ("axa", ["a", None, "a"]),
        ("c", [None]),  # without a probability it is no part of a text
        ("\0", [None]),
    ],
)
def test_a_text_consists_of_its_likeliest_pieces(
    model: Unigram, text: str, pieces: list[str | None]
) -> None:
    numbers = [UNKNOWN if piece is None else list(LIKELY).index(piece) for piece in pieces]
    assert model.likeliest(text) == numbers


def test_of_two_alike_the_later_is_meant() -> None:
    scores = np.array([-1.0, -1.0], np.float32)
    twice = Unigram(b"abab", np.array([0, 2, 4]), scores, np.arange(2), UNKNOWN)
    assert twice.likeliest("ab") == [1]
