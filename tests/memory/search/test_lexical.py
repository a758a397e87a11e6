"""BM25 of a chunk with what belongs to it, and of its section."""

from collections.abc import Iterator

import numpy as np
import pytest

from assistant.memory.embedding.embedder import HashingEmbedder
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.refresh import Synchronizer
from assistant.memory.search import lexical
from assistant.memory.search.lexical import Grains, Match
from assistant.settings.memory import IndexSettings
from assistant.workspace.folder import Workspace

FILE = """# Memory

## Garden
- the beans froze
- the ladder is red
- tulips from Haarlem

## Talk
- Ann: where are the beans
- Bob: eaten
- Ann: by whom
- Bob: slugs
- Ann: oh
- Bob: well
- Ann: next year then
"""
ANN, BOB, AND_LAST = 3, 4, 9


@pytest.fixture
def catalog(workspace: Workspace) -> Iterator[Catalog]:
    (workspace.root / "MEMORY.md").write_text(FILE, encoding="utf-8")
    index = Synchronizer(workspace, HashingEmbedder(), IndexSettings())
    index.refresh()
    yield index.store.catalog
    index.close()


def match(catalog: Catalog, words: str) -> Match:
    terms = catalog.words.terms(words)
    grains = Grains.of(catalog.layout())
    everything = np.arange(len(grains.layout))
    postings, headings = catalog.words.in_chunks(terms), catalog.words.in_headings(terms)
    return lexical.match(grains, terms, postings, headings, everything)


def test_a_fact_is_scored_by_its_own_words_only(catalog: Catalog) -> None:
    window = match(catalog, "beans").window
    assert window[0] > 0
    assert window[1] == window[2] == 0


def test_a_turn_is_scored_by_the_words_around_it_too(catalog: Catalog) -> None:
    window = match(catalog, "beans").window
    assert window[ANN] > window[BOB] > 0
    assert window[ANN + 2] > 0
    assert not window[ANN + 3 :].any()


def test_the_section_of_a_fact_is_its_heading(catalog: Catalog) -> None:
    assert not match(catalog, "tulips").section[:ANN].any()
    garden = match(catalog, "garden").section
    assert (garden[:ANN] > 0).all()
    assert not garden[ANN:].any()


def test_a_fact_covers_what_it_or_its_heading_holds_however_often(catalog: Catalog) -> None:
    one, other, both = (
        match(catalog, words).covered for words in ("beans", "garden", "beans garden")
    )
    assert one[0] > one[1] == 0
    assert both[0] > both[1] > 0
    assert both[0] == pytest.approx(one[0] + both[1])
    assert other[0] == other[1] == 0  # one word in a heading says the same of all below it


def test_the_section_of_a_turn_is_all_that_was_said_there(catalog: Catalog) -> None:
    section = match(catalog, "slugs").section
    assert (section[ANN:] > 0).all()
    assert not section[:ANN].any()


def test_rare_words_tell_more() -> None:
    assert lexical.idf(1, 100) > lexical.idf(50, 100) > lexical.idf(100, 100) > 0


def test_candidates_hold_a_word_or_stand_under_one_or_beside_a_turn_that_does(
    catalog: Catalog,
) -> None:
    grains = Grains.of(catalog.layout())

    def likeliest(words: str, limit: int) -> list[int]:
        terms = catalog.words.terms(words)
        postings, headings = catalog.words.in_chunks(terms), catalog.words.in_headings(terms)
        return sorted(lexical.likeliest(grains, terms, postings, headings, limit).tolist())

    assert likeliest("beans ladder", 100) == [0, 1, ANN, ANN + 1, ANN + 2]
    assert likeliest("beans ladder", 2) == [0, 1]
    assert likeliest("garden", 100) == [0, 1, 2]
    assert likeliest("", 5) == []


def test_neighbours_end_with_the_section(catalog: Catalog) -> None:
    near = Grains.of(catalog.layout()).around(np.array([ANN, ANN + 2, AND_LAST, 1]))
    none = len(catalog.layout())
    assert near.tolist() == [
        [none, none, 3, 4, 5],
        [3, 4, 5, 6, 7],
        [7, 8, 9, none, none],
        [none, none, 1, none, none],
    ]
