"""The history is brought into the window step by step, and nothing but the view changes."""

from collections.abc import Sequence

import pytest

from assistant.agent.context_budget import AGING_STEP, fit, measure, rendered, summarised
from assistant.errors import ModelError, ModelFailure
from assistant.messages import Message, ToolCall
from assistant.session.entries import (
    AssistantEntry,
    CompactionEntry,
    Entry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.history import History, history, messages
from tests.model.validator import faults

SOURCE = "import os\n" * 120


def reading(number: int, content: str = SOURCE) -> list[Entry]:
    """A turn that reads a file."""
    call = ToolCall(f"c{number}", "read_file", {"path": "a.py"})
    return [
        UserEntry(f"question {number}", id=f"u{number}"),
        AssistantEntry("", tool_calls=(call,), id=f"a{number}"),
        ToolResultEntry(f"c{number}", "read_file", content, id=f"r{number}"),
        AssistantEntry(f"answer {number}", id=f"b{number}"),
    ]


def turns_of(count: int, content: str = SOURCE) -> History:
    return history([entry for n in range(count) for entry in reading(n, content)])


def test_results_older_than_four_turns_are_shown_as_a_summary() -> None:
    shown = [each.content for each in rendered(turns_of(7)) if each.role == "tool"]
    line = "[Summary: Returned 1200 bytes (121 lines)]"
    assert shown == [line, line, *[SOURCE] * 5]


def test_a_failure_is_summarised_as_one_and_a_short_result_stays() -> None:
    failed = ToolResultEntry("c", "shell", "x" * 300, error=True)
    assert summarised(failed).content.startswith("[Summary: Failed with 300 bytes")
    assert summarised(ToolResultEntry("c", "shell", "ok")).content == "ok"


def test_what_fits_is_sent_whole() -> None:
    fitted = fit(turns_of(3), 10_000)
    assert fitted.left_out == 0
    assert list(fitted.messages) == rendered(turns_of(3))
    assert fitted.tokens == measure(fitted.messages)


def test_the_oldest_turns_leave_with_a_notice_and_the_first_request_stays() -> None:
    whole = turns_of(6)
    fitted = fit(whole, measure(rendered(whole)) // 2)
    assert 0 < fitted.left_out < 6
    assert fitted.messages[0].content == "question 0"
    assert f"[{fitted.left_out} older turns are left out" in fitted.messages[1].content
    assert fitted.messages[-1].content == "answer 5"
    assert fitted.tokens <= measure(rendered(whole)) // 2
    assert faults(fitted.messages) == []
    more = [*fitted.messages[:2], *messages(whole.turns[fitted.left_out - 1 :])]
    assert measure(more) > measure(rendered(whole)) // 2


class Counting:
    """A measure that counts the messages it was given."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, said: Sequence[Message]) -> int:
        self.count += len(said)
        return measure(said)


def looked_at(entries: Sequence[Entry], room: int) -> int:
    counting = Counting()
    fit(history(entries), room, counting)
    return counting.count


def test_what_is_looked_at_grows_with_what_is_shown_and_not_with_the_session() -> None:
    some, many = ([entry for n in range(count) for entry in reading(n)] for count in (250, 2_500))
    assert len(many) == 10_000
    assert looked_at(many, 5_000) < 1.1 * looked_at(some, 5_000)
    assert looked_at(many, 10**9) <= 2 * len(many)


def test_a_long_turn_is_looked_at_in_one_pass() -> None:
    def running(count: int) -> list[Entry]:
        rounds = [entry for n in range(count) for entry in reading(n)[1:3]]
        return [UserEntry("go", id="u"), *rounds]

    assert looked_at(running(800), 40_000) < 4.5 * looked_at(running(200), 10_000)


def test_results_age_in_steps_so_that_a_request_begins_as_the_one_before() -> None:
    entries = [entry for n in range(60) for entry in reading(n)]
    kept = []
    for count in range(20, 20 + 2 * AGING_STEP):
        before = fit(history(entries[: 4 * count]), 10**9).messages
        after = fit(history(entries[: 4 * count + 4]), 10**9).messages
        kept.append(after[: len(before)] == before)
    assert kept.count(False) == 2


def test_results_age_all_the_same_where_there_is_no_room() -> None:
    entries = [entry for n in range(10) for entry in reading(n)]
    roomy = fit(history(entries), 10_000)
    assert sum(each.content == SOURCE for each in roomy.messages) == 10
    narrow = fit(history(entries), measure(roomy.messages) - 1)
    assert (narrow.left_out, sum(each.content == SOURCE for each in narrow.messages)) == (0, 5)


def test_a_long_running_turn_shows_its_older_results_as_a_summary() -> None:
    running = [UserEntry("go", id="u")]
    for number in range(8):
        running += reading(number)[1:3]  # type: ignore[arg-type]
    fitted = fit(history(running), 1_200)
    shown = [message.content for message in fitted.messages if message.role == "tool"]
    assert shown[-1] == SOURCE
    assert shown[0].startswith("[Summary:")
    assert faults(fitted.messages) == []


def test_a_last_turn_that_is_too_long_alone_is_a_clear_error() -> None:
    with pytest.raises(ModelError, match=r"too long for the model \([\d,]+ tokens") as caught:
        fit(history([UserEntry("x" * 9_000)]), 1_000)
    assert caught.value.kind is ModelFailure.OVERFLOW
    assert caught.value.cure


def test_a_prompt_that_leaves_no_room_is_the_same_error() -> None:
    with pytest.raises(ModelError, match="0 are free"):
        fit(turns_of(2), -5)


def test_a_first_request_of_more_than_a_quarter_of_the_room_is_cut() -> None:
    entries = [
        UserEntry("long " * 1_000, id="e0"),
        AssistantEntry("1", id="e1"),
        CompactionEntry("the summary", "e1", 1, 9, 5, id="e2"),
        UserEntry("next", id="e3"),
    ]
    assert fit(history(entries), 10_000).messages[0].content == "long " * 1_000
    shown = fit(history(entries), 2_000).messages
    assert shown[0].content.endswith("[Cut: the rest of this request is left out.]")
    assert measure(shown) < 600
