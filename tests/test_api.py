"""The program from Python, in this process."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assistant import Assistant, AssistantError, Memory
from assistant.errors import LedgerError, UsageError


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "place"


@pytest.fixture
def memory(place: Path) -> Iterator[Memory]:
    with Memory(place, daemon=False, create=True) as opened:
        yield opened


def test_a_fact_from_its_writing_to_its_end(memory: Memory, place: Path) -> None:
    done = memory.remember("The door code is 4711", origin="a script")
    assert (done.status, done.source) == ("stored", "MEMORY.md")
    assert memory.remember("The door code is 4711").status == "exists"
    newer = memory.remember("The door code is 4712", replaces=f"{done.source}:{done.line}")
    assert newer.status == "superseded"
    found = memory.recall("door code", k=1)
    assert [each.text for each in found] == ["- The door code is 4712"]
    held = memory.remember("The door is red", review=True)
    assert held.status == "waiting" and memory.waiting()[0].id == held.id
    with pytest.raises(LedgerError, match=r"no single fact is 'door'.*4712"):
        memory.forget("door")
    memory.forget("The door code is 4712")
    assert memory.undo().text == "The door code is 4712"
    assert memory.log()[-1].origin.kind == "a script"
    assert memory.workspace == place


def test_what_is_no_question_and_no_fact_is_refused_in_words(memory: Memory) -> None:
    with pytest.raises(UsageError, match=r"k is 0.*k=1 at least"):
        memory.recall("door code", k=0)
    nothing: Any = None
    with pytest.raises(UsageError, match="the query is no text but None"):
        memory.recall(nothing)
    for call in (memory.remember, lambda fact: memory.remember_all([fact])):
        with pytest.raises(UsageError, match="the fact is no text but None"):
            call(nothing)
    assert memory.log() == ()


def test_threads_share_a_memory(memory: Memory) -> None:
    def write(number: int) -> None:
        memory.remember(f"Thread {number} was here")
        memory.recall(f"thread {number}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    found = memory.recall("thread was here", k=20)
    assert sum("was here" in each.text for each in found) == 8


def test_turns_come_one_after_another(place: Path) -> None:
    with Assistant(place, daemon=False, create=True) as assistant:
        names = [event.name for event in assistant.send("remember that tea is at four")]
        assert names[0] == "turn_started" and names[-1] == "turn_finished"
        running = assistant.send("when is tea?")
        next(running)
        with pytest.raises(UsageError, match="still runs"):
            assistant.ask("hello")
        replies: list[str] = []
        other = threading.Thread(target=lambda: replies.append(assistant.ask("when is tea?")))
        other.start()
        list(running)
        other.join()
        assert "tea is at four" in replies[0]
        with pytest.raises(UsageError, match="empty"):
            assistant.ask(" ")
        session = assistant.session
    with Assistant(place, daemon=False, resume=session) as again:
        assert again.session == session
    with pytest.raises(UsageError, match="is closed"):
        again.ask("when is tea?")
    again.close()


def test_what_is_closed_says_so(memory: Memory) -> None:
    memory.close()
    memory.close()
    for asked in (lambda: memory.recall("tea"), lambda: memory.remember("Tea is at four")):
        with pytest.raises(UsageError, match="this memory is closed"):
            asked()


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(AssistantError, match="no workspace"):
        Memory(tmp_path / "nowhere")
