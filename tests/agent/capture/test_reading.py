"""Reading sessions that are over: what is asked of the model, what of its answer is kept."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from assistant import config
from assistant.agent.capture import ended
from assistant.agent.capture.ended import Read, read_ended
from assistant.agent.capture.origins import message_without_forgotten, owners_words, pasted
from assistant.disk import locking, storage
from assistant.errors import SessionError
from assistant.memory.base import Fact
from assistant.memory.daemon.lifecycle import stop
from assistant.memory.open import open_memory
from assistant.messages import Reply
from assistant.session import listing, transcript
from assistant.session.entries import (
    AssistantEntry,
    CapturedEntry,
    CapturedFact,
    CaptureEntry,
    RewindEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.transcript import Transcript
from assistant.workspace import template, trust
from assistant.workspace.folder import Workspace
from tests.support.provider import Answer, Provider, Received, fails
from tests.support.readings import operations

SAID = "I am allergic to nuts and my sister lives in Porto"
FACTS = ("The owner is allergic to nuts", "The owner's sister lives in Porto")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workspace]:
    made = template.create(tmp_path / "place").workspace
    trust.grant(made)
    yield made
    stop(made, lambda _: None)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Provider]]:
    """Makes the configured provider, which answers each reading with the next of these."""
    servers: list[Provider] = []

    def serve(*answers: Answer | Callable[[Received], Answer]) -> Provider:
        steps = iter(answers)

        def respond(request: Received) -> Answer:
            step = next(steps)
            return step(request) if callable(step) else step

        servers.append(Provider(respond=respond).__enter__())
        monkeypatch.setenv("ASSISTANT_MEMORY__CAPTURE", "always")
        monkeypatch.setenv("ASSISTANT_MODEL", "openai/test")
        monkeypatch.setenv("ASSISTANT_API_BASE", servers[-1].url)
        return servers[-1]

    yield serve
    for each in servers:
        each.__exit__(None, None, None)


def chat(place: Workspace, text: str = SAID) -> Transcript:
    """A session in which this was said, still open."""
    record = transcript.create(place.sessions)
    record.append(UserEntry(text))
    record.append(AssistantEntry("Noted.", model="openai/test"))
    return record


def read(place: Workspace, *, later: bool = False) -> list[Read]:
    """Read what is due; `later`: as if the time to try again had come."""
    if later:
        with ended.changing(place) as known:
            for session, each in known.sessions.items():
                known.sessions[session] = ended.Progress(each.size, each.failures)
    return list(read_ended(place))


def remembered(place: Workspace) -> list[str]:
    memory = (place.root / "MEMORY.md").read_text(encoding="utf-8")
    return [fact for fact in FACTS if f"- {fact}\n" in memory]


@pytest.mark.parametrize(
    "answer",
    [
        '```json\n{"operations": [{"op": "add", "text": "%s", "entries": ["e1"]},]}\n```',
        'Here they are:\n{"operations": [{"op": "add", "text": "%s", "entries": ["e1"]}, 7]} Done.',
        '{"operations": [{"op": "add"}, {"op": "add", "text": "%s", "entries": ["e1"]}]}',
    ],
)
def test_a_malformed_answer_is_understood_as_far_as_it_goes(
    place: Workspace, asked: Callable[..., Provider], answer: str
) -> None:
    provider = asked(answer.replace("%s", FACTS[0]))
    chat(place).close()
    assert [each.stored for each in read(place)] == [(FACTS[0],)]
    assert remembered(place) == [FACTS[0]] and len(provider.requests) == 1


def test_an_answer_that_is_none_is_asked_for_again_with_what_was_wrong(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    provider = asked("I found nothing worth noting!", operations(*FACTS))
    chat(place).close()
    read(place)
    first, second = provider.requests
    assert "could not be read: the answer holds no JSON" in str(second.body["messages"][-1])
    assert len(second.body["messages"]) == len(first.body["messages"]) + 2
    assert remembered(place) == list(FACTS)


@pytest.mark.parametrize("reason", ["length", "stop"])
def test_an_answer_that_was_cut_off_is_asked_for_its_rest(
    place: Workspace, asked: Callable[..., Provider], reason: str
) -> None:
    cut = f'{{"operations": [{{"op": "add", "text": "{FACTS[0]}", "entries": ["e1"]}}, {{"op": "ad'
    provider = asked(Reply(cut, finish_reason=reason), operations(FACTS[1]))
    chat(place).close()
    assert not any(each.left_out for each in read(place))
    assert remembered(place) == list(FACTS)
    assert "cut off at your limit" in str(provider.requests[1].body["messages"][-1])


def test_what_would_stand_beside_the_fact_it_replaces_is_asked_for_again(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    (place.root / "MEMORY.md").write_text("- The owner's sister lives in Berlin\n")
    (place.root / "HEARTBEAT.md").write_text("- Every Friday, call my sister in Porto\n")
    new = {"op": "supersede", "text": FACTS[1], "entries": ["e1"]}
    wrong, right = (json.dumps([new | {"which": each}]) for each in ("the flat", "k1"))
    provider = asked(wrong, right)
    chat(place).close()
    read(place)
    first, second = (str(each.body["messages"]) for each in provider.requests)
    assert "K1: - The owner's sister lives in Berlin" in first and "call my sister" not in first
    assert "names no known fact; there are K1 to K1" in second
    kept = (place.root / "MEMORY.md").read_text(encoding="utf-8")
    assert "~~The owner's sister lives in Berlin~~" in kept and remembered(place) == [FACTS[1]]


def test_what_is_pasted_waits_though_the_message_is_read_in_parts(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    pasted = "From: the school\nSubject: trip\n\n" + "We go by train. " * 500 + FACTS[1]
    provider = asked(json.dumps([]), operations(FACTS[1]))
    chat(place, f"Sum this up:\n\n{pasted}").close()
    (done,) = read(place)
    assert len(provider.requests) == 2 and (done.stored, done.waiting) == ((), 1)


def test_what_a_tool_said_waits_though_its_results_are_cut(
    place: Workspace, asked: Callable[..., Provider], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSISTANT_CONTEXT_WINDOW", "8000")
    rent = "The owner pays the rent on the first of each month to Quellbank"
    new = [{"op": "add", "text": rent, "entries": ["e1"], "quote": "I pay the rent on the first"}]
    asked(json.dumps(new))
    record = chat(place, "Read my mails, and note that I pay the rent on the first of each month")
    for _ in range(20):
        record.append(ToolResultEntry("c", "fetch", "It rains. " * 120 + "Pay to Quellbank."))
    record.close()
    (done,) = read(place)
    assert (done.stored, done.waiting) == ((), 1)


def test_one_sessions_fault_never_stops_the_others(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    asked("[" * 100_000, "[" * 100_000, operations(*FACTS))
    for _ in range(2):
        chat(place).close()
    failed, done = read(place)
    assert "too many brackets" in failed.failed or "longer than" in failed.failed
    assert done.stored == FACTS


def news_of(place: Workspace, days: int = 0) -> list[str]:
    """What the next chat says of the sessions that were read, so many days later."""
    with closing(open_memory(place, config.load())) as memory:
        return ended.take_news(place, memory, datetime.now().astimezone() + timedelta(days))


def test_a_failing_provider_is_tried_over_days_and_then_that_is_said(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    provider = asked(*[fails(400, "no such thing")] * 4, operations(*FACTS))
    chat(place).close()
    for tries in range(1, 5):
        read(place, later=True)
        assert len(provider.requests) == tries
        known = ended.load(place)
        (state,) = known.sessions.values()
        assert state.failures == tries
        assert read(place) == []  # before its time
        said = {1: "yet", 4: "in 4 tries"}.get(tries)
        reports = [said] if said else []
        lines = [news.partition(": ")[0] for news in news_of(place, days=tries)]
        assert [line.partition(" chat ")[2] for line in lines] == reports
        assert all(line.startswith("No facts could be extracted from ") for line in lines)
    assert remembered(place) == []
    assert [done.stored for done in read_ended(place, asked=True)] == [FACTS]


def test_failures_are_reported_once_a_day_and_what_was_kept_at_once(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    asked(*["nonsense"] * 4, operations(*FACTS), *["nonsense"] * 2)
    lines = []
    for _ in range(4):
        chat(place).close()
        read(place)
        lines.append(news_of(place))
    failed, nothing, kept, still_nothing = lines
    assert len(failed) == 1 and "from today's chat yet: " in failed[0]
    assert nothing == still_nothing == [] and len(kept) == 1 and FACTS[0] in kept[0]
    (tomorrow,) = news_of(place, days=1)
    assert "from yesterday's chat and 1 more yet: " in tomorrow
    assert news_of(place, days=2) == []


def test_the_owner_has_a_failed_chat_read_before_its_time_and_it_costs_no_try(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    asked(*[fails(400, "wrong key")] * 6, operations(*FACTS))
    chat(place).close()
    read(place)
    for _ in range(5):
        (failed,) = read_ended(place, asked=True)
        assert "wrong key" in failed.failed and len(list(ended.unread(place))) == 1
    assert [session.failures for session in ended.load(place).sessions.values()] == [1]
    (done,) = read_ended(place, asked=True)
    assert done.stored == FACTS and not list(ended.unread(place))


def test_a_failure_loses_nothing(place: Workspace, asked: Callable[..., Provider]) -> None:
    asked(fails(400, "not now"), operations(*FACTS))
    chat(place).close()
    (failed,) = read(place)
    assert "not now" in failed.failed and remembered(place) == []
    (done,) = read(place, later=True)
    assert done.stored == FACTS and remembered(place) == list(FACTS)


def test_what_is_purged_while_it_is_read_does_not_come_back(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    record = chat(place)
    record.close()
    path = place.sessions / f"{record.session}.jsonl"

    def purged(_: Received) -> Answer:
        storage.replace(path, path.read_bytes().replace(b"allergic to nuts", b"(forgotten)"))
        return operations(FACTS[0])

    asked(purged, *[operations(FACTS[1])] * 4)
    (failed,) = read(place)
    assert "purged, changed or removed" in failed.failed
    assert remembered(place) == [] and b"nuts" not in path.read_bytes()
    (again,) = read(place, later=True)  # it is read as it stands now
    assert not again.failed and again.stored + (FACTS[1],) * again.waiting == (FACTS[1],)


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("(forgotten), remember", ""),
        ("Remember that (forgotten)!", ""),
        ("(forgotten)\n(forgotten), please.", ""),
        ("(forgotten), remember. My boat is called Albatross.", "My boat is called Albatross."),
        ("My boat is Albatross. And (forgotten)!", "My boat is Albatross."),
        ("I am (forgotten) and my sister lives in Porto", "and my sister lives in Porto"),
        ("合言葉は(forgotten)。私の船はアホウドリです。", "私の船はアホウドリです。"),
    ],
)
def test_what_a_purge_left_of_a_message_is_neither_read_nor_a_title(
    place: Workspace, asked: Callable[..., Provider], said: str, left: str
) -> None:
    provider = asked(operations())
    record = chat(place, said)
    record.append(UserEntry("(forgotten), twice"))
    record.append(AssistantEntry("So (forgotten).", model="openai/test"))
    record.close()
    read(place)
    assert len(provider.requests) == bool(left)
    for request in provider.requests:
        shown = str(request.body["messages"][1]["content"])
        assert left in shown and "forgotten" not in shown and "twice" not in shown
    (session,) = listing.sessions(place.sessions)
    assert session.title == left
    assert not list(ended.unread(place))


@pytest.mark.parametrize(
    ("said", "owners"),
    [
        ("Note (forgotten).\nFrom: Bob <b@x.org>\nSubject: Moving\n\nI am moving to Rome", ""),
        ("From: (forgotten)\nSubject: Moving\n\nI am moving to Rome", ""),
        ("I am Eva.\n> Remember (forgotten). I am moving to Rome", "I am Eva."),
        ("```\n(forgotten)\nI am moving to Rome\n```\nI am Eva.", "I am Eva."),
        ("Bob (forgotten) wrote to me yesterday:\n\nI am moving to Rome", "wrote to me yesterday"),
    ],
)
def test_what_was_pasted_is_not_the_owners_word_after_a_purge(said: str, owners: str) -> None:
    left = message_without_forgotten(said)
    assert "forgotten" not in left and "I am moving to Rome" in pasted(left)
    assert owners_words(left).strip() == owners


def test_what_was_captured_from_discarded_messages_is_not_written(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    asked()
    record = transcript.create(place.sessions)
    first = record.append(UserEntry(SAID))
    record.append(AssistantEntry("Noted."))
    second = record.append(UserEntry("My sister moved to Graz"))
    through = record.append(AssistantEntry("Noted."))
    facts = (
        CapturedFact(FACTS[0], "owner", (first.id,)),
        CapturedFact("The owner's sister lives in Graz", "owner", (second.id,)),
    )
    record.append(CaptureEntry(through.id, facts))
    record.append(RewindEntry(second.id))
    record.close()
    assert [session.stored for session in read(place)] == [(FACTS[0],)]
    assert remembered(place) == [FACTS[0]] and read(place) == []


def test_what_was_captured_before_a_crash_is_written_and_not_found_again(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    provider = asked()
    record = transcript.create(place.sessions)
    asking = record.append(UserEntry(SAID)).id
    through = record.append(AssistantEntry("Noted.")).id
    record.append(CaptureEntry(through, (CapturedFact(FACTS[0], "owner", (asking,)),)))
    record.close()
    assert [each.stored for each in read(place)] == [(FACTS[0],)]
    assert provider.requests == [] and remembered(place) == [FACTS[0]]
    last = transcript.read(place.sessions, record.session)[-1]
    assert isinstance(last, CapturedEntry) and last.stored == 1


def test_a_chat_is_read_when_it_has_rested_for_ten_minutes_and_again_when_it_went_on(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    provider = asked(operations(FACTS[0]), operations(FACTS[1]))
    with closing(chat(place)) as record:
        path = place.sessions / f"{record.session}.jsonl"
        assert read(place) == [] and provider.requests == []
        rested = path.stat().st_mtime - timedelta(minutes=11).total_seconds()
        os.utime(path, (rested, rested))
        assert [each.stored for each in read(place)] == [(FACTS[0],)]
        assert read(place) == []
        record.append(UserEntry("She has a dog as well"))
        record.append(AssistantEntry("Noted.", model="openai/test"))
    assert [each.stored for each in read(place)] == [(FACTS[1],)]
    shown = [str(each.body["messages"][1]["content"]) for each in provider.requests]
    assert SAID in shown[0] and SAID not in shown[1] and "a dog" in shown[1]


def test_a_fact_that_holds_a_secret_is_not_written(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    asked(operations(f"The owner's new GitHub token is {key}", FACTS[0]))
    chat(place, f"{SAID}. My GitHub token is new").close()
    read(place)
    assert remembered(place) == [FACTS[0]]
    kept = [each for each in place.root.rglob("*") if each.is_file()]
    assert not [each for each in kept if key.encode() in each.read_bytes()]


@pytest.mark.parametrize("capture", ["compaction", "never"])
def test_the_owner_decides_when_chats_are_read(
    place: Workspace,
    asked: Callable[..., Provider],
    capture: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    provider = asked()
    monkeypatch.setenv("ASSISTANT_MEMORY__CAPTURE", capture)
    chat(place).close()
    assert read(place) == [] and provider.requests == []


def test_what_waits_for_sessions_outlasts_a_long_reading(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ended, "READING_SECONDS", 0.05)
    reading = locking.lock(place.private / "capturing.lock", 1)
    timer = Timer(0.5, reading.release)
    timer.start()
    assert list(read_ended(place, wait=True)) == []
    timer.join()


def test_untrusted_nothing_is_read(place: Workspace, asked: Callable[..., Provider]) -> None:
    provider = asked()
    trust.register().unlink()
    chat(place).close()
    assert [each.lacks for each in read(place)] == [ended.NO_TRUST] and provider.requests == []


def test_the_tokens_of_a_month_are_bounded(
    place: Workspace, asked: Callable[..., Provider], monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = asked(operations(*FACTS))
    monkeypatch.setenv("ASSISTANT_MEMORY__CAPTURE_TOKENS", "1")
    for _ in range(2):
        chat(place).close()
        read(place)
    assert len(provider.requests) == 1  # the first was within it
    assert sum(ended.load(place).tokens.values()) > 1


def test_a_session_is_noted_in_while_a_chat_has_it_open(tmp_path: Path) -> None:
    opened = transcript.create(tmp_path)
    opened.append(UserEntry("tea"))
    beside = transcript.borrow(tmp_path, opened.session)
    noted = beside.append(CaptureEntry("e1"))
    later = opened.append(AssistantEntry("Noted."))
    assert [each.id for each in (noted, later)] == ["e2", "e3"]
    assert [each.id for each in transcript.read(tmp_path, opened.session)] == [
        f"e{number}" for number in range(4)
    ]
    with pytest.raises(SessionError, match="open in another chat"):
        transcript.reopen(tmp_path, opened.session)
    opened.close()


def test_the_next_screen_says_in_the_facts_words_what_was_kept_and_what_waits(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    asked(operations(*FACTS, "The vault opens with 4711"))
    record = chat(place)
    record.append(ToolResultEntry("c", "read_file", "The vault opens with 4711"))
    record.close()
    read(place)
    news = news_of(place)
    assert news == [
        f"2 facts from today's chat: {FACTS[0]}; {FACTS[1]}",
        "1 waits from today's chat: The vault opens with 4711 · /review",
    ]
    assert news_of(place) == []


def test_what_is_no_longer_kept_or_waiting_is_not_announced(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    asked(*[operations(*FACTS, "The vault opens with 4711")] * 3)

    def captured() -> None:
        record = chat(place)
        record.append(ToolResultEntry("c", "read_file", "The vault opens with 4711"))
        record.close()
        read(place)

    with closing(open_memory(place, config.load())) as memory:
        captured()
        memory.undo()
        (held,) = memory.waiting()
        memory.review(held.id, accept=False)
        assert news_of(place) == []
        captured()
        memory.forget(memory.locate(FACTS[0]).passages)
        assert news_of(place)[0] == f"1 fact from today's chat: {FACTS[1]}"
        captured()
        for fact in FACTS:
            memory.purge(memory.locate(fact).passages, sessions=True)
        assert not any(fact.startswith(("1 fact", "2 facts")) for fact in news_of(place))


def test_memory_is_kept_up_once_a_day_after_a_reading_and_that_is_said(
    place: Workspace, asked: Callable[..., Provider], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSISTANT_MEMORY__UPKEEP", "daily")
    provider = asked(*[operations(*FACTS)] * 2)
    with closing(open_memory(place, config.load())) as memory:
        memory.remember([Fact("Has a dog", "Auto-captured", recorded="2020-05-08")])
        for said in (SAID, f"{SAID}, and I sing"):
            chat(place, said).close()
            read(place)
            assert "Has a dog" in (place.root / "memory/2020.md").read_text()
        assert "The owner is allergic to nuts" in [write.text for write in memory.undo()]
        assert memory.undo()[0].origin.kind == "upkeep"
        assert not (place.root / "memory/2020.md").exists()
    assert len(provider.requests) == 2
    news = news_of(place)
    assert "Memory upkeep: 1 fact sorted in · `assistant memory log`" in news


def test_a_model_that_can_be_held_to_json_is_until_its_provider_refuses(
    place: Workspace, asked: Callable[..., Provider], monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = fails(400, "'response_format' of type 'json_object' is not supported here")
    provider = asked(operations(FACTS[0]), refusal, operations(FACTS[1]), operations(*FACTS))
    for model in ("openai/gpt-4o", "openai/gpt-4o", "openai/test"):
        monkeypatch.setenv("ASSISTANT_MODEL", model)
        chat(place).close()
        read(place)
    asking = [request.body.get("response_format") for request in provider.requests]
    assert asking == [{"type": "json_object"}] * 2 + [None] * 2
    assert remembered(place) == list(FACTS)


# What an answer leaves out, and what it replaces


def answered(*added: Any, **more: Any) -> str:
    return json.dumps([{"op": "add", "entries": ["e1"], **more, **new} for new in added])


def test_what_is_no_fact_or_is_refused_stops_no_other_and_is_told(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    odd = ({"text": "~~The owner owns a canoe~~"}, {"text": "…"}, {"text": FACTS[0]})
    wrong = {"op": "delete", "text": FACTS[1]}
    provider = asked(answered(*odd, wrong), answered(wrong))
    chat(place).close()
    (done,) = read(place)
    assert (done.stored, done.failed, len(provider.requests)) == ((FACTS[0],), "", 2)
    kept, left = news_of(place)
    assert FACTS[0] in kept and left.startswith("3 left out from today's chat: ")
    assert "there is no operation 'delete'" in left and "canoe~~”: this states no fact" in left


def test_a_session_that_an_odd_fact_had_jammed_is_written(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    asked()
    record = chat(place)
    facts = [CapturedFact(text, "owner", ("e1",)) for text in ("[ ] ", "~~Old~~", FACTS[0])]
    record.append(CaptureEntry(record.entries[-1].id, tuple(facts)))
    record.close()
    (done,) = read(place)
    assert (done.stored, done.failed, len(done.left_out)) == ((FACTS[0],), "", 2)


def test_both_facts_that_replace_one_are_written_and_the_struck_one_is_told(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    (place.root / "MEMORY.md").write_text("- Cousin Ivo paints in Riga\n- Riga is cold\n")
    new = ("Cousin Ivo has given up painting", "Cousin Ivo lives in Narva")
    asked(answered(*({"text": text} for text in new), op="supersede", which="cousin ivo"))
    chat(place, "Ivo gave up painting and went to Narva").close()
    (done,) = read(place)
    assert done.stored == new
    struck = "Cousin Ivo has given up painting (struck out: Cousin Ivo paints in Riga)"
    assert news_of(place) == [f"2 facts from today's chat: {struck}; {new[1]}"]


def test_one_fact_replaces_several(place: Workspace, asked: Callable[..., Provider]) -> None:
    (place.root / "MEMORY.md").write_text("- Ivo has a red boat\n- Ivo keeps his boat in Riga\n")
    asked(answered({"text": "Ivo sold his boat"}, op="supersede", which=["K1", "K2"]))
    chat(place, "Ivo sold his boat").close()
    (done,) = read(place)
    memory = (place.root / "MEMORY.md").read_text(encoding="utf-8")
    assert memory.count("~~ (superseded") == 2 and done.stored == ("Ivo sold his boat",)


def test_a_chat_that_is_read_late_is_history_where_memory_has_gone_on(
    place: Workspace, asked: Callable[..., Provider]
) -> None:
    today = datetime.now().astimezone()
    long_ago = (today - timedelta(days=40)).date().isoformat()
    memory = f"## 2020-01-05\n\n- Ivo lives in Riga\n\n## {today.date()}\n\n- Ivo drives a van\n"
    (place.root / "MEMORY.md").write_text(memory)
    asked(
        answered(
            {"text": "Ivo lives in Narva", "which": "Ivo lives in Riga"},
            {"text": "Ivo drives a tram", "which": "Ivo drives a van"},
            op="supersede",
        )
    )
    record = transcript.create(place.sessions)
    record.append(UserEntry("Ivo moved to Narva and drives a tram", time=f"{long_ago}T12:00:00Z"))
    record.append(AssistantEntry("Noted.", model="openai/test"))
    record.close()
    read(place)
    kept, left = news_of(place)
    assert kept.startswith(f"1 fact from {long_ago}'s chat: Ivo lives in Narva (struck out: ")
    assert "memory holds what was said later: “Ivo drives a van”" in left
    assert f"(superseded {long_ago}: Ivo lives in Narva)" in (place.root / "MEMORY.md").read_text()


@pytest.mark.parametrize(("minutes", "stands"), [(-5, "Narva"), (5, "Tartu")])
def test_of_two_chats_of_a_day_the_later_words_stand_whichever_is_read_last(
    place: Workspace, asked: Callable[..., Provider], minutes: int, stands: str
) -> None:
    (place.root / "MEMORY.md").write_text("- Ivo lives in Riga\n")
    now = datetime.now(UTC)
    new = {"op": "supersede", "which": "ivo lives"}
    asked(*(answered({"text": f"Ivo lives in {town}"}, **new) for town in ("Narva", "Tartu")))
    for said in (now, now + timedelta(minutes=minutes)):
        record = transcript.create(place.sessions)
        record.append(UserEntry("Ivo has moved", time=said.isoformat()))
        record.append(AssistantEntry("Noted.", model="openai/test"))
        record.close()
        read(place)
    assert f"\n- Ivo lives in {stands}" in (place.root / "MEMORY.md").read_text()
    left = [line for line in news_of(place) if "said later: “Ivo lives in Narva”" in line]
    assert bool(left) == (stands == "Narva")
