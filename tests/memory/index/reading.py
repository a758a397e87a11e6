"""What tests read of an index that the product has no need to."""

from typing import Any

from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.words import Term
from assistant.memory.text.chunk import Chunk


def of_source(catalog: Catalog, name: str) -> list[Chunk]:
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
    chunks = catalog.chunks(layout.rowid.tolist())
    return {
        section: chunk.heading
        for section, chunk in zip(layout.section.tolist(), chunks, strict=True)
    }


def rows_of(catalog: Catalog) -> dict[str, int]:
    """The row of each chunk, by its id."""
    by_row = catalog.by_row(catalog.layout().rowid.tolist())
    return {chunk.id: row for row, chunk in by_row.items()}


def spelt(catalog: Catalog) -> set[str]:
    """The word forms of all texts, folded."""
    return {word for (word,) in catalog.database.rows("SELECT word FROM vocabulary")}


def state(catalog: Catalog) -> tuple[list[Chunk], list[bool], list[list[tuple[Any, ...]]]]:
    """All that does not depend on the numbers of rows: chunks, turns, and the rest."""
    with catalog.database.using() as db:
        rest = [sorted(db.execute("SELECT heading FROM sections").fetchall())]
        terms = [Term(term, 0) for (term,) in db.execute("SELECT DISTINCT term FROM postings")]
    chunks = [each for name in catalog.sources() for each in of_source(catalog, name)]
    assert len(chunks) == catalog.count()
    ids = {row: id_ for id_, row in rows_of(catalog).items()}
    words = [
        (term, ids[row], count)
        for term, (rows, counts) in catalog.words.in_chunks(terms).items()
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True)
    ]
    rest.append(sorted(words))
    return chunks, catalog.layout().turn.tolist(), rest
