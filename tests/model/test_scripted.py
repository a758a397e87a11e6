"""The scripted model plays its script, records what it was asked, and can break off."""

from collections.abc import Sequence

import pytest

from assistant.errors import ModelError, ModelFailure
from assistant.events import ReasoningDelta, TextDelta
from assistant.messages import Message, Reply, ToolCall
from assistant.model.base import Piece, ToolSpec
from tests.support.scripted import Answer, ScriptedModel

ASK = [Message("user", "What now?")]
TOOL = ToolSpec("look", "Look around.", {"type": "object", "properties": {}})


def test_a_text_is_streamed_word_by_word_and_ends_in_the_whole_reply() -> None:
    *pieces, reply = ScriptedModel("one  two\nthree ").stream(ASK)
    assert pieces == [TextDelta("one"), TextDelta("  two"), TextDelta("\nthree"), TextDelta(" ")]
    assert reply == Reply("one  two\nthree ")


def test_a_reply_keeps_its_reasoning_and_calls() -> None:
    told = Reply("Done.", "Hm.", (ToolCall("c1", "look"),))
    assert list(ScriptedModel(told).stream(ASK)) == [
        ReasoningDelta("Hm."),
        TextDelta("Done."),
        told,
    ]


def test_steps_are_taken_in_order_and_then_the_responder_answers() -> None:
    def count(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Answer:
        return f"{len(messages)} and {len(tools)}"

    model = ScriptedModel("first", respond=count)
    model.enqueue(count)
    replies = [list(model.stream(ASK, [TOOL]))[-1] for _ in range(3)]
    assert replies == [Reply("first"), Reply("1 and 1"), Reply("1 and 1")]
    assert [request.tools for request in model.requests] == [(TOOL,)] * 3


def test_an_error_breaks_off_where_it_stands() -> None:
    failure = ModelError("gone", kind=ModelFailure.SERVER)
    pieces: list[Piece | ModelError] = [TextDelta("half"), failure]
    stream = ScriptedModel(pieces).stream(ASK)
    assert next(stream) == TextDelta("half")
    with pytest.raises(ModelError) as caught:
        next(stream)
    assert caught.value is failure


def test_pieces_without_a_reply_get_the_one_they_add_up_to() -> None:
    pieces: list[Piece | ModelError] = [ReasoningDelta("hm"), TextDelta("a"), TextDelta("b")]
    assert list(ScriptedModel(pieces).stream(ASK))[-1] == Reply("ab", "hm")


def test_a_stream_closed_early_is_counted() -> None:
    model = ScriptedModel("one two three")
    stream = model.stream(ASK)
    next(stream)
    stream.close()
    assert model.cancelled == 1


def test_an_empty_script_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no answer for request 1"):
        next(ScriptedModel().stream(ASK))
