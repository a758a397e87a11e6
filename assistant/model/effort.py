"""How much a model is to think, as each provider wants to be told. Pure."""

from typing import Any

from assistant.settings import ModelSettings

Json = dict[str, Any]

USUAL_EFFORT = "medium"
"""The effort of a model that is told to think and not how much: OpenAI's own default."""
BY_SWITCH = ("deepseek", "moonshot", "zai", "volcengine")
"""Their requests turn thinking on and off by `thinking.type`."""


def thinking_parameters(settings: ModelSettings, provider: str) -> Json:
    """What `model.effort` and `model.thinking` add to a request; nothing if neither is set."""
    effort, thinking = settings.effort, settings.thinking
    if effort is None and thinking is None:
        return {}
    if thinking is None:
        return _effort(effort)
    if provider in BY_SWITCH:
        return _switch(thinking) | (_effort(effort) if thinking and effort else {})
    if provider == "openrouter":
        return _body({"reasoning": {"enabled": thinking} | ({"effort": effort} if effort else {})})
    if _is_a_server(settings, provider):
        told = _body({"chat_template_kwargs": {"enable_thinking": thinking}})
        return told | (_effort(effort) if thinking and effort else {})
    if provider == "anthropic" and not thinking:
        return {}  # it thinks only if it is told to
    return _effort((effort or USUAL_EFFORT) if thinking else "none")


def _effort(effort: str | None) -> Json:
    """By OpenAI's parameter, which litellm makes the provider's own; also for unknown models."""
    return {"reasoning_effort": effort, "allowed_openai_params": ["reasoning_effort"]}


def _switch(thinking: bool) -> Json:
    return _body({"thinking": {"type": "enabled" if thinking else "disabled"}})


def _body(more: Json) -> Json:
    return {"extra_body": more}


def _is_a_server(settings: ModelSettings, provider: str) -> bool:
    """vLLM, llama.cpp and their like, whose chat templates know the switch."""
    return provider in ("hosted_vllm", "lm_studio") or (
        provider == "openai" and settings.api_base is not None
    )
