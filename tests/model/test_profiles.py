"""Retries, cooldowns and fallbacks, with a clock of the test's own, and once over real HTTP."""

import pytest

from assistant.errors import ModelError, ModelFailure
from assistant.events import ReasoningDelta, Retrying, TextDelta
from assistant.messages import Message, Reply
from assistant.model.base import ChatModel, Piece
from assistant.model.profiles import LONGEST_COOLDOWN, PATIENCE, ProfiledModel
from assistant.model.provider.litellm_model import LitellmModel
from assistant.settings.sections import ModelSettings
from tests.support.provider import Cut, Provider, Raw, fails
from tests.support.scripted import ScriptedModel
from tests.support.wires import chunk, sse

ASK = [Message("user", "Hello?")]
HEALING = [
    ModelFailure.RATE_LIMIT,
    ModelFailure.SERVER,
    ModelFailure.TIMEOUT,
    ModelFailure.CONNECTION,
]
LASTING = [
    ModelFailure.AUTH,
    ModelFailure.BILLING,
    ModelFailure.NOT_FOUND,
    ModelFailure.BAD_REQUEST,
    ModelFailure.PROTOCOL,
]


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def failed(kind: ModelFailure, after: float | None = None) -> ModelError:
    return ModelError(f"it was {kind}", "Do it.", kind=kind, retry_after=after)


def profiled(clock: Clock, *models: ChatModel, **more: float) -> ProfiledModel:
    return ProfiledModel(models, clock=clock, sleep=clock.sleep, **more)


def texts(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))


@pytest.mark.parametrize("kind", HEALING)
def test_what_heals_is_tried_again_after_a_doubling_cooldown(kind: ModelFailure) -> None:
    clock, error = Clock(), failed(kind)
    model = ScriptedModel(error, error, error, "here", name="m")
    pieces = list(profiled(clock, model).stream(ASK))
    assert [piece for piece in pieces if isinstance(piece, Retrying)] == [
        Retrying("m", f"it was {kind}", 1.0, 1),
        Retrying("m", f"it was {kind}", 2.0, 2),
        Retrying("m", f"it was {kind}", 4.0, 3),
    ]
    assert clock.slept == [1, 2, 4]
    assert pieces[-1] == Reply("here")


@pytest.mark.parametrize(
    ("patience", "slept"),
    [(PATIENCE, [1, 2, 4, 8, 16, 32]), (600.0, [1, 2, 4, 8, 16, 32, *[60] * 8])],
)
def test_it_is_tried_for_as_long_as_is_set(patience: float, slept: list[int]) -> None:
    clock, error = Clock(), failed(ModelFailure.SERVER)
    model = ScriptedModel(respond=lambda *_: error)
    with pytest.raises(ModelError) as caught:
        list(profiled(clock, model, patience=patience).stream(ASK))
    assert caught.value is error
    assert (clock.slept, len(model.requests)) == (slept, len(slept) + 1)


def test_a_turn_that_stops_during_the_wait_sends_nothing_and_the_next_one_at_once() -> None:
    clock = Clock()
    model = ScriptedModel(failed(ModelFailure.RATE_LIMIT, after=50.0), "here")
    profiles = profiled(clock, model)
    stream = profiles.stream(ASK)
    assert isinstance(next(stream), Retrying)
    profiles.try_now()  # while `next` waits
    next(stream)
    stream.close()
    assert len(model.requests) == 1
    clock.now, slept = 100.0, list(clock.slept)
    assert list(profiles.stream(ASK))[-1] == Reply("here")
    assert clock.slept in (slept, [*slept, 0.0])


def test_without_patience_it_is_tried_once() -> None:
    clock, model = Clock(), ScriptedModel(failed(ModelFailure.SERVER), "never")
    with pytest.raises(ModelError):
        list(profiled(clock, model, patience=0).stream(ASK))
    assert (clock.slept, len(model.requests)) == ([], 1)


def test_a_server_here_where_nothing_listens_is_soon_given_up() -> None:
    clock = Clock()
    error = ModelError("nobody", kind=ModelFailure.CONNECTION, unserved=True)
    with pytest.raises(ModelError):
        list(profiled(clock, ScriptedModel(respond=lambda *_: error)).stream(ASK))
    assert clock.slept == [1, 2, 4]


@pytest.mark.parametrize("kind", LASTING)
def test_what_does_not_heal_goes_straight_to_the_next(kind: ModelFailure) -> None:
    clock = Clock()
    first, second = ScriptedModel(failed(kind), name="a"), ScriptedModel("here", name="b")
    model = profiled(clock, first, second)
    pieces = list(model.stream(ASK))
    assert pieces[0] == Retrying("b", f"it was {kind}", 0, 1)
    assert (texts(pieces), model.name, len(first.requests)) == ("here", "b", 1)
    assert clock.slept == [0]


def test_a_ready_profile_is_preferred_to_waiting() -> None:
    clock = Clock()
    first = ScriptedModel(failed(ModelFailure.RATE_LIMIT, 30), "late", name="a")
    second = ScriptedModel("here", "here again", "and again", name="b")
    model = profiled(clock, first, second)
    assert texts(list(model.stream(ASK))) == "here"
    clock.now += 29
    pieces = list(model.stream(ASK))
    assert pieces[0] == Retrying("b", "it was rate_limit, and is skipped for 1 s more", 0, 0)
    assert texts(pieces) == "here again"
    assert texts(list(model.stream([*ASK, Message("tool", "x", tool_call_id="c")]))) == "and again"
    clock.now += 1
    assert texts(list(model.stream(ASK))) == "late"
    assert clock.slept == [0]


def test_when_all_cool_down_the_soonest_is_waited_for() -> None:
    clock = Clock()
    first = ScriptedModel(failed(ModelFailure.RATE_LIMIT, 9), name="a")
    second = ScriptedModel(failed(ModelFailure.SERVER), "here", name="b")
    pieces = list(profiled(clock, first, second).stream(ASK))
    assert texts(pieces) == "here"
    assert clock.slept == [0, 1]


def test_a_wait_too_long_is_an_error_that_names_it() -> None:
    clock = Clock()
    model = profiled(clock, ScriptedModel(failed(ModelFailure.RATE_LIMIT, 300)), patience=150)
    with pytest.raises(ModelError) as caught:
        list(model.stream(ASK))
    assert (caught.value.cure, clock.slept) == ("Try again in 300 s", [])
    clock.now += 100
    with pytest.raises(ModelError, match="Try again in 200 s"):
        list(model.stream(ASK))


def test_after_the_first_piece_there_is_no_other_try() -> None:
    clock = Clock()
    script: list[Piece | ModelError] = [TextDelta("half"), failed(ModelFailure.SERVER)]
    second = ScriptedModel("never")
    stream = profiled(clock, ScriptedModel(script), second).stream(ASK)
    assert next(stream) == TextDelta("half")
    with pytest.raises(ModelError, match="it was server"):
        next(stream)
    assert second.requests == []


@pytest.mark.parametrize("kind", [ModelFailure.CONNECTION, ModelFailure.TIMEOUT])
def test_a_break_while_it_thinks_is_no_beginning(kind: ModelFailure) -> None:
    clock = Clock()
    thinks: list[Piece | ModelError] = [ReasoningDelta("hm"), TextDelta("\n"), failed(kind)]
    pieces = list(profiled(clock, ScriptedModel(thinks, "here")).stream(ASK))
    assert texts(pieces).strip() == "here"
    other = ScriptedModel("there", name="b")
    pieces = list(profiled(clock, ScriptedModel(thinks), other).stream(ASK))
    assert texts(pieces).strip() == "there"


def test_overflow_is_raised_at_once_and_counts_against_nobody() -> None:
    clock = Clock()
    first = ScriptedModel(failed(ModelFailure.OVERFLOW), "shorter")
    second = ScriptedModel("never")
    model = profiled(clock, first, second)
    with pytest.raises(ModelError, match="overflow"):
        list(model.stream(ASK))
    assert texts(list(model.stream(ASK))) == "shorter"


def test_what_is_too_long_goes_to_the_next_larger_window() -> None:
    clock, too_long = Clock(), failed(ModelFailure.OVERFLOW)
    small = ScriptedModel(too_long, "short", context_window=8_000)
    same = ScriptedModel(context_window=8_000)
    large = ScriptedModel("here", context_window=100_000)
    model = profiled(clock, small, same, large)
    assert texts(list(model.stream(ASK))) == "here"
    assert model.context_window == 100_000
    assert texts(list(model.stream([Message("user", "Hm?")]))) == "short"
    assert (len(small.requests), len(same.requests), clock.slept) == (2, 0, [0])


def test_when_the_larger_cannot_be_had_it_is_still_too_long() -> None:
    small = ScriptedModel(failed(ModelFailure.OVERFLOW), context_window=8_000)
    large = ScriptedModel(failed(ModelFailure.AUTH), context_window=100_000)
    with pytest.raises(ModelError) as caught:
        list(profiled(Clock(), small, large).stream(ASK))
    assert caught.value.kind is ModelFailure.OVERFLOW


def test_when_nobody_answers_the_first_reason_is_given() -> None:
    clock = Clock()
    model = profiled(
        clock,
        ScriptedModel(failed(ModelFailure.AUTH)),
        ScriptedModel(failed(ModelFailure.BILLING)),
    )
    with pytest.raises(ModelError, match="none of the 2 models answered; the first: it was auth"):
        list(model.stream(ASK))


def test_a_key_set_right_is_tried_at_once() -> None:
    clock = Clock()
    model = profiled(clock, ScriptedModel(failed(ModelFailure.AUTH), "here"))
    with pytest.raises(ModelError):
        list(model.stream(ASK))
    assert texts(list(model.stream(ASK))) == "here"
    assert clock.slept == []


def test_closing_closes_the_profiles_stream() -> None:
    inner = ScriptedModel("one two three")
    stream = profiled(Clock(), inner).stream(ASK)
    next(stream)
    stream.close()
    assert inner.cancelled == 1


def test_over_http_a_broken_provider_gives_way_to_the_next() -> None:
    clock = Clock()
    broken = (fails(503), fails(401), Raw((Cut(),)))
    with Provider(*broken) as first, Provider("one", "two", "three") as second:
        model = profiled(clock, *(_model(provider) for provider in (first, second)))
        answers = []
        for _ in range(3):
            answers.append(texts(list(model.stream(ASK))))
            clock.now += LONGEST_COOLDOWN
        assert answers == ["one", "two", "three"]
        assert (len(first.requests), len(second.requests)) == (3, 3)


def test_over_http_a_half_shown_answer_is_not_begun_again() -> None:
    half = Raw((*sse(chunk({"content": "half"})), Cut()))
    with Provider(half) as first, Provider("never") as second:
        stream = profiled(Clock(), _model(first), _model(second)).stream(ASK)
        assert next(stream) == TextDelta("half")
        with pytest.raises(ModelError) as caught:
            list(stream)
        assert caught.value.kind is ModelFailure.CONNECTION
        assert second.requests == []


@pytest.mark.parametrize(
    "broken",
    [
        (*sse(chunk({"reasoning_content": "hm"})), Cut()),
        sse(chunk({"reasoning_content": "hm"})),
        (*sse(chunk({"role": "assistant"})), Cut()),
        sse(chunk({"role": "assistant"}), {"error": {"message": "Overloaded", "code": 503}}),
        (b": keep-alive\n\n",),
        (),
    ],
    ids=[
        "reset while thinking",
        "end while thinking",
        "reset",
        "an error",
        "keep-alives",
        "nothing",
    ],
)
@pytest.mark.parametrize("others", [0, 1])
def test_over_http_a_break_before_the_first_word_is_tried_again(
    broken: tuple[bytes | Cut, ...], others: int
) -> None:
    with Provider(Raw(broken), "one") as first, Provider("two") as second:
        models = [_model(provider) for provider in (first, second)][: 1 + others]
        pieces = list(profiled(Clock(), *models).stream(ASK))
    assert texts(pieces) == ("two" if others else "one")


def test_over_http_a_413_goes_to_a_larger_window() -> None:
    with Provider(fails(413)) as first, Provider("here") as second:
        models = (_model(first, context_window=8_000), _model(second, context_window=90_000))
        assert texts(list(profiled(Clock(), *models).stream(ASK))) == "here"


def _model(provider: Provider, **more: int) -> LitellmModel:
    settings = {"name": "openai/test", "api_base": provider.url, **more}
    return LitellmModel(ModelSettings.model_validate(settings))
