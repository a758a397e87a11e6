"""Whose an index is: this workspace's by this model on this machine, or nobody's."""

import json
from pathlib import Path

import pytest

from assistant.memory.index.chroma import collection_name
from assistant.memory.index.store import MANIFEST, IndexFiles, belongs, owner_of


@pytest.fixture
def files(tmp_path: Path) -> IndexFiles:
    """An index of our own with a catalog and vectors."""
    place = tmp_path / "index"
    (place / "chroma").mkdir(parents=True)
    made = IndexFiles(place, belongs(tmp_path, "model-1"))
    made.claim()
    (place / "chroma").mkdir()
    (place / "chroma" / "data").write_bytes(b"12")
    made.catalog.write_bytes(b"123")
    return made


def test_an_index_of_our_own_stays(files: IndexFiles) -> None:
    assert files.claim() == ""
    assert files.catalog.exists() and files.chroma.exists()
    assert files.size() == 5 + (files.place / MANIFEST).stat().st_size
    assert files.inode() == files.catalog.stat().st_ino


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"embedder": "model-2"}, "another version or embedding model"),
        ({"schema": 1}, "another version or embedding model"),
        ({"root": "/elsewhere"}, "another place"),
        ({"machine": "another"}, "another place"),
    ],
)
def test_any_other_is_thrown_away_and_says_why(
    files: IndexFiles, changed: dict[str, object], why: str
) -> None:
    other = {**files.of, **changed}
    (files.place / MANIFEST).write_text(json.dumps(other))
    assert why in files.claim()
    assert not files.catalog.exists() and not files.chroma.exists() and files.inode() == -1
    assert files.claim() == ""


@pytest.mark.parametrize("manifest", ["", "{", "[]", "3"])
def test_one_that_cannot_be_told_is_made_again_without_a_word(
    files: IndexFiles, manifest: str
) -> None:
    (files.place / MANIFEST).write_text(manifest)
    assert files.claim() == "" and not files.catalog.exists()


def test_whose_a_collection_on_a_server_is(files: IndexFiles, tmp_path: Path) -> None:
    of = {**files.of, "index": str(files.place)}
    name = collection_name(files.of)
    assert owner_of(name, of) == "theirs"
    assert owner_of(name, {**of, "machine": "another"}) == "unknown"
    assert owner_of(name, {**of, "root": str(tmp_path / "gone")}) == "nobody"
    assert owner_of(collection_name({**files.of, "embedder": "model-0"}), of) == "nobody"
    assert owner_of(name, {**of, "index": str(tmp_path / "not made yet")}) == "theirs"
