"""The chat in a real terminal, with a provider on a real socket."""

import os
from pathlib import Path

import pexpect

from tests.cli.conftest import ASSISTANT, PROMPT
from tests.provider import Pause, Provider, Raw, chunk, sse


def spawn(place: Path, *arguments: str, url: str = "") -> "pexpect.spawn[str]":
    model = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": url} if url else {}
    return pexpect.spawn(
        str(ASSISTANT),
        ["-w", str(place), *arguments],
        env={**os.environ, **model, "TERM": "xterm-256color"},
        encoding="utf-8",
        timeout=90,
        dimensions=(40, 100),
    )


def test_a_conversation_from_prompt_to_quit(place: Path) -> None:
    with Provider("The spare key is with **Ada**.") as provider:
        child = spawn(place, "chat", url=provider.url)
        child.expect(PROMPT)
        child.send("who has the spare key?\r")
        child.expect("recalled")
        child.expect("is with")
        child.expect(PROMPT)
        child.send("/remember The door code is 4711\r")
        child.expect(r"Remembered: MEMORY\.md:\d+")
        child.send("/nonsense\r")
        child.expect("there is no command")
        child.send("/quit\r")
        child.expect(pexpect.EOF)
        child.close()
    assert child.exitstatus == 0
    assert "The door code is 4711" in (place / "MEMORY.md").read_text()
    system = provider.requests[0].body["messages"][0]["content"]
    assert "# Your Identity" in str(system)


def test_ctrl_c_in_the_middle_of_a_stream_stops_the_turn_and_not_the_chat(place: Path) -> None:
    stalled = Raw((*sse(chunk({"role": "assistant", "content": "Once upon a time\n\n"})), Pause()))
    with Provider(stalled, "Still here.") as provider:
        child = spawn(place, "chat", url=provider.url)
        child.expect(PROMPT)
        child.send("tell me a story\r")
        child.expect("Once upon a time")
        child.sendintr()
        child.expect("stopped")
        child.send("are you there?\r")
        child.expect("Still here")
        child.expect(PROMPT)
        child.sendeof()
        child.expect(pexpect.EOF)
        child.close()
    assert child.exitstatus == 0
    roles = provider.requests[-1].roles
    assert roles[-3:] == ["user", "assistant", "user"]


def test_what_is_typed_while_it_works_joins_the_turn(place: Path) -> None:
    slow = Raw((*sse(chunk({"role": "assistant", "content": "Counting: 1\n\n"})), Pause()))
    with Provider(slow, "Seven, then.") as provider:
        child = spawn(place, "chat", url=provider.url)
        child.expect(PROMPT)
        child.send("count to ten\r")
        child.expect("Counting")
        child.send("no, only to seven\r")
        child.expect("Seven, then")
        child.expect(PROMPT)
        child.sendeof()
        child.expect(pexpect.EOF)
    assert "only to seven" in str(provider.requests[-1].body["messages"])


def test_without_a_model_the_offline_responder_answers_and_says_what_it_is(place: Path) -> None:
    child = spawn(place, "chat")
    child.expect(PROMPT)
    child.send("remember that my sister Mia lives in Porto\r")
    child.expect(r"Remembered at MEMORY\.md:\d+")
    child.expect(PROMPT)
    child.send("where does Mia live?\r")
    child.expect("Porto")
    child.expect(PROMPT)
    child.sendeof()
    child.expect(pexpect.EOF)
    assert "Mia lives in Porto" in (place / "MEMORY.md").read_text()


def test_off_the_record_writes_nothing(place: Path, home: Path) -> None:
    before = {path: path.read_bytes() for path in place.glob("*.md")}
    child = spawn(place, "chat", "--otr")
    child.expect(PROMPT)
    child.send("remember that the secret word is xyzzy\r")
    child.expect("Nothing was kept")
    child.expect(PROMPT)
    child.sendeof()
    child.expect(pexpect.EOF)
    assert {path: path.read_bytes() for path in place.glob("*.md")} == before
    for root in (place, home):
        for path in root.rglob("*"):
            if path.is_file():
                assert b"xyzzy" not in path.read_bytes(), path
