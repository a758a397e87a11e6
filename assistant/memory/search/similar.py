"""Which current facts are so near to one that it may supersede them."""

import numpy as np

from assistant.memory.base import Passage
from assistant.memory.index.sqlite.stored import StoredChunk
from assistant.memory.index.store import IndexStore
from assistant.memory.text.chunk import passage

MOST = 3
"""Candidates to supersede that are pointed out."""
LEAST_COSINE = 0.6
"""How near they are at least; MiniLM gives a true paraphrase about 0.74."""


def similar(store: IndexStore, fact: StoredChunk) -> tuple[Passage, ...]:
    """The nearest current facts besides this one, nearest first."""
    catalog = store.catalog
    layout = catalog.layout()
    place = layout.positions(np.array([fact.rowid]))
    vector = catalog.vectors.read(layout.vector[place].tolist())[0]
    rows, cosines = store.dense.nearest(vector, 4 * MOST)
    cosine = dict(zip(rows.tolist(), cosines.tolist(), strict=True))
    near = [
        passage(stored.chunk, cosine[stored.rowid])
        for stored in catalog.chunks(rows.tolist())
        if stored.rowid != fact.rowid and stored.chunk.status == "current"
    ]
    return tuple(each for each in near if each.score >= LEAST_COSINE)[:MOST]
