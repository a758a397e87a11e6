"""The core of a memory: the facts that should shape any answer, whatever it is about.

"Find me a restaurant" shares no word and little meaning with "my wife has coeliac disease". But
what tells of a person's health, habits and wishes is alike: it lies near the middle of a few
sentences of that kind.
"""

import functools

import numpy as np
from numpy.typing import NDArray

from assistant.memory.base import Passage
from assistant.memory.embedding.embedder import Embedder, normalized
from assistant.memory.index.layout import Layout
from assistant.memory.index.store import IndexStore
from assistant.memory.text.chunk import passage
from assistant.workspace.folder import ARCHIVE, PROCEDURE_FILES

MOST = 100
"""Facts that are looked at."""
_SHAPING = """\
Health, allergies, diet, medicines and disabilities of the owner
Strong preferences, likes and dislikes of the owner
Standing instructions on how to answer and what never to do
The owner's family, home, work, habits and budget
I am allergic to it and must not eat it
The owner cannot eat certain foods because of an intolerance
I don't eat meat
Doesn't drink alcohol
The owner follows the dietary rules of a religion
I take a medicine every day
Has a chronic illness or a disability
My back hurts when I do this, so I must not
The owner is afraid of it and avoids it
I can't stand this, never suggest it
Loves this and likes it most
The owner prefers this kind to that
Never do this without asking me first
Always answer me in this way
I spend at most this much money on it
The owner avoids it for reasons of conscience
I don't use this product or service
Keeps this habit every day
I am not free on this day of the week
The owner lives here with family
My partner and my children
My mother needs care
Has a pet at home
I work as this, at these hours
The owner speaks these languages
I have no car and travel by train
Wears this size
I go to bed and get up at this time
"""


class Core:
    """The core of one memory, found anew when it has changed."""

    def __init__(self, store: IndexStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder
        self._layout: Layout | None = None
        self._facts: list[Passage] = []

    def facts(self) -> list[Passage]:
        """The current facts nearest to what shapes an answer, best first."""
        layout = self._store.catalog.layout()
        if layout is not self._layout:
            near, cosines = self._store.dense.nearest(layout, self._middle, MOST)
            chunks = self._store.catalog.chunks(layout.rowid[near].tolist())
            self._facts = [
                passage(each.chunk, cosine)
                for each, cosine in zip(chunks, cosines.tolist(), strict=True)
                if each.chunk.status == "current"
                and each.chunk.source not in PROCEDURE_FILES
                and not each.chunk.source.startswith(ARCHIVE)
            ]
            self._layout = layout
        return self._facts

    @functools.cached_property
    def _middle(self) -> NDArray[np.float32]:
        vectors = self._embedder.embed(_SHAPING.splitlines())
        middle: NDArray[np.float32] = normalized(vectors.mean(axis=0, keepdims=True))[0]
        return middle
