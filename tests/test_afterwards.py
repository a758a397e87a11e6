"""Every conversation leaves its mark: the real command, a real provider, each way to end."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assistant.disk import locking
from assistant.errors import SessionError
from assistant.session import book, transcript
from assistant.session.entries import AssistantEntry, CapturedEntry, CaptureEntry, UserEntry
from assistant.workspace import folder as workspace
from assistant.workspace import trust
from assistant.workspace.folder import Workspace
from tests.cli.conftest import ASSISTANT
from tests.cli.tty import Tty
from tests.support.provider import Answer, Pause, Provider, Raw, Received, chunk, fails, sse

SAID = "I am allergic to nuts and my sister lives in Porto"
FACTS = ("The owner is allergic to nuts", "The owner's sister lives in Porto")
READS = "long-term memory of an owner"
Place = Path


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSISTANT_MEMORY__CAPTURE", "always")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "place"
    trust.grant(workspace.create(root).workspace)
    yield root
    subprocess.run([ASSISTANT, "-w", root, "daemon", "stop"], capture_output=True, check=True)


def is_reading(request: Received) -> bool:
    return READS in json.dumps(request.body["messages"][0])


def operations(*facts: str) -> Callable[[Received], str]:
    """What a model finds: these facts, in the owner's first message of those it is shown."""

    def answer(request: Received) -> str:
        shown = str(request.body["messages"][1]["content"])
        (entry, *_) = re.findall(r"\b(e\d+)\b[^\n]*owner", shown, re.IGNORECASE)
        added = [{"op": "add", "text": fact, "entries": [entry]} for fact in facts]
        return json.dumps({"operations": added})

    return answer


def answering(reading: Callable[[Received], Answer]) -> Callable[[Received], Answer]:
    return lambda request: reading(request) if is_reading(request) else "Noted."


def environment(url: str) -> dict[str, str]:
    return {**os.environ, "ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": url}


def ask(place: Path, url: str, *arguments: str, stdin: str | None = None) -> str:
    """What the command prints, notices included."""
    done = subprocess.run(
        [ASSISTANT, "-w", place, *arguments],
        input=stdin or "",
        capture_output=True,
        text=True,
        check=True,
        timeout=90,
        env=environment(url),
    )
    return done.stdout + done.stderr


def settled(place: Path, provider: Provider, readings: int = 1) -> list[Received]:
    """The requests of readings, once so many have come and nobody reads any more."""

    def came(provider: Provider) -> bool:
        return sum(map(is_reading, provider.requests)) >= readings

    assert provider.wait_for(came, 60)
    with locking.lock(place / ".assistant" / "reading.lock", 120):
        return [each for each in provider.requests if is_reading(each)]


def remembered(place: Path) -> list[str]:
    memory = (place / "MEMORY.md").read_text(encoding="utf-8")
    return [fact for fact in FACTS if f"- {fact}\n" in memory]


def by_quit(tty: Tty) -> None:
    tty.say("/quit")


def by_end_of_input(tty: Tty) -> None:
    tty.send("\x04")


def by_closing_the_terminal(tty: Tty) -> None:
    tty.child.close(force=True)  # the kernel hangs up


def by_a_kill(tty: Tty) -> None:
    tty.child.kill(signal.SIGKILL)


@pytest.mark.parametrize("end", [by_quit, by_end_of_input, by_closing_the_terminal, by_a_kill])
def test_what_a_chat_said_is_in_memory_whichever_way_it_ended(
    place: Path, end: Callable[[Tty], None]
) -> None:
    with Provider(respond=answering(operations(*FACTS))) as provider:
        with Tty("-w", str(place), "chat", variables=environment(provider.url)) as tty:
            tty.wait("›")
            tty.say(SAID)
            tty.wait("Noted.", gone="Ctrl-C stops")
            end(tty)
            assert len(settled(place, provider)) == 1
        assert remembered(place) == list(FACTS)
        again = ask(place, provider.url, "memory", "capture")
        assert again == "No chat that has ended is unread.\n"
        assert len(settled(place, provider)) == 1


def test_ask_and_a_piped_chat_leave_their_mark_and_the_next_chat_says_so(place: Path) -> None:
    with Provider(respond=answering(operations(*FACTS))) as provider:
        ask(place, provider.url, "ask", SAID)
        settled(place, provider)
        assert remembered(place) == list(FACTS)
        shown = ask(place, provider.url, "chat", stdin="hello\n/quit\n")
        settled(place, provider, 2)
        assert "2 facts from today's chat" in shown
        assert "from today's chat" not in ask(place, provider.url, "chat", stdin="hello again\n")
        settled(place, provider, 3)


def test_a_session_is_shown_with_its_sentences_and_undone_as_one(place: Path) -> None:
    with Provider(respond=answering(operations(*FACTS))) as provider:
        ask(place, provider.url, "remember", "The spare key is with Ada")
        ask(place, provider.url, "ask", SAID)
        settled(place, provider)
        log = ask(place, provider.url, "memory", "log")
        assert log.count(f"you: {SAID}") == 2
        undone = ask(place, provider.url, "memory", "undo")
        assert all(fact in undone for fact in FACTS)
    assert remembered(place) == []
    assert "The spare key is with Ada" in (place / "MEMORY.md").read_text()


def test_nothing_waits_for_the_reading(place: Path) -> None:
    held = Pause()
    slow = Raw((held, *sse(chunk({"content": '{"operations": []}'}))))
    with Provider(respond=answering(lambda request: slow)) as provider:
        ask(place, provider.url, "ask", SAID)  # returns while the reading has no answer
        assert provider.wait_for(lambda each: any(map(is_reading, each.requests)), 60)
        held.until.set()
        settled(place, provider)


@pytest.mark.parametrize(
    "answer",
    [
        '```json\n{"operations": [{"op": "add", "text": "%s", "entries": ["e1"]},]}\n```',
        'Here they are:\n{"operations": [{"op": "add", "text": "%s", "entries": ["e1"]}, 7]} Done.',
        '[{"op": "add", "text": "%s", "entries": ["e1"]}, {"op": "add", "text": "The owner\'s sis',
        '{"operations": [{"op": "add"}, {"op": "add", "text": "%s", "entries": ["e1"]}]}',
    ],
)
def test_a_malformed_answer_is_understood_as_far_as_it_goes(place: Path, answer: str) -> None:
    found = answer.replace("%s", FACTS[0])
    with Provider(respond=answering(lambda request: found)) as provider:
        ask(place, provider.url, "ask", SAID)
        assert len(settled(place, provider)) == 1
    assert remembered(place) == [FACTS[0]]
    assert "The owner's sis" not in (place / "MEMORY.md").read_text()


def test_an_answer_that_is_none_is_asked_for_again_with_what_was_wrong(place: Path) -> None:
    said = operations(*FACTS)
    answers = iter(["I found nothing worth noting!"])
    with Provider(respond=answering(lambda each: next(answers, "") or said(each))) as provider:
        ask(place, provider.url, "ask", SAID)
        first, second = settled(place, provider, 2)
    assert "could not be read: the answer holds no JSON" in str(second.body["messages"][-1])
    assert len(second.body["messages"]) == len(first.body["messages"]) + 2
    assert remembered(place) == list(FACTS)


def test_a_failing_provider_is_tried_over_days_and_then_that_is_said(place: Path) -> None:
    refused = fails(400, "no such thing")
    path = place / ".assistant" / "reading.json"
    with Provider(respond=answering(lambda request: refused)) as provider:
        ask(place, provider.url, "ask", SAID)
        for tries in range(1, 5):
            assert len(settled(place, provider, tries)) == tries
            known = book.load(path)
            (state,) = known.sessions.values()
            assert state.failures == (tries if tries < 4 else 0)
            assert bool(known.untold) == (tries == 4)
            ask(place, provider.url, "memory", "capture")  # before its time: nothing
            assert len(settled(place, provider, tries)) == tries
            with book.changing(path) as known:
                for session, each in known.sessions.items():
                    known.sessions[session] = book.Known(each.size, each.failures)
            ask(place, provider.url, "memory", "capture")
        shown = ask(place, provider.url, "chat", stdin="hello\n")
        assert "No facts could be taken from today's chat in 4 tries" in shown
    assert remembered(place) == []


def test_a_failure_loses_nothing(place: Path) -> None:
    said = operations(*FACTS)
    answers: Iterator[Answer] = iter([fails(400, "not now")])
    respond = answering(lambda each: next(answers, None) or said(each))
    with Provider(respond=respond) as provider:
        ask(place, provider.url, "ask", SAID)
        settled(place, provider)
        assert remembered(place) == []
        with book.changing(place / ".assistant" / "reading.json") as known:
            for session, each in known.sessions.items():
                known.sessions[session] = book.Known(each.size, each.failures)
        shown = ask(place, provider.url, "memory", "capture")
    assert "2 facts" in shown
    assert remembered(place) == list(FACTS)


def test_what_was_captured_before_a_crash_is_written_and_not_found_again(place: Path) -> None:
    record = transcript.create(Workspace(place).sessions)
    record.append(UserEntry(SAID))
    through = record.append(AssistantEntry("Noted.")).id
    from assistant.session.entries import CapturedFact

    record.append(CaptureEntry(through, (CapturedFact(FACTS[0], "owner", ("e1",)),)))
    record.close()
    with Provider() as provider:  # nothing is asked
        assert "1 fact" in ask(place, provider.url, "memory", "capture")
        assert provider.requests == []
    assert remembered(place) == [FACTS[0]]
    last = transcript.read(Workspace(place).sessions, record.session)[-1]
    assert isinstance(last, CapturedEntry)
    assert last.stored == 1


def test_two_chats_that_end_at_once_are_both_read(place: Path) -> None:
    with Provider(respond=answering(operations(*FACTS))) as provider:
        both = [
            subprocess.Popen(
                [ASSISTANT, "-w", place, "ask", SAID],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=environment(provider.url),
            )
            for _ in range(2)
        ]
        assert [each.wait(90) for each in both] == [0, 0]
        assert len(settled(place, provider, 2)) == 2
    assert remembered(place) == list(FACTS)
    assert (place / "MEMORY.md").read_text().count(FACTS[0]) == 1


@pytest.mark.parametrize("capture", ["compaction", "never"])
def test_the_owner_decides_when_chats_are_read(
    place: Path, capture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSISTANT_MEMORY__CAPTURE", capture)
    with Provider(respond=answering(operations(*FACTS))) as provider:
        ask(place, provider.url, "ask", SAID)
        ask(place, provider.url, "memory", "capture")
        assert not any(map(is_reading, provider.requests))


def test_off_the_record_and_untrusted_nothing_is_read(place: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "MEMORY.md").write_text("# Memory\n")
    with Provider(respond=answering(operations(*FACTS))) as provider:
        ask(place, provider.url, "chat", "--otr", stdin=f"{SAID}\n")
        ask(other, provider.url, "ask", SAID)
        for root in (place, other):
            ask(root, provider.url, "memory", "capture")
        assert not any(map(is_reading, provider.requests))
    subprocess.run([ASSISTANT, "-w", other, "daemon", "stop"], capture_output=True, check=True)


def test_the_tokens_of_a_month_are_bounded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSISTANT_MEMORY__CAPTURE_TOKENS", "1")
    with Provider(respond=answering(operations(*FACTS))) as provider:
        ask(place, provider.url, "ask", SAID)
        assert len(settled(place, provider)) == 1  # the first was within it
        ask(place, provider.url, "ask", SAID)
        ask(place, provider.url, "memory", "capture")
        assert len(settled(place, provider)) == 1
        assert sum(book.load(place / ".assistant" / "reading.json").tokens.values()) > 1


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
