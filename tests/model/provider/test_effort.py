"""How much to think, in each provider's request."""

from typing import Any

import pytest

from assistant.messages import Message
from assistant.model.provider.litellm_model import LitellmModel
from assistant.settings.sections import ModelSettings
from tests.support.provider import Provider

FIELDS = (
    *("reasoning_effort", "thinking", "think", "reasoning", "chat_template_kwargs"),
    *("output_config", "generationConfig"),
)


def told(name: str, **settings: Any) -> dict[str, Any]:
    """What a request says of thinking."""
    with Provider("Hm.") as provider:
        root = name.startswith(("anthropic", "ollama", "gemini"))
        base = provider.root if root else provider.url
        chosen = ModelSettings.model_validate({"name": name, "api_base": base, **settings})
        list(LitellmModel(chosen).stream([Message("user", "Hello?")]))
        body = provider.requests[0].body
    return {field: body[field] for field in FIELDS if body.get(field)}


ON, OFF = {"type": "enabled"}, {"type": "disabled"}
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("openai/gpt-5.1", "high", {"reasoning_effort": "high"}),
    ("openai/gpt-5.1", "none", {"reasoning_effort": "none"}),
    (
        "openai/qwen3",
        "low",
        {"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": True}},
    ),
    ("openai/qwen3", "none", {"chat_template_kwargs": {"enable_thinking": False}}),
    ("deepseek/deepseek-chat", "high", {"thinking": ON, "reasoning_effort": "high"}),
    ("deepseek/deepseek-chat", "none", {"thinking": OFF}),
    ("moonshot/kimi-k2.5", "none", {"thinking": OFF}),
    ("moonshot/kimi-k2.5", "high", {"thinking": ON}),
    ("ollama_chat/qwen3", "none", {}),
    ("ollama_chat/qwen3", "high", {"think": True}),
    (
        "anthropic/claude-sonnet-4-5",
        "low",
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    ),
    ("anthropic/claude-sonnet-4-5", "none", {}),
    (
        "gemini/gemini-2.5-flash",
        "none",
        {"generationConfig": {"thinkingConfig": {"includeThoughts": False, "thinkingBudget": 0}}},
    ),
    ("openrouter/z-ai/glm-4.6", "low", {"reasoning": {"effort": "low"}}),
    ("openrouter/z-ai/glm-4.6", "none", {"reasoning": {"enabled": False}}),
]


@pytest.mark.parametrize(("name", "effort", "meant"), CASES)
def test_each_provider_is_told_in_its_own_way(
    name: str, effort: str, meant: dict[str, Any]
) -> None:
    assert told(name, effort=effort) == meant


@pytest.mark.parametrize("name", sorted({name for name, _, _ in CASES}))
def test_unset_nothing_is_said(name: str) -> None:
    assert told(name) == {}


def test_thinking_leaves_claude_its_room_to_answer() -> None:
    with Provider("Hm.") as provider:
        settings = ModelSettings(
            name="anthropic/claude-sonnet-4-5", api_base=provider.root, effort="high"
        )
        list(LitellmModel(settings).stream([Message("user", "Hello?")]))
        assert provider.requests[0].body["max_tokens"] == 64_000
