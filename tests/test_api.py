"""The program from Python, in this process."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assistant import Assistant, AssistantError, Memory
from assistant.errors import LedgerError, UsageError
from assistant.events import ToolFinished, TurnFailed, TurnFinished
from assistant.messages import Reply, ToolCall
from tests.support.provider import Provider, Received, fails


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
    with pytest.raises(LedgerError, match=r"'door' does not identify a single fact.*4712"):
        memory.forget("door")
    memory.forget("The door code is 4712")
    assert memory.undo()[0].text == "The door code is 4712"
    assert memory.log()[-1].origin.kind == "a script"
    assert memory.workspace == place


def test_what_is_no_question_and_no_fact_is_refused_in_words(memory: Memory) -> None:
    with pytest.raises(UsageError, match=r"k is 0.*k=1 at least"):
        memory.recall("door code", k=0)
    with pytest.raises(UsageError, match=r"limit is -1.*limit=0 at least"):
        memory.log(-1)
    assert memory.log() == ()


ODD: list[Any] = [None, 0, 1.5, True, b"x", [], {}, object()]


def refuse_the_odd(calls: dict[str, Callable[[Any], object]]) -> None:
    """Each call names the argument; `?`: it may be None, `#`: a number, `!`: True."""
    for name, call in calls.items():
        for odd in ODD:
            is_number = isinstance(odd, int) and not isinstance(odd, bool)
            if (odd is None and "?" in name) or (is_number and "#" in name):
                continue
            if odd is True and "!" in name:
                continue
            with pytest.raises(UsageError, match=r"Give it as") as caught:
                call(odd)
            assert caught.value.message.split()[0] == name.strip("?#! ")


def test_an_argument_of_another_type_is_named_with_its_cure(memory: Memory) -> None:
    refuse_the_odd(
        {
            "query": memory.recall,
            "as_of?": lambda odd: memory.recall("door", as_of=odd),
            "k?#": lambda odd: memory.recall("door", k=odd),
            "budget?#": lambda odd: memory.recall("door", budget=odd),
            "fact": memory.remember,
            "fact ": lambda odd: memory.remember_all(["A fact", odd]),
            "section": lambda odd: memory.remember("A fact", section=odd),
            "replaces?": lambda odd: memory.remember("A fact", replaces=odd),
            "origin": lambda odd: memory.remember("A fact", origin=odd),
            "superseded!": lambda odd: memory.recall("door", superseded=odd),
            "review!": lambda odd: memory.remember("A fact", review=odd),
            "daemon!": lambda odd: Memory(daemon=odd),
            "create!": lambda odd: Memory(create=odd),
            "daemon! ": lambda odd: Assistant(daemon=odd),
            "create! ": lambda odd: Assistant(create=odd),
            "off_the_record!": lambda odd: Assistant(off_the_record=odd),
            "approve?": lambda odd: Assistant(approve=odd),
            "target": memory.forget,
            "limit#": memory.log,
            "id": lambda odd: memory.review(odd, accept=True),
            "workspace?": Memory,
            "workspace? ": lambda odd: Memory(odd, create=True),
            "model?": lambda odd: Assistant(model=odd),
            "resume?": lambda odd: Assistant(resume=odd),
        }
    )
    assert memory.log() == ()


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
@pytest.mark.parametrize("opened", [Memory, Assistant])
@pytest.mark.parametrize("create", [True, False])
def test_a_path_that_no_system_has_is_refused_in_words(
    tmp_path: Path, name: str, opened: type[Memory] | type[Assistant], create: bool
) -> None:
    with pytest.raises(AssistantError) as caught:
        opened(tmp_path / name, daemon=False, create=create)
    assert caught.value.cure


def test_an_origin_that_cannot_be_encoded_is_written(tmp_path: Path) -> None:
    with Memory(tmp_path / "place", daemon=False, create=True) as memory:
        memory.remember("Tea at four", origin="a\ud800b")
        assert memory.log(1)[0].origin.kind == "a?b"


def test_only_true_approves(place: Path) -> None:
    calls = (ToolCall("c", "write_file", {"path": "MEMORY.md", "text": "gone"}),)

    def answer(request: Received) -> Reply | str:
        return "Done." if request.roles[-1] == "tool" else Reply(tool_calls=calls)

    def approve(_: object) -> Any:
        return answers[-1]

    answers: list[Any] = []
    with (
        Provider(respond=answer) as provider,
        pytest.MonkeyPatch.context() as settings,
    ):
        settings.setenv("ASSISTANT_API_BASE", provider.url)
        with Assistant(
            place, model="openai/test", approve=approve, daemon=False, create=True
        ) as talk:
            refuse_the_odd({"message": talk.ask, "title": lambda odd: _titled(talk, odd)})
            for odd in (None, 0, 1, "no", "yes", object(), False, True):
                answers.append(odd)
                talk.ask("change it")
                assert ((place / "MEMORY.md").read_text() == "gone") is (odd is True)


def test_a_conversation_has_its_history_and_its_events_tell_what_they_took(place: Path) -> None:
    call = Reply(tool_calls=(ToolCall("c", "shell", {"command": "sleep 1"}),))
    with Provider(call, "Slept.") as provider, pytest.MonkeyPatch.context() as settings:
        settings.setenv("ASSISTANT_API_BASE", provider.url)
        with Assistant(place, model="openai/test", daemon=False, create=True) as talk:
            *_, finished = events = list(talk.send("sleep a second"))
            history = talk.history
            provider.enqueue(fails(401))
            *_, failed = talk.send("again")
    assert isinstance(finished, TurnFinished) and isinstance(failed, TurnFailed)
    assert (finished.requests, failed.code) == (2, "ModelError")
    (tool,) = (event for event in events if isinstance(event, ToolFinished))
    assert 1 <= tool.seconds <= finished.seconds
    told = [(entry["type"], entry.get("text") or entry.get("seconds")) for entry in history]
    assert ("user", "sleep a second") in told and told[-1] == ("assistant", "Slept.")
    assert ("tool_result", tool.seconds) in told


def _titled(talk: Assistant, odd: Any) -> str:
    try:
        return talk.ask("hello", {odd: "text"})
    except TypeError as error:  # it cannot be a key
        raise UsageError("title", "Give it as a string") from error


def test_facts_come_from_anything_that_yields_them_but_a_text(memory: Memory) -> None:
    texts = (f"Boat {number} is in the harbour" for number in range(3))
    assert [each.status for each in memory.remember_all(texts)] == ["stored"] * 3
    with pytest.raises(UsageError, match="list of strings"):
        memory.remember_all("tea")
    assert len(memory.log()) == 3


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
        with pytest.raises(UsageError, match="still running"):
            assistant.ask("hello")
        replies: list[str] = []
        other = threading.Thread(target=lambda: replies.append(assistant.ask("when is tea?")))
        other.start()
        running.close()  # which stops the turn
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
