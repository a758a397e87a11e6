"""Answers that come whole though a stream was asked for, from servers of each form."""

import json

import pytest

from assistant.messages import Message, Reply, ToolCall, Usage
from assistant.model.base import ToolSpec
from assistant.model.provider.litellm_model import LitellmModel
from assistant.model.provider.transport import as_events
from assistant.settings.sections import ModelSettings
from tests.support.provider import Provider, Raw
from tests.support.wires import candidate

LOOK = ToolSpec("look", "Look around.", {"type": "object", "properties": {"at": {}}})
CALL = {"name": "look", "arguments": '{"at": "a"}'}
OPENAI = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "test",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Hello there",
                "reasoning_content": "hm",
                "tool_calls": [{"id": "c1", "type": "function", "function": CALL}],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
}
GEMINI = candidate({"text": "Hello there"}, "STOP") | {
    "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7}
}
GEMINI_END = GEMINI | candidate({"text": "there"}, "STOP")
OLLAMA = {
    "model": "test",
    "created_at": "2026-01-01T00:00:00Z",
    "message": {"role": "assistant", "content": "Hello there"},
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 3,
    "eval_count": 4,
}


def answered(name: str, body: bytes) -> Reply:
    with Provider(Raw((body[:9], body[9:]), content_type="application/json")) as provider:
        base = provider.url if name.startswith("openai") else provider.root
        model = LitellmModel(ModelSettings(name=name, api_base=base))
        *_, reply = model.stream([Message("user", "Hello?")], [LOOK])
    assert isinstance(reply, Reply)
    return reply


@pytest.mark.parametrize("indent", [None, 2])
def test_a_whole_answer_is_read_with_its_thoughts_and_calls(
    indent: int | None,
) -> None:
    reply = answered("openai/test", json.dumps(OPENAI, indent=indent).encode())
    assert (reply.text, reply.reasoning) == ("Hello there", "hm")
    assert reply.tool_calls == (ToolCall("c1", "look", {"at": "a"}),)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 4)
    assert reply.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("gemini/gemini-2.5-flash", GEMINI),
        ("gemini/gemini-2.5-flash", [candidate({"text": "Hello "}), GEMINI_END]),
        ("ollama_chat/qwen3", OLLAMA),
    ],
)
def test_a_whole_answer_of_the_others_is_read(name: str, answer: object) -> None:
    reply = answered(name, json.dumps(answer).encode())
    assert (reply.text, reply.finish_reason) == ("Hello there", "stop")
    assert reply.usage == Usage(3, 4, 0, reply.usage.cost)


@pytest.mark.parametrize("body", [b"{", b"[1]", b'{"choices": []}', b'{"a": 1}', b"null"])
def test_what_is_no_answer_is_left_as_it_is(body: bytes) -> None:
    assert as_events(body) is None
