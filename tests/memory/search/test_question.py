"""What a query asks for."""

from collections.abc import Iterator
from datetime import date

import pytest

from assistant.memory.index.catalog import Catalog
from assistant.memory.index.refresh import Synchronizer
from assistant.memory.index.words import Term
from assistant.memory.search import question
from assistant.memory.search.question import Question
from assistant.settings.sections import IndexSettings
from assistant.workspace.folder import Workspace
from tests.support.hashing import HashingEmbedder

TODAY = date(2026, 11, 21)
TALK = "# Memory\n" + "".join(f"- Caroline: word{n} again\n" for n in range(30))


@pytest.fixture
def catalog(workspace: Workspace) -> Iterator[Catalog]:
    text = TALK + "- The painting by Ines hangs in Lisbon\n"
    (workspace.root / "MEMORY.md").write_text(text, encoding="utf-8")
    index = Synchronizer(workspace, HashingEmbedder(), IndexSettings())
    index.refresh()
    yield index.store.catalog
    index.close()


def read(catalog: Catalog, text: str) -> Question:
    return question.read(text, catalog, TODAY)


def test_a_question_is_embedded_whole(catalog: Catalog) -> None:
    asked = "What did Caroline's friend paint?"
    assert read(catalog, asked).embedded == asked


def test_stop_words_are_not_searched_for(catalog: Catalog) -> None:
    found = [term.text for term in read(catalog, "Where is the painting of Caroline?").terms]
    assert found == ["paint", "carolin"]
    assert read(catalog, "what is it").terms == ()


def test_a_name_that_is_stemmed_to_a_stop_word_is_searched_for(catalog: Catalog) -> None:
    assert len(read(catalog, "who is Ines").terms) == 1


def test_times_are_resolved(catalog: Catalog) -> None:
    (found,) = read(catalog, "what happened last May?").periods
    assert found.iso == "2026-05"


def test_a_long_query_keeps_its_beginning_and_its_end(catalog: Catalog) -> None:
    asked = read(catalog, "painting " + "filler " * 20_000 + "Lisbon")
    assert len(asked.text) <= question.MAX_CHARS + 1
    assert {"paint", "lisbon"} <= {term.text for term in asked.terms}


def test_frequent_words_are_read_last_and_only_while_they_can_be_afforded() -> None:
    terms = [Term(str(number), number) for number in (1, 2, 3, 40, 500)]
    assert len(question.affordable(terms, most=1000)) == 5
    assert len(question.affordable(terms, most=100)) == 4
    assert len(question.affordable(terms, most=10)) == 3
    assert len(question.affordable(terms, most=1)) == question.LEAST_TERMS


@pytest.mark.parametrize("text", ["\0", "\ud800", '" OR NEAR(*', "😀", "'; DROP TABLE chunks; --"])
def test_no_text_is_too_strange(catalog: Catalog, text: str) -> None:
    read(catalog, text)


def test_function_words_of_the_questions_language_are_not_looked_for(catalog: Catalog) -> None:
    asked = read(catalog, "¿dónde está la llave del trastero?")
    assert {term.text for term in asked.terms} == {"spanish llav", "spanish traster"}
