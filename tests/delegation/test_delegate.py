"""Subtasks beside each other, each a session of its own: results, budgets, approvals, crashes."""

import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from assistant import events
from assistant.conversation import Conversation
from assistant.delegation.subtasks import Limits, delegating_tool
from assistant.errors import ModelError, ModelFailure
from assistant.events import ApprovalRequested, Event
from assistant.memory.base import Memory, Query, Recall
from assistant.messages import Message, Reply, ToolCall, Usage
from assistant.model.base import ToolSpec
from assistant.session import listing, transcript
from assistant.session.entries import HeaderEntry, SubtasksEntry, ToolResultEntry
from assistant.tools.base import Plan, Tool, ToolResult, tool
from assistant.tools.policy import ApproveAll, Decision
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.support.scripted import Answer, ScriptedModel

TASKS = ["find the tide", "find the boat"]


class Nothing:
    """A memory that holds nothing."""

    def recall(self, query: Query) -> Recall:
        return Recall(query.text, ())

    def __getattr__(self, name: str) -> Callable[..., list[object]]:
        return lambda *_, **__: []


def delegating(*tasks: str) -> Reply:
    return Reply(tool_calls=(ToolCall("d1", "delegate", {"tasks": list(tasks or TASKS)}),))


def asked(messages: Sequence[Message]) -> str:
    """The first line of what a conversation was asked."""
    said = next(each.content for each in messages if each.role == "user")
    return said.rpartition("[/BRIEFING]\n\n")[2].split("\n")[0]


class Bench:
    """A conversation that delegates; `child` answers each subtask by what it was asked."""

    def __init__(self, place: Workspace) -> None:
        self.place = place
        self.child: dict[str, Callable[[Sequence[Message]], Answer]] = {}
        self.limits = Limits()
        self.tasks: tuple[str, ...] = ()
        self.ran: list[str] = []
        self.offered: dict[str, list[str]] = {}

    def tools(self) -> list[Tool]:
        def look(what: str) -> str:
            """Look."""
            self.ran.append(what)
            return f"{what} is fine"

        def wipe(what: str) -> Plan:
            """Wipe."""

            def run() -> ToolResult:
                self.ran.append(f"wiped {what}")
                return ToolResult("wiped")

            return Plan(run, (what,), dangerous=True)

        def remind(when: str) -> str:
            """Remind the owner."""
            return "noted"

        return [tool(look), tool(wipe), tool(remind)]

    def answer(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Answer:
        about = asked(messages)
        self.offered[about] = [each.name for each in tools]
        if about in self.child:
            return self.child[about](messages)
        return delegating(*self.tasks) if messages[-1].role == "user" else "All done."

    def begin(self, record: transcript.Transcript | None = None) -> Conversation:
        talk = Conversation(
            self.place,
            ScriptedModel(respond=self.answer),
            cast(Memory, Nothing()),
            Toolbox(self.tools()),
            record or transcript.create(self.place.sessions),
            approver=ApproveAll(),
        )
        talk.toolbox.add(delegating_tool(talk, self.limits))
        return talk


@pytest.fixture
def bench(workspace: Workspace) -> Bench:
    return Bench(workspace)


def result(talk: Conversation) -> str:
    found = [each for each in talk.transcript.entries if isinstance(each, ToolResultEntry)]
    return found[-1].content


def says(text: str, tokens: int = 10) -> Callable[[Sequence[Message]], Answer]:
    return lambda _: Reply(text, usage=Usage(tokens, 1))


def calls_then(name: str, text: str) -> Callable[[Sequence[Message]], Answer]:
    def answer(messages: Sequence[Message]) -> Answer:
        if messages[-1].role == "user":
            return Reply(tool_calls=(ToolCall("c1", name, {"what": text}),))
        return f"{text}: {messages[-1].content}"

    return answer


def test_subtasks_run_at_once_with_no_more_tools_and_each_is_a_session(bench: Bench) -> None:
    together = threading.Barrier(2, timeout=60)

    def meets(text: str) -> Callable[[Sequence[Message]], Answer]:
        def answer(_: Sequence[Message]) -> Answer:
            together.wait()
            return Reply(text, usage=Usage(100, 5))

        return answer

    bench.child = {TASKS[0]: meets("At 14:20."), TASKS[1]: meets("In the harbour.")}
    talk = bench.begin()
    seen = list(talk.send("go"))
    assert isinstance(seen[-1], events.TurnFinished) and seen[-1].reply == "All done."
    parent = talk.transcript.session
    assert result(talk) == (
        f"## 1. find the tide — done (session {parent}.1, 105 tokens)\nAt 14:20.\n\n"
        f"## 2. find the boat — done (session {parent}.2, 105 tokens)\nIn the harbour."
    )
    assert bench.offered["go"] == ["look", "wipe", "remind", "delegate"]
    assert bench.offered[TASKS[0]] == ["look", "wipe", "note", "plan"]
    moved = [each for each in seen if isinstance(each, events.SubtaskMoved)]
    assert [each.state for each in moved if each.number == 1] == ["running", "done"]
    header = transcript.read(bench.place.sessions, f"{parent}.1")[0]
    assert isinstance(header, HeaderEntry) and header.parent == parent
    assert [each.id for each in listing.sessions(bench.place.sessions)] == [parent]
    assert listing.latest(bench.place.sessions) == parent
    assert talk.usage.input_tokens == 200


def test_one_that_fails_delegates_or_runs_out_is_a_result(bench: Bench) -> None:
    def endless(messages: Sequence[Message]) -> Answer:
        call = ToolCall(f"c{len(messages)}", "look", {"what": str(len(messages))})
        return Reply(tool_calls=(call,), usage=Usage(600, 0))

    def raises(_: Sequence[Message]) -> Answer:
        raise RuntimeError("the model is gone")

    def cyclic(messages: Sequence[Message]) -> Answer:
        return delegating("a", "b") if messages[-1].role == "user" else messages[-1].content[:40]

    bench.child = {"e": endless, "r": raises, "c": cyclic, "m": endless}
    bench.limits = Limits(tokens=1500, at_once=2)
    bench.tasks = ("e", "r", "c")
    talk = bench.begin()
    seen = list(talk.send("go"))
    assert isinstance(seen[-1], events.TurnFinished)
    said = result(talk)
    assert "## 1. e — failed" in said and "of 1,500 tokens. " in said
    assert "## 2. r — failed" in said and "RuntimeError: the model is gone" in said
    assert "## 3. c — done" in said and "There is no tool 'delegate'" in said


def test_the_cure_of_a_failure_is_in_the_result(bench: Bench) -> None:
    def refused(_: Sequence[Message]) -> Answer:
        raise ModelError("the key is refused", "Set another key", kind=ModelFailure.AUTH)

    bench.child = {TASKS[0]: refused, TASKS[1]: says("Here.")}
    talk = bench.begin()
    list(talk.send("go"))
    assert "the key is refused. Set another key" in result(talk)


def test_one_that_calls_for_ever_is_ended_by_its_rounds(bench: Bench) -> None:
    def endless(messages: Sequence[Message]) -> Answer:
        call = ToolCall(f"c{len(messages)}", "look", {"what": str(len(messages))})
        return Reply(tool_calls=(call,))

    bench.child = {TASKS[0]: endless, TASKS[1]: says("Here.")}
    bench.limits = Limits(rounds=3)
    talk = bench.begin()
    list(talk.send("go"))
    assert "## 1. find the tide — failed" in result(talk)
    assert "within the requests allowed for one turn. " in result(talk)
    assert "Here." in result(talk)


class Owner(ApproveAll):
    """Says yes to the boat alone, and notes who asks, and whether two ever ask at once."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._busy = threading.Lock()

    def decide(self, request: ApprovalRequested) -> Decision:
        assert self._busy.acquire(blocking=False)
        self.asked.append(request.who)
        self._busy.release()
        return Decision("once") if "boat" in request.who else Decision("no", "not the tide")


def test_approvals_come_one_at_a_time_and_say_who_asks(bench: Bench) -> None:
    bench.child = {TASKS[0]: calls_then("wipe", "tide"), TASKS[1]: calls_then("wipe", "boat")}
    talk = bench.begin()
    owner = talk.approver = Owner()
    seen = list(talk.send("go"))
    assert sorted(owner.asked) == ["find the boat", "find the tide"]
    assert bench.ran == ["wiped boat"]
    assert "The owner did not allow this call: not the tide" in result(talk)
    decided = {each.compact for each in seen if isinstance(each, events.ApprovalDecided)}
    assert decided == {"find the boat: wipe boat", "find the tide: wipe tide"}


def test_ctrl_c_stops_them_all(bench: Bench) -> None:
    waiting, freed = threading.Barrier(3, timeout=60), threading.Event()

    def waits(_: Sequence[Message]) -> Answer:
        waiting.wait()
        freed.wait(60)
        return "too late"

    bench.child = dict.fromkeys(TASKS, waits)
    talk = bench.begin()
    seen: list[Event] = []
    turn = talk.send("go")
    for event in turn:
        seen.append(event)
        if isinstance(event, events.SubtaskMoved) and event.number == 2:
            break
    waiting.wait()
    talk.interruption.cancel()
    seen += turn
    freed.set()
    assert isinstance(seen[-1], events.TurnFinished) and seen[-1].interrupted
    last = transcript.read(bench.place.sessions, f"{talk.transcript.session}.2")[-1]
    assert last.type == "interrupted"


@pytest.mark.parametrize("how", ["interrupts", "leaves"])
def test_what_was_done_when_the_owner_interrupts_or_leaves_is_kept(bench: Bench, how: str) -> None:
    freed = threading.Event()

    def waits(_: Sequence[Message]) -> Answer:
        freed.wait(60)
        return "too late"

    bench.child = {TASKS[0]: says("At 14:20."), TASKS[1]: waits}
    talk = bench.begin()
    turn = cast(Generator[Event, None, None], talk.send("go"))
    for event in turn:
        if isinstance(event, events.SubtaskMoved) and event.state == "done":
            break
    if how == "leaves":
        turn.close()
    else:
        turn.throw(KeyboardInterrupt)
        list(turn)
    freed.set()
    assert "At 14:20." in result(talk) and "stopped" in result(talk)


def test_after_a_crash_what_was_done_is_kept_and_the_rest_goes_on(bench: Bench) -> None:
    times: list[str] = []

    def once(text: str) -> Callable[[Sequence[Message]], Answer]:
        def answer(_: Sequence[Message]) -> Answer:
            times.append(text)
            return text

        return answer

    bench.child = {TASKS[0]: once("At 14:20."), TASKS[1]: once("In the harbour.")}
    talk = bench.begin()
    list(talk.send("go"))
    path = cast(Path, talk.transcript.path)
    talk.transcript.close()
    lines = path.read_bytes().splitlines(keepends=True)
    cut = next(n for n, line in enumerate(lines) if b'"type":"subtasks"' in line)
    path.write_bytes(b"".join(lines[: cut + 1]))
    second = path.with_name(f"{path.stem}.2.jsonl")
    kept = second.read_bytes().splitlines(keepends=True)
    second.write_bytes(b"".join(kept[:-1]))
    again = bench.begin(transcript.reopen(bench.place.sessions, path.stem))
    seen = list(again.resume())
    assert isinstance(seen[-1], events.TurnFinished) and seen[-1].reply == "All done."
    assert sorted(times) == ["At 14:20.", "In the harbour.", "In the harbour."]
    assert "At 14:20." in result(again) and "In the harbour." in result(again)
    noted = [e.sessions for e in again.transcript.entries if isinstance(e, SubtasksEntry)]
    assert noted == [(f"{path.stem}.1", f"{path.stem}.2")] * 2


def test_after_a_crash_what_had_failed_is_not_called_done(bench: Bench) -> None:
    def fails(_: Sequence[Message]) -> Answer:
        raise ModelError(
            "the tide tables are gone", "Look elsewhere", kind=ModelFailure.BAD_REQUEST
        )

    bench.child = {TASKS[0]: fails, TASKS[1]: says("In the harbour.")}
    talk = bench.begin()
    list(talk.send("go"))
    assert "## 1. find the tide — failed" in result(talk)
    path = cast(Path, talk.transcript.path)
    talk.transcript.close()
    lines = path.read_bytes().splitlines(keepends=True)
    cut = next(n for n, line in enumerate(lines) if b'"type":"subtasks"' in line)
    path.write_bytes(b"".join(lines[: cut + 1]))
    again = bench.begin(transcript.reopen(bench.place.sessions, path.stem))
    list(again.resume())
    assert "## 1. find the tide — failed" in result(again)
    assert "the tide tables are gone" in result(again) and "boat — done" in result(again)


def test_off_the_record_no_subtask_writes_anything(bench: Bench) -> None:
    bench.child = {TASKS[0]: says("At 14:20."), TASKS[1]: says("Here.")}
    talk = replace(bench.begin(), transcript=transcript.off_the_record())
    talk.toolbox.add(delegating_tool(talk, bench.limits))
    list(talk.send("go"))
    assert "At 14:20." in result(talk)
    assert not bench.place.sessions.exists() or not list(bench.place.sessions.glob("*.jsonl"))


NINE = [str(number) for number in range(9)]


@pytest.mark.parametrize("tasks", [["one"], ["same", "same"], ["", "x"], NINE])
def test_what_cannot_be_shared_out_is_refused(bench: Bench, tasks: list[str]) -> None:
    talk = bench.begin()
    call = ToolCall("d1", "delegate", {"tasks": tasks})
    assert talk.toolbox.review(call).action == "deny"


def test_together_they_cost_no_more_than_the_lead_may_still_spend(bench: Bench) -> None:
    def endless(messages: Sequence[Message]) -> Answer:
        call = ToolCall(f"c{len(messages)}", "look", {"what": str(len(messages))})
        return Reply("Looking.", tool_calls=(call,), usage=Usage(100, 0))

    bench.tasks = ("a", "b", "c")
    bench.child = dict.fromkeys(bench.tasks, endless)
    talk = replace(bench.begin(), max_tokens=600)
    talk.toolbox.add(delegating_tool(talk))
    seen = list(talk.send("go"))
    assert isinstance(seen[-1], events.TurnFailed) and "600 of 600 tokens" in seen[-1].message
    assert talk.usage.tokens == 600
    ending = "of 200 tokens. Give it a smaller task, or more tokens]\nLooking."
    assert result(talk).count(ending) == 3


def test_the_first_conversation_waits_for_the_owner_while_a_subtask_runs(bench: Bench) -> None:
    first = bench.place.root / "BOOTSTRAP.md"
    first.write_text("Ask for their name.\n")
    asked_for: list[str] = []

    def look(messages: Sequence[Message]) -> Answer:
        asked_for.append(str(messages) if first.exists() else "put away")
        return "Here."

    bench.child = dict.fromkeys(TASKS, look)
    list(bench.begin().send("go"))
    assert len(asked_for) == 2
    assert not any("their name" in text or text == "put away" for text in asked_for)
    assert not first.exists()
