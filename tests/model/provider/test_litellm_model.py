"""litellm over real HTTP: three wire formats, what is sent, what a stream becomes, and closing."""

import subprocess
import sys
from pathlib import Path

import pytest

from assistant.errors import ModelError, ModelFailure
from assistant.events import ReasoningDelta, TextDelta
from assistant.messages import Message, Picture, Reply, ToolCall, Usage
from assistant.model.base import Piece, ToolSpec
from assistant.model.provider.litellm_model import LitellmModel
from assistant.model.text_tools import as_text
from assistant.settings.sections import ModelSettings
from tests.support.provider import Pause, Provider, Raw, fails
from tests.support.wires import WIRES, chunk, sse

ASK = [Message("user", "Where is it?")]
LOOK = ToolSpec("look", "Look around.", {"type": "object", "properties": {"at": {}}})
CALLS = (ToolCall("c1", "look", {"at": "é ☃"}), ToolCall("c2", "look", {}))
NAMES = (
    "openai/test",
    "anthropic/claude-sonnet-4-5",
    "ollama/qwen3",
    "gemini/gemini-2.5-flash",
)
TOLD = Reply("Over there, I think.\n", "let me see", CALLS, Usage(100, 20, 40), "tool_calls")


def model(provider: Provider, name: str = "openai/test", **settings: object) -> LitellmModel:
    base = provider.url if name.startswith("openai/") else provider.root
    return LitellmModel(ModelSettings.model_validate({"name": name, "api_base": base, **settings}))


def reply(pieces: list[Piece]) -> Reply:
    last = pieces[-1]
    assert isinstance(last, Reply)
    return last


@pytest.mark.parametrize("name", NAMES)
def test_a_reply_comes_through_each_wire_format(provider: Provider, name: str) -> None:
    provider.enqueue(TOLD)
    pieces = list(model(provider, name).stream(ASK, [LOOK]))
    whole = reply(pieces)
    assert "".join(p.text for p in pieces if isinstance(p, TextDelta)) == TOLD.text == whole.text
    assert "".join(p.text for p in pieces if isinstance(p, ReasoningDelta)) == whole.reasoning
    assert [(call.name, call.arguments, call.fault) for call in whole.tool_calls] == [
        ("look", {"at": "é ☃"}, ""),
        ("look", {}, ""),
    ]
    assert (whole.usage.input_tokens, whole.usage.output_tokens) == (100, 20)
    assert not whole.usage.estimated
    assert whole.finish_reason == "tool_calls"


def test_text_is_yielded_while_the_stream_is_still_open(provider: Provider) -> None:
    pause = Pause()
    provider.enqueue(Raw((*sse(chunk({"content": "now"})), pause, *sse(chunk({}, "stop")))))
    stream = model(provider).stream(ASK)
    assert next(stream) == TextDelta("now")
    pause.until.set()
    assert reply(list(stream)).text == "now"


@pytest.mark.parametrize("name", NAMES)
def test_closing_the_stream_closes_the_connection(provider: Provider, name: str) -> None:
    whole = _encoded(name, Reply("one two three"))
    provider.enqueue(Raw((*whole[: len(whole) // 2 + 1], Pause())))
    stream = model(provider, name).stream(ASK)
    next(stream)
    assert provider.hang_ups == 0
    stream.close()
    assert provider.wait_for(lambda p: p.hang_ups == 1)


def _encoded(name: str, told: Reply) -> list[bytes]:
    paths = ("/chat/completions", "/messages", "/api/chat", ":streamGenerateContent")
    return list(WIRES[paths[NAMES.index(name)]](told))


def test_a_whole_exchange_is_sent_as_the_provider_wants_it(provider: Provider) -> None:
    provider.enqueue("Yes.")
    history = [
        Message("system", "Be brief."),
        *ASK,
        Message("assistant", "", (ToolCall("c1", "look", {"at": "☃"}),)),
        Message("tool", "a snowman", tool_call_id="c1"),
        Message("assistant", ""),
        Message("user", "Sure?"),
    ]
    list(model(provider, max_output_tokens=77).stream(history, [LOOK]))
    body = provider.requests[0].body
    assert provider.requests[0].roles == ["system", "user", "assistant", "tool", "user"]
    assert body["messages"][2]["tool_calls"][0] == {
        "id": "c1",
        "type": "function",
        "function": {"name": "look", "arguments": '{"at": "☃"}'},
    }
    assert body["messages"][3]["tool_call_id"] == "c1"
    assert body["tools"][0]["function"]["parameters"] == LOOK.parameters
    assert (body["model"], body["stream"], body["max_tokens"]) == ("test", True, 77)


def test_the_stable_prefix_is_marked_where_marks_are_taken(provider: Provider) -> None:
    marked = [Message("system", "rules", cache=True), *ASK]
    provider.enqueue("a", "b")
    list(model(provider, "anthropic/claude-sonnet-4-5").stream(marked))
    list(model(provider).stream(marked))
    first, second = provider.requests
    assert first.body["system"] == [
        {"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}}
    ]
    assert second.body["messages"][0] == {"role": "system", "content": "rules"}
    assert second.roles == ["system", "user"]


def test_where_a_server_counts_no_tokens_the_usage_is_an_estimate(provider: Provider) -> None:
    provider.enqueue('It says "usage": {} and no more.')
    usage = reply(list(model(provider).stream(ASK))).usage
    assert usage.estimated and usage.input_tokens > 0


def test_usage_counts_the_cached_part_and_has_a_price_where_one_is_known(
    provider: Provider,
) -> None:
    provider.enqueue(TOLD, TOLD)
    known = reply(list(model(provider, "openai/gpt-4o").stream(ASK))).usage
    unknown = reply(list(model(provider).stream(ASK))).usage
    assert known.cached_tokens == unknown.cached_tokens == 40
    assert known.cost == pytest.approx(60 * 2.5e-6 + 40 * 1.25e-6 + 20 * 10e-6)
    assert unknown.cost is None


def test_the_window_is_the_setting_else_what_is_known(provider: Provider) -> None:
    assert model(provider, "openai/gpt-4o").context_window == 128_000
    assert model(provider, "openai/gpt-4o", context_window=9000).context_window == 9000
    assert model(provider).context_window is None


def test_ollama_is_asked_for_a_window(provider: Provider) -> None:
    provider.enqueue("a", "b")
    list(model(provider, "ollama/qwen3").stream(ASK))
    list(model(provider, "ollama/qwen3", context_window=50_000).stream(ASK))
    windows = [request.body["options"]["num_ctx"] for request in provider.requests]
    assert windows == [32_000, 50_000]


def test_a_missing_key_is_named_before_anything_is_sent() -> None:
    lost = LitellmModel(ModelSettings(name="openrouter/some/model"))
    with pytest.raises(ModelError, match="OPENROUTER_API_KEY") as caught:
        next(lost.stream(ASK))
    assert caught.value.kind is ModelFailure.AUTH
    assert "assistant config set model.name" in caught.value.cure


@pytest.mark.parametrize("name", ["openai/test", "mistral/some", "deepseek/some", "xai/some"])
def test_an_empty_key_counts_as_none(
    name: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = f"{name.partition('/')[0].upper()}_API_KEY"
    monkeypatch.setenv(variable, "")
    with pytest.raises(ModelError, match=f"{variable} is not set"):
        list(LitellmModel(ModelSettings(name=name)).stream(ASK))
    monkeypatch.setenv(variable, "")
    provider.enqueue("a")
    list(model(provider, name).stream(ASK))
    assert len(provider.requests) == 1


def test_who_was_not_asked_is_not_said_to_have_refused(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "some")
    with pytest.raises(ModelError, match="was not asked") as caught:
        list(model(provider, "openai/test").stream(ASK))
    assert caught.value.kind is ModelFailure.AUTH and not provider.requests
    assert "(500)" not in caught.value.message


def test_the_key_comes_from_the_environment(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "usual")
    monkeypatch.setenv("OTHER_KEY", "other")
    provider.enqueue("a", "b")
    settings = ModelSettings(name="openai/test", api_base=provider.url)
    list(LitellmModel(settings).stream(ASK))
    list(LitellmModel(settings, api_key_env="OTHER_KEY").stream(ASK))
    sent = [request.headers["authorization"] for request in provider.requests]
    assert sent == ["Bearer usual", "Bearer other"]


def test_importing_and_calling_is_silent_and_stays_on_this_machine(
    provider: Provider, tmp_path: Path
) -> None:
    provider.enqueue("Hello.")
    (tmp_path / ".env").write_text("OPENAI_API_KEY=found-in-a-file\n", encoding="utf-8")
    script = f"""
import socket, sys
def only_here(address):
    assert address[0] in ("127.0.0.1", "::1", "localhost"), address
connect = socket.socket.connect
socket.socket.connect = lambda self, address: (only_here(address), connect(self, address))[1]
lookup = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **k: (only_here((host,)), lookup(host, *rest, **k))[1]
from assistant.model.provider.litellm_model import LitellmModel
from assistant.settings.sections import ModelSettings
from assistant.messages import Message
assert "litellm" not in sys.modules
model = LitellmModel(ModelSettings(name="openai/test", api_base={provider.url!r}))
*_, reply = model.stream([Message("user", "hi")])
assert reply.text == "Hello."
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=600
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert provider.requests[0].headers["authorization"] == "Bearer none"


@pytest.mark.slow
def test_after_the_warm_up_the_first_call_imports_no_more_of_litellm(provider: Provider) -> None:
    provider.enqueue("Hello.")
    script = f"""
import gc, sys
from assistant.model.provider.litellm_model import warm_up
from assistant.model.provider.litellm_model import LitellmModel
from assistant.settings.sections import ModelSettings
from assistant.messages import Message
from assistant.model.base import ToolSpec
warm_up()
assert gc.isenabled()
before = set(sys.modules)
next(LitellmModel(ModelSettings(name="openai/test", api_base={provider.url!r})).stream(
    [Message("user", "hi")], [ToolSpec("look", "Look around.", {{"type": "object"}})]
))
late = set(sys.modules) - before
print(sum(name.startswith(("litellm.", "openai.", "mcp.")) for name in late))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 40  # of 400


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_sent_in_each_wire_format(provider: Provider, name: str) -> None:
    shown = [
        Message("user", "What is it?", pictures=(Picture("0.jpg", 8, 8, b"data"),), cache=True)
    ]
    provider.enqueue("A cat.")
    list(model(provider, name, sees=True).stream(shown))
    body, data = provider.requests[0].body, "ZGF0YQ=="
    match name.partition("/")[0]:
        case "openai":
            image, text = body["messages"][0]["content"]
            assert image["image_url"]["url"] == f"data:image/jpeg;base64,{data}"
        case "anthropic":
            image, text = body["messages"][0]["content"]
            assert image["source"] == {"type": "base64", "media_type": "image/jpeg", "data": data}
            assert text["cache_control"] == {"type": "ephemeral"}
        case "gemini":
            image, text = body["contents"][0]["parts"]
            assert image["inline_data"] == {"mime_type": "image/jpeg", "data": data}
        case _:
            text = {"text": body["messages"][0]["content"]}
            assert body["messages"][0]["images"] == [data]
    assert text["text"] == "What is it?"


SIGNED = ({"type": "thinking", "thinking": "Hm.", "signature": "s"},)
SHOWN = (Picture("0.png", 8, 8, b"data", returned=True),)
TAKEN = [
    Message("user", "What do you see?"),
    Message("assistant", "", CALLS[:1], signed=SIGNED),
    Message("tool", "Taken.", tool_call_id="c1"),
    Message("user", "[Picture 1 of look]", pictures=SHOWN),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_of_a_tool_follows_its_result_in_each_wire_format(
    provider: Provider, name: str
) -> None:
    provider.enqueue("A cat.")
    list(model(provider, name, sees=True, effort="low").stream(TAKEN, [LOOK]))
    body, data = provider.requests[0].body, "ZGF0YQ=="
    match name.partition("/")[0]:
        case "openai":
            result, shown = body["messages"][-2:]
            assert (result["role"], result["content"]) == ("tool", "Taken.")
            assert shown["content"][0]["image_url"]["url"] == f"data:image/png;base64,{data}"
        case "anthropic":
            _, answer, message = body["messages"]
            result, image, text = message["content"]
            assert answer["content"][0]["type"] == "thinking"  # the turn goes on
            assert (result["type"], image["source"]["data"]) == ("tool_result", data)
            assert text["text"] == "[Picture 1 of look]"
        case "gemini":
            parts = [part for content in body["contents"][2:] for part in content["parts"]]
            assert "function_response" in parts[0] and parts[1]["inline_data"]["data"] == data
        case _:
            result, shown = body["messages"][-2:]
            assert (result["role"], shown["images"]) == ("tool", [data])


@pytest.mark.parametrize("tool_format", ["native", "text"])
def test_a_turn_goes_on_where_its_model_cannot_see_what_a_tool_shows(
    provider: Provider, tool_format: str
) -> None:
    provider.enqueue(fails(400, "image input is not supported"), "I cannot see it.")
    talker = model(provider)
    sent = TAKEN if tool_format == "native" else as_text(TAKEN, [LOOK])
    assert reply(list(talker.stream(sent))).text == "I cannot see it."
    assert "1 cannot be shown to you" in provider.requests[1].body["messages"][-1]["content"]
    assert not talker.sees


def test_a_model_that_turns_out_to_see_nothing_goes_on_without_the_pictures(
    provider: Provider,
) -> None:
    shown = Message("user", "What is it?", pictures=(Picture("0.png", 8, 8, b"data"),))
    provider.enqueue(fails(400, "image input is not supported"))
    talker = model(provider)
    assert talker.sees
    with pytest.raises(ModelError, match="openai/test does not accept images"):
        list(talker.stream([shown]))
    assert not talker.sees
    again = model(provider)
    provider.enqueue(fails(400, "test is not a multimodal model"), "Hello.")
    later = [shown, Message("assistant", "?"), Message("user", "never mind")]
    assert reply(list(again.stream(later))).text == "Hello."
    said = provider.requests[-1].body["messages"][0]["content"]
    assert said.startswith("What is it?\n[Of the pictures named above 1 cannot be shown")
    assert model(provider, "openai/gpt-4o").sees
    assert not model(provider, "openai/gpt-3.5-turbo").sees
    assert model(provider, "openai/gpt-3.5-turbo", sees=True).sees
