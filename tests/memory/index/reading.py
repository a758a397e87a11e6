"""What tests read of an index that the product has no need to."""

from typing import Any

from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.catalog import Catalog, StoredChunk
from assistant.memory.index.postings import Term
from assistant.memory.text.chunk import Chunk


def of_source(catalog: Catalog, name: str) -> list[StoredChunk]:
    """The chunks of a source, in order."""
    layout = catalog.layout()
    if name not in layout.sources:
        return []
    rows = layout.rowid[layout.source == layout.sources.index(name)]
    return catalog.chunks(rows.tolist())


def all_vectors(catalog: Catalog) -> Vectors:
    """The vector of every row, in the layout's order."""
    return catalog.vectors.read(catalog.layout().vector.tolist())


def headings(catalog: Catalog) -> dict[int, tuple[str, ...]]:
    """The heading path of every section, by its number in the layout."""
    layout = catalog.layout()
    stored = catalog.chunks(layout.rowid.tolist())
    places = layout.positions(layout.rowid).tolist()
    return {
        int(layout.section[place]): each.chunk.heading
        for place, each in zip(places, stored, strict=True)
    }


def state(catalog: Catalog) -> tuple[list[Chunk], list[bool], list[list[tuple[Any, ...]]]]:
    """All that does not depend on the numbers of rows: chunks, turns, and the rest."""
    columns = ("heading FROM sections", "word, texts FROM vocabulary")
    with catalog.database.using() as db:
        rest = [sorted(db.execute(f"SELECT {each}").fetchall()) for each in columns]
        terms = [Term(term, 0) for (term,) in db.execute("SELECT DISTINCT term FROM postings")]
    stored = [each for name in catalog.sources() for each in of_source(catalog, name)]
    assert len(stored) == catalog.count()
    ids = {each.rowid: each.chunk.id for each in stored}
    words = [
        (term, ids[row], count)
        for term, (rows, counts) in catalog.words.in_chunks(terms).items()
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True)
    ]
    rest.append(sorted(words))
    return [each.chunk for each in stored], catalog.layout().turn.tolist(), rest
