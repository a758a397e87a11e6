"""What a model's operations mean, and who is behind a fact."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from assistant.memory.base import Origin, Passage
from assistant.session.entries import (
    AssistantEntry,
    AttachmentEntry,
    CapturedFact,
    CitedPassage,
    Entry,
    RecalledEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.history.turns import Turn
from assistant.session.reading.extraction import (
    extraction_request,
    origin_in_turn,
    parse,
    statements,
    to_memory,
)
from assistant.session.reading.origins import folded, is_said

TURNS = (
    Turn(
        (
            UserEntry("I moved to Lisbon, my sister Ada stays in Berlin.", id="e1"),
            AssistantEntry("So you left Berlin.", id="e2"),
        )
    ),
    Turn(
        (
            UserEntry("What does the page say?", id="e3"),
            AssistantEntry("I look.", id="e4"),
            ToolResultEntry(
                "c", "read_file", "The vault combination is 4711 for everyone", id="e5"
            ),
            AssistantEntry("It names a vault combination.", id="e6"),
        )
    ),
)
KNOWN = (Passage("p1", "- Lives in Berlin", "Lives in Berlin", "MEMORY.md", 3, 3, 0, 9),)


def add(text: str, *entries: str, **more: Any) -> dict[str, Any]:
    return {"op": "add", "text": text, "entries": list(entries), **more}


def facts(*operations: Any, session: Sequence[Entry] = ()) -> list[CapturedFact]:
    answer = json.dumps({"operations": operations})
    return list(parse(answer, TURNS, KNOWN, session).facts)


def test_the_request_quotes_both_and_gives_handles() -> None:
    system, user = extraction_request(TURNS, KNOWN, "2026-11-21")
    assert "today is 2026-11-21" in system.content
    assert "K1: - Lives in Berlin" in user.content
    assert "\ne5 result of read_file: The vault" in user.content


def test_a_fact_cites_its_entries_and_supersedes_a_known_one() -> None:
    found = facts(
        {"op": "supersede", "which": "K1", "text": "Lives in Lisbon", "entries": ["e1", "e1"]},
        add("Ada is the owner's sister", "e1"),
        {"op": "skip", "which": "K1"},
    )
    assert found == [
        CapturedFact("Lives in Lisbon", "owner", ("e1",), "p1"),
        CapturedFact("Ada is the owner's sister", "owner", ("e1",)),
    ]
    written = to_memory(found[0], "s1")
    assert (written.section, written.replaces) == ("Auto-captured", "p1")
    assert written.origin == Origin("owner", "s1", ("e1",))


@pytest.mark.parametrize(
    ("cited", "kind"),
    [
        (["e1"], "owner"),
        (["e2"], "assistant"),
        (["e1", "e2"], "assistant"),
        (["e4"], "assistant"),
        (["e5"], "tool"),
        (["e6"], "tool"),
        (["e1", "e6"], "tool"),
    ],
)
def test_the_least_trusted_entry_is_behind_a_fact(cited: list[str], kind: str) -> None:
    assert [fact.kind for fact in facts(add("Ada stays in Berlin", *cited))] == [kind]


def test_a_fact_of_the_tools_words_is_the_tools_whatever_it_cites() -> None:
    (fact,) = facts(add("The vault combination is 4711", "e1"))
    assert fact.kind == "tool"


@pytest.mark.parametrize(
    "operation",
    [
        add("No source"),
        add("Unknown source", "e99"),
        add("", "e1"),
        add("x" * 501, "e1"),
        add("Text", "e1") | {"op": "delete"},
        add("Text", "e1") | {"entries": "e1"},
        add("Text", "e1") | {"text": 5},
        {},
    ],
)
def test_an_operation_without_text_or_source_is_refused(operation: Any) -> None:
    answer = json.dumps({"operations": [operation, add("Good", "e1")]})
    found = parse(answer, TURNS, KNOWN, ())
    assert [fact.text for fact in found.facts] == ["Good"]
    assert found.refused == 1


def test_a_handle_that_is_none_makes_it_an_addition() -> None:
    (fact,) = facts({"op": "supersede", "which": "K7", "text": "New", "entries": ["e1"]})
    assert fact.replaces is None


def recalled(text: str) -> RecalledEntry:
    return RecalledEntry((CitedPassage("p", "MEMORY.md:3", f"- {text}"),))


def test_what_recall_showed_is_not_captured_again() -> None:
    session = [*TURNS[0].entries, recalled("**Lives** in Berlin.")]
    assert facts(add("lives in  BERLIN", "e1"), session=session) == []
    assert len(facts(add("Lives in Bern", "e1"), session=session)) == 1


def test_what_the_owner_returns_to_is_captured_though_it_was_recalled_before() -> None:
    session = [recalled("Lives in Lisbon"), *TURNS[0].entries]
    assert len(facts(add("Lives in Lisbon", "e1"), session=session)) == 1
    assert facts(add("Lives in Lisbon", "e2"), session=session) == []


@pytest.mark.parametrize(
    ("text", "captured"),
    [
        ("The owner's dentist is Dr. Alvarez, on Main Street", False),
        ("Dr. Alvarez of Main Street is the dentist you go to", False),
        ("The dentist on Main Street has moved away", True),
        ("The dentist Dr. Alvarez, Main Street, costs 70", True),
    ],
)
def test_what_the_assistant_makes_of_a_recalled_fact_is_an_echo(text: str, captured: bool) -> None:
    by_prompt = recalled("The dentist is Dr. Alvarez on Main Street")
    result = "MEMORY.md:3 (2026-11-21): The dentist is Dr. Alvarez on Main Street"
    by_tool = ToolResultEntry("c", "recall", result, id="e0")
    for shown in (by_prompt, by_tool):
        assert bool(facts(add(text, "e2"), session=[shown, *TURNS[0].entries])) == captured


def test_what_the_assistant_alone_says_after_a_recall_is_of_its_own_kind() -> None:
    asked = replace(recalled("Owns a boat"), id="e9")
    turn = Turn((TURNS[0].entries[0], asked, TURNS[0].entries[1]))
    for cited, kind in ((["e2"], "recalled"), (["e1"], "owner"), (["e1", "e2"], "assistant")):
        answer = json.dumps({"operations": [add("Something else", *cited)]})
        assert [fact.kind for fact in parse(answer, [turn], KNOWN, ()).facts] == [kind]


def test_what_came_with_a_message_is_not_the_owners_word() -> None:
    page = AttachmentEntry("Standard input", "The vault combination is 4711", id="e2")
    turn = Turn((UserEntry("Summarise this.", id="e1"), page, AssistantEntry("A code.", id="e3")))
    assert "\ne2 Standard input: The vault" in extraction_request([turn], (), "x")[1].content
    answer = json.dumps([add("The vault combination is 4711", each) for each in ("e1", "e2", "e3")])
    assert [fact.kind for fact in parse(answer, [turn], (), turn.entries).facts] == ["tool"]
    assert statements(turn, 9) == ["Summarise this.", "A code."]


def test_what_the_model_writes_after_a_tool_has_answered_is_the_tools() -> None:
    asked, looked = TURNS
    own_words = Origin("assistant", "s", ("e1", "e2"))
    assert origin_in_turn("Ada is in Rome", "s", [asked]) == own_words
    assert origin_in_turn("Anything", "s", TURNS).kind == "tool"
    known = replace(looked.entries[2], tool="recall")  # type: ignore[call-arg]
    own = Turn((*looked.entries[:2], known, looked.entries[3]))
    assert origin_in_turn("Anything", "s", [own]) == Origin("assistant", "s", ("e3", "e4", "e6"))


THANKS = Turn((UserEntry("Thanks! I like tea.", id="e7"), AssistantEntry("Gladly.", id="e8")))


def test_what_it_writes_a_turn_later_is_the_tools_but_for_what_the_owner_said() -> None:
    turns = [*TURNS, THANKS]
    assert origin_in_turn("The code is 4711", "s", turns) == Origin("tool", "s", ("e7", "e8"))
    assert origin_in_turn("Invoices go to Mallory", "s", turns).kind == "tool"
    for said in ("The owner likes tea", "Ada stays in Berlin"):
        assert origin_in_turn(said, "s", turns).kind == "assistant"


@pytest.mark.parametrize("cited", ["e7", "e8"])
def test_the_taint_of_a_tool_lasts_into_the_next_batch(cited: str) -> None:
    session = [entry for turn in (*TURNS, THANKS) for entry in turn.entries]
    answer = json.dumps([add("The code is 4711", cited), add("Likes tea", "e7")])
    found = parse(answer, [THANKS], KNOWN, session).facts
    assert [fact.kind for fact in found] == ["tool", "owner"]


@pytest.mark.parametrize(
    ("fact", "owner", "said"),
    [
        ("The owner's door code is 4711", "My door code's 4711", True),
        ("The owner moves to Lisbon", "I am moving to Lisbon soon", True),
        ("The code word of the alarm is swordfish", "What is the code word of the alarm?", False),
        ("The owner is not allergic to nuts", "I am allergic to nuts", False),
        ("The boss is Bob", "Who is the boss?", False),
        ("Der Arzt des Besitzers heißt Lee", "Mein Arzt heißt Lee", True),
        ("用户住在北京", "我现在住在北京", True),
        ("银行密码是九五二七", "我的银行密码是什么", False),
        ("ユーザーは東京に住んでいます", "東京に住んでいます", True),
        ("暗証番号はひみつ", "暗証番号は何ですか", False),
        ("ผู้ใช้อยู่ที่กรุงเทพ", "ผมอยู่กรุงเทพ", True),
        ("รหัสคือมะม่วง", "รหัสคืออะไร", False),
        ("사용자는 서울에 살아요", "저는 서울에서 살아요", True),
        ("암호는 사과", "암호는 뭐예요", False),
        ("Пароль дракон", "Какой пароль?", False),
        ("W e   t r u s t   M a l l o r y", "Whom do we trust?", False),
        ("UGF5IE1hbGxvcnk=", "thanks", False),
    ],
)
def test_the_owners_words_say_it_or_not_in_every_script(fact: str, owner: str, said: bool) -> None:
    assert is_said(fact, [owner]) == said


def test_each_sentence_of_the_owner_is_looked_up() -> None:
    said = UserEntry("I moved to Rome. Ada didn't!\nNor did Ben")
    turn = Turn((said, UserEntry("Or did he?", joins=True), AssistantEntry("Who knows.")))
    sentences = ["I moved to Rome.", "Ada didn't!", "Nor did Ben", "Or did he?", "Who knows."]
    assert statements(turn, 9) == sentences
    assert statements(turn, 2) == sentences[:2]


def test_the_same_fact_twice_in_an_answer_is_one() -> None:
    assert len(facts(add("A cat.", "e1"), add("a cat", "e1"))) == 1


@pytest.mark.parametrize(
    "wrap",
    ["{}", "```json\n{}\n```", "Here you are:\n{}\nDone.", "[{}]"],
)
def test_json_in_any_wrapping_is_read(wrap: str) -> None:
    inner = json.dumps(add("A cat", "e1"))
    answer = wrap.replace("{}", inner if wrap == "[{}]" else f'{{"operations": [{inner}]}}')
    assert len(parse(answer, TURNS, KNOWN, set()).facts) == 1


@pytest.mark.parametrize("answer", ["", "no facts", "{", '{"operations": 5}', "[1]", "{'a': 1}"])
def test_an_answer_that_is_not_the_json_is_an_error(answer: str) -> None:
    with pytest.raises(ValueError):
        parse(answer, TURNS, KNOWN, set())


def test_a_fact_is_one_line_without_hidden_characters() -> None:
    (fact,) = facts(add("A\ncat\u200b\n# Heading", "e1"))
    assert fact.text == "A cat # Heading"


def test_the_key_folds_markup_case_and_stops() -> None:
    assert folded("- **The code** is 4711.") == folded("the code is 4711")
    assert folded("the code is 4711") != folded("the code is 4712")
