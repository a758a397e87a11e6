"""History is a pure function of the entries, and valid whatever happened."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assistant.agent.context_budget import rendered
from assistant.messages import Message, ToolCall
from assistant.session.entries import (
    ApprovalEntry,
    AssistantEntry,
    CompactionEntry,
    Entry,
    InterruptedEntry,
    NoticeEntry,
    ReminderEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.history import (
    LOST,
    NOT_RUN,
    awaiting_owner,
    group,
    history,
    lost_results,
    messages,
    succeeded,
    unanswered,
)
from tests.model.validator import faults

LOOK = ToolCall("c1", "look")
HEAR = ToolCall("c2", "hear")


def said(*entries: Entry) -> list[Message]:
    return messages(group(entries))


def test_a_turn_is_a_message_and_what_follows_it() -> None:
    entries = (
        NoticeEntry("before"),
        UserEntry("one"),
        AssistantEntry("1"),
        UserEntry("two"),
        UserEntry("and", joins=True),
        AssistantEntry("2"),
    )
    assert [turn.entries for turn in group(entries)] == [entries[1:3], entries[3:]]
    assert [turn.request for turn in group(entries)] == ["one", "two"]


def test_calls_are_followed_by_their_results_in_order() -> None:
    assert said(
        UserEntry("do"),
        AssistantEntry("ok", tool_calls=(LOOK, HEAR)),
        ToolResultEntry("c2", "hear", ""),
        NoticeEntry("unseen"),
        ToolResultEntry("c1", "look", "seen"),
        AssistantEntry("done"),
    ) == [
        Message("user", "do"),
        Message("assistant", "ok", (LOOK, HEAR)),
        Message("tool", "seen", tool_call_id="c1"),
        Message("tool", "(no output)", tool_call_id="c2"),
        Message("assistant", "done"),
    ]


def test_a_call_without_a_result_is_shown_as_lost() -> None:
    assert said(UserEntry("do"), AssistantEntry("", tool_calls=(LOOK,)))[-1].content == LOST


def test_a_result_of_another_answer_with_the_same_id_is_not_taken() -> None:
    found = said(
        UserEntry("do"),
        AssistantEntry("", tool_calls=(LOOK,)),
        InterruptedEntry("stopped"),
        UserEntry("again"),
        AssistantEntry("", tool_calls=(LOOK,)),
        ToolResultEntry("c1", "look", "late"),
    )
    assert [message.content for message in found if message.role == "tool"] == [LOST, "late"]


def test_what_the_owner_adds_joins_and_an_interruption_is_the_assistants() -> None:
    assert said(
        UserEntry("one"),
        AssistantEntry("par"),
        InterruptedEntry("Interrupted"),
        UserEntry("two", joins=True),
        ReminderEntry("end now"),
    ) == [
        Message("user", "one"),
        Message("assistant", "par\n\n[Interrupted]"),
        Message("user", "two\n\n[Reminder: end now]"),
    ]


def test_unanswered_calls_and_the_results_they_get() -> None:
    open_calls = [UserEntry("do"), AssistantEntry("", tool_calls=(LOOK, HEAR))]
    assert unanswered(open_calls) == (LOOK, HEAR)
    assert [each.content for each in lost_results(open_calls)] == [LOST, NOT_RUN]
    half = [*open_calls, ToolResultEntry("c1", "look", "x")]
    assert unanswered(half) == (HEAR,)
    assert [each.content for each in lost_results(half)] == [LOST]
    assert unanswered([*half, UserEntry("next")]) == ()


def test_a_call_the_owner_was_asked_about_did_not_run() -> None:
    asked = [UserEntry("do"), AssistantEntry("", tool_calls=(LOOK, HEAR)), ApprovalEntry("c1")]
    assert awaiting_owner(asked)
    assert [each.content for each in lost_results(asked)] == [NOT_RUN, NOT_RUN]
    assert not awaiting_owner([*asked, ApprovalEntry("c1", "once")])
    assert not awaiting_owner(asked[:2])


def test_a_turn_is_finished_by_a_reply_or_an_interruption() -> None:
    def finished(*entries: Entry) -> bool:
        return group([UserEntry("do"), *entries])[-1].finished

    assert finished(AssistantEntry("done"), NoticeEntry("by the way"))
    assert finished(InterruptedEntry("stop"))
    assert not finished()
    assert not finished(AssistantEntry("", tool_calls=(LOOK,)))
    assert not finished(AssistantEntry("a"), UserEntry("more", joins=True))
    assert not finished(AssistantEntry("", tool_calls=(LOOK,)), ToolResultEntry("c1", "look", "x"))


def test_what_succeeded_is_told_by_answer() -> None:
    entries = [
        AssistantEntry("", tool_calls=(LOOK,)),
        ToolResultEntry("c1", "look", "no", error=True),
        AssistantEntry("", tool_calls=(ToolCall("c1", "hear"),)),
        ToolResultEntry("c1", "hear", "yes"),
    ]
    assert [call.name for call in succeeded(entries)] == ["hear"]


def numbered(*entries: Entry) -> list[Entry]:

    return [replace(entry, id=f"e{n}") for n, entry in enumerate(entries)]


def test_a_compaction_stands_for_what_it_covers() -> None:
    entries = numbered(
        UserEntry("first, word for word"),
        AssistantEntry("1"),
        UserEntry("two"),
        AssistantEntry("2"),
        UserEntry("three"),
        AssistantEntry("3"),
        CompactionEntry("the summary", "e3", 2, 9, 5),
        UserEntry("four"),
    )
    shown = history(entries)
    assert [turn.request for turn in shown.turns] == ["three", "four"]
    assert [message.content for message in rendered(shown)] == [
        "first, word for word",
        "[Summary of what followed]\nthe summary",
        "three",
        "3",
        "four",
    ]
    assert faults(rendered(shown)) == []


CALLS = st.lists(
    st.builds(ToolCall, st.sampled_from(["a", "b", "c", "d"]), st.just("look")),
    max_size=3,
    unique_by=lambda call: call.id,
).map(tuple)
TEXTS = st.sampled_from(["", " ", "text", "\ud800", "two\nlines"])
ENTRIES = st.one_of(
    st.builds(UserEntry, TEXTS, st.booleans()),
    st.builds(AssistantEntry, TEXTS, tool_calls=CALLS),
    st.builds(ToolResultEntry, st.sampled_from(["a", "b", "c"]), st.just("look"), TEXTS),
    st.builds(ApprovalEntry, st.sampled_from(["a", "b"]), st.sampled_from(["", "once"])),
    st.builds(ReminderEntry, TEXTS),
    st.builds(InterruptedEntry, TEXTS),
    st.builds(NoticeEntry, TEXTS),
)


@given(st.lists(ENTRIES, max_size=12), st.data())
def test_history_is_valid_in_every_state(drawn: list[Entry], data: st.DataObject) -> None:
    entries = numbered(UserEntry("begin"), *drawn)
    turns = group(entries)
    if len(turns) > 1 and data.draw(st.booleans()):
        border = data.draw(st.integers(0, len(turns) - 2))
        through = turns[border].entries[-1].id
        entries.append(CompactionEntry("summary", through, border + 1, 2, 1, id="e99"))
    found = faults(rendered(history(entries)))
    assert [fault for fault in found if "again" not in fault] == []  # the loop gives unique ids
