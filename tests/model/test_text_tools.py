"""Models without tool calling: the XML form around a scripted model, and over real HTTP."""

import pytest

from assistant.errors import ModelError, ModelFailure
from assistant.events import ReasoningDelta, TextDelta
from assistant.messages import Message, Reply, ToolCall, Usage
from assistant.model.base import Piece, ToolSpec
from assistant.model.provider.litellm_model import LitellmModel
from assistant.model.text_tools import TextTools
from assistant.settings.sections import ModelSettings
from tests.support.provider import Provider, fails
from tests.support.scripted import ScriptedModel

LOOK = ToolSpec(
    "look", "Look around.", {"type": "object", "properties": {"at": {"type": "string"}}}
)
ASK = [Message("system", "Be brief."), Message("user", "Where is it?")]
CALL = '<tool_call name="look">\n<at>the map</at>\n</tool_call>'
REFUSALS = [
    (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    (404, "No endpoints found that support tool use"),
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
    (500, "tools param requires --jinja flag"),
    (400, "`tool calling` is not supported with this model"),
]


def last(pieces: list[Piece]) -> Reply:
    assert isinstance(pieces[-1], Reply)
    return pieces[-1]


def test_a_call_in_the_text_becomes_a_tool_call_and_is_not_shown() -> None:
    told = Reply(f"Let me look.\n\n{CALL}", "hm", usage=Usage(5, 6))
    pieces = list(TextTools(ScriptedModel(told)).stream(ASK, [LOOK]))
    shown = "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
    assert (shown, pieces[0]) == ("Let me look.", ReasoningDelta("hm"))
    reply = last(pieces)
    (call,) = reply.tool_calls
    assert (reply.text, reply.reasoning, reply.usage) == ("Let me look.", "hm", Usage(5, 6))
    assert (call.name, call.arguments, call.fault) == ("look", {"at": "the map"}, "")
    assert reply.finish_reason == "tool_calls"


def test_a_broken_call_has_a_fault() -> None:
    cut = Reply('<tool_call name="look"><at>the m', finish_reason="length")
    (call,) = last(list(TextTools(ScriptedModel(cut)).stream(ASK, [LOOK]))).tool_calls
    assert call.name == "look" and "no end" in call.fault
    strange = '<tool_call>{"name": "rm -rf", "arguments": {}}</tool_call>'
    (call,) = last(list(TextTools(ScriptedModel(strange)).stream(ASK, [LOOK]))).tool_calls
    assert "there is no tool named 'rm -rf'" in call.fault


def test_tools_calls_and_results_are_told_as_text() -> None:
    model = ScriptedModel("There.")
    calls = (ToolCall("c1", "look", {"at": "the map"}), ToolCall("c2", "look"))
    history = [
        *ASK,
        Message("assistant", "Let me look.", calls),
        Message("tool", "a lake", tool_call_id="c1"),
        Message("tool", "nothing", tool_call_id="c2"),
        Message("user", "And now?"),
    ]
    list(TextTools(model).stream(history, [LOOK]))
    sent = model.requests[0]
    assert sent.tools == ()
    assert [message.role for message in sent.messages] == ["system", "user", "assistant", "user"]
    assert "## look" in sent.messages[0].content
    assert sent.messages[2] == Message("assistant", f"Let me look.\n\n{CALL}\n\n{EMPTY_CALL}")
    assert sent.messages[3].content == (
        '<tool_result name="look">\na lake\n</tool_result>\n\n'
        '<tool_result name="look">\nnothing\n</tool_result>\n\nAnd now?'
    )


EMPTY_CALL = '<tool_call name="look">\n</tool_call>'


@pytest.mark.parametrize(("status", "words"), REFUSALS)
def test_a_provider_that_refuses_tools_gets_them_as_xml(
    provider: Provider, status: int, words: str
) -> None:
    provider.enqueue(fails(status, words), CALL, "Found.")
    settings = ModelSettings(name="openai/test", api_base=provider.url)
    model = TextTools(LitellmModel(settings), native=True)
    (call,) = last(list(model.stream(ASK, [LOOK]))).tool_calls
    assert call.arguments == {"at": "the map"}
    answered = [*ASK, Message("assistant", "", (call,)), Message("tool", "a lake", (), call.id)]
    assert last(list(model.stream(answered, [LOOK]))).text == "Found."
    offered, *others = provider.requests
    assert "tools" in offered.body
    assert all("tools" not in request.body for request in others)
    assert len(others) == 2


def test_another_refusal_is_an_error(provider: Provider) -> None:
    provider.enqueue(fails(400, "no such parameter"))
    settings = ModelSettings(name="openai/test", api_base=provider.url)
    with pytest.raises(ModelError) as caught:
        list(TextTools(LitellmModel(settings), native=True).stream(ASK, [LOOK]))
    assert caught.value.kind is ModelFailure.BAD_REQUEST


def test_a_provider_that_calls_tools_is_offered_them(provider: Provider) -> None:
    provider.enqueue(Reply(tool_calls=(ToolCall("c1", "look"),)))
    model = TextTools(
        LitellmModel(ModelSettings(name="openai/gpt-4o", api_base=provider.url)), native=True
    )
    assert last(list(model.stream(ASK, [LOOK]))).tool_calls == (ToolCall("c1", "look"),)
    assert provider.requests[0].body["tools"]


def test_closing_closes_the_models_stream() -> None:
    inner = ScriptedModel("one two three")
    stream = TextTools(inner).stream(ASK)
    next(stream)
    stream.close()
    assert inner.cancelled == 1
