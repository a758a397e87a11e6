"""Query → ranked passages within a budget: real files, the real index, the real model."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.errors import UsageError
from assistant.memory.base import Passage, Query, Recall
from assistant.memory.embedding.embedder import Embedder, Vectors, normalized
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.index.refresh import Synchronizer
from assistant.memory.search.recall import Recaller
from assistant.settings.sections import IndexSettings, MemorySettings
from assistant.workspace.folder import Workspace
from tests.support.hashing import HashingEmbedder

DATA = Path(__file__).parents[2] / "upkeep" / "data"
FACTS = (DATA / "facts" / "MEMORY.md").read_text(encoding="utf-8")
TODAY = date(2026, 11, 21)
DISTURBANCE = 0.02

Remember = Callable[..., Recaller]


@pytest.fixture
def remember(workspace: Workspace) -> Iterator[Remember]:
    """Recall over a memory of this text."""
    opened: list[Synchronizer] = []

    def begin(text: str, embedder: Embedder) -> Recaller:
        (workspace.root / "MEMORY.md").write_text(text, encoding="utf-8")
        index = Synchronizer(workspace, embedder, IndexSettings())
        opened.append(index)
        index.refresh()
        return Recaller(index.store, embedder, MemorySettings(), lambda: TODAY)

    yield begin
    for index in opened:
        index.close()


@pytest.fixture(scope="module")
def facts(
    tmp_path_factory: pytest.TempPathFactory, embedder: PolyglotEmbedder
) -> Iterator[Recaller]:
    """Recall over an owner's facts, for all tests: none changes them."""
    root = tmp_path_factory.mktemp("facts")
    (root / "MEMORY.md").write_text(FACTS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(root / "cache"))
        index = Synchronizer(Workspace(root), embedder, IndexSettings())
        index.refresh()
    yield Recaller(index.store, embedder, MemorySettings(), lambda: TODAY)
    index.close()


def texts(found: Recall) -> list[str]:
    return [each.text for each in found.passages]


def happened(recaller: Recaller, text: str) -> tuple[Passage, ...]:
    return recaller.recall(Query(text, k=3)).passages


def best(recaller: Recaller, text: str) -> str:
    return recaller.recall(Query(text)).passages[0].text


def test_a_passage_is_the_files_own_with_its_place(facts: Recaller) -> None:
    passage = facts.recall(Query("door code")).passages[0]
    assert passage.text == "- Door code of the building: 4711#."
    assert FACTS.split("\n")[passage.start_line - 1] == passage.text
    assert FACTS[passage.start_char : passage.end_char] == passage.text
    assert passage.heading == ("Memory", "Home")
    assert passage.citation == f"MEMORY.md:{passage.start_line}"


def test_the_list_is_best_first_and_each_share_adds_up(facts: Recaller) -> None:
    passages = facts.recall(Query("when is the opera?")).passages
    scores = [each.score for each in passages]
    assert scores == sorted(scores, reverse=True)
    for each in passages:
        assert sum(each.signals.values()) == pytest.approx(each.score, abs=0.01)


@pytest.mark.parametrize(("k", "budget"), [(3, 10_000), (100, 60), (1, 1), (8, 1000)])
def test_the_tighter_of_count_and_tokens_wins(facts: Recaller, k: int, budget: int) -> None:
    found = facts.recall(Query("what does Ina like", k=k, budget=budget))
    assert len(found.passages) <= k
    assert found.tokens == sum(each.tokens for each in found.passages) <= budget


def test_a_larger_budget_only_adds(facts: Recaller) -> None:
    small = set(texts(facts.recall(Query("Ina", k=4))))
    assert small < set(texts(facts.recall(Query("Ina", k=8))))


@pytest.mark.parametrize(
    "query",
    ["", "   ", "???", "😀😀", "\0", "the of and", "' OR 1=1; DROP TABLE chunks; --", '"a NEAR(b*',
     "SELECT * FROM chunks", "\ud800", "a" * 100_000, "-", "NOT", "plain AND", "日本語の質問",
     "😀🎹" * 12_500, " ".join(f"word{number}" for number in range(10_000)), "after the " * 9_000,
     "Wann muss ich el piano afinar, 钢琴 and настроить?", "ཁྱི་མིང་", "\x01\x1b[31mdoor\x7f", "x",
     "12 June 2027 " * 4_000, "my " * 30_000 + "husband", "p" + "\u0301" * 5_000],
    ids=lambda query: ascii(query[:12]),
)  # fmt: skip
def test_any_query_is_answered_or_finds_nothing(facts: Recaller, query: str) -> None:
    found = facts.recall(Query(query, why=True))
    assert found.tokens <= 1000


def test_a_long_message_is_answered_by_its_beginning_and_end(facts: Recaller) -> None:
    filler = "and then we talked about nothing in particular for a while " * 1500
    door = "- Door code of the building: 4711#."
    assert door in texts(facts.recall(Query(f"what is the door code? {filler}")))
    assert door in texts(facts.recall(Query(f"{filler} what is the door code?")))


@pytest.mark.parametrize("query", ["WTU381K442", "7781 0042", "Otter", "Janacek", "KLM"])
def test_codes_and_names_are_found_by_themselves(facts: Recaller, query: str) -> None:
    assert query.replace("Janacek", "Janáček") in best(facts, query)


@pytest.mark.parametrize("query", ["door code", "what's the code?", "how do I get in"])
def test_a_tiny_memory_is_recalled(
    remember: Remember, embedder: PolyglotEmbedder, query: str
) -> None:
    one = remember("# Memory\n\n- The door code is 4711.\n", embedder)
    assert texts(one.recall(Query(query))) == ["- The door code is 4711."]


def test_an_empty_memory_has_nothing(remember: Remember, embedder: PolyglotEmbedder) -> None:
    assert remember("# Memory\n", embedder).recall(Query("door code")) == Recall("door code", ())


def test_near_misses_come_after_the_list(facts: Recaller) -> None:
    found = facts.recall(Query("Ina", k=2, why=True))
    assert found.near_misses
    assert found.near_misses[0].score <= found.passages[-1].score
    assert facts.recall(Query("Ina", k=2)).near_misses == ()


def test_a_superseded_fact_is_left_out_unless_asked_for(facts: Recaller) -> None:
    query = "where is the gym membership?"
    assert "Basalt" not in " ".join(texts(facts.recall(Query(query))))
    everything = texts(facts.recall(Query(query, include_superseded=True)))
    old = next(place for place, text in enumerate(everything) if "Basalt" in text)
    new = everything.index("- The gym membership is at Halcyon.")
    assert new < old


def test_as_of_a_day_only_what_was_recorded_by_then_is_known(facts: Recaller) -> None:
    query = "where is the gym membership?"
    assert "Basalt" in texts(facts.recall(Query(query, as_of="2026-05-31")))[0]
    assert "Halcyon" in texts(facts.recall(Query(query, as_of="2026-06-01")))[0]
    early = texts(facts.recall(Query(query, as_of="2026-05-11", k=100, budget=100_000)))
    assert not [text for text in early if "gym" in text or "Ledeberg" in text]


def test_reminders_leave_room_for_the_facts_that_answer_and_are_none_of_a_past_day(
    workspace: Workspace, remember: Remember, embedder: PolyglotEmbedder
) -> None:
    calls = ("the bank", "the bank's card line", "Ana on her phone", "the bank about the loan")
    lines = (
        f"- on 2026-12-{day:02} at 09:00 remind me: call {calls[day % 4]}" for day in range(1, 25)
    )
    path = workspace.root / "HEARTBEAT.md"
    path.write_text("# Heartbeat\n\n## Reminders\n\n" + "\n".join(lines), encoding="utf-8")
    answers = ("The phone is a Pixel 9, number 0151 22", "The savings account is with ING")
    facts = remember(FACTS + "\n".join(f"- {answer}" for answer in answers), embedder)
    for question, answer in zip(("phone?", "bank"), answers, strict=True):
        passages = facts.recall(Query(question)).passages
        assert answer in [passage.plain for passage in passages]
        sources = [passage.source for passage in passages]
        assert sources.count("HEARTBEAT.md") == 2, "and the nearest reminders are there, too"
        every = facts.recall(Query(question, k=200, budget=100_000)).passages
        tasks = [passage.source == "HEARTBEAT.md" for passage in every]
        assert tasks.count(True) == 24, "none is withheld"
        assert all(tasks[-22:]), "the others come last"
        in_turn = facts.recall(Query(question, turn=True)).passages
        assert answer in [passage.plain for passage in in_turn]
        then = facts.recall(Query(question, as_of="2026-11-20")).passages
        assert {passage.source for passage in then} == {"MEMORY.md"}


def test_a_date_in_the_text_is_no_day_of_recording(facts: Recaller) -> None:
    found = facts.recall(Query("opera tickets", as_of="2026-03-17"))
    assert "9 May" in found.passages[0].text


def test_as_of_must_be_a_date(facts: Recaller) -> None:
    with pytest.raises(UsageError, match="YYYY-MM-DD"):
        facts.recall(Query("gym", as_of="last May"))


def test_the_later_of_facts_that_disagree_comes_first(
    remember: Remember, embedder: PolyglotEmbedder
) -> None:
    recaller = remember(
        "# Memory\n\n## Remembered -- 2026-01-02\n\n- My favourite colour is blue.\n"
        "\n## Remembered -- 2026-02-03\n\n- My favourite colour is green.\n"
        "- The alarm code is 1111.\n- The alarm code is 2222.\n",
        embedder,
    )
    assert "green" in best(recaller, "what is my favourite colour?")
    assert "2222" in best(recaller, "alarm code")


def test_a_time_in_the_question_is_matched_with_dates(facts: Recaller) -> None:
    (heading,) = {each.heading[-1] for each in happened(facts, "what happened in March 2026?")}
    assert heading == "Remembered -- 2026-03-17"
    assert "Jenůfa" in best(facts, "what did Ina see last May?")


@pytest.mark.parametrize(
    "question", ["how do I hang the awning in spring?", "awning, what do I need this May?"]
)
def test_a_time_in_the_question_does_not_outweigh_what_it_is_about(
    remember: Remember, embedder: PolyglotEmbedder, question: str
) -> None:
    recaller = remember(
        "# Memory\n\n## House -- 2025-11-02\n\n- The awning hangs on two hooks, long side left.\n"
        "\n## Garden -- 2026-05-03\n\n- Painted the bench green.\n- Sowed the carrots.\n",
        embedder,
    )
    assert "awning" in best(recaller, question)


def test_a_fact_said_twice_is_returned_once(remember: Remember, embedder: PolyglotEmbedder) -> None:
    twice = remember("# Memory\n\n- Drinks tea.\n\n## Later\n\n- drinks TEA\n", embedder)
    assert len(twice.recall(Query("what do I drink")).passages) == 1


def test_headings_lead_to_what_stands_under_them(
    remember: Remember, embedder: PolyglotEmbedder
) -> None:
    text = "# Memory\n\n## Kayak\n\n- Bought in 2019.\n\n## Tent\n\n- Bought in 2020.\n"
    recaller = remember(text, embedder)
    assert "2019" in best(recaller, "when did I buy the kayak?")
    assert "2020" in best(recaller, "when did I buy the tent?")


@pytest.fixture
def large(remember: Remember) -> Recaller:
    """More facts than a list holds."""
    lines = [f"- item {n} lies in box {n * 7919 % 9973} of row {n % 53}" for n in range(2000)]
    lines += [f"- note {n}: {n * 31 % 997} apples" for n in range(200)]
    return remember("# Memory\n\n" + "\n".join(lines) + "\n", HashingEmbedder())


def test_a_large_memory_is_not_scanned_and_answers_as_if_it_were(
    large: Recaller, remember: Remember
) -> None:
    same = 0
    for number in range(0, 2000, 100):
        query = f"where is item {number}, in which box {number * 7919 % 9973}"
        quick = large.recall(Query(query))
        exhaustive = large.recall(Query(query, as_of="9999-12-31"))  # compares with every vector
        assert quick.passages[0].id == exhaustive.passages[0].id
        assert f"item {number} " in quick.passages[0].text
        same += len({p.id for p in quick.passages} & {p.id for p in exhaustive.passages})
    assert same >= 0.85 * 20 * 8  # of many equally bad ones at the end


def test_a_large_memory_answers_a_question_of_which_it_holds_no_word(large: Recaller) -> None:
    assert len(large.recall(Query("zzz")).passages) == MemorySettings().k


def test_a_change_of_the_memory_is_seen(workspace: Workspace, embedder: PolyglotEmbedder) -> None:
    memory = workspace.root / "MEMORY.md"
    memory.write_text("# Memory\n\n- The code is 4711.\n", encoding="utf-8")
    index = Synchronizer(workspace, embedder, IndexSettings())
    index.refresh()
    recaller = Recaller(index.store, embedder, MemorySettings(), lambda: TODAY)
    assert "4711" in best(recaller, "what is the code")
    memory.write_text("# Memory\n\n- The code is 9000.\n", encoding="utf-8")
    index.refresh()
    found = texts(recaller.recall(Query("what is the code")))
    index.close()
    assert found == ["- The code is 9000."]


def test_what_was_said_before_leads_to_what_a_message_leans_on(facts: Recaller) -> None:
    alone = texts(facts.recall(Query("and what is it for the cellar?")))
    led = texts(facts.recall(Query("and where is it?", before="who is my dentist?")))
    assert any("dentist" in each.casefold() for each in led)
    assert not any("dentist" in each.casefold() for each in alone)
    whole = facts.recall(Query("who is my dentist?"))
    after = facts.recall(Query("who is my dentist?", before="tell me about the garden"))
    assert after.passages[0].id == whole.passages[0].id  # a new topic loses nothing


def test_a_source_has_places_of_its_own_or_is_left_out(facts: Recaller) -> None:
    found = facts.recall(Query("who is my dentist?"))
    (source,) = {each.source for each in found.passages}
    assert facts.recall(Query("who is my dentist?", without=(source,))).passages == ()
    first = facts.recall(Query("who is my dentist?", own=(source, 1), k=1))
    assert [each.id for each in first.passages] == [found.passages[0].id]
    hidden = facts.recall(Query("who is my dentist?", own=(source, 1), without=(source,)))
    assert hidden.passages == ()


MANUALS = """# {0} {1}

## Door

- Wipe it dry after each use.

## Reset

- Press the {2} key for two seconds.
"""


def test_a_passage_is_found_by_where_it_stands(
    remember: Remember, workspace: Workspace, embedder: PolyglotEmbedder
) -> None:
    machines = [("Lindholm", "dishwasher", "blue"), ("Tarn", "boiler", "flame"),
                ("Orla", "sewing machine", "needle"), ("Veska", "camera", "menu")]  # fmt: skip
    (workspace.root / "memory").mkdir(exist_ok=True)
    for name, kind, key in machines:
        text = MANUALS.format(name, kind, key)
        (workspace.root / f"memory/{name.lower()}.md").write_text(text, encoding="utf-8")
    recaller = remember("# Memory\n", embedder)
    for name, kind, key in machines:
        assert key in best(recaller, f"how do I reset the {name}")
        assert key in best(recaller, f"resetting the {kind}")


def test_what_is_found_can_be_sent(facts: Recaller) -> None:
    for asked in ("Wie heißt mein Zahnarzt?", "who is my dentist?", "¿Cómo se llama mi dentista?"):
        for each in facts.recall(Query(asked)).passages:
            assert {type(value) for value in (each.score, *each.signals.values())} == {float}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("钥匙在哪里", "The spare key hangs in the shed behind the watering can"),
        ("where's mum's birthday", "妈妈的生日是五月三号"),
    ],
)
def test_memory_says_something_that_it_says_in_another_language(
    question: str, answer: str, remember: Remember, embedder: PolyglotEmbedder
) -> None:
    facts = ["Lena plays the cello on Mondays", "The car is due for inspection in May", answer]
    memory = remember("# Facts\n\n" + "".join(f"- {each}\n" for each in facts), embedder)
    found = memory.recall(Query(question))
    assert found.passages[0].text.strip("- \n") == answer
    assert found.notices == ()


@pytest.mark.parametrize(
    "query", ["What is the capital of Mongolia?", "who is Sarah?", "physician"]
)
def test_nothing_is_withheld(facts: Recaller, query: str) -> None:
    assert len(facts.recall(Query(query)).passages) == MemorySettings().k
    assert len(facts.recall(Query(query, turn=True)).passages) >= 3


def test_an_exact_match_is_found_among_facts_that_differ_in_a_number(
    remember: Remember, embedder: PolyglotEmbedder
) -> None:
    lines = [f"- The locker number {n} belongs to guest {n * 7}." for n in range(1, 12)]
    recaller = remember("# Memory\n\n" + "\n".join(lines) + "\n", embedder)
    assert best(recaller, "locker number 10") == "- The locker number 10 belongs to guest 70."


class Disturbed:
    """The vectors of a model, each disturbed at random, as another processor's rounding does."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.fingerprint = f"{embedder.fingerprint}-disturbed"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = self._embedder.embed(texts)
        noise = np.random.default_rng(len(texts)).normal(size=vectors.shape)
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        return normalized(np.asarray(vectors + DISTURBANCE * noise, dtype=np.float32))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("door code", "4711#"),
        ("how do I get into the building", "4711#"),
        ("who is my dentist?", "dentist"),
        ("where is the gym membership?", "Halcyon"),
        ("when is the opera?", "opera"),
    ],
)
def test_what_is_needed_is_given_whatever_the_third_decimal_is(
    remember: Remember, embedder: PolyglotEmbedder, question: str, answer: str
) -> None:
    found = remember(FACTS, Disturbed(embedder)).recall(Query(question, turn=True))
    assert any(answer in text for text in texts(found))
