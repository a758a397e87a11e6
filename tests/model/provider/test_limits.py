"""Answers that never begin, never end, or are endless, over real HTTP."""

import contextlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from assistant.errors import ModelError, ModelFailure
from assistant.events import TextDelta
from assistant.messages import Message
from assistant.model.base import Piece
from assistant.model.provider.litellm_model import LitellmModel
from assistant.settings.sections import ModelSettings
from tests.support.provider import Drip, Pause, Provider, Raw
from tests.support.wires import chunk, named, sse

ASK = [Message("user", "Hello?")]
PING = named({"type": "ping"})
WIRES = {
    "openai/test": b": keep-alive\n\n",
    "openrouter/some/one": b": OPENROUTER PROCESSING\n\n",
    "anthropic/claude-sonnet-4-5": PING,
    "gemini/gemini-2.5-flash": b": wait\r\n\r\n",
    "deepseek/deepseek-chat": b": keep-alive\n\n",
    "ollama_chat/qwen3": b"\n",
}
"""How each provider keeps a stream alive."""


def model(
    provider: Provider, name: str = "openai/test", *, local: bool = False, **settings: float
) -> LitellmModel:
    slash = ("openai", "openrouter", "deepseek")
    base = provider.url if name.startswith(slash) else provider.root
    base = base if local else base.replace("127.0.0.1", "127.1")  # which is not known to be local
    return LitellmModel(ModelSettings.model_validate({"name": name, "api_base": base, **settings}))


def failure(asked: LitellmModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        list(asked.stream(ASK))
    return caught.value


def failure_saying(
    words: str, provider: Provider, answer: Raw, seconds: float
) -> tuple[ModelError, list[Piece]]:
    """How an answer fails, and what came of it, under the shortest limit that its first word
    keeps: a busy machine may take longer for that."""
    for each in (seconds, 10 * seconds, 100 * seconds):
        provider.enqueue(answer)
        pieces: list[Piece] = []
        with pytest.raises(ModelError) as caught:
            for piece in model(provider, timeout_seconds=each).stream(ASK):
                pieces.append(piece)
        if words in caught.value.message:
            break
    return caught.value, pieces


@pytest.mark.parametrize("name", WIRES)
def test_keep_alives_alone_end_at_the_limit_for_the_first_word(
    provider: Provider, name: str
) -> None:
    provider.enqueue(Raw((Drip(WIRES[name]),)))
    error = failure(model(provider, name, timeout_seconds=0.12))
    assert error.kind is ModelFailure.TIMEOUT
    assert "model.timeout_seconds" in error.cure
    assert provider.wait_for(lambda p: p.hang_ups == 1)


@pytest.mark.parametrize("name", ["openai/test", "anthropic/claude-sonnet-4-5"])
def test_a_byte_at_a_time_ends_there_too(provider: Provider, name: str) -> None:
    provider.enqueue(Raw((Drip(b"d"),)))
    error = failure(model(provider, name, timeout_seconds=0.12))
    assert error.kind is ModelFailure.TIMEOUT and "did not begin" in error.message
    assert provider.wait_for(lambda p: p.hang_ups == 1)


@pytest.mark.parametrize("parts", [(Pause(),), (b": keep-alive\n\n", Pause())])
def test_silence_ends_there_too(provider: Provider, parts: tuple[bytes | Pause, ...]) -> None:
    provider.enqueue(Raw(parts))
    error = failure(model(provider, timeout_seconds=0.12))
    assert error.kind is ModelFailure.TIMEOUT


def test_a_model_on_this_machine_reads_a_long_prompt_for_as_long_as_it_takes(
    provider: Provider,
) -> None:
    def answered(seconds: float) -> Sequence[Piece]:
        ready = Pause()
        provider.enqueue(Raw((b": reading\n\n", ready, *sse(chunk({"content": "x"}, "stop")))))
        asked = model(provider, local=True, timeout_seconds=seconds)
        with ThreadPoolExecutor(1) as pool, contextlib.suppress(ModelError):
            answer = pool.submit(lambda: list(asked.stream(ASK)))
            with pytest.raises(TimeoutError):
                answer.result(timeout=6 * seconds)
            ready.until.set()
            return answer.result()
        return ()  # a busy machine may be too slow for the limit of the whole

    assert any(TextDelta("x") in answered(seconds) for seconds in (0.1, 1.0, 5.0))


def test_an_answer_that_goes_on_for_ever_ends_at_the_limit_of_the_whole(
    provider: Provider,
) -> None:
    answer = Raw((Drip(sse(chunk({"content": "more "}))[0]),))
    error, pieces = failure_saying("did not finish its answer", provider, answer, 0.05)
    assert pieces and all(piece == TextDelta("more ") for piece in pieces)
    assert "did not finish its answer" in error.message
    assert error.kind is ModelFailure.TIMEOUT
    assert provider.wait_for(lambda p: p.hang_ups == len(p.requests))


@pytest.mark.parametrize(
    "delta", [{"content": "x"}, {"reasoning_content": "x"}, {"tool_calls": [{"index": 0}]}]
)
def test_a_first_word_is_text_a_thought_or_a_call(
    provider: Provider, delta: dict[str, object]
) -> None:
    if "tool_calls" in delta:
        function = {"name": "look", "arguments": "x"}
        delta = {"tool_calls": [{"index": 0, "id": "c1", "function": function}]}
    answer = Raw((*sse(chunk(delta)), Pause(), *sse(chunk({}, "stop"))))
    error, _ = failure_saying("stopped responding", provider, answer, 0.3)
    assert "stopped responding" in error.message


@pytest.mark.parametrize(
    "parts",
    [
        (b'data: {"choices": [{"index": 0, "delta": {"content": "', Drip(b"x" * 1_000_000, 0.0)),
        (b'{"choices": [{"message": {"content": "', Drip(b"x" * 1_000_000, 0.0)),
        pytest.param(
            (Drip((b": keep-alive" * 1_000 + b"\n\n") * 80, 0.0),), marks=pytest.mark.slow
        ),
        pytest.param(
            (Drip(sse(chunk({"reasoning_content": "hm " * 200_000}))[0], 0.0),),
            marks=pytest.mark.slow,
        ),
        (Drip(sse(chunk({"content": "word " * 200_000}))[0], 0.0),),
    ],
    ids=["one event", "not a stream", "keep-alives", "thoughts", "text"],
)
def test_an_answer_of_endless_data_is_ended_and_the_connection_closed(
    provider: Provider, parts: tuple[bytes | Drip, ...]
) -> None:
    provider.enqueue(Raw(parts))
    error = failure(model(provider))
    assert error.kind is ModelFailure.PROTOCOL
    assert "too much data" in error.message
    assert provider.wait_for(lambda p: p.hang_ups == 1)
