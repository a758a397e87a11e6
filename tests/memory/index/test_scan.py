"""The nearest chunks without Chroma: by signs, and in a memory that is too large to be held."""

from pathlib import Path

import numpy as np
import pytest

from assistant.memory.embedding.embedder import HashingEmbedder, normalized
from assistant.memory.index.sqlite.signs import pack_signs, shortlist, unpack_signs
from assistant.memory.index.sync import Synchronizer
from assistant.settings.memory import IndexSettings
from assistant.workspace.folder import Workspace
from scripts.benchmark.facts import facts, write_many

DRAW = np.random.default_rng(7)
VECTORS = normalized(DRAW.standard_normal((5000, 96), dtype=np.float32))
SIGNS = unpack_signs([pack_signs(VECTORS[:1000]), pack_signs(VECTORS[1000:])], len(VECTORS))


@pytest.mark.parametrize("count", [20, 200])
def test_a_shortlist_by_signs_holds_the_nearest(count: int) -> None:
    for place in range(0, 5000, 250):
        noise = DRAW.standard_normal(96).astype(np.float32) / np.sqrt(96)
        found = shortlist(SIGNS, VECTORS[place] + 0.7 * noise, count)
        assert place in found
        assert count / 2 <= len(found) <= 2 * count


def test_a_shortlist_keeps_to_what_is_marked() -> None:
    odd = np.arange(5000) % 2 == 1
    found = shortlist(SIGNS, VECTORS[10], 100, odd)
    assert len(found) >= 50
    assert odd[found].all()
    few = np.isin(np.arange(5000), [3, 5, 4000])
    for count in (10, 100):
        assert shortlist(SIGNS, VECTORS[10], count, few).tolist() == [3, 5, 4000]


@pytest.mark.parametrize("most", [10, 1000])
def test_a_memory_too_large_to_be_held_is_scanned(workspace: Workspace, most: int) -> None:
    write_many(workspace.root, facts(60))
    embedder = HashingEmbedder()
    index = Synchronizer(workspace, embedder, IndexSettings(embedded_chunks=most))
    index.refresh()
    index.store.dense.drain()
    assert index.store.catalog.outbox.size == 0
    assert Path(workspace.index, "chroma").exists() == (most == 1000)
    row, cosine = index.store.dense.nearest(embedder.embed([facts(60)[41].text])[0], 1)
    assert index.store.catalog.chunks(row.tolist())[0].chunk.plain == facts(60)[41].text
    assert cosine[0] == pytest.approx(1.0, abs=1e-3)
    index.close()
