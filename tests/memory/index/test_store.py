"""Whose a collection on a server is."""

import json
from pathlib import Path

from assistant.memory.index.chroma import collection_name
from assistant.memory.index.store import MANIFEST, owner, owner_of


def test_whose_a_collection_on_a_server_is(tmp_path: Path) -> None:
    mine = owner(tmp_path, "model-1")
    (tmp_path / MANIFEST).write_text(json.dumps(mine))
    of = {**mine, "index": str(tmp_path)}
    name = collection_name(mine)
    assert owner_of(name, of) == "theirs"
    assert owner_of(name, {**of, "machine": "another"}) == "unknown"
    assert owner_of(name, {**of, "root": str(tmp_path / "gone")}) == "nobody"
    assert owner_of(collection_name({**mine, "embedder": "model-0"}), of) == "nobody"
    assert owner_of(name, {**of, "index": str(tmp_path / "not made yet")}) == "theirs"
