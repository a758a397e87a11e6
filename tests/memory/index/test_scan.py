"""The exact scan and Chroma, over one catalog."""

import numpy as np

from assistant.memory.index.refresh import Synchronizer
from assistant.settings.sections import IndexSettings
from assistant.workspace.folder import Workspace
from scripts.benchmark.facts import facts, queries, write_many
from tests.support.hashing import HashingEmbedder


def test_chroma_and_the_scan_name_the_same_nearest(workspace: Workspace) -> None:
    made = facts(1500)
    write_many(workspace.root, made)
    embedder = HashingEmbedder()
    index = Synchronizer(workspace, embedder, IndexSettings())
    index.refresh()
    dense, catalog = index.store.dense, index.store.catalog
    layout = catalog.layout()
    asked = embedder.embed(queries(made, 40))
    scanned = [dense.scan(layout, vector, 8) for vector in asked]
    dense.drain()
    assert dense.count() == catalog.count() and not catalog.outbox.size
    found = [dense.nearest(layout, vector, 8)[1] for vector in asked]
    exact = np.array([cosines for _, cosines in scanned])
    missed = exact - np.array(found) > 2e-3
    assert not missed[:, :3].any()
    assert missed.mean() < 0.03  # a graph of neighbours is nearly exact
    index.close()


def test_a_scan_keeps_to_what_is_marked(workspace: Workspace) -> None:
    write_many(workspace.root, facts(60))
    embedder = HashingEmbedder()
    index = Synchronizer(workspace, embedder, IndexSettings())
    index.refresh()
    dense, layout = index.store.dense, index.store.catalog.layout()
    vector = embedder.embed([facts(60)[41].text])[0]
    marked = np.isin(np.arange(len(layout)), [3, 5, 40])
    places, cosines = dense.scan(layout, vector, 10, marked)
    assert sorted(places.tolist()) == [3, 5, 40]
    assert cosines.tolist() == sorted(cosines.tolist(), reverse=True)
    index.close()
