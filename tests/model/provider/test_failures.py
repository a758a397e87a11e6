"""Each way a provider fails, by a real server that fails so: one line, its kind and its cure."""

import json

import pytest

from assistant.errors import ModelError, ModelFailure
from assistant.messages import Message
from assistant.model.provider.failures import retry_after
from assistant.model.provider.litellm_model import LitellmModel
from assistant.settings.sections import ModelSettings
from tests.support.provider import Cut, Pause, Provider, Raw, Step, fails
from tests.support.wires import chunk, named, sse

ASK = [Message("user", "Where is it?")]
GPT = "openai/gpt-4o"
WIRES = ("openai/gpt-4o", "anthropic/claude-sonnet-4-5", "ollama_chat/qwen3", "openrouter/some/one")


def failure(name: str, step: Step, timeout: float = 60.0) -> ModelError:
    with Provider(step) as provider:
        base = provider.root if name.startswith(("anthropic", "ollama", "gemini")) else provider.url
        settings = ModelSettings.model_validate(
            {"name": name, "api_base": base, "timeout_seconds": timeout}
        )
        with pytest.raises(ModelError) as caught:
            list(LitellmModel(settings).stream(ASK))
        assert len(provider.requests) == 1, "litellm must not retry by itself"
    return caught.value


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ModelFailure.BAD_REQUEST),
        (401, ModelFailure.AUTH),
        (402, ModelFailure.BILLING),
        (403, ModelFailure.AUTH),
        (404, ModelFailure.NOT_FOUND),
        (408, ModelFailure.TIMEOUT),
        (413, ModelFailure.OVERFLOW),
        (422, ModelFailure.BAD_REQUEST),
        (429, ModelFailure.RATE_LIMIT),
        (500, ModelFailure.SERVER),
        (502, ModelFailure.SERVER),
        (503, ModelFailure.SERVER),
        (504, ModelFailure.TIMEOUT),
        (529, ModelFailure.SERVER),
    ],
)
def test_a_status_decides(name: str, status: int, kind: ModelFailure) -> None:
    error = failure(name, fails(status, "told you so."))
    assert error.kind is kind
    assert "\n" not in str(error) and "litellm" not in str(error)
    assert kind is ModelFailure.TIMEOUT or "told you so" in error.message
    assert error.cure


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_named_and_not_followed(
    name: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-the-owner")
    with Provider(respond=lambda request: "Hello!") as elsewhere:
        target = f"{elsewhere.root}/v1/chat/completions"
        error = failure(name, Raw((b"moved",), status, {"Location": target}, "text/plain"))
        assert elsewhere.visits == []
    assert error.kind is ModelFailure.NOT_FOUND
    assert target in error.message and "model.api_base" in error.cure


@pytest.mark.parametrize("name", WIRES)
def test_the_providers_wish_is_passed_on(name: str) -> None:
    error = failure(name, fails(429, "slow down", headers={"Retry-After": "7"}))
    assert error.retry_after == 7
    assert error.cure == "Try again in 7 s"


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>Bad gateway</html>", "it is a web page"),
        (b"", "no reason given"),
        (b"upstream is away", "upstream is away"),
    ],
)
def test_an_error_that_is_no_json_is_told_without_wrapping(
    name: str, body: bytes, words: str
) -> None:
    message = failure(name, Raw((body,), 502, content_type="text/plain")).message
    assert message.endswith(f"failed (502): {words}")


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (400, "This model's maximum context length is 8192 tokens.", ModelFailure.OVERFLOW),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", ModelFailure.OVERFLOW),
        (400, "input length and `max_tokens` exceed context limit", ModelFailure.OVERFLOW),
        (400, "the request exceeds the available context size", ModelFailure.OVERFLOW),
        (429, "Request too large for gpt-4o on tokens per min", ModelFailure.OVERFLOW),
        (429, "You exceeded your current quota, check your plan", ModelFailure.BILLING),
        (400, "Your credit balance is too low to access the API", ModelFailure.BILLING),
        (400, "The model `gpt-99` does not exist", ModelFailure.NOT_FOUND),
        (429, "Rate limit reached for requests", ModelFailure.RATE_LIMIT),
        (500, "context canceled", ModelFailure.SERVER),
    ],
)
def test_the_words_decide_where_the_status_says_too_little(
    status: int, words: str, kind: ModelFailure
) -> None:
    assert failure("openai/gpt-4o", fails(status, words)).kind is kind
    assert failure("anthropic/claude-sonnet-4-5", fails(status, words)).kind is kind


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens",
        "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        "greater than the context length (n_keep: 5000>= n_ctx: 4096). Try a larger one",
        "prompt is too long: 5000 tokens > 4096 maximum",
    ],
)
def test_a_window_that_the_server_tells_is_believed(words: str) -> None:
    with Provider(fails(400, words)) as provider:
        model = LitellmModel(ModelSettings(name="openai/test", api_base=provider.url))
        with pytest.raises(ModelError):
            list(model.stream(ASK))
    assert model.context_window == 4096


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ((*sse(chunk({"content": "half"})), Pause()), ModelFailure.TIMEOUT),
        ((*sse(chunk({"content": "half"})), Cut()), ModelFailure.CONNECTION),
        ((Cut(),), ModelFailure.CONNECTION),
        ((*sse(chunk({"content": "half"})), b'data: {"cho\n\n'), ModelFailure.PROTOCOL),
        ((b"<html>Welcome</html>",), ModelFailure.PROTOCOL),
        ((), ModelFailure.CONNECTION),
        ((b": keep-alive\n\n", *sse(chunk({"role": "assistant"}))), ModelFailure.CONNECTION),
        (sse(chunk({"reasoning_content": "hm"})), ModelFailure.CONNECTION),
        (sse({"error": {"message": "Overloaded", "code": 500}}), ModelFailure.SERVER),
    ],
    ids=[
        *("stall", "reset", "reset at once", "cut JSON", "a web page", "nothing", "keep-alives"),
        *("thoughts alone", "error event"),
    ],
)
def test_a_stream_that_breaks(parts: tuple[bytes | Pause | Cut, ...], kind: ModelFailure) -> None:
    timeout = 0.3 if kind is ModelFailure.TIMEOUT else 60.0
    assert failure("openai/gpt-4o", Raw(parts), timeout).kind is kind


TOLD = {"message": "Told you so"}
ANTHROPIC = {"type": "error", "error": {"type": "overloaded_error", **TOLD}}
OPENROUTER = chunk({"content": ""}, "error") | {"error": {"code": 502, **TOLD}}
GEMINI = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", **TOLD}}


@pytest.mark.parametrize(
    ("name", "parts", "kind"),
    [
        (GPT, sse({"error": {"code": 429, **TOLD}}), ModelFailure.RATE_LIMIT),
        (GPT, sse({"error": {"code": "502", **TOLD}}), ModelFailure.SERVER),
        (GPT, sse({"error": "Told you so"}), ModelFailure.SERVER),
        (GPT, sse({"error": {"type": "insufficient_quota", **TOLD}}), ModelFailure.BILLING),
        (GPT, sse({"error": {"code": "invalid_api_key", **TOLD}}), ModelFailure.AUTH),
        (GPT, sse({"object": "error", "code": 400, **TOLD}), ModelFailure.BAD_REQUEST),
        (GPT, (b"event: error\n" + sse({"error": TOLD})[0],), ModelFailure.SERVER),
        (GPT, (b"event: error\n" + sse({"code": 429, **TOLD})[0],), ModelFailure.RATE_LIMIT),
        (GPT, (b"event: error\ndata: Told you so\n\n",), ModelFailure.SERVER),
        (GPT, sse({"choices": [{"error": {"code": 503, **TOLD}}]}), ModelFailure.SERVER),
        (GPT, (json.dumps({"error": {"code": 503, **TOLD}}).encode(),), ModelFailure.SERVER),
        ("openrouter/some/one", sse(OPENROUTER), ModelFailure.SERVER),
        ("anthropic/claude-sonnet-4-5", (named(ANTHROPIC),), ModelFailure.SERVER),
        ("ollama_chat/qwen3", (b'{"error": "Told you so"}\n',), ModelFailure.SERVER),
        ("gemini/gemini-2.5-flash", sse(GEMINI), ModelFailure.RATE_LIMIT),
    ],
)
@pytest.mark.parametrize("started", [False, True])
def test_an_error_in_a_stream_is_told_in_the_providers_words(
    name: str, parts: tuple[bytes, ...], kind: ModelFailure, started: bool
) -> None:
    before = sse(chunk({"content": "half"})) if started and name == GPT else ()
    error = failure(name, Raw((*before, *parts), content_type="text/plain"))
    assert error.kind is kind
    assert "Told you so" in error.message and "litellm" not in str(error)


@pytest.mark.parametrize("name", WIRES)
def test_a_refused_connection_says_what_to_start(name: str) -> None:
    with Provider() as gone:
        base = gone.root
    with pytest.raises(ModelError) as caught:
        list(LitellmModel(ModelSettings(name=name, api_base=base)).stream(ASK))
    assert caught.value.kind is ModelFailure.CONNECTION
    assert base in caught.value.message
    assert ("ollama serve" in caught.value.cure) is name.startswith("ollama")


def test_an_ollama_model_that_is_not_there_says_how_to_fetch_it() -> None:
    body = b'{"error":"model \'qwen3\' not found"}'
    error = failure("ollama_chat/qwen3", Raw((body,), 404, content_type="application/json"))
    assert error.kind is ModelFailure.NOT_FOUND
    assert "ollama pull qwen3" in error.cure


@pytest.mark.parametrize("name", ["some/thing", "gpt-99", "qwen3"])
def test_an_unknown_provider_says_how_to_name_one(name: str) -> None:
    with pytest.raises(ModelError) as caught:
        next(LitellmModel(ModelSettings(name=name)).stream(ASK))
    assert caught.value.kind is ModelFailure.NOT_FOUND
    assert str(caught.value) == (
        f"{name!r} does not name a known provider. "
        "Name it as provider/model: `assistant config set model.name ollama_chat/qwen3`"
    )


def test_retry_after_is_seconds() -> None:
    assert retry_after({"Retry-After": "2.5"}) == 2.5
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({"retry-after": "inf"}) is None
    assert retry_after({}) is None
