"""Leaving a chat and coming back to it, on what the screen says."""

import contextlib
import socket
from pathlib import Path

import pytest

from assistant.memory.daemon import sockets
from assistant.messages import ToolCall
from assistant.session.entries import ApprovalEntry, AssistantEntry, ToolResultEntry, UserEntry
from tests.cli.sessions.test_keeping import left
from tests.cli.tty import Tty


@pytest.mark.slow
def test_leaving_says_how_to_go_on_and_going_on_shows_the_last_exchange(place: Path) -> None:
    with Tty("-w", str(place), "chat", size=(200, 24)) as tty:
        tty.wait("›")
        tty.say("who has the spare key? I forgot.")
        tty.wait("Ada, next door", gone="Esc stops")
        tty.send("\x04")
        assert tty.end() == 0
        told, _, how = tty.text.splitlines()[-1].partition(": assistant ")
        assert told == "to continue"
    with Tty(*how.split()) as tty:
        tty.wait("› who has the spare key? I forgot.")
        assert "continuing “who has the spare key?” · 1 turn" in tty.rows
        tty.wait("Ada, next door")
        tty.say("/quit")
        assert tty.end() == 0


@pytest.mark.parametrize("key", ["\x03", "\x04"])
def test_a_chat_that_is_still_opening_is_left_like_any_other(place: Path, key: str) -> None:
    left(place, UserEntry("Note the key"), AssistantEntry("Noted."))
    silent = socket.socket(socket.AF_UNIX)
    path = sockets.usable_path(place)
    silent.bind(str(path))
    silent.listen()
    with contextlib.closing(silent), Tty("-w", str(place), "chat", "--continue") as tty:
        tty.wait("opening memory")
        tty.send(key)
        assert tty.end() == 0
    path.unlink()


@pytest.mark.slow
def test_nothing_said_is_nothing_to_go_on_with(place: Path) -> None:
    for arguments in ([], ["--otr"]):
        with Tty("-w", str(place), "chat", *arguments) as tty:
            tty.wait("›")
            tty.say("/status")
            tty.wait("offline")
            tty.send("\x04")
            assert tty.end() == 0
            assert "to continue" not in tty.whole


def test_what_was_cut_off_is_named_at_the_next_start_and_finished_when_resumed(place: Path) -> None:
    call = ToolCall("c1", "note", {"text": "the key"})
    asked = (UserEntry("Note the key"), AssistantEntry("I note it.", tool_calls=(call,)))
    name = left(place, *asked, ToolResultEntry("c1", "note", "Noted.", compact="7 characters"))
    with Tty("-w", str(place), "chat") as tty:
        tty.wait(f"“Note the key” was cut off · /resume {name[-3:]} continues it")
    with Tty("-w", str(place), "chat", "--resume", name) as tty:
        tty.wait("› Note the key")
        tty.wait("· note: the key → 7 characters")
        tty.wait("Noted.", gone="Esc stops")
    with Tty("-w", str(place), "chat") as tty:
        tty.wait("offline")
        assert "was cut off" not in tty.text


@pytest.mark.slow
def test_what_waits_for_an_approval_is_named_and_asked_again(place: Path) -> None:
    call = ToolCall("c1", "shell", {"command": "touch it-ran", "outside": True})
    left(place, UserEntry("Go"), AssistantEntry("", tool_calls=(call,)), ApprovalEntry("c1"))
    with Tty("-w", str(place), "chat") as tty:
        tty.wait("“Go” waits for your yes or no")
    with Tty("-w", str(place), "chat", "--continue") as tty:
        tty.wait("[y,n,a,?]:")
        assert "│ touch it-ran" in tty.text
        tty.say("no")
        tty.wait("you did not allow: shell touch it-ran")
    assert not (place / "it-ran").exists()


def test_what_keeps_the_chat_from_opening_is_said_at_once(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSISTANT_MEMORY__K", "none")
    with Tty("-w", str(place), "chat") as tty:
        tty.wait("assistant: ")
        assert tty.end() == 1
        assert "memory.k" in tty.text
