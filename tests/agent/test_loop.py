"""The loop: stream, run the calls in order, feed the results back, and end well in any case."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from assistant.agent.loop import (
    CUT_SHORT,
    LOOPED,
    REMINDERS,
    STOPPED,
    Agent,
    Cancelled,
    Interruption,
    run_turn,
)
from assistant.errors import ModelError, ModelFailure, ToolError, TurnError
from assistant.events import (
    ApprovalDecided,
    ApprovalRequested,
    Event,
    MessageJoined,
    Notice,
    ReasoningDelta,
    Reminded,
    Retrying,
    State,
    StateChanged,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from assistant.messages import Message, Reply, ToolCall, Usage
from assistant.model.base import Piece, ToolSpec
from assistant.session import transcript
from assistant.session.entries import (
    ApprovalEntry,
    AssistantEntry,
    Entry,
    InterruptedEntry,
    ReminderEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.history import group, messages
from assistant.tools.base import Plan, Tool, ToolResult, tool
from assistant.tools.policy import ApproveAll, Decision
from assistant.tools.toolbox import Toolbox
from tests.model.validator import faults
from tests.support.scripted import ScriptedModel


@dataclass
class Workbench:
    """An agent with a few tools, and what they did."""

    model: ScriptedModel
    ran: list[str] = field(default_factory=list)
    on_run: Callable[[], None] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.transcript = transcript.off_the_record()
        self.interruption = Interruption()
        self.ask("do it")

    def ask(self, text: str) -> None:
        self.transcript.append(UserEntry(text))

    def agent(self) -> Agent:
        return Agent(
            self.model,
            self._prompt,
            Toolbox(self._tools()),
            self.transcript,
            interruption=self.interruption,
            **self.options,
        )

    def interject(self, text: str) -> None:
        self.interruption.queue(text)
        self.interruption.hurry()

    def run(self) -> list[Event]:
        return list(run_turn(self.agent()))

    def results(self) -> list[ToolResultEntry]:
        return [e for e in self.transcript.entries if isinstance(e, ToolResultEntry)]

    def _prompt(self, specs: Sequence[ToolSpec]) -> list[Message]:
        said = messages(group(self.transcript.entries))
        assert faults(said) == [] and said[-1].role != "assistant"
        return said

    def _tools(self) -> list[Tool]:
        def look(place: str = "here", times: int = 1) -> ToolResult:
            """Look around."""
            self.ran.append(f"look {place} {times}")
            if self.on_run:
                self.on_run()
            return ToolResult(f"{place} is fine, {len(self.ran)}", compact="looked")

        def same() -> ToolResult:
            """Always the same."""
            self.ran.append("same")
            return ToolResult("the same")

        def fail() -> ToolResult:
            """Fail."""
            raise ToolError("the door is locked")

        def crash() -> ToolResult:
            """Crash."""
            raise KeyError("bug")

        def wipe() -> Plan:
            """Remove everything."""

            def run() -> ToolResult:
                self.ran.append("wipe")
                return ToolResult("wiped")

            return Plan(run, dangerous=True)

        safe = [tool(each) for each in (look, same, fail, crash)]
        return [*safe, tool(wipe)]


def calling(*calls: ToolCall, text: str = "") -> Reply:
    return Reply(text, tool_calls=calls, finish_reason="tool_calls")


def look(id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(id, "look", arguments)


def test_text_call_result_reply() -> None:
    bench = Workbench(ScriptedModel(calling(look(place="hall"), text="I look."), "All is fine."))
    assert bench.run() == [
        StateChanged(State.THINKING),
        TextDelta("I"),
        TextDelta(" look."),
        StateChanged(State.EXECUTING_TOOL),
        ToolStarted("c1", "look", {"place": "hall"}, "look hall"),
        ToolFinished("c1", "look", "hall is fine, 1", False, "looked"),
        StateChanged(State.THINKING),
        TextDelta("All"),
        TextDelta(" is"),
        TextDelta(" fine."),
    ]
    assert bench.model.requests[1].messages == (
        Message("user", "do it"),
        Message("assistant", "I look.", (look(place="hall"),)),
        Message("tool", "hall is fine, 1", tool_call_id="c1"),
    )


def test_what_an_event_shows_is_in_the_transcript_before() -> None:
    bench = Workbench(ScriptedModel(calling(look()), "Done."))
    for event in run_turn(bench.agent()):
        last = bench.transcript.entries[-1]
        match event:
            case ToolStarted():
                assert isinstance(last, AssistantEntry) and last.tool_calls == (look(),)
            case ToolFinished(content=content):
                assert isinstance(last, ToolResultEntry) and last.content == content


def test_usage_reasoning_and_retries_are_kept_or_shown() -> None:
    pieces: list[Piece | ModelError] = [
        Retrying("m2", "busy", 1.5, 2),
        ReasoningDelta("hm"),
        TextDelta("Yes"),
        Reply("Yes", "hm", usage=Usage(7, 1)),
    ]
    bench = Workbench(ScriptedModel(pieces))
    assert bench.run()[1:] == [
        Retrying("m2", "busy", 1.5, 2),
        ReasoningDelta("hm"),
        TextDelta("Yes"),
    ]
    last = bench.transcript.entries[-1]
    assert isinstance(last, AssistantEntry)
    assert (last.text, last.reasoning, last.usage, last.model) == (
        "Yes",
        "hm",
        Usage(7, 1),
        "scripted",
    )


@pytest.mark.parametrize("reason", CUT_SHORT)
def test_an_answer_that_was_cut_short_says_so(reason: str) -> None:
    bench = Workbench(ScriptedModel([Reply("Once upon a", finish_reason=reason)]))
    events = bench.run()
    assert [each.text for each in events if isinstance(each, Notice)] == [CUT_SHORT[reason]]
    assert bench.transcript.entries[-1].text == CUT_SHORT[reason]


def test_calls_run_in_order() -> None:
    calls = (look("c1", place="a"), look("c2", place="b"), look("c3", place="c"))
    bench = Workbench(ScriptedModel(calling(*calls), "Done."))
    bench.run()
    assert bench.ran == ["look a 1", "look b 1", "look c 1"]


def test_arguments_are_coerced_by_the_schema() -> None:
    bench = Workbench(ScriptedModel(calling(look(times="5")), "Done."))
    bench.run()
    assert bench.ran == ["look here 5"]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (ToolCall("c1", "lok"), "did you mean look?"),
        (look(times="many"), "times"),
        (look(colour="red"), "colour"),
        (ToolCall("c1", "fail"), "the door is locked"),
        (ToolCall("c1", "crash"), "KeyError"),
        (ToolCall("c1", "look", fault="the arguments are cut off"), "the arguments are cut off"),
    ],
)
def test_a_mistake_of_the_models_is_a_result_it_sees(call: ToolCall, told: str) -> None:
    bench = Workbench(ScriptedModel(calling(call), "I see."))
    events = bench.run()
    (result,) = bench.results()
    assert result.error and told in result.content
    assert bench.ran == []
    assert bench.model.requests[1].messages[-1].content == result.content
    assert any(isinstance(event, ToolFinished) and event.error for event in events)


def test_ids_that_are_missing_or_used_again_are_made_distinct() -> None:
    twice = calling(look("0"), look("0", place="b"), look("", place="c"))
    bench = Workbench(ScriptedModel(twice, calling(look("0", place="d")), "Done."))
    bench.run()
    assert bench.ran == ["look here 1", "look b 1", "look c 1", "look d 1"]
    assert len({result.call_id for result in bench.results()}) == 4


def reminders(bench: Workbench) -> list[str]:
    return [e.kind for e in bench.transcript.entries if isinstance(e, ReminderEntry)]


def test_the_same_call_five_times_is_a_loop_and_another_way_is_asked_for() -> None:
    same = [calling(ToolCall(f"c{n}", "same")) for n in range(5)]
    bench = Workbench(ScriptedModel(*same, calling(look("c9")), "There."))
    bench.run()
    assert bench.ran == ["same"] * 4 + ["look here 1"]
    assert bench.results()[4].content == LOOPED
    assert reminders(bench) == []


def test_who_loops_on_is_told_to_answer_and_may() -> None:
    same = [calling(ToolCall(f"c{n}", "same")) for n in range(6)]
    bench = Workbench(ScriptedModel(*same, "I stop."))
    bench.run()
    assert bench.ran == ["same"] * 4
    assert REMINDERS["rounds"] in bench.model.requests[-1].messages[-1].content
    assert reminders(bench) == ["circles"]


def test_calls_of_one_answer_count_as_one_loop() -> None:
    many = calling(*[ToolCall(f"c{n}", "same") for n in range(9)])
    bench = Workbench(ScriptedModel(many, "There."))
    bench.run()
    assert (bench.ran, reminders(bench)) == (["same"] * 4, [])


def test_a_loop_over_two_calls_is_one_too() -> None:
    pairs = [
        calling(ToolCall(f"c{n}", "same") if n % 2 else look(f"c{n}", place=str(n)))
        for n in range(10)
    ]
    bench = Workbench(ScriptedModel(*pairs, "I stop."))
    bench.run()
    assert bench.ran.count("same") == 4
    assert LOOPED in [result.content for result in bench.results()]


def test_a_call_made_again_with_another_result_each_time_is_no_loop() -> None:
    steps = [calling(look(f"c{n}"), ToolCall(f"d{n}", "look", {"place": str(n)})) for n in range(7)]
    bench = Workbench(ScriptedModel(*steps, "Done."))
    bench.run()
    assert len(bench.ran) == 14


def failed(bench: Workbench) -> str:
    with pytest.raises(TurnError) as caught:
        bench.run()
    assert caught.value.cure
    assert faults(messages(group(bench.transcript.entries))) == []
    return caught.value.message


def test_a_model_that_loops_on_and_on_fails_in_words() -> None:
    bench = Workbench(ScriptedModel(respond=lambda *_: calling(ToolCall("c", "same"))))
    assert failed(bench) == ("scripted kept repeating the same call")
    assert len(bench.model.requests) == 7
    assert bench.results()[-1].synthetic


def wandering(bench_rounds: int | None = None) -> Workbench:
    count = iter(range(1_000))
    options = {} if bench_rounds is None else {"max_rounds": bench_rounds}
    wander = ScriptedModel(respond=lambda *_: calling(look("c", place=str(next(count)))))
    return Workbench(wander, options=options)


@pytest.mark.parametrize(("limit", "rounds"), [(None, 25), (3, 3), (1, 1)])
def test_at_the_limit_of_rounds_the_model_is_told_to_answer(limit: int | None, rounds: int) -> None:
    bench = wandering(limit)
    assert failed(bench) == "scripted gave no answer within the requests allowed for one turn"
    assert len(bench.model.requests) == rounds
    assert len(bench.ran) == rounds - 1
    assert reminders(bench) == ["rounds"]
    assert REMINDERS["rounds"] in bench.model.requests[-1].messages[-1].content


def test_an_answer_at_the_limit_is_one() -> None:
    bench = Workbench(ScriptedModel(calling(look()), "There."), options={"max_rounds": 2})
    bench.run()
    assert reminders(bench) == ["rounds"]


@pytest.mark.parametrize("blank", [Reply(""), Reply(" \n"), Reply("", "I should answer")])
def test_an_empty_answer_is_asked_for_again_once(blank: Reply) -> None:
    bench = Workbench(ScriptedModel(blank, "There."))
    events = bench.run()
    assert Reminded(REMINDERS["empty"]) in events
    assert REMINDERS["empty"] in bench.model.requests[1].messages[-1].content
    assert failed(Workbench(ScriptedModel(blank, blank))) == "scripted gave an empty answer, twice"


def test_an_empty_answer_after_tools_is_too() -> None:
    bench = Workbench(ScriptedModel(calling(look()), Reply(""), "There."))
    bench.run()
    assert bench.model.requests[2].messages[-1].role == "user"


@pytest.mark.parametrize(
    ("finish", "words", "requests"),
    [
        ("content_filter", "withheld the answer", 1),
        ("length", "reached its limit before it began", 2),
    ],
)
def test_why_an_answer_is_empty_is_said_where_it_is_known(
    finish: str, words: str, requests: int
) -> None:
    blank = Reply("", "hm", finish_reason=finish)
    bench = Workbench(ScriptedModel(respond=lambda *_: blank))
    assert words in failed(bench)
    assert len(bench.model.requests) == requests


def test_a_call_that_the_provider_could_not_read_is_asked_for_again() -> None:
    lost = Reply("I look.", finish_reason="malformed_call")
    bench = Workbench(ScriptedModel(lost, calling(look()), "There."))
    bench.run()
    assert (bench.ran, reminders(bench)) == (["look here 1"], ["malformed"])
    assert "could not be parsed" in failed(Workbench(ScriptedModel(lost, lost)))


class Answers:
    """An approver with its answers ready; remembers what it was asked."""

    def __init__(self, *decisions: Decision) -> None:
        self.decisions = list(decisions)
        self.asked: list[ApprovalRequested] = []

    def decide(self, request: ApprovalRequested) -> Decision:
        self.asked.append(request)
        return self.decisions.pop(0)


def wipe(id: str = "w1") -> ToolCall:
    return ToolCall(id, "wipe")


def test_a_dangerous_call_asks_and_the_question_is_shown_first() -> None:
    answers = Answers(Decision("once"))
    bench = Workbench(ScriptedModel(calling(wipe()), "Done."), options={"approver": answers})
    for event in run_turn(bench.agent()):
        if isinstance(event, ApprovalRequested):
            assert not answers.asked
            assert isinstance(bench.transcript.entries[-1], ApprovalEntry)
    assert len(answers.asked) == 1 and bench.ran == ["wipe"]


def test_a_no_and_its_reason_reach_the_model() -> None:
    answers = Answers(Decision("no", "use the other disk"))
    bench = Workbench(ScriptedModel(calling(wipe()), "Well."), options={"approver": answers})
    bench.run()
    assert bench.ran == []
    assert "use the other disk" in bench.model.requests[1].messages[-1].content
    decision = [e for e in bench.transcript.entries if isinstance(e, ApprovalEntry)][-1]
    assert (decision.decision, decision.reason) == ("no", "use the other disk")


def test_a_reason_is_kept_and_shown_without_its_secrets() -> None:
    answers = Answers(Decision("no", "the code is 4711"))
    hide = {"redact": lambda text: text.replace("4711", "…")}
    bench = Workbench(
        ScriptedModel(calling(wipe()), "Well."), options={"approver": answers, **hide}
    )
    events = bench.run()
    decided = [event for event in events if isinstance(event, ApprovalDecided)]
    assert [event.reason for event in decided] == ["the code is …"]
    assert not any("4711" in repr(entry) for entry in bench.transcript.entries)


def test_nobody_to_ask_is_a_no() -> None:
    bench = Workbench(ScriptedModel(calling(wipe()), "Well."))
    bench.run()
    assert bench.ran == [] and bench.results()[0].error


def test_calls_left_open_by_a_crash_are_asked_about_again() -> None:
    bench = Workbench(ScriptedModel("Done."), options={"approver": ApproveAll()})
    bench.transcript.append(AssistantEntry("", tool_calls=(wipe(), look())))
    bench.transcript.append(ApprovalEntry("w1"))
    bench.run()
    assert bench.ran == ["wipe", "look here 1"]
    assert len(bench.model.requests) == 1


def kinds(entries: Sequence[Entry]) -> list[str]:
    return [entry.type for entry in entries[1:]]


def test_ctrl_c_in_a_stream_keeps_what_was_shown() -> None:
    bench = Workbench(ScriptedModel("one two three"))
    turn = run_turn(bench.agent())
    shown = [next(turn), next(turn), next(turn)]
    assert shown[-1] == TextDelta(" two")
    with pytest.raises(KeyboardInterrupt):
        turn.throw(KeyboardInterrupt)
    assert kinds(bench.transcript.entries) == ["user", "assistant", "interrupted"]
    assert messages(group(bench.transcript.entries))[-1].content.startswith("one two")
    assert bench.model.cancelled == 1


def test_closing_the_turn_keeps_what_was_shown_too() -> None:
    bench = Workbench(ScriptedModel("one two three"))
    turn = run_turn(bench.agent())
    next(turn), next(turn)
    turn.close()
    assert kinds(bench.transcript.entries) == ["user", "assistant", "interrupted"]


def test_ctrl_c_in_a_tool_leaves_a_valid_transcript() -> None:
    calls = (look("c1"), look("c2", place="b"))
    bench = Workbench(ScriptedModel(calling(*calls)))
    bench.on_run = _interrupt
    with pytest.raises(Cancelled):
        bench.run()
    bench.transcript.settle("Interrupted by the owner")
    assert [result.synthetic for result in bench.results()] == [False, True]
    assert "may have taken effect" in bench.results()[0].content
    assert bench.results()[1].content == STOPPED
    assert faults(messages(group(bench.transcript.entries))) == []


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_cancelling_from_another_thread_ends_the_turn() -> None:
    bench = Workbench(ScriptedModel("one two three"))
    turn = run_turn(bench.agent())
    next(turn), next(turn)
    canceller = threading.Thread(target=bench.interruption.cancel)
    canceller.start()
    canceller.join()
    with pytest.raises(Cancelled):
        next(turn)
    assert kinds(bench.transcript.entries) == ["user", "assistant", "interrupted"]


def test_a_message_in_the_middle_of_a_stream_joins_the_turn() -> None:
    bench = Workbench(ScriptedModel("one two three", "Four it is."))
    turn = run_turn(bench.agent())
    next(turn), next(turn)
    bench.interject("make it four")
    list(turn)
    assert bench.model.cancelled == 1
    assert [message.content for message in bench.model.requests[1].messages] == [
        "do it",
        "one\n\n[Interrupted: the owner added something]",
        "make it four",
    ]
    assert len(group(bench.transcript.entries)) == 1


def test_a_queued_message_joins_when_the_tool_is_through_and_says_so() -> None:
    bench = Workbench(ScriptedModel(calling(look("c1"), look("c2", place="b")), "As you wish."))
    bench.on_run = lambda: bench.interruption.queue("and c")
    shown = bench.run()
    assert bench.ran == ["look here 1", "look b 1"]
    assert [e for e in shown if isinstance(e, MessageJoined)] == [
        MessageJoined("and c"),
        MessageJoined("and c"),
    ]


def test_a_hurried_message_stops_the_stream_and_the_event_says_so() -> None:
    bench = Workbench(ScriptedModel("one two three", "Four it is."))
    turn = run_turn(bench.agent())
    next(turn), next(turn)
    bench.interruption.hurry()  # nothing is queued: nothing stops
    assert next(turn) == TextDelta(" two")
    bench.interruption.queue("make it four")
    assert next(turn) == TextDelta(" three")
    bench.interruption.hurry()
    assert MessageJoined("make it four", interrupting=True) in list(turn)


def test_a_message_while_a_tool_runs_stops_the_calls_after_it() -> None:
    calls = (look("c1"), look("c2", place="b"))
    bench = Workbench(ScriptedModel(calling(*calls), "As you wish."))
    bench.on_run = lambda: bench.interject("never mind")
    bench.run()
    assert bench.ran == ["look here 1"]
    assert bench.results()[1].content == STOPPED
    assert bench.model.requests[1].messages[-1] == Message("user", "never mind")


def test_a_message_with_the_last_piece_is_not_lost() -> None:
    def last(*_: object) -> Sequence[Piece | ModelError]:
        bench.interject("one more thing")
        return [Reply("Done.")]

    bench = Workbench(ScriptedModel(last, "And that."))
    bench.run()
    assert [m.content for m in bench.model.requests[1].messages] == [
        "do it",
        "Done.",
        "one more thing",
    ]


def test_a_model_error_keeps_what_was_shown_and_passes_through() -> None:
    failure = ModelError("gone", "Try again", kind=ModelFailure.SERVER)
    bench = Workbench(ScriptedModel([TextDelta("half"), failure]))
    with pytest.raises(ModelError, match="gone"):
        bench.run()
    assert isinstance(bench.transcript.entries[-1], InterruptedEntry)
    bench.ask("again")
    bench.model.enqueue("Whole.")
    bench.run()


def test_an_error_before_the_first_piece_leaves_the_transcript_as_it_was() -> None:
    bench = Workbench(ScriptedModel(ModelError("full", kind=ModelFailure.OVERFLOW), "Now."))
    with pytest.raises(ModelError):
        bench.run()
    assert kinds(bench.transcript.entries) == ["user"]
    assert bench.run()[-1] == TextDelta("Now.")


def test_a_stream_without_an_end_is_an_error() -> None:
    class Endless(ScriptedModel):
        def stream(self, *_: object) -> Iterator[Piece]:  # type: ignore[override]
            yield TextDelta("half")

    with pytest.raises(ModelError, match="is incomplete"):
        Workbench(Endless()).run()
