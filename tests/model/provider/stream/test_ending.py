"""Why an answer ended, in the words of many providers, over real HTTP."""

import pytest

from assistant.messages import Message, Reply
from assistant.model.provider.litellm_model import LitellmModel
from assistant.settings.answering import ModelSettings
from tests.support.provider import Provider, Raw
from tests.support.wires import candidate, chunk, sse


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
    ("", "incomplete"),
]


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


def test_a_prompt_that_gemini_blocks_was_filtered(provider: Provider) -> None:
    provider.enqueue(Raw(sse({"promptFeedback": {"blockReason": "OTHER"}})))
    reply = answered(provider, "gemini/gemini-2.5-flash")
    assert (reply.text, reply.finish_reason) == ("", "content_filter")
