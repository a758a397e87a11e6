"""What tests read of an index that the product has no need to."""

from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.index.sqlite.stored import StoredChunk


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
