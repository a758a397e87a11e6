"""The chart of the facts that are indexed."""

from collections.abc import Callable

import numpy as np

from assistant.memory.base import Chart, Charted, Passage, Topic
from assistant.memory.index.catalog import Catalog
from assistant.memory.search.survey.near_pairs import read_vectors
from assistant.memory.search.survey.projection import names, plane
from assistant.memory.text.chunk import passage
from assistant.workspace.folder import PROCEDURE_FILES


def chart(catalog: Catalog, recorded: Callable[[Passage], Passage]) -> Chart:
    """Every fact, laid out by its meaning; `recorded` adds what the journal knows of it."""
    layout = catalog.layout()
    found = catalog.chunks(layout.rowid.tolist())
    stored = {e.rowid: e.chunk for e in found if e.chunk.source not in PROCEDURE_FILES}
    kept = [place for place, row in enumerate(layout.rowid.tolist()) if row in stored]
    chunks = [stored[int(layout.rowid[place])] for place in kept]
    drawn = plane(read_vectors(catalog, layout, np.array(kept, dtype=np.int64)))
    named = names([each.plain for each in chunks], drawn.topic, len(drawn.radius))
    facts = (
        Charted(
            recorded(passage(chunk)),
            int(topic),
            round(x, 2),
            round(y, 2),
            near,
            chunk.until,
        )
        for chunk, topic, (x, y), near in zip(
            chunks, drawn.topic.tolist(), drawn.place.tolist(), drawn.near, strict=True
        )
    )
    circles = zip(named, drawn.centre.tolist(), drawn.radius.tolist(), strict=True)
    topics = (Topic(name, round(x, 2), round(y, 2), radius) for name, (x, y), radius in circles)
    return Chart(tuple(facts), tuple(topics))
