"""The figures of past evaluations on a real file."""

from pathlib import Path

import pytest

from assistant.errors import StorageError
from assistant.upkeep.results import Figures, keep, read

FIGURES = Figures("2026-11-21T15:00:00+00:00", "self-retrieval", 40, 20, 0.95, {"k = 5": 0.9})


def test_what_is_kept_is_read_oldest_first(tmp_path: Path) -> None:
    path = tmp_path / "private" / "evaluations.jsonl"
    assert read(path) == []
    keep(path, FIGURES)
    keep(path, Figures("later", "asked by the model", 41, 20, 0.5, {"k = 5": 0.4}))
    assert read(path)[0] == FIGURES
    assert [each.found for each in read(path)] == [0.95, 0.5]
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("bad", ["{", '{"time": "x"}', "[1]", "7"])
def test_a_line_that_is_none_is_named(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "evaluations.jsonl"
    keep(path, FIGURES)
    path.write_text(path.read_text() + bad + "\n")
    with pytest.raises(StorageError, match=":2 is no evaluation") as raised:
        read(path)
    assert raised.value.cure
