"""What the words of a question say for each chunk."""

import contextlib
from collections.abc import Iterator
from datetime import date

import numpy as np
import pytest

from assistant.memory.index.catalog import Catalog
from assistant.memory.index.refresh import Synchronizer
from assistant.memory.search import ranking
from assistant.memory.search.question import read
from assistant.memory.search.ranking import Scores, Sections, View
from assistant.settings.sections import IndexSettings
from assistant.workspace.folder import Workspace
from tests.support.hashing import HashingEmbedder

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


def match(catalog: Catalog, words: str) -> tuple[Scores, Scores]:
    terms = catalog.words.terms(words)
    postings, headings = catalog.words.in_chunks(terms), catalog.words.in_headings(terms)
    return ranking.match(Sections(catalog.layout()), terms, terms, postings, headings)


def test_a_fact_is_scored_by_what_it_covers_and_a_turn_by_bm25(catalog: Catalog) -> None:
    covered, bm25 = match(catalog, "beans")
    assert covered[0] == pytest.approx(1.0)
    assert not covered[1:].any()
    assert not bm25[:ANN].any()


def test_a_turn_is_scored_by_the_words_around_it_too(catalog: Catalog) -> None:
    bm25 = match(catalog, "beans")[1]
    assert bm25[ANN] > bm25[BOB] > 0
    assert bm25[ANN + 2] > 0
    assert not bm25[ANN + 3 :].any()


def test_a_fact_covers_what_it_or_its_heading_holds_however_often(catalog: Catalog) -> None:
    one, other, both = (match(catalog, words)[0] for words in ("beans", "garden", "beans garden"))
    assert one[0] > one[1] == 0
    assert both[0] > both[1] > 0
    assert both[0] == pytest.approx(1.0)
    assert other[0] == other[1] == 0  # one word in a heading says the same of all below it


def test_rare_words_tell_more() -> None:
    assert ranking.idf(1, 100) > ranking.idf(50, 100) > ranking.idf(100, 100) > 0


def test_neighbours_end_with_the_section(catalog: Catalog) -> None:
    sections = Sections(catalog.layout())
    only = np.zeros(len(catalog.layout()), dtype=np.float32)
    only[[1, ANN, AND_LAST]] = 1
    assert sections.around(only).tolist() == [1, 2, 1, 2, 1, 1, 0, 1, 1, 2]


MANUAL = """# Manual

## Setup

Ink fades slowly.

The lamp needs oil.

Oil the lamp weekly.

- boots for winter
- the lamp hangs high

## List

- socks
- the lamp needs oil every week
- gloves

## Diary

Ann: the lamp needs oil.
"""
SOCKS, DIARY = 5, 8


def test_running_text_is_scored_by_what_stands_around_it(workspace: Workspace) -> None:
    """An item of a list stands alone, unless its section is more than a list."""
    (workspace.root / "MEMORY.md").write_text(MANUAL, encoding="utf-8")
    embedder = HashingEmbedder()
    with contextlib.closing(Synchronizer(workspace, embedder, IndexSettings())) as index:
        index.refresh()
        catalog = index.store.catalog
        view = View(catalog, catalog.layout())
        vector = embedder.embed_questions(["lamp oil"])[0]
        everywhere = np.arange(len(view.layout))
        dense = catalog.vectors.cosines(view.layout.vector, vector)
        question = read("lamp oil", catalog, date(2026, 11, 21))
        matrix = view.matrix(question, vector, everywhere, dense=dense)
    around = matrix[:, ranking.SIGNALS.index("around")]
    one = [dense[1], *((dense[n - 1] + dense[n + 1]) / 2 for n in range(1, SOCKS - 1)), dense[3]]
    assert around[:SOCKS] == pytest.approx(np.array(one) - np.mean(one), abs=1e-6)
    assert around[:SOCKS].sum() == pytest.approx(0, abs=1e-6), "it puts none behind the items"
    assert not around[SOCKS:DIARY].any()
    assert around[DIARY] == 0
