"""Thinking with tools: what was thought goes back where the provider demands it, over real HTTP.

The servers here are as strict as the providers: they refuse a history as those do.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from assistant.agent.loop import Agent, run_turn
from assistant.messages import Message, Reply, ToolCall
from assistant.model.base import ToolSpec
from assistant.model.provider.litellm_model import LitellmModel
from assistant.session import transcript
from assistant.session.entries import AssistantEntry, UserEntry
from assistant.session.history import group, messages
from assistant.settings.sections import ModelSettings
from assistant.tools.base import tool
from assistant.tools.toolbox import Toolbox
from tests.support.provider import Answer, Provider, Received, fails

Demand = Callable[[Sequence[dict[str, Any]]], str]
"""Why a server refuses these messages; empty if it takes them."""

CALL = ToolCall("c1", "look", {"at": "a"})
SIGNED = ({"type": "thinking", "thinking": "where is it", "signature": "sgn"},)
THOUGHT = Reply("", "where is it", (CALL,), finish_reason="tool_calls", signed=SIGNED)
UNTHOUGHT = Reply("", "", (CALL,), finish_reason="tool_calls")


def deepseek(said: Sequence[dict[str, Any]]) -> str:
    calls = [place for place, each in enumerate(said) if each.get("tool_calls")]
    bare = [place for place in calls if not said[place].get("reasoning_content")]
    if not bare:
        return ""
    return f"Missing `reasoning_content` field in the assistant message at message index {bare[0]}"


def kimi(said: Sequence[dict[str, Any]]) -> str:
    if deepseek(said):
        return (
            "thinking is enabled but reasoning_content is missing in assistant tool call "
            "message at index 2"
        )
    return ""


def deepseek_v4(said: Sequence[dict[str, Any]]) -> str:
    if any(each["role"] == "assistant" and not each.get("reasoning_content") for each in said):
        return "The `reasoning_content` in the thinking mode must be passed back to the API."
    return ""


def groq(said: Sequence[dict[str, Any]]) -> str:
    if any("reasoning_content" in each for each in said):
        return "'messages.2' : property 'reasoning_content' is unsupported"
    return ""


def anthropic(said: Sequence[dict[str, Any]]) -> str:
    for place, each in enumerate(said):
        kinds = [block["type"] for block in each["content"]] if each["role"] == "assistant" else []
        if "tool_use" in kinds and kinds[0] not in ("thinking", "redacted_thinking"):
            return f"messages.{place}.content.0.type: Expected `thinking`, but found `{kinds[0]}`"
    return ""


class Strict:
    """Answers from a list; refuses what the demand does not take."""

    def __init__(self, demand: Demand, *answers: Answer) -> None:
        self.refused = 0
        self._demand = demand
        self._answers = list(answers)

    def __call__(self, request: Received) -> Answer:
        why = self._demand(request.body["messages"])
        if why:
            self.refused += 1
            return fails(400, why, type="invalid_request_error")
        return self._answers.pop(0)


def settings(provider: Provider, name: str, **more: Any) -> ModelSettings:
    base = provider.root if name.startswith(("anthropic", "ollama")) else provider.url
    chosen = {"name": name, "api_base": base, "tool_format": "native", **more}
    return ModelSettings.model_validate(chosen)


class Talk:
    """Turns with a model that looks around."""

    def __init__(self, model: LitellmModel) -> None:
        self.model = model
        self.log = transcript.off_the_record()

    def turn(self, text: str) -> AssistantEntry:
        def look(at: str = "") -> str:
            """Look around."""
            return f"nothing at {at}"

        def prompt(specs: Sequence[ToolSpec]) -> list[Message]:
            return [Message("system", "Be brief."), *messages(group(self.log.entries))]

        self.log.append(UserEntry(text))
        turn = run_turn(Agent(self.model, prompt, Toolbox([tool(look)]), self.log))
        while True:
            try:
                next(turn)
            except StopIteration as end:
                assert isinstance(end.value, AssistantEntry)
                return end.value


ROUNDS = (THOUGHT, Reply("It is there.", "so"), "Still there.", THOUGHT, "Gone.")


@pytest.mark.parametrize(
    ("name", "demand"),
    [
        ("deepseek/deepseek-reasoner", deepseek),
        ("deepseek/deepseek-chat", deepseek),
        ("moonshot/kimi-k2-thinking", kimi),
        ("moonshot/kimi-k2.5", kimi),
        ("openai/kimi-k2-thinking", kimi),
    ],
)
def test_a_thinker_is_shown_what_it_thought(name: str, demand: Demand) -> None:
    strict = Strict(demand, *ROUNDS)
    with Provider(respond=strict) as provider:
        talk = Talk(LitellmModel(settings(provider, name)))
        said = [talk.turn(text).text for text in ("Where?", "Sure?", "And now?")]
        sent = provider.requests[-1].body["messages"]
    assert said == ["It is there.", "Still there.", "Gone."]
    assert strict.refused == 0
    thoughts = [each.get("reasoning_content") for each in sent if each["role"] == "assistant"]
    assert thoughts == ["where is it", "so", " ", "where is it"]


@pytest.mark.parametrize("demand", [deepseek, kimi, deepseek_v4])
def test_a_provider_that_turns_out_to_demand_it_gets_it_from_then_on(demand: Demand) -> None:
    strict = Strict(demand, *ROUNDS)
    with Provider(respond=strict) as provider:
        talk = Talk(LitellmModel(settings(provider, "openai/some-model")))
        assert [talk.turn("Where?").text, talk.turn("Sure?").text] == [
            "It is there.",
            "Still there.",
        ]
    assert strict.refused == 1


@pytest.mark.parametrize("demand", [deepseek, kimi])
def test_where_nothing_was_thought_something_stands_for_it(demand: Demand) -> None:
    strict = Strict(demand, UNTHOUGHT, "It is there.")
    with Provider(respond=strict) as provider:
        talk = Talk(LitellmModel(settings(provider, "deepseek/deepseek-reasoner")))
        assert talk.turn("Where?").text == "It is there."


def test_a_provider_that_refuses_it_is_sent_it_no_more() -> None:
    strict = Strict(groq, *ROUNDS)
    with Provider(respond=strict) as provider:
        talk = Talk(LitellmModel(settings(provider, "openai/moonshotai/kimi-k2")))
        assert [talk.turn("Where?").text, talk.turn("Sure?").text] == [
            "It is there.",
            "Still there.",
        ]
    assert strict.refused == 1


@pytest.mark.parametrize("name", ["openai/gpt-5.6", "groq/openai/gpt-oss-120b", "mistral/large"])
def test_others_are_not_sent_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider(respond=Strict(groq, *ROUNDS)) as provider:
        talk = Talk(LitellmModel(settings(provider, name)))
        assert talk.turn("Where?").text == "It is there."
        assert "reasoning_content" not in str(provider.requests[-1].body)


CLAUDE = "anthropic/claude-sonnet-4-5"


def test_claude_is_shown_its_signed_thoughts_while_its_calls_go_on() -> None:
    strict = Strict(anthropic, *ROUNDS)
    with Provider(respond=strict) as provider:
        talk = Talk(LitellmModel(settings(provider, CLAUDE, effort="low")))
        assert talk.turn("Where?").text == "It is there."
        first, second = provider.requests
    assert strict.refused == 0
    assert first.body["thinking"]["type"] == "enabled" and "thinking" in second.body
    assert second.body["messages"][1]["content"][0] == SIGNED[0]


def test_claude_stops_thinking_in_a_turn_whose_thoughts_have_no_signature() -> None:
    strict = Strict(lambda _: "", UNTHOUGHT, "It is there.", "Yes.")
    with Provider(respond=strict) as provider:
        talk = Talk(LitellmModel(settings(provider, CLAUDE, effort="low")))
        talk.turn("Where?"), talk.turn("Sure?")
        thinks = ["thinking" in request.body for request in provider.requests]
    assert thinks == [True, False, True]


def test_a_signature_does_not_outlive_a_redaction() -> None:
    with Provider(THOUGHT, "There.") as provider:
        talk = Talk(LitellmModel(settings(provider, CLAUDE)))
        talk.log.append(UserEntry("Where?"))

        def prompt(specs: Sequence[ToolSpec]) -> list[Message]:
            return messages(group(talk.log.entries))

        agent = Agent(
            talk.model,
            prompt,
            Toolbox([]),
            talk.log,
            redact=lambda text: text.replace("where", "[[secret:w]]"),
        )
        list(run_turn(agent))
        answer = next(each for each in talk.log.entries if isinstance(each, AssistantEntry))
    assert (answer.reasoning, answer.signed) == ("[[secret:w]] is it", ())


LONG_ID = "call_1__thought__" + "Q" * 300


@pytest.mark.parametrize("name", ["openai/gpt-4o", "deepseek/deepseek-chat"])
def test_an_id_of_another_provider_is_made_one_that_is_taken(name: str) -> None:
    history = [
        Message("user", "Where?"),
        Message("assistant", "", (ToolCall(LONG_ID, "look"),)),
        Message("tool", "nothing", tool_call_id=LONG_ID),
    ]
    with Provider("There.") as provider:
        list(LitellmModel(settings(provider, name)).stream(history))
        _, asked, answered = provider.requests[0].body["messages"]
    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"]
    assert len(answered["tool_call_id"]) <= 40
