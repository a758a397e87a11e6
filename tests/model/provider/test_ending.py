"""Why an answer ended, in the words of many providers, over real HTTP."""

import json

import pytest

from assistant.agent.loop import without_answer
from assistant.errors import ModelError
from assistant.messages import Message, Reply
from assistant.model.provider.litellm_model import LitellmModel
from assistant.model.provider.stream import ending
from assistant.settings.sections import ModelSettings
from tests.support.provider import Provider, Raw
from tests.support.wires import anthropic, candidate, chunk, gemini, ollama, openai, sse

DOCUMENTED = {
    "stop": "stop eos eos_token end_turn stop_sequence COMPLETE STOP",
    "tool_calls": "tool_calls function_call tool_use TOOL_CALL",
    "length": "length max_tokens MAX_TOKENS model_length max_output_tokens REASON_MAX_LEN "
    " token_limit model_context_window_exceeded compaction REASON_MAX_CONTEXT",
    "content_filter": "content_filter refusal SAFETY RECITATION LANGUAGE OTHER BLOCKLIST SPII"
    " NO_IMAGE PROHIBITED_CONTENT IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_OTHER"
    " IMAGE_RECITATION ERROR_TOXIC guardrail_intervened content_filtered sensitive MODEL_ARMOR",
    "malformed_call": "MALFORMED_FUNCTION_CALL MALFORMED_RESPONSE UNEXPECTED_TOOL_CALL"
    " TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE malformed_tool_use malformed_model_output",
    "incomplete": "error ERROR_LIMIT abort timeout time_limit cancelled USER_CANCEL network_error"
    " insufficient_system_resource pause_turn load unload FINISH_REASON_UNSPECIFIED"
    " engine_overloaded",
}
"""The words of OpenAI, Anthropic, Gemini, Bedrock, Mistral, Cohere, DeepSeek, GLM, Grok, Kimi,
Ollama, vLLM and watsonx for the end of an answer."""


@pytest.mark.parametrize("meant", DOCUMENTED)
def test_each_documented_word_for_the_end_is_understood(meant: str) -> None:
    words = DOCUMENTED[meant].split()
    assert {word: ending(word) for word in words} == dict.fromkeys(words, meant)


def answered(provider: Provider, name: str) -> Reply:
    base = provider.url if name.startswith("openai") else provider.root
    model = LitellmModel(ModelSettings(name=name, api_base=base))
    *_, reply = model.stream([Message("user", "Hello?")])
    assert isinstance(reply, Reply)
    return reply


FINISHES = [
    ("STOP", "stop"),
    ("MAX_TOKENS", "length"),
    ("SAFETY", "content_filter"),
    ("RECITATION", "content_filter"),
    ("OTHER", "content_filter"),
    ("MALFORMED_FUNCTION_CALL", "malformed_call"),
]
CLAUDES = [
    ("end_turn", "stop"),
    ("model_context_window_exceeded", "length"),
    ("refusal", "content_filter"),
    ("pause_turn", "incomplete"),
    (None, "incomplete"),
]


@pytest.mark.parametrize(("word", "meant"), CLAUDES)
def test_claudes_words_for_the_end_are_read_on_the_wire(
    provider: Provider, word: str | None, meant: str
) -> None:
    said = b"".join(anthropic(Reply('a "stop_reason": "refusal"')))
    provider.enqueue(Raw((said.replace(b'"end_turn"', json.dumps(word).encode()),)))
    reply = answered(provider, "anthropic/claude-sonnet-4-5")
    assert (reply.text, reply.finish_reason) == ('a "stop_reason": "refusal"', meant)


@pytest.mark.parametrize(("word", "meant"), FINISHES)
def test_geminis_words_for_the_end_are_read_on_the_wire(
    provider: Provider, word: str, meant: str
) -> None:
    first, last = candidate({"text": 'a "finishReason": "X"'}), candidate({"text": "b"}, word)
    usage = {"usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 2}}
    body = b"".join(sse(first, last, usage))
    provider.enqueue(Raw(tuple(body[at : at + 7] for at in range(0, len(body), 7))))
    reply = answered(provider, "gemini/gemini-2.5-flash")
    assert (reply.text, reply.finish_reason) == ('a "finishReason": "X"b', meant)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("end_turn", "stop"),
        ("length", "length"),
        ("model_length", "length"),
        ("content_filter", "content_filter"),
        ("sensitive", "content_filter"),
        ("insufficient_system_resource", "incomplete"),
        (None, "incomplete"),
    ],
)
def test_other_words_for_the_end_are_understood(
    provider: Provider, word: str | None, meant: str
) -> None:
    provider.enqueue(Raw(sse(chunk({"content": "Half"}), chunk({}, word), "[DONE]")))
    reply = answered(provider, "openai/test")
    assert (reply.text, reply.finish_reason) == ("Half", meant)


WIRES_OF = {
    "openai/test": openai,
    "anthropic/claude-sonnet-4-5": anthropic,
    "ollama_chat/test": ollama,
    "gemini/gemini-2.5-flash": gemini,
}


@pytest.mark.parametrize("size", [None, 7])
@pytest.mark.parametrize("name", WIRES_OF)
def test_a_stream_that_ends_before_its_end_is_an_error_after_what_came(
    provider: Provider, name: str, size: int | None
) -> None:
    kind = "application/x-ndjson" if name.startswith("ollama") else "text/event-stream"
    whole = list(WIRES_OF[name](Reply("Half a word")))
    last = next(n for n, part in enumerate(whole) if b"word" in part) + 1
    for parts in (whole[:last], whole[: last + 1], whole):
        body = b"".join(parts)
        cut = [body[at : at + size] for at in range(0, len(body), size)] if size else parts
        provider.enqueue(Raw(tuple(cut), content_type=kind))
    with pytest.raises(ModelError, match="closed the connection in the middle of its answer"):
        answered(provider, name)
    if name.startswith("anthropic"):  # the end of a block is not the end of the message
        with pytest.raises(ModelError, match="in the middle"):
            answered(provider, name)
    else:  # `finish_reason` without `[DONE]`
        assert answered(provider, name).finish_reason == "stop"
    assert answered(provider, name).text == "Half a word"


def test_a_word_that_nobody_knows_is_named_where_the_answer_lacks_something(
    provider: Provider,
) -> None:
    half = {"index": 0, "id": "a", "function": {"name": "shell", "arguments": '{"comma'}}
    for delta in ({"content": "Whole"}, {"content": ""}, {"tool_calls": [half]}):
        provider.enqueue(Raw(sse(chunk(delta), chunk({}, "evicted\x1b[2J"), "[DONE]")))
    whole, empty, torn = (answered(provider, "openai/test") for _ in range(3))
    assert (whole.finish_reason, empty.finish_reason) == ("stop", "“evicted2j”")
    assert "ended the answer with “evicted2j”" in torn.tool_calls[0].fault
    assert "called that “evicted2j”" in str(without_answer("empty", "m", empty.finish_reason))


def test_a_prompt_that_gemini_blocks_was_filtered(provider: Provider) -> None:
    provider.enqueue(Raw(sse({"promptFeedback": {"blockReason": "OTHER"}})))
    reply = answered(provider, "gemini/gemini-2.5-flash")
    assert (reply.text, reply.finish_reason) == ("", "content_filter")
