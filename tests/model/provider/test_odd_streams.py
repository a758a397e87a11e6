"""What litellm's adapters lose or misread in a stream of Anthropic's, Gemini's or Ollama's."""

import gzip
import json
from collections.abc import Sequence
from typing import Any

import pytest

from assistant.errors import ModelError
from assistant.events import ReasoningDelta, TextDelta
from assistant.messages import Message, Reply, ToolCall
from assistant.model.provider.litellm_model import LitellmModel
from assistant.settings.sections import ModelSettings
from tests.support.provider import Provider, Raw
from tests.support.wires import WIRES, candidate, named, sse

NAMES = {
    "/messages": "anthropic/claude-sonnet-4-5",
    ":streamGenerateContent": "gemini/gemini-2.0-flash",
    "/api/chat": "ollama_chat/test",
    "/chat/completions": "openai/test",
}
CLAUDE, GEMINI, OLLAMA, _ = NAMES.values()
Parts = Sequence[bytes]


def claude(*blocks: tuple[dict[str, Any], Sequence[dict[str, Any]]]) -> Parts:
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": {}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}})
    return [named(event) for event in (*events, {"type": "message_stop"})]


def used(identity: str, given: dict[str, Any], *pieces: str) -> Any:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return {"type": "tool_use", "id": identity, "name": "look", "input": given}, deltas


def in_turns(parts: Parts, first: int = 1) -> Parts:
    """The events of the two blocks from the `first` event on, one of each block in turn."""
    start, blocks, end = parts[:first], parts[first:-2], parts[-2:]
    half = len(blocks) // 2
    pairs = zip(blocks[:half], blocks[half:], strict=True)
    return [*start, *(part for pair in pairs for part in pair), *end]


def ollama(*contents: str) -> Parts:
    ends = [*({"done": False} for _ in contents[1:]), {"done": True, "done_reason": "stop"}]
    return [
        json.dumps({"model": "t", "message": {"content": text}, **end}, ensure_ascii=False).encode()
        + b"\n"
        for text, end in zip(contents, ends, strict=True)
    ]


ODD = "Grüße\u2028aus\u0085Porto ☃"
AT_A, AT_B = {"at": "a"}, {"at": "b"}
CASES: dict[str, tuple[str, Parts, str, list[Any]]] = {
    "arguments come whole": (CLAUDE, claude(used("c1", AT_A)), "", [AT_A]),
    "some come whole": (
        CLAUDE,
        claude(used("c1", AT_A), used("c2", {}, '{"at"', ': "b"}'), used("c3", {})),
        "",
        [AT_A, AT_B, {}],
    ),
    "they come whole and in pieces": (
        CLAUDE,
        claude(used("c1", AT_A, "", '{"at": ', '"a"}')),
        "",
        [AT_A],
    ),
    "pieces of several calls take turns": (
        CLAUDE,
        in_turns(claude(used("c1", {}, '{"at": ', '"a"}'), used("c2", {}, '{"at": ', '"b"}'))),
        "",
        [AT_A, AT_B],
    ),
    "a call without arguments": (
        GEMINI,
        sse(candidate({"functionCall": {"name": "look"}}, "STOP")),
        "",
        [{}],
    ),
    "characters that look like a line's end, to Claude": (
        CLAUDE,
        [
            part.replace(b"WORDS", ODD.encode())
            for part in claude(
                ({"type": "text", "text": ""}, [{"type": "text_delta", "text": "WORDS"}])
            )
        ],
        ODD,
        [],
    ),
    "to Gemini": (
        GEMINI,
        [sse(candidate({"text": "WORDS"}, "STOP"))[0].replace(b"WORDS", ODD.encode())],
        ODD,
        [],
    ),
    "to Ollama": (OLLAMA, ollama("Olá! ", ODD), f"Olá! {ODD}", []),
    "reasoning in the text": (OLLAMA, ollama("<think>", "\nhm", "</think>", "\n\nYes"), "Yes", []),
    "its tags in longer pieces": (OLLAMA, ollama("<think>h", "m</think>Y", "es"), "Yes", []),
    "a text about the tag": (
        OLLAMA,
        ollama("The tag ", "<think>", " opens", " it."),
        "The tag <think> opens it.",
        [],
    ),
}


def answered(name: str, raw: Raw) -> tuple[str, Reply]:
    with Provider(raw) as provider:
        base = provider.url if name.startswith("openai/") else provider.root
        model = LitellmModel(ModelSettings(name=name, api_base=base))
        pieces = list(model.stream([Message("user", "hello")]))
    reply = pieces[-1]
    assert isinstance(reply, Reply)
    assert not any(isinstance(each, ReasoningDelta) and "Yes" in each.text for each in pieces)
    return "".join(each.text for each in pieces if isinstance(each, TextDelta)), reply


@pytest.mark.parametrize("size", [None, 1, 7])
@pytest.mark.parametrize("case", CASES)
def test_nothing_of_an_odd_stream_is_lost(case: str, size: int | None) -> None:
    name, parts, text, arguments = CASES[case]
    whole = b"".join(parts)
    cut = [whole[i : i + size] for i in range(0, len(whole), size)] if size else parts
    kind = "application/x-ndjson" if name == OLLAMA else "text/event-stream"
    shown, reply = answered(name, Raw(tuple(cut), content_type=kind))
    assert shown.strip() == reply.text.strip() == text
    assert [(call.arguments, call.fault) for call in reply.tool_calls] == [
        (each, "") for each in arguments
    ]


@pytest.mark.parametrize("path", NAMES)
def test_an_answer_that_a_server_compresses_unasked_is_whole(path: str) -> None:
    body = gzip.compress(b"".join(WIRES[path](Reply("Hello there"))))
    kind = "application/x-ndjson" if path == "/api/chat" else "text/event-stream"
    raw = Raw((body[:9], body[9:]), headers={"Content-Encoding": "gzip"}, content_type=kind)
    shown, reply = answered(NAMES[path], raw)
    assert (shown, reply.finish_reason) == ("Hello there", "stop")


TALK = Reply("Look there", tool_calls=(ToolCall("c1", "look", AT_A), ToolCall("c2", "look", AT_B)))
FRAMES = {
    "a comment": b": keep-alive\n\n",
    "an id": b"id: 3\n\n",
    "a pause": b"retry: 10\n\n",
    "an event without data": b"event: ping\n\n",
    "a foreign event": b'event: ping\nid: 3\ndata: {"type": "ping"}\n\n',
    "a word": b"data: ping\n\n",
    "a null": b"data: null\n\n",
}


def framed(path: str, frame: bytes) -> Raw:
    return Raw(tuple(part for piece in WIRES[path](TALK) for part in (frame, piece)))


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("path", [path for path in NAMES if path != "/api/chat"])
def test_what_stands_between_the_events_of_a_stream_costs_none_of_them(
    path: str, frame: str
) -> None:
    shown, reply = answered(NAMES[path], framed(path, FRAMES[frame]))
    assert (shown, reply.finish_reason) == ("Look there", "tool_calls")
    assert [call.arguments for call in reply.tool_calls] == [AT_A, AT_B]


@pytest.mark.parametrize("path", [path for path in NAMES if path != "/api/chat"])
def test_data_over_several_lines_and_without_empty_lines_is_whole(path: str) -> None:
    pieces = list(WIRES[path](TALK))
    if path == "/messages":
        pieces = [*in_turns(pieces, 5)]
    several = [piece.replace(b", ", b",\ndata: ") for piece in pieces]
    packed = [piece.replace(b"\n\n", b"\n") for piece in pieces]
    for parts in (several, packed):
        shown, reply = answered(NAMES[path], Raw(tuple(parts)))
        assert (shown, reply.finish_reason) == ("Look there", "tool_calls")
        assert [call.arguments for call in reply.tool_calls] == [AT_A, AT_B]


@pytest.mark.parametrize("path", [path for path in NAMES if path != "/api/chat"])
def test_a_broken_event_is_an_error_and_not_left_out(path: str) -> None:
    with pytest.raises(ModelError):
        answered(NAMES[path], framed(path, b'data: {"a": \n\n'))
