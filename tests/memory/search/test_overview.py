"""The nearest pairs of facts, of any number of facts."""

from pathlib import Path

import numpy as np
import pytest

from assistant.disk.storage import Stat
from assistant.memory.index.catalog import Catalog, SourceUpdate
from assistant.memory.index.vector_cache import vector_key
from assistant.memory.search.overview import near_pairs
from tests.support.chunking import chunk


def catalog(directory: Path, texts: list[str], vectors: list[list[float]]) -> Catalog:
    opened = Catalog(directory / "catalog.db", directory / "vectors.db")
    text = "".join(f"- {each}\n" for each in texts)
    chunks = chunk(text, "MEMORY.md", count_tokens=len, max_tokens=200)
    unit = np.array(vectors, np.float32).reshape(len(texts), len(vectors[0]) if vectors else 1)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    keys = [vector_key(each.plain, str.casefold) for each in chunks]
    opened.vectors.put(keys, unit, embedded=len(keys))
    opened.replace_sources(
        [SourceUpdate("MEMORY.md", Stat(1, 1, 1, 1), "d", tuple(chunks))], str.casefold
    )
    return opened


def words(found: list[tuple[object, object, float]]) -> list[set[str]]:
    return [{one.plain, other.plain} for one, other, _ in found]  # type: ignore[attr-defined]


@pytest.mark.parametrize("texts", [[], ["alone"]])
def test_of_none_and_one_there_is_no_pair(tmp_path: Path, texts: list[str]) -> None:
    opened = (
        Catalog(tmp_path / "catalog.db", tmp_path / "vectors.db")
        if not texts
        else catalog(tmp_path, texts, [[1, 0]])
    )
    assert near_pairs(opened, 9) == []
    opened.close()


def test_pairs_come_nearest_first_each_once_and_not_what_is_far_or_struck_out(
    tmp_path: Path,
) -> None:
    vectors = [[1, 0, 0], [0.9, 0.1, 0], [0.6, 0.6, 0], [0, 0, 1], [1, 0.02, 0]]
    opened = catalog(tmp_path, ["a", "b", "c", "far", "~~struck~~"], vectors)
    found = near_pairs(opened, 9)
    assert words(found) == [{"a", "b"}, {"b", "c"}, {"a", "c"}]
    assert [each[2] for each in found] == sorted((each[2] for each in found), reverse=True)
    assert words(near_pairs(opened, 1)) == words(found)[:1]
    opened.close()
