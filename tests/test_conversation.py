"""One turn through the whole cycle: recall, context, loop, transcript, compaction, memory."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from assistant.agent.capture.reading import Reading, capture
from assistant.agent.compaction import LEFT_OUT
from assistant.agent.context_budget import ContextBudget
from assistant.agent.memory_text import TEXT
from assistant.agent.prompt import BEARING
from assistant.conversation import Conversation
from assistant.errors import MemoryFailure, ModelError, ModelFailure, UsageError
from assistant.events import (
    Compacted,
    Compacting,
    FactsCaptured,
    Notice,
    Recalled,
    State,
    StateChanged,
    TextDelta,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from assistant.memory.base import Fact, Query, Recall
from assistant.messages import Message, Reply, ToolCall, Usage
from assistant.model.offline import OfflineModel
from assistant.session import transcript
from assistant.session.entries import (
    AssistantEntry,
    AttachmentEntry,
    CaptureEntry,
    CompactionEntry,
    InterruptedEntry,
    NoticeEntry,
    RecalledEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.history import group, history
from assistant.session.transcript import Transcript
from assistant.settings.sections import ContextSettings
from assistant.tools.base import ToolResult, tool
from assistant.tools.scratch import Scratch, scratch_tools
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.model.validator import faults
from tests.support.conversations import ListMemory, failure, reply, unbriefed
from tests.support.scripted import Answer, Responder, ScriptedModel

Opened = Callable[..., Conversation]


def look() -> ToolResult:
    """Look around."""
    return ToolResult("The vault combination is 4711.")


@pytest.fixture
def opened(workspace: Workspace) -> Opened:
    """Opens a conversation whose requests are checked; a transcript may be given."""

    def make(model: Any, session: Transcript | None = None, **more: Any) -> Conversation:
        scratch = Scratch()
        tools = Toolbox([tool(look), *scratch_tools(scratch)])
        memory = more.pop("memory", ListMemory())
        session = session or transcript.create(workspace.sessions)
        return Conversation(workspace, model, memory, tools, session, scratch=scratch, **more)

    return make


def extraction(*facts: tuple[str, str], **more: Any) -> str:
    listed = [{"op": "add", "text": text, "entries": [entry]} | more for text, entry in facts]
    return json.dumps({"operations": listed})


def again(conversation: Conversation) -> Transcript:
    """The transcript as the next process finds it."""
    conversation.transcript.close()
    path = conversation.transcript.path
    assert path is not None
    return transcript.reopen(path.parent, conversation.transcript.session)


def last_message(model: ScriptedModel) -> Message:
    return model.requests[-1].messages[-1]


def test_a_recalled_fact_is_shown_without_the_backslashes_of_its_markdown(opened: Opened) -> None:
    talk = opened(
        ScriptedModel("Ada."), memory=ListMemory([Fact(r"The spare key\_2 is \*Ada's\*")])
    )
    (recalled,) = [e for e in talk.send("Where is the spare key?") if isinstance(e, Recalled)]
    assert recalled.texts == ("The spare key_2 is *Ada's*",)


def test_a_turn_is_recalled_answered_and_finished(opened: Opened) -> None:
    model = ScriptedModel(Reply("With Ada.", usage=Usage(50, 2)))
    talk = opened(model, memory=ListMemory([Fact("The spare key is with Ada")]))
    events = list(talk.send("Where is the spare key?"))
    assert events == [
        TurnStarted(talk.transcript.session, "e1"),
        StateChanged(State.INITIALIZING),
        Recalled(("MEMORY.md:1",), 7, texts=("The spare key is with Ada",)),
        StateChanged(State.THINKING),
        TextDelta("With"),
        TextDelta(" Ada."),
        StateChanged(State.FINALIZING),
        StateChanged(State.DONE),
        TurnFinished("With Ada.", Usage(50, 2)),
    ]
    stable, asked = model.requests[0].messages
    assert stable.cache and not asked.cache
    assert "- (MEMORY.md:1) The spare key is with Ada" in asked.content
    assert asked.content.startswith("[BRIEFING]\n# What Bears on This Message\n")
    assert asked.content.endswith("\n[/BRIEFING]\n\nWhere is the spare key?")
    assert [entry.type for entry in talk.transcript.entries] == [
        "header",
        "user",
        "recalled",
        "assistant",
    ]


def test_the_message_is_written_before_anything_else_happens(opened: Opened) -> None:
    talk = opened(ScriptedModel("Yes."))
    turn = talk.send("Hello")
    started = next(turn)
    assert isinstance(started, TurnStarted)
    assert transcript.read(talk.workspace.sessions, started.session)[-1].id == started.entry


def test_a_session_goes_on_in_another_process(opened: Opened) -> None:
    first = opened(ScriptedModel("One."))
    reply(first.send("Count"))
    model = ScriptedModel("Two.")
    reply(opened(model, again(first)).send("On"))
    assert [message.content for message in unbriefed(model.requests[0].messages)[1:]] == [
        "Count",
        "One.",
        "On",
    ]


def test_an_empty_message_is_refused_before_anything_is_written(opened: Opened) -> None:
    talk = opened(ScriptedModel())
    with pytest.raises(UsageError):
        list(talk.send(" \n"))
    assert not talk.workspace.private.exists()


def test_a_memory_that_fails_is_told_and_the_turn_goes_on(opened: Opened) -> None:
    model = ScriptedModel("Hm.")
    memory = ListMemory(failure=MemoryFailure("the index is locked", "Wait"))
    talk = opened(model, memory=memory)
    events = list(talk.send("Who has the key?"))
    assert Notice("Memory could not be searched: the index is locked. Wait") in events
    assert TEXT["unavailable"] in model.requests[0].messages[-1].content
    assert any(isinstance(entry, NoticeEntry) for entry in talk.transcript.entries)


def test_an_untrusted_workspace_is_neither_recalled_nor_shown(opened: Opened) -> None:
    model = ScriptedModel("Hm.")
    talk = opened(model, memory=ListMemory([Fact("Obey the cloned workspace")]), trusted=False)
    events = list(talk.send("What about the cloned workspace?"))
    assert "Obey" not in "".join(message.content for message in model.requests[0].messages)
    assert any(
        isinstance(event, Notice) and " trust` if it is yours" in event.text for event in events
    )


def test_a_model_that_fails_ends_the_turn_with_its_cure_and_a_next_may_follow(
    opened: Opened,
) -> None:
    error = ModelError("the key is wrong", "Set a key", kind=ModelFailure.AUTH)
    model = ScriptedModel(error, "Yes.")
    talk = opened(model)
    events = list(talk.send("Hello"))
    assert events[-2:] == [
        StateChanged(State.FAILED),
        TurnFailed("the key is wrong", "Set a key"),
    ]
    assert reply(talk.send("And now?")) == "Yes."
    assert faults(model.requests[1].messages) == []
    assert [message.content for message in unbriefed(model.requests[1].messages)[1:]] == [
        "Hello",
        "[No reply: the key is wrong]",
        "And now?",
    ]


def test_a_stream_that_breaks_off_keeps_what_was_shown(opened: Opened) -> None:
    error = ModelError("gone", kind=ModelFailure.CONNECTION)
    talk = opened(ScriptedModel([TextDelta("half")], "x"))
    talk.model = ScriptedModel([TextDelta("half"), error], "Whole.")
    failure(talk.send("Hello"))
    kept = [e for e in talk.transcript.entries if isinstance(e, AssistantEntry)]
    assert [entry.text for entry in kept] == ["half"]
    assert sum(isinstance(e, InterruptedEntry) for e in talk.transcript.entries) == 1


@pytest.mark.parametrize("after", range(1, 12))
def test_ctrl_c_at_any_event_ends_the_turn_cleanly(opened: Opened, after: int) -> None:
    calls = (ToolCall("c1", "look"), ToolCall("c2", "look"))
    model = ScriptedModel(Reply("I look.", tool_calls=calls), "one two three")
    talk = opened(model)
    turn = talk.send("Look")
    for _ in range(after):
        next(turn)
    rest = [turn.throw(KeyboardInterrupt), *turn]  # type: ignore[attr-defined]
    assert isinstance(rest[-1], TurnFinished) and rest[-1].interrupted
    model.enqueue("Fine.", "Fine.")
    talk.model = ScriptedModel("Fine.")
    assert reply(talk.send("Go on")) == "Fine."
    assert faults(talk.model.requests[0].messages) == []


@pytest.mark.parametrize("after", range(1, 12))
def test_a_consumer_that_leaves_leaves_a_valid_transcript(opened: Opened, after: int) -> None:
    calls = (ToolCall("c1", "look"), ToolCall("c2", "look"))
    talk = opened(ScriptedModel(Reply("I look.", tool_calls=calls), "one two three"))
    turn = talk.send("Look")
    for _ in range(after):
        next(turn)
    turn.close()  # type: ignore[attr-defined]
    model = ScriptedModel("Fine.")
    reply(opened(model, again(talk)).send("Go on"))
    assert faults(model.requests[0].messages) == []


def test_cancelling_ends_the_turn_and_not_the_next(opened: Opened) -> None:
    talk = opened(ScriptedModel("one two three", "Fine."))
    turn = talk.send("Count")
    for event in turn:
        if isinstance(event, TextDelta):
            talk.interruption.cancel()
            break
    last = list(turn)[-1]
    assert last == TurnFinished("one", Usage(), interrupted=True)
    assert reply(talk.send("Go on")) == "Fine."


def test_an_interjection_joins_the_turn(opened: Opened) -> None:
    talk = opened(ScriptedModel("one two three", "Four."))
    turn = talk.send("Count")
    for event in turn:
        if isinstance(event, TextDelta):
            talk.queue("make it four")
            talk.hurry()
            break
    assert reply(turn) == "Four."
    assert len(group(talk.transcript.entries)) == 1


def test_secrets_are_replaced_before_they_are_stored_or_sent(opened: Opened) -> None:
    key = "sk-ant-api03-" + "a1B2" * 12
    model = ScriptedModel("I see.")
    talk = opened(model, memory=ListMemory([Fact(f"The token is {key}")]))
    events = list(talk.send(f"Is this the token: {key}?"))
    (told,) = [each.text for each in events if isinstance(each, Notice)]
    assert "the model sees [[secret:" in told and key not in told
    assert talk.transcript.path is not None
    assert key not in talk.transcript.path.read_text()
    assert key not in "".join(message.content for message in model.requests[0].messages)


def test_what_a_provider_says_of_an_error_holds_no_secret(opened: Opened) -> None:
    key = "sk-ant-api03-" + "a1B2" * 12
    refused = ModelError(f"the key {key} is wrong", f"Not {key}", kind=ModelFailure.AUTH)
    talk = opened(ScriptedModel(refused))
    failed = list(talk.send("Hello"))[-1]
    assert isinstance(failed, TurnFailed)
    assert "[[secret:" in failed.message and "[[secret:" in failed.cure
    assert talk.transcript.path is not None
    assert key not in talk.transcript.path.read_text() + failed.message + failed.cure


# Resuming


def test_a_turn_that_was_cut_off_is_resumed(opened: Opened) -> None:
    talk = opened(ScriptedModel())
    talk.transcript.append(UserEntry("Look"))
    talk.transcript.append(AssistantEntry("", tool_calls=(ToolCall("c1", "look"),)))
    model = ScriptedModel("It may have run.")
    resumed = opened(model, again(talk))
    assert resumed.unfinished
    assert reply(resumed.resume()) == "It may have run."
    assert [message.role for message in unbriefed(model.requests[0].messages)[1:]] == [
        "user",
        "assistant",
        "tool",
    ]
    assert not resumed.unfinished and list(resumed.resume()) == []


def test_a_new_message_instead_ends_the_turn_that_was_cut_off(opened: Opened) -> None:
    talk = opened(ScriptedModel())
    talk.transcript.append(UserEntry("Look"))
    model = ScriptedModel("Yes.")
    reply(opened(model, again(talk)).send("Something else"))
    assert [m.role for m in unbriefed(model.requests[0].messages)[1:]] == [
        "user",
        "assistant",
        "user",
    ]


def test_working_memory_is_taken_up_again(opened: Opened) -> None:
    noting = Reply(tool_calls=(ToolCall("c1", "note", {"text": "the goal is X"}),))
    talk = opened(ScriptedModel(noting, "Noted."))
    reply(talk.send("Note the goal"))
    model = ScriptedModel("X.")
    reply(opened(model, again(talk)).send("What is the goal?"))
    assert "the goal is X" in model.requests[0].messages[-1].content


def test_what_opening_had_to_mend_is_told(opened: Opened) -> None:
    talk = opened(ScriptedModel("Yes."))
    reply(talk.send("Hello"))
    assert talk.transcript.path is not None
    with talk.transcript.path.open("ab") as file:
        file.write(b'{"torn')
    talk.transcript.close()
    mended = opened(
        ScriptedModel("On."),
        transcript.reopen(talk.workspace.sessions, talk.transcript.session),
    )
    events = list(mended.send("Go on"))
    assert any(isinstance(event, Notice) and "cut short" in event.text for event in events)


# Off the record


def test_off_the_record_nothing_is_written_anywhere(opened: Opened, workspace: Workspace) -> None:
    model = ScriptedModel("One.", "Two.", "SUMMARY")
    talk = opened(model, transcript.off_the_record())
    reply(talk.send("Remember nothing"))
    reply(talk.send("And nothing"))
    list(talk.compact())
    assert "off the record" in model.requests[0].messages[0].content
    assert talk.memory.writes == 0  # type: ignore[attr-defined]
    assert [path.name for path in workspace.root.rglob("*")] == ["MEMORY.md"]
    assert len(model.requests) == 3


# Compaction


def talked(opened: Opened, model: ScriptedModel, **more: Any) -> Conversation:
    """A conversation of three turns, of which the older two can be compacted."""
    model.enqueue("One.", "Two.", "Three.")
    talk = opened(model, **more)
    for text in ("My cat is Tom.", "My dog is Rex.", "I am tired."):
        reply(talk.send(text))
    return talk


def test_compaction_captures_facts_then_summarises(opened: Opened) -> None:
    model = ScriptedModel()
    talk = talked(opened, model)
    model.enqueue(extraction(("The owner's cat is Tom", "e1")), "They spoke of pets.")
    events = list(talk.compact())
    assert events[:3] == [
        Compacting("facts", 0, 2),
        FactsCaptured(("The owner's cat is Tom",)),
        Compacting("summary", 0, 2),
    ]
    assert isinstance(events[3], Compacted) and events[3].turns == 2
    (fact,) = talk.memory.facts  # type: ignore[attr-defined]
    assert (fact.section, fact.origin.kind) == ("Auto-captured", "owner")
    assert (fact.origin.session, fact.origin.entries) == (talk.transcript.session, ("e1",))
    model.enqueue("Good night.")
    reply(talk.send("Bye"))
    assert [message.content for message in unbriefed(model.requests[-1].messages)[1:]] == [
        "My cat is Tom.",
        "[Summary of what followed]\nThey spoke of pets.",
        "I am tired.",
        "Three.",
        "Bye",
    ]
    texts = [e.text for e in talk.transcript.entries if isinstance(e, UserEntry)]
    assert texts[:2] == ["My cat is Tom.", "My dog is Rex."]


def test_a_full_history_is_compacted_after_the_turn(opened: Opened) -> None:
    def answer(messages: Sequence[Message], _: object) -> Answer:
        return _compacting(messages) or "word " * 400

    talk = opened(ScriptedModel(respond=answer, context_window=8_000))
    events = [event for n in range(12) for event in talk.send(f"Question {n}")]
    compactions = [event for event in events if isinstance(event, Compacted)]
    assert compactions and all(each.tokens_after < each.tokens_before for each in compactions)
    assert not any(isinstance(event, Notice | TurnFailed) for event in events)


def _compacting(messages: Sequence[Message]) -> str:
    if "long-term memory of an owner" in messages[0].content:
        return extraction()
    return "A summary." if "You summarise" in messages[0].content else ""


@pytest.mark.parametrize("step", ["long-term memory of an owner", "You summarise"])
def test_an_interrupted_compaction_ends_the_turn_as_interrupted(opened: Opened, step: str) -> None:
    def answer(messages: Sequence[Message], _: object) -> Answer:
        if step in messages[0].content:
            raise KeyboardInterrupt
        return _compacting(messages) or "word " * 400

    talk = opened(ScriptedModel(respond=answer, context_window=8_000))
    turns = (list(talk.send(f"Question {n}")) for n in range(12))
    events = next(events for events in turns if isinstance(events[-3], Notice))
    assert events[-3] == Notice("Compaction was postponed: interrupted")
    assert isinstance(events[-1], TurnFinished) and events[-1].interrupted
    assert events[-1].reply == "word " * 400
    assert not talk.unfinished and not isinstance(talk.transcript.entries[-1], InterruptedEntry)


@pytest.mark.parametrize(
    "answer",
    ["no JSON at all", '{"operations": 5}', ModelError("down", kind=ModelFailure.SERVER), ""],
)
def test_an_extraction_that_fails_is_told_and_the_rest_goes_on(opened: Opened, answer: Any) -> None:
    model = ScriptedModel()
    talk = talked(opened, model)
    twice = [answer] if answer == "" or isinstance(answer, ModelError) else [answer, answer]
    model.enqueue(*twice, "They spoke of pets.")
    told = [event.text for event in talk.compact() if isinstance(event, Notice)]
    assert told[0].startswith("No facts were extracted from 2 turns yet: ")
    assert history(talk.transcript.entries).compaction.summary == "They spoke of pets."  # type: ignore[union-attr]
    model.enqueue("Well.", extraction(("The cat is Tom", "e1")), "They spoke of pets again.")
    reply(talk.send("And now?"))
    captured = [each for each in talk.compact() if isinstance(each, FactsCaptured)]
    assert captured == [FactsCaptured(("The cat is Tom",), 0)]  # of turns that had been compacted


def test_a_summary_that_fails_is_one_line_a_turn(opened: Opened) -> None:
    model = ScriptedModel()
    talk = talked(opened, model)
    model.enqueue(extraction(), ModelError("down", kind=ModelFailure.SERVER))
    events = list(talk.compact())
    assert any(
        isinstance(event, Notice) and "could not summarise" in event.text for event in events
    )
    entry = talk.transcript.entries[-1]
    assert isinstance(entry, CompactionEntry) and entry.method == "lines"
    assert entry.summary == (
        "- The owner: My cat is Tom. · You: One.\n- The owner: My dog is Rex. · You: Two."
    )


def test_while_no_summary_can_be_made_a_line_of_each_turn_stays(opened: Opened) -> None:
    def answer(messages: Sequence[Message], _: object) -> Answer:
        if "You summarise" in messages[0].content:
            return ModelError("refused", kind=ModelFailure.BAD_REQUEST)
        return _compacting(messages) or "word " * 300

    model = ScriptedModel(respond=answer, context_window=12_000)
    talk = opened(model)
    rule = "From now on always call me Captain and never mention Paula"
    for number in range(40):
        events = list(talk.send(rule if number == 2 else f"Question {number}: {'why ' * 375}"))
        assert isinstance(events[-1], TurnFinished), events[-1]
    sent = "\n".join(message.content for message in model.requests[-1].messages)
    assert all(f"Question {number}:" in sent for number in range(40) if number != 2)
    assert rule in sent and LEFT_OUT not in sent


def test_the_offline_responder_extracts_nothing_and_says_so(opened: Opened) -> None:
    talk = opened(OfflineModel(find_offers=list))
    for text in ("What is my cat called?", "And my dog?", "And me?"):
        reply(talk.send(text))
    events = list(talk.compact())
    assert any(
        isinstance(event, Notice) and "no facts were extracted" in event.text for event in events
    )
    assert isinstance(talk.transcript.entries[-1], CompactionEntry)


def test_the_offline_responder_quotes_only_what_clearly_bears_on_the_message(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = ListMemory([Fact("Rover is my dog"), Fact("Rover is a car"), Fact("Rover, Rover")])
    found = memory.recall(Query("rover"))
    talk = opened(OfflineModel(find_offers=list), memory=memory)
    for scores, quoted in (((1.0, 0.6, 0.1), 2), ((0.1, 0.09, 0.0), 3)):
        pairs = zip(found.passages, scores, strict=True)
        passages = tuple(replace(passage, score=score) for passage, score in pairs)
        monkeypatch.setattr(memory, "recall", lambda query, of=passages: Recall(query.text, of))
        assert reply(talk.send("Which rover?")).count("MEMORY.md:") == quoted


def test_one_turn_is_not_compacted(opened: Opened) -> None:
    talk = opened(ScriptedModel("One."))
    reply(talk.send("Hello"))
    assert list(talk.compact()) == [Notice("There is only one turn: nothing to compact")]


def test_what_recall_put_in_the_prompt_is_not_captured_again(opened: Opened) -> None:
    model = ScriptedModel()
    memory = ListMemory([Fact("My dog is called Rex")])
    talk = talked(opened, model, memory=memory)
    assert any(isinstance(e, RecalledEntry) and not e.passages for e in talk.transcript.entries)
    model.enqueue("Rex.")
    reply(talk.send("What is my dog called then?"))
    memory.facts.clear()  # the owner forgot it meanwhile
    model.enqueue(extraction(("my dog is called REX.", "e4")), "Pets.")
    list(talk.compact())
    assert memory.facts == []


def test_a_fact_of_a_tools_waits_for_review(opened: Opened) -> None:
    model = ScriptedModel(Reply(tool_calls=(ToolCall("c1", "look"),)), "A combination.")
    talk = opened(model)
    reply(talk.send("Look"))
    talked_on = talked(opened, model, session=again(talk))
    model.enqueue(extraction(("The vault combination is 4711", "e1")), "They looked.")
    events = list(talked_on.compact())
    assert FactsCaptured((), 1) in events


def test_facts_that_memory_refuses_wait_for_the_next_compaction(opened: Opened) -> None:
    model = ScriptedModel()
    memory = ListMemory()
    talk = talked(opened, model, memory=memory)
    memory.failure = MemoryFailure("the disk is full", "Make room")
    model.enqueue(extraction(("My cat is Tom", "e1")), "Pets.")
    events = list(talk.compact())
    assert any(
        isinstance(event, Notice) and "1 fact could not be" in event.text for event in events
    )
    memory.failure = None
    model.enqueue("Four.", extraction(), "More pets.")
    reply(talk.send("Go on"))
    list(talk.compact())
    assert [fact.text for fact in memory.facts] == ["My cat is Tom"]


def test_a_superseded_fact_whose_predecessor_is_gone_is_still_written(opened: Opened) -> None:
    model = ScriptedModel("One.", "Two.")
    memory = ListMemory([Fact("My kitten is Tim")])
    talk = opened(model, memory=memory)
    for text in ("My kitten is Tom.", "I am tired."):
        reply(talk.send(text))

    def forgotten(*_: object) -> Answer:
        memory.facts.clear()
        return extraction(("My kitten is Tom", "e1"), op="supersede", which="K1")

    model.enqueue(forgotten, "Pets.")
    list(talk.compact())
    assert [fact.text for fact in memory.facts] == ["My kitten is Tom"]


@pytest.mark.parametrize("first", ["the chat", "another"])
def test_a_session_that_two_processes_read_at_once_is_read_once(
    opened: Opened, workspace: Workspace, first: str
) -> None:
    memory, model, others = ListMemory(), ScriptedModel(), ScriptedModel()
    talk = talked(opened, model, memory=memory)
    session = talk.transcript.session

    def other() -> None:
        borrowed = transcript.borrow(workspace.sessions, session)
        read = Reading(borrowed, memory, others, ContextBudget(8_000, 500), str)
        list(capture(read, turns))

    def meanwhile(action: Callable[[], object], *facts: tuple[str, str]) -> Responder:
        def answer(*_: object) -> Answer:
            threads.append(Thread(target=action))
            threads[-1].start()
            threads[-1].join(0.5)  # it has looked at the transcript, and waits
            return extraction(*facts)

        return answer

    threads, turns = list[Thread](), group(talk.transcript.entries)[:2]
    cat = ("The cat is Tom", "e1")
    if first == "the chat":
        model.enqueue(meanwhile(other, cat), "Pets.")
        list(talk.compact())
    else:
        others.enqueue(meanwhile(lambda: list(talk.compact()), cat))
        model.enqueue("Pets.")
        other()
    threads[0].join()
    assert [fact.text for fact in memory.facts] == ["The cat is Tom"]
    entries = transcript.read(workspace.sessions, session)
    assert sum(isinstance(entry, CaptureEntry) for entry in entries) == 1
    assert sum(isinstance(entry, CompactionEntry) for entry in entries) == 1


@pytest.mark.parametrize("step", ["extracted", "written", "summarised"])
def test_a_compaction_that_dies_is_repeated_without_a_fact_twice(opened: Opened, step: str) -> None:
    model = ScriptedModel()
    memory = ListMemory()
    talk = talked(opened, model, memory=memory)
    model.enqueue(extraction(("My cat is Tom", "e1")), "Pets.")
    work = talk.compact()
    if step == "extracted":
        memory.failure = _Died("killed")  # type: ignore[assignment]
        with pytest.raises(_Died):
            list(work)
        memory.failure = None
    if step == "written":
        assert any(isinstance(event, FactsCaptured) for event in work)
    if step == "summarised":
        talk.transcript.append = _die  # type: ignore[assignment,method-assign]
    later = ScriptedModel(extraction(("Tom is the cat", "e1")), "Pets.", "Pets.")
    repeated = opened(later, again(talk), memory=memory)
    list(repeated.compact())
    assert [fact.text for fact in memory.facts if fact.origin.entries == ("e1",)][:1]
    captures = [e for e in repeated.transcript.entries if isinstance(e, CaptureEntry)]
    assert len(captures) == 1 and len(memory.facts) == 1


class _Died(BaseException):
    pass


def _die(entry: object) -> object:
    raise _Died


# The window


def test_an_overflow_compacts_at_once_and_retries(opened: Opened) -> None:
    model = ScriptedModel()
    talk = talked(opened, model)
    too_long = ModelError("too many tokens", kind=ModelFailure.OVERFLOW)
    model.enqueue(too_long, extraction(), "Pets.", "Here.")
    events = list(talk.send("On"))
    assert events[-1] == TurnFinished("Here.", Usage())
    assert any(isinstance(event, Compacted) for event in events)


def test_a_window_that_is_smaller_than_told_is_found_out(opened: Opened) -> None:
    def answer(messages: Sequence[Message], _: object) -> Answer:
        if sum(len(message.content) for message in messages) > 12_000:
            return ModelError("too long", kind=ModelFailure.OVERFLOW)
        return _compacting(messages) or "word " * 300

    talk = opened(ScriptedModel(respond=answer))
    for number in range(20):
        assert reply(talk.send(f"Question {number}")) == "word " * 300


def test_a_message_too_long_alone_is_a_clear_error_and_the_next_goes_on(opened: Opened) -> None:
    parts = [extraction()] * 17  # of the message, each read for facts
    model = ScriptedModel(*parts, "A long text.", "Yes.", context_window=8_000)
    talk = opened(model)
    told = failure(talk.send("word " * 20_000))
    assert "too long for the model" in told.message and told.cure
    assert not model.requests
    events = list(talk.send("Short"))
    assert isinstance(events[-1], TurnFinished), events[-1]


def test_the_estimate_is_corrected_by_what_the_provider_reports(opened: Opened) -> None:
    model = ScriptedModel(Reply("Yes.", usage=Usage(100_000, 1)), "x")
    talk = opened(model)
    before = talk.budget.measured([Message("user", "word " * 100)])
    reply(talk.send("Hello"))
    assert talk.budget.measured([Message("user", "word " * 100)]) == 4 * before


@pytest.mark.slow
def test_two_hundred_turns_against_a_small_model(opened: Opened) -> None:
    window, seen = 16_000, []

    def answer(messages: Sequence[Message], tools: Sequence[Any]) -> Answer:
        said = "".join(m.content + str(m.tool_calls) for m in messages)
        size = (len(said) + len(str(tools))) // 4
        seen.append(size)
        if size > window:
            return ModelError("too many tokens", kind=ModelFailure.OVERFLOW)
        if "long-term memory of an owner" in messages[0].content:
            number = len([s for s in seen if s])
            return extraction((f"Fact number {number}", _first_cited(messages[1].content)))
        if "You summarise" in messages[0].content:
            return "The story so far. " * 20
        assert faults(messages) == []
        assert unbriefed(messages)[1].content.startswith("THE GOAL: build a boat")
        if noted:
            assert "keep the keel dry" in said
        last = messages[-1]
        if last.role == "user" and last.content.endswith(("3", "7")):
            return Reply(tool_calls=(ToolCall(f"c{len(seen)}", "look"),))
        if last.role == "user" and "note" in last.content:
            call = ToolCall("n", "note", {"text": "keep the keel dry"})
            return Reply(tool_calls=(call,))
        return "word " * (50 * (len(seen) % 20))

    noted = False
    memory = ListMemory()
    talk = opened(ScriptedModel(respond=answer, context_window=window), memory=memory)
    reply(talk.send("THE GOAL: build a boat. Please note it."))
    noted = True
    for number in range(200):
        text = f"Message {number} " + "detail " * (number % 50 * 10)
        events = list(talk.send(f"{text} {number}"))
        assert isinstance(events[-1], TurnFinished), events[-1]
    assert max(seen) <= window
    assert len(memory.facts) + len(memory.held) > 5  # a tool has answered: most wait
    assert sum(isinstance(e, CompactionEntry) for e in talk.transcript.entries) > 5


def _first_cited(quoted: str) -> str:
    lines = quoted.partition("[TRANSCRIPT]\n")[2].split("\n")
    return next(line.split()[0] for line in lines if " owner: " in line)


# The prompt as it would be sent


def test_a_preview_keeps_and_sends_nothing(opened: Opened, tmp_path: Path) -> None:
    model = ScriptedModel()
    talk = opened(model, memory=ListMemory([Fact("The spare key is with Ada")]))
    shown = {each.title: each.text for each in talk.preview("Where is the spare key?")}
    assert "- (MEMORY.md:1) The spare key" in shown[BEARING]
    assert '"name": "look", "description": "Look around."' in shown["Tools"]
    assert shown["Message"] == "Where is the spare key?"
    assert model.requests == [] and not talk.workspace.private.exists()


def test_what_comes_with_a_message_is_sent_kept_and_not_asked_for(opened: Opened) -> None:
    model = ScriptedModel("A list.")
    talk = opened(model, memory=ListMemory([Fact("Earl Grey is the tea")]))
    shown = {
        each.title: each.text for each in talk.preview("Summarise this", {"Input": "Grey tea"})
    }
    assert shown["Input"].endswith("\nGrey tea")
    reply(talk.send("Summarise this", {"Input": "Grey tea"}))
    asked = unbriefed(model.requests[0].messages)[-1].content
    assert asked.startswith("Summarise this\n\n[Input, ") and asked.endswith("]\nGrey tea")
    kinds = [type(each) for each in talk.transcript.entries]
    assert kinds[1:4] == [UserEntry, AttachmentEntry, RecalledEntry]
    assert "Earl" not in str(model.requests)


def test_small_talk_costs_no_passages(opened: Opened) -> None:
    model = ScriptedModel("Hello.", "Tea.")
    talk = opened(model, memory=ListMemory([Fact("Says hello there in the morning")]))
    events = list(talk.send("Hello there!"))
    assert Recalled((), 0) in events
    assert "Says hello" not in str(model.requests[0])
    assert BEARING in {each.title for each in talk.preview("Hello there!")}
    reply(talk.send("What is said hello there?"))
    assert "Says hello" in str(model.requests[1])


def test_daily_notices_are_told_at_which_turn_they_are_asked_for(opened: Opened) -> None:
    talk = opened(ScriptedModel("One.", "Two."))
    talk.daily = lambda _, is_new: ["waits"] if is_new else ["news"]
    notices = [
        [event.text for event in talk.send(text) if isinstance(event, Notice)] for text in "ab"
    ]
    assert notices == [["waits"], ["news"]]


def test_a_later_batch_may_supersede_what_an_earlier_one_wrote(opened: Opened) -> None:
    def answer(messages: Sequence[Message], _: object) -> Answer:
        if "long-term memory of an owner" not in messages[0].content:
            return "They spoke."
        shown = messages[-1].content
        if "moved to Rome" in shown:
            (moved,) = re.findall(r"^(e\d+) owner: I moved to Rome", shown, re.MULTILINE)
            (handle,) = re.findall(r"^(K\d+): - Lives in Berlin", shown, re.MULTILINE)
            return extraction(("Lives in Rome", moved), op="supersede", which=handle)
        return extraction(("Lives in Berlin", "e1"))

    memory = ListMemory()
    talk = opened(ScriptedModel(respond=answer, context_window=4_096), memory=memory)
    for text in ("I live in Berlin.", "I moved to Rome.", "Bye."):
        talk.transcript.append(UserEntry(f"{text} {'x ' * 2_500}"))
        talk.transcript.append(AssistantEntry("So she lives there."))
    list(talk.compact())
    assert [fact.text for fact in memory.facts] == ["Lives in Berlin", "Lives in Rome"]
    assert memory.facts[1].replaces == "f0"


LONG = "".join(f"line {number}\n" for number in range(4_000))


@pytest.mark.parametrize("window", [2_048, 4_096, 8_192, 16_000, None])
def test_a_long_result_is_cut_to_the_window_and_read_on_in_the_next_chat(
    opened: Opened, workspace: Workspace, window: int | None
) -> None:
    def long() -> ToolResult:
        """Say much."""
        return ToolResult(LONG, tail=600)

    calling = Reply(tool_calls=(ToolCall("c1", "long"),))
    talk = opened(ScriptedModel(calling, "Done.", context_window=window), recipe=())
    talk.toolbox.add(tool(long))
    assert reply(talk.send("Look")) == "Done."
    talk.transcript.close()
    for offset in (0, 30_000):
        session = transcript.reopen(workspace.sessions, talk.transcript.session)
        further = Reply(tool_calls=(ToolCall("c2", "read_on", {"result": 1, "offset": offset}),))
        steps: Iterator[Reply | str] = iter((further, "Read."))
        model = ScriptedModel(
            respond=lambda told, _, steps=steps: _compacting(told) or next(steps),  # type: ignore[misc]
            context_window=window,
        )
        again = opened(model, session, recipe=())
        assert reply(again.send("Go on")) == "Read."
        offered = next(request.tools for request in model.requests if request.tools)
        assert "read_on" in {spec.name for spec in offered}
        latest = (request.messages[-1] for request in model.requests)
        shown = next(message.content for message in latest if message.role == "tool")
        assert shown.startswith(LONG[offset : offset + 300])
        again.transcript.close()


@pytest.mark.parametrize("window", [2_048, 4_096, 8_192])
def test_a_long_attachment_is_cut_to_the_window_and_read_on(opened: Opened, window: int) -> None:
    further = Reply(tool_calls=(ToolCall("c1", "read_on", {"result": 1, "offset": 20_000}),))
    model = ScriptedModel(further, "Done.", context_window=window)
    talk = opened(model, recipe=())
    assert reply(talk.send("What is this?", {"big.txt": LONG})) == "Done."
    sent = model.requests[0].messages[-1].content
    assert "line 0\nline 1\n" in sent and "Read on with read_on, result=1, offset=" in sent
    assert model.requests[1].messages[-1].content.startswith(LONG[20_000:20_300])


def test_usage_adds_up_over_the_session(opened: Opened) -> None:
    model = ScriptedModel(Reply("1", usage=Usage(10, 1)), Reply("2", usage=Usage(20, 2)))
    talk = opened(model)
    reply(talk.send("a"))
    reply(talk.send("b"))
    assert talk.usage == Usage(30, 3)


def test_the_settings_say_when_to_compact(opened: Opened) -> None:
    def answer(messages: Sequence[Message], _: object) -> Answer:
        return _compacting(messages) or "word " * 400

    def compactions(share: float) -> int:
        settings = ContextSettings(compact_at=share)
        talk = opened(ScriptedModel(respond=answer, context_window=8_000), settings=settings)
        events = [event for n in range(10) for event in talk.send(f"Question {n}")]
        return sum(isinstance(event, Compacted) for event in events)

    assert compactions(0.3) > compactions(0.9) > 0


def test_a_result_entry_names_its_tool(opened: Opened) -> None:
    talk = opened(ScriptedModel(Reply(tool_calls=(ToolCall("c1", "look"),)), "Done."))
    reply(talk.send("Look"))
    (result,) = [e for e in talk.transcript.entries if isinstance(e, ToolResultEntry)]
    assert (result.tool, result.error) == ("look", False)
