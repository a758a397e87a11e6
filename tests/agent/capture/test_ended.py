"""Every conversation leaves its mark: the real command, a real provider, each way to end."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.agent.capture.ended import Progress, changing, read_ended, unread
from assistant.disk import locking
from assistant.session.adopting import adopt
from assistant.session.entries import AssistantEntry, UserEntry
from assistant.session.transcript import session_ids
from assistant.workspace import template, trust
from assistant.workspace.folder import Workspace
from tests.cli.conftest import ASSISTANT
from tests.cli.tty import Tty
from tests.support.daemon import ended
from tests.support.provider import Answer, Pause, Provider, Raw, Received, chunk, sse
from tests.support.readings import operations

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
    trust.grant(template.create(root).workspace)
    yield root
    ended(root)


def is_reading(request: Received) -> bool:
    return READS in json.dumps(request.body["messages"][0])


def answering(reading: Callable[[Received], Answer]) -> Callable[[Received], Answer]:
    return lambda request: reading(request) if is_reading(request) else "Noted."


def environment(url: str) -> dict[str, str]:
    return {**os.environ, "ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": url}


def ask(
    place: Path,
    url: str,
    *arguments: str,
    stdin: str | None = None,
    status: int = 0,
    **variables: str,
) -> str:
    """What the command prints, notices included."""
    done = subprocess.run(
        [ASSISTANT, "-w", place, *arguments],
        input=stdin or "",
        capture_output=True,
        text=True,
        timeout=600,
        env=environment(url) | variables,
    )
    assert done.returncode == status, done.stderr
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


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(by_quit, marks=pytest.mark.slow),
        pytest.param(by_end_of_input, marks=pytest.mark.slow),
        pytest.param(by_closing_the_terminal, marks=pytest.mark.slow),
        by_a_kill,
    ],
)
def test_what_a_chat_said_is_in_memory_whichever_way_it_ended(
    place: Path, end: Callable[[Tty], None]
) -> None:
    with Provider(respond=answering(operations(*FACTS))) as provider:
        with Tty("-w", str(place), "chat", variables=environment(provider.url)) as tty:
            tty.wait("›")
            tty.say(SAID)
            tty.wait("Noted.", gone="Esc stops")
            end(tty)
            assert len(settled(place, provider)) == 1
        assert remembered(place) == list(FACTS)
        again = ask(place, provider.url, "memory", "capture")
        assert again == "All ended chats have been read.\n"
        assert len(settled(place, provider)) == 1


@pytest.mark.slow
def test_ask_and_a_piped_chat_leave_their_mark_and_the_next_chat_says_so(place: Path) -> None:
    with Provider(respond=answering(operations(*FACTS))) as provider:
        ask(place, provider.url, "ask", SAID)
        settled(place, provider)
        assert remembered(place) == list(FACTS)
        shown = ask(place, provider.url, "chat", stdin="hello\n/quit\n")
        settled(place, provider, 2)
        assert "2 facts from today's chat" in shown
        assert "2 facts from" not in ask(place, provider.url, "chat", stdin="hello again\n")
        settled(place, provider, 3)


@pytest.mark.slow
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


@pytest.mark.slow
def test_nothing_waits_for_the_reading(place: Path) -> None:
    held = Pause()
    slow = Raw((held, *sse(chunk({"content": '{"operations": []}'}))))
    with Provider(respond=answering(lambda request: slow)) as provider:
        ask(place, provider.url, "ask", SAID)  # returns while the reading has no answer
        assert provider.wait_for(lambda each: any(map(is_reading, each.requests)), 60)
        held.until.set()
        settled(place, provider)


@pytest.mark.slow
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


def test_off_the_record_nothing_is_read(place: Path) -> None:
    with Provider(respond=answering(operations(*FACTS))) as provider:
        ask(place, provider.url, "chat", "--otr", stdin=f"{SAID}\n")
        ask(place, provider.url, "memory", "capture")
        assert not any(map(is_reading, provider.requests))


@pytest.mark.slow
def test_a_chat_without_a_model_or_trust_is_read_once_there_is_one(place: Path) -> None:
    offline = {"ASSISTANT_MODEL": "", "ASSISTANT_API_BASE": ""}
    with Provider(respond=answering(operations(*FACTS))) as provider:
        for count in ("1 chat is", "2 chats are"):
            ask(place, provider.url, "chat", stdin=f"{SAID}\n", **offline)
            assert f"{count} not read yet: there is no language model (" in ask(
                place, provider.url, "memory", "capture", status=1, **offline
            )
        trusted = trust.register().read_text()
        trust.register().write_text("[]")
        untrusted = ask(place, provider.url, "memory", "capture", status=1)
        assert "2 chats are not read yet: this workspace is not trusted (" in untrusted
        assert "model" not in untrusted and "open" not in untrusted
        assert not any(map(is_reading, provider.requests))
        trust.register().write_text(trusted)
        ask(place, provider.url, "memory", "capture")
    assert remembered(place) == list(FACTS)


@pytest.mark.slow
def test_a_chat_that_failed_is_read_whenever_the_owner_asks(place: Path) -> None:
    answers: list[Callable[[Received], Answer]] = [lambda request: "Sorry, I cannot."]
    with Provider(respond=answering(lambda request: answers[-1](request))) as provider:
        ask(place, provider.url, "ask", SAID)
        settled(place, provider, 2)
        for wait in ((), ("--wait",)):
            failed = ask(place, provider.url, "memory", "capture", *wait, status=1)
            assert ": not read: " in failed and "holds no JSON" in failed
        answers.append(operations(*FACTS))
        assert FACTS[1] in ask(place, provider.url, "memory", "capture")
        assert ask(place, provider.url, "memory", "capture", "--wait") == (
            "All ended chats have been read.\n"
        )
    assert remembered(place) == list(FACTS)


@pytest.mark.slow
def test_an_open_chat_is_said_to_be_open(place: Path) -> None:
    with Provider(respond=answering(operations(*FACTS))) as provider:
        with Tty("-w", str(place), "chat", variables=environment(provider.url)) as tty:
            tty.wait("›")
            tty.say(SAID)
            tty.wait("Noted.", gone="Esc stops")
            said = ask(place, provider.url, "memory", "capture")
        settled(place, provider)
    assert said == "1 chat is not read yet: still open (`--wait` waits for its end).\n"


@pytest.mark.slow
def test_what_is_imported_while_a_session_is_read_is_read_too(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, said = Workspace(place), [UserEntry(SAID), AssistantEntry("Noted.")]

    def reading(request: Received) -> Answer:
        if len(said) == 2:
            said.extend([UserEntry("My boat is called Albatross"), AssistantEntry("Noted, too.")])
            adopt(workspace.sessions, "codex", "it", said)
            return operations(*FACTS)(request)
        return operations("The owner's boat is called Albatross")(request)

    with Provider(respond=reading) as provider:
        monkeypatch.setenv("ASSISTANT_MODEL", "ollama_chat/test")
        monkeypatch.setenv("ASSISTANT_API_BASE", provider.root)
        adopt(workspace.sessions, "codex", "it", said)
        assert [read.waiting for read in read_ended(workspace, wait=True)] == [2, 1]
        first, second = (json.dumps(request.body) for request in provider.requests)
    assert SAID in first and "Albatross" not in first and "Albatross" in second
    assert not list(unread(workspace))


def test_what_a_clock_that_was_ahead_put_off_is_read(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, next_year = Workspace(place), (datetime.now(UTC) + timedelta(days=365)).isoformat()
    with Provider(respond=answering(operations(*FACTS))) as provider:
        monkeypatch.setenv("ASSISTANT_MODEL", "ollama_chat/test")
        monkeypatch.setenv("ASSISTANT_API_BASE", provider.root)
        said = [UserEntry(SAID), AssistantEntry("Noted.")]
        for name in ("new", "failed"):
            adopt(workspace.sessions, "codex", name, said)
        with changing(workspace) as state:
            failed = session_ids(workspace.sessions)[0]
            state.sessions[failed] = Progress(failures=1, after=next_year)
        assert list(read_ended(workspace))
        assert sum(map(is_reading, provider.requests)) == 2
    assert not list(unread(workspace))


@pytest.mark.slow
def test_what_was_said_to_a_coding_agent_is_read_and_waits(place: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    record.write_text(
        json.dumps({"type": "user", "message": {"content": SAID}})
        + "\n"
        + json.dumps({"type": "assistant", "message": {"content": "Noted."}})
    )
    told = json.dumps({"session_id": "s", "transcript_path": str(record)})
    with Provider(answering(operations(*FACTS))) as provider:
        said = ask(place, provider.url, "hook", "SessionEnd", "--for", "claude-code", stdin=told)
        assert said == ""
        settled(place, provider)
        waiting = json.loads(ask(place, provider.url, "memory", "review", "--json"))
    assert [each["fact"]["text"] for each in waiting] == [*FACTS]
    assert {each["fact"]["origin"]["kind"] for each in waiting} == {"claude-code"}
    assert remembered(place) == []
