"""What a query asks for."""

import contextlib
from collections.abc import Iterator
from datetime import date

import pytest

from assistant.memory.embedding.embedder import HashingEmbedder
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.index.sqlite.postings import Term
from assistant.memory.index.sync import Synchronizer
from assistant.memory.search.asked import question
from assistant.memory.search.asked.general import (
    generality,
    is_general,
    is_greeting,
    speaks_of_owner,
)
from assistant.memory.search.asked.question import Question
from assistant.memory.text.language import language_of
from assistant.settings.memory import IndexSettings
from assistant.workspace.folder import Workspace

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


def test_words_that_stand_everywhere_are_not_embedded(catalog: Catalog) -> None:
    asked = read(catalog, "What did Caroline's friend paint?")
    assert asked.embedded == "What did friend paint?"
    assert read(catalog, "Caroline").embedded == "Caroline"


def test_stop_words_are_not_searched_for(catalog: Catalog) -> None:
    found = [term.text for term in read(catalog, "Where is the painting of Caroline?").terms]
    assert found == ["paint", "carolin"]
    assert read(catalog, "what is it").terms == ()


def test_a_name_that_is_stemmed_to_a_stop_word_is_searched_for(catalog: Catalog) -> None:
    assert len(read(catalog, "who is Ines").terms) == 1


@pytest.mark.parametrize(
    ("text", "names", "unknown"),
    [
        ("What did Caroline say?", 1, 0.0),
        ("What did Sarah say?", 1, 1.0),
        ("Did Caroline meet Sarah?", 2, 0.5),
        ("what did sarah say?", 0, 0.0),
        ("Sarah", 0, 0.0),
        ("How Do I Get To The Station", 0, 0.0),
        ("What happened in May on a Friday?", 0, 0.0),
        ("", 0, 0.0),
    ],
)
def test_names_are_told_by_their_capital(
    catalog: Catalog, text: str, names: int, unknown: float
) -> None:
    asked = read(catalog, text)
    assert (len(asked.names), asked.unknown_names) == (names, unknown)


def test_a_name_is_known_as_another_language_inflects_it(workspace: Workspace) -> None:
    text = "# Memory\n- Tía Encarna nos dejó el olivar, y no la casa de la playa\n"
    (workspace.root / "MEMORY.md").write_text(text, encoding="utf-8")
    index = Synchronizer(workspace, HashingEmbedder(), IndexSettings())
    with contextlib.closing(index):
        index.refresh()
        known = read(index.store.catalog, "what did aunt Encarna leave us")
        other = read(index.store.catalog, "what did aunt Imelda leave us")
    assert (known.unknown_names, other.unknown_names) == (0.0, 1.0)
    assert known.names == {term.text for term in known.searched if term.document_frequency}


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
    common = [Term(word, question.MOST_POSTINGS // 2 + 1) for word in ("street", "month")]
    assert len(question.affordable(common)) == 1


@pytest.mark.parametrize("text", ["\0", "\ud800", '" OR NEAR(*', "😀", "'; DROP TABLE chunks; --"])
def test_no_text_is_too_strange(catalog: Catalog, text: str) -> None:
    read(catalog, text)


def test_a_german_noun_is_no_name(catalog: Catalog) -> None:
    asked = read(catalog, "wann erreiche ich den Vermieter am besten")
    assert (asked.names, asked.unknown_names) == (frozenset(), 0.0)
    assert read(catalog, "when can I reach Vermieter").unknown_names == 1.0


def test_function_words_of_the_questions_language_are_not_looked_for(catalog: Catalog) -> None:
    asked = read(catalog, "¿dónde está la llave del trastero?")
    assert {term.text for term in asked.terms} == {"llav", "traster"}


EVENTS = """# Memory
- Moved to the flat in Lisbon on 3 March 2024
- My birthday: born on 8 May 1990
- The wedding of Ana is on 5 June 2021
- The wedding of Tom is on 7 July 2022
- Der Umzug nach Porto war am 8. Mai 2025
- The concert was loud
- 搬家是在2025年5月8日
- La boda fue el 8 de mayo de 2025
- Переезд в Казань был 8 мая 2025 года

## Remembered -- 2025-05-08

- We sold the boat to Ravi.
- Tickets for the opera will be bought.

## Remembered -- 2025-06-04

- We left for Crete.

## Remembered -- 2025-06-28

- We came home from Crete.

## Remembered -- 2025-07-01

- Pia sang in Verona.
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where did I live before the move?", ["0001-01-01/2024-03-02"]),
        ("What have I bought since the move to Lisbon?", ["2024-03-03/2026-11-21"]),
        ("Who wrote since my birthday?", ["2026-05-08/2026-11-21"]),
        ("Was kam nach dem Umzug?", ["2025-05-09/2026-11-21"]),
        ("搬家之前我住在哪里", ["0001-01-01/2025-05-07"]),
        ("¿quién vino después de la boda?", ["2025-05-09/2026-11-21"]),
        ("где мы жили до переезда", ["0001-01-01/2025-05-07"]),
        ("how did we travel before we sold the boat", ["0001-01-01/2025-05-07"]),
        ("what did we do before the opera", []),
        ("what was the rent until the move", ["0001-01-01/2024-03-02"]),
        ("who came since I came home from Verona", ["2025-07-01/2026-11-21"]),
        ("who stung Pim after our trip to Crete", ["2025-06-29/2026-11-21"]),
        ("where was the cat while we were in Crete", ["2025-06-04/2025-06-28"]),
        ("who spoke after Ana's wedding?", ["2021-06-06/2026-11-21"]),
        ("since when do we have the boat", []),
        ("who looks after the boat", []),
        ("who was named after Ravi?", []),
        ("What did we eat after the wedding?", []),
        ("What did we eat after the concert?", []),
        ("What did we eat after the funeral?", []),
        ("move the chair before the table", []),
    ],
)
def test_an_event_with_one_known_day_is_a_time(
    workspace: Workspace, text: str, expected: list[str]
) -> None:
    (workspace.root / "MEMORY.md").write_text(EVENTS, encoding="utf-8")
    index = Synchronizer(workspace, HashingEmbedder(), IndexSettings())
    index.refresh()
    asked = read(index.store.catalog, text)
    index.close()
    assert [each.iso for each in asked.periods] == expected
    assert bool(asked.dating) == bool(expected)


OURS = """# Memory
- My husband Tomasz was born in Gdynia.
- Our dog Pepper is a dachshund.
- Lena, my sister, lives in Porto.
- Сын Матвей ходит к логопеду.
- Lady Pelham's dog bites men with hats.
- The plumber is Ada. Another plumber is called Bo.
- The landlord is Herr Weiss.
- Cat: Schnurri, grey.
- The tunnel is closed on Fridays, the tunnel Friday shuttle runs.
- The client for Harbour Meadows is the Canal & River Trust.
"""


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("what does my husband do", "what does my husband Tomasz do"),
        ("where does my sister live", "where does my sister Lena live"),
        ("во сколько у сына шахматы", "во сколько у сына Матвей шахматы"),
        ("what does my husband Tomasz do", "what does my husband Tomasz do"),
        ("how do I thank the lady next door", "how do I thank the lady next door"),
        ("when does my wife come", "when does my wife come"),
        ("when can I call the landlord", "when can I call the landlord Weiss"),
        ("what does our cat eat", "what does our cat Schnurri eat"),
        ("is the tunnel open", "is the tunnel open"),
        ("how many trees are by the canal", "how many trees are by the canal"),
    ],
)
def test_whom_the_owner_means_is_called_by_name(
    workspace: Workspace, text: str, read_as: str
) -> None:
    (workspace.root / "MEMORY.md").write_text(OURS, encoding="utf-8")
    index = Synchronizer(workspace, HashingEmbedder(), IndexSettings())
    index.refresh()
    assert read(index.store.catalog, text).text == read_as
    index.close()


@pytest.mark.parametrize(
    ("text", "general"),
    [
        ("Can you write a limerick about tea?", True),
        ("what is a monad", True),
        ("How does a heat pump work?", True),
        ("who discovered penicillin", True),
        ("我的护照什么时候过期", False),
        ("ما هي كلمة سر الإنترنت", False),
        ("一番好きな料理は?", False),
        ("एक कविता लिखो", True),
        ("rate for the article", False),
        ("write a toast for my sister", False),
        ("why is our boiler leaking", False),
        ("what is the door code", False),
        ("how old is Ella", False),
        ("", False),
    ],
)
def test_what_anybody_could_answer_is_told_by_its_form(text: str, general: bool) -> None:
    assert is_general(text) is general


@pytest.mark.parametrize("text", ["Hallo!", "شكرا", "안녕하세요", "谢谢", "merci beaucoup", "नमस्ते"])
def test_a_greeting_is_nothing_else(text: str) -> None:
    assert is_greeting(text) and not is_greeting(f"{text} 7 {text}")


@pytest.mark.parametrize(
    ("anybodys", "owners"),
    [
        ("what is the theory of evolution", "how does the drawbridge at the mill open"),
        ("Wie entsteht ein Regenbogen?", "Wo liegt der Schlüssel vom Gartenhaus?"),
        ("escribe un poema sobre el mar", "¿cuándo vence el seguro del coche?"),
        ("explique-moi la relativité", "quel est le code du portail"),
        ("почему небо синее", "когда у Маши день рождения"),
        ("写一首关于春天的诗", "我的护照什么时候过期"),
        ("相対性理論を説明して", "母の誕生日はいつ"),
        ("시 한 편 써 줘", "우리 집 와이파이 비밀번호"),
        ("اشرح نظرية النسبية", "متى موعد طبيب الأسنان"),
        ("वसंत पर एक कविता लिखो", "हमारे घर का वाईफ़ाई पासवर्ड क्या है"),
    ],
)
def test_what_anybody_could_answer_is_told_by_its_vector(
    anybodys: str, owners: str, embedder: PolyglotEmbedder
) -> None:
    language = language_of(anybodys)
    first, second = embedder.embed_questions([anybodys, owners])
    assert generality(first, language, owners=False) > 0.5
    assert generality(second, language, owners=speaks_of_owner(owners)) < 0.4
