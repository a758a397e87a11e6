"""Streams as no provider should send them, over real HTTP and through the real loop.

For each: exactly the sound calls run, and what is left is valid for OpenAI and Anthropic, in the
transcript and in every request that follows.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from assistant.agent.loop import Agent, run_turn
from assistant.errors import ModelError
from assistant.messages import Message, ToolCall
from assistant.model.base import ToolSpec
from assistant.model.provider.litellm_model import LitellmModel
from assistant.session import transcript as transcripts
from assistant.session.entries import UserEntry
from assistant.session.history import group, messages
from assistant.settings.sections import ModelSettings
from assistant.tools.base import tool
from assistant.tools.toolbox import Toolbox
from tests.model.validator import faults, wire_faults
from tests.support.provider import Cut, Pause, Provider, Raw
from tests.support.wires import chunk, sse

Run = tuple[str, dict[str, Any]]
END = (chunk({}, "tool_calls"), "[DONE]")
STOP = (chunk({}, "stop"), "[DONE]")
A, B = ("look", {"at": "a"}), ("look", {"at": "b"})


@dataclass(frozen=True)
class Case:
    """What the provider sends, and the calls that may run because of it."""

    name: str
    parts: tuple[bytes | Pause | Cut, ...]
    runs: Sequence[Run] = ()
    text: str = ""
    breaks: bool = field(default=False)


def call(arguments: Any = "", **parts: Any) -> dict[str, Any]:
    """A delta with a piece of one tool call; `name` goes into its function."""
    function = {"arguments": arguments}
    if "name" in parts:
        function["name"] = parts.pop("name")
    return chunk({"tool_calls": [{"type": "function", "function": function, **parts}]})


def case(name: str, *events: Any, runs: Sequence[Run] = (), text: str = "") -> Case:
    return Case(name, sse(*events), runs, text)


def bare(choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return chunk({}) | {"choices": choices} | more


WHOLE = call('{"at": "a"}', index=0, id="c1", name="look")
SECOND = call('{"at": "b"}', index=1, id="c2", name="look")
USAGE = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
SPLIT = sse(chunk({"content": "Grüße ☃"}), chunk({}, "stop"), "[DONE]")
RAW_UTF8 = ('data: {"choices":[{"index":0,"delta":{"content":"☃"}}]}\n\n').encode()

CASES = [
    case(
        "merged parallel calls, ids differ",
        WHOLE,
        call('{"at": "b"}', index=0, id="c2", name="look"),
        *END,
        runs=[A, B],
    ),
    case(
        "merged parallel calls, the second without an id",
        WHOLE,
        call('{"at": "b"}', index=0, name="look"),
        *END,
        runs=[A, B],
    ),
    case(
        "merged parallel calls, no ids at all",
        call('{"at": "a"}', index=0, name="look"),
        call('{"at": "b"}', index=0, name="look"),
        *END,
        runs=[A, B],
    ),
    case(
        "two argument objects in one call",
        call('{"at": "a"}{"at": "b"}', index=0, id="c1", name="look"),
        *END,
    ),
    case(
        "duplicate index, pieces told apart by id",
        call('{"at"', index=0, id="c1", name="look"),
        call('{"at"', index=0, id="c2", name="look"),
        call(': "a"}', index=0, id="c1"),
        call(': "b"}', index=0, id="c2"),
        *END,
        runs=[A, B],
    ),
    case(
        "duplicate index, pieces that cannot be told apart",
        call('{"at"', index=0, id="c1", name="look"),
        call('{"at"', index=0, id="c2", name="look"),
        call(': "a"}', index=0),
        call(': "b"}', index=0),
        *END,
    ),
    case(
        "interleaved indexes",
        call('{"at"', index=0, id="c1", name="look"),
        call('{"at"', index=1, id="c2", name="look"),
        call(': "a"}', index=0),
        call(': "b"}', index=1),
        *END,
        runs=[A, B],
    ),
    case(
        "one id for two calls",
        WHOLE,
        call('{"at": "b"}', index=1, id="c1", name="look"),
        *END,
        runs=[A, B],
    ),
    case("cut JSON", call('{"at": "a', index=0, id="c1", name="look"), *END),
    case(
        "cut JSON at the length limit",
        call('{"at": "a"', index=0, id="c1", name="look"),
        chunk({}, "length"),
        "[DONE]",
    ),
    case(
        "cut before the arguments at the length limit",
        call("", index=0, id="c1", name="look"),
        chunk({}, "length"),
        "[DONE]",
    ),
    case(
        "no arguments",
        call("", index=0, id="c1", name="look"),
        *END,
        runs=[("look", {"at": ""})],
    ),
    case(
        "arguments null",
        call(None, index=0, id="c1", name="look"),
        *END,
        runs=[("look", {"at": ""})],
    ),
    case("missing id", call('{"at": "a"}', index=0, name="look"), *END, runs=[A]),
    case("empty id", call('{"at": "a"}', index=0, id="", name="look"), *END, runs=[A]),
    case("missing name", call('{"at": "a"}', index=0, id="c1"), *END),
    case("empty name", call('{"at": "a"}', index=0, id="c1", name=""), *END),
    case("missing index", call('{"at": "a"}', id="c1", name="look"), *END, runs=[A]),
    case(
        "the name later than the id",
        call("", index=0, id="c1"),
        call('{"at": "a"}', index=0, name="look"),
        *END,
        runs=[A],
    ),
    case(
        "id and name with every piece",
        call('{"at"', index=0, id="c1", name="look"),
        call(': "a"}', index=0, id="c1", name="look"),
        *END,
        runs=[A],
    ),
    case(
        "a new id with every piece",
        call('{"at"', index=0, id="c1", name="look"),
        call(': "a"}', index=0, id="x2"),
        *END,
        runs=[A],
    ),
    case(
        "the whole call sent twice",
        WHOLE,
        WHOLE,
        *END,
    ),
    case(
        "empty deltas",
        chunk({}),
        chunk({"content": ""}),
        WHOLE,
        chunk({"tool_calls": []}),
        chunk({"tool_calls": None}),
        *END,
        runs=[A],
    ),
    case("null content", chunk({"role": "assistant", "content": None}), WHOLE, *END, runs=[A]),
    case("white space alone", chunk({"content": " \n"}), *STOP),
    case("thinking alone", chunk({"content": "<think>hm"}), chunk({"content": "</think>"}), *STOP),
    case("reasoning alone", chunk({"reasoning_content": "hm"}), *STOP),
    case(
        "text, then a call, then text",
        chunk({"content": "One "}),
        WHOLE,
        chunk({"content": "two"}),
        *END,
        runs=[A],
        text="One two",
    ),
    case("finish stop with a call", WHOLE, *STOP, runs=[A]),
    case(
        "the finish in the last piece",
        call('{"at"', index=0, id="c1", name="look"),
        call(': "a"}', index=0)
        | {
            "choices": [
                {
                    "index": 0,
                    "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ': "a"}'}}]},
                    "finish_reason": "tool_calls",
                }
            ]
        },
        "[DONE]",
        runs=[A],
    ),
    case(
        "a character cut in two",
        chunk({"content": "a\ud83d"}),
        chunk({"content": "\ude00b"}),
        *STOP,
        text="a😀b",
    ),
    case("half a character", chunk({"content": "a\ud83d"}), *STOP, text="a\ufffd"),
    case(
        "a character cut in two in the arguments",
        call('{"at": "\ud83d', index=0, id="c1", name="look"),
        call('\ude00"}', index=0),
        *END,
        runs=[("look", {"at": "😀"})],
    ),
    case(
        "half a character, escaped, in the arguments",
        call('{"at": "\\ud83d"}', index=0, id="c1", name="look"),
        *END,
        runs=[("look", {"at": "\ufffd"})],
    ),
    Case(
        "bytes of a character in two packets",
        (RAW_UTF8[:-8], RAW_UTF8[-8:], *sse(*STOP)),
        text="☃",
    ),
    Case("lines cut anywhere", tuple(bytes([byte]) for byte in b"".join(SPLIT)), text="Grüße ☃"),
    Case(
        "comments, CRLF and event names",
        (b": ping\r\n\r\n", b"event: message\r\n" + b"".join(SPLIT).replace(b"\n", b"\r\n")),
        text="Grüße ☃",
    ),
    case("[DONE] missing", WHOLE, chunk({}, "tool_calls"), runs=[A]),
    case("finish missing after a text", chunk({"content": "Half"}), "[DONE]", text="Half"),
    case("finish missing after a call", WHOLE, "[DONE]", runs=[A]),
    case("finish missing, no arguments yet", call("", index=0, id="c1", name="look"), "[DONE]"),
    case("empty choices first", bare([]), WHOLE, *END, runs=[A]),
    case("usage without choices in between", bare([], usage=USAGE), WHOLE, *END, runs=[A]),
    case("usage null", WHOLE, bare([], usage=None), *END, runs=[A]),
    case("arguments not encoded", call({"at": "a"}, index=0, id="c1", name="look"), *END),
    case(
        "a call of the old kind",
        chunk({"function_call": {"name": "look"}}),
        chunk({"function_call": {"arguments": '{"at": '}}),
        chunk({"function_call": {"arguments": '"a"}'}}),
        chunk({}, "function_call"),
        "[DONE]",
        runs=[A],
    ),
    case(
        "raw line breaks in the arguments",
        call('{"at": "a\n\tb"}', index=0, id="c1", name="look"),
        *END,
        runs=[("look", {"at": "a\n\tb"})],
    ),
    case(
        "trailing commas in the arguments",
        call('{"at": "a,}",\n}', index=0, id="c1", name="look"),
        *END,
        runs=[("look", {"at": "a,}"})],
    ),
    case(
        "arguments in a fence",
        call('```json\n{"at": "a"}\n```', index=0, id="c1", name="look"),
        *END,
        runs=[A],
    ),
    case("JSON cut behind a comma", call('{"at": "a",', index=0, id="c1", name="look"), *END),
    case(
        "the same words again and again",
        *[chunk({"content": "the same words "}) for _ in range(150)],
        *STOP,
        text="the same words " * 149,
    ),
    case("a refusal", chunk({"refusal": "I will not"}), *STOP, text="I will not"),
    case(
        "text as a list of parts",
        chunk({"content": [{"type": "text", "text": "Hello"}, {"type": "image_url"}]}),
        *STOP,
        text="Hello",
    ),
    case(
        "thoughts and text as a list of parts",
        chunk({"content": [{"thinking": [{"text": "Hm"}]}, "?", {"text": "Hello"}]}),
        *STOP,
        text="Hello",
    ),
    Case(
        "a byte order mark",
        (b"\xef\xbb\xbf", *sse(chunk({"content": "Hello"}), *STOP)),
        text="Hello",
    ),
    case("arguments that are a list", call('["a"]', index=0, id="c1", name="look"), *END),
    case("arguments that are a text", call('"a"', index=0, id="c1", name="look"), *END),
    case(
        "arguments encoded twice",
        call(json.dumps('{"at": "a"}'), index=0, id="c1", name="look"),
        *END,
    ),
    case("arguments that are no number", call('{"at": NaN}', index=0, id="c1", name="look"), *END),
    case("arguments too deep", call("[" * 9000, index=0, id="c1", name="look"), *END),
    case("arguments of the wrong type", call('{"at": {}}', index=0, id="c1", name="look"), *END),
    case("an unknown tool", call("{}", index=0, id="c1", name="launch"), *END),
    case("a name that is none", call("{}", index=0, id="c1", name="look at: it!"), *END),
    case(
        "a sound call beside a broken one",
        call('{"at": "a', index=0, id="c1", name="look"),
        SECOND,
        *END,
        runs=[B],
    ),
    Case("reset after a whole call", (*sse(WHOLE), Cut()), breaks=True),
    Case("reset after some text", (*sse(chunk({"content": "Half"})), Cut()), breaks=True),
    Case("an error event after a call", sse(WHOLE, {"error": {"message": "boom"}}), breaks=True),
    Case("JSON cut in the stream", (*sse(WHOLE), b'data: {"choices": [\n\n'), breaks=True),
    Case("no stream at all", (b"<html></html>",), breaks=True),
]


@pytest.mark.parametrize("given", CASES, ids=lambda given: given.name)
def test_no_wrong_call_runs_and_the_transcript_stays_valid(given: Case) -> None:
    ran: list[Run] = []
    log = transcripts.off_the_record()

    def look(at: str = "") -> str:
        """Look around."""
        ran.append(("look", {"at": at}))
        return f"nothing at {at}"

    def leap() -> str:
        """Leap."""
        ran.append(("leap", {}))
        return "leapt"

    def prompt(specs: Sequence[ToolSpec]) -> list[Message]:
        return [Message("system", "Be brief."), *messages(group(log.entries))]

    with Provider(Raw(given.parts), respond=lambda _: "Done.") as provider:
        model = LitellmModel(ModelSettings(name="openai/test", api_base=provider.url))
        agent = Agent(model, prompt, Toolbox([tool(look), tool(leap)]), log)
        log.append(UserEntry("Where is it?"))
        broke = False
        try:
            for _ in run_turn(agent):
                pass
        except ModelError:
            broke = True
            log.settle("broken off")
        assert (broke, ran) == (given.breaks, list(given.runs))
        assert faults(messages(group(log.entries))) == []
        assert given.text in "".join(message.content for message in messages(group(log.entries)))
        log.append(UserEntry("And now?"))
        assert list(run_turn(agent))
        assert [fault for request in provider.requests for fault in wire_faults(request.body)] == []
        assert faults(messages(group(log.entries))) == []


def test_there_are_enough_of_them() -> None:
    assert len({given.name for given in CASES}) == len(CASES) >= 30


def test_the_validator_finds_what_providers_refuse() -> None:
    asked = Message("user", "hi")
    called = Message("assistant", "", (_call("c1"),))
    answered = Message("tool", "x", tool_call_id="c1")
    sound = [Message("system", "s"), asked, called, answered, Message("assistant", "ok")]
    assert faults(sound) == []
    assert faults([called, answered]) == ["the conversation begins with assistant"]
    assert "without an answer at the end" in faults([asked, called])[0]
    assert "without an answer before message 2" in faults([asked, called, asked])[0]
    assert "answers no open call" in faults([asked, answered])[0]
    assert "uses the id c1 again" in faults([*sound[1:4], called, answered])[-1]
    assert faults([asked, Message("assistant", " ")]) == ["message 1 says nothing"]
    assert "cannot be sent" in faults([Message("user", "\ud83d")])[0]
    assert "has the name" in faults([asked, Message("assistant", "", (_call("c1", "a b"),))])[0]


def _call(identity: str, name: str = "look") -> ToolCall:
    return ToolCall(identity, name)
