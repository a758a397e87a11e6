"""How much a model is to think, as each provider wants to be told. Pure."""

import re
from typing import Any

from assistant.settings.answering import ModelSettings

Json = dict[str, Any]

USUAL_EFFORT = "medium"
"""The effort of a model that is told to think and not how much: OpenAI's own default."""
BY_SWITCH = ("deepseek", "moonshot", "zai", "volcengine")
"""Their requests turn thinking on and off by `thinking.type`."""
SERVERS = ("hosted_vllm", "lm_studio", "llamafile")
"""vLLM, llama.cpp and their like: their chat templates know a switch."""
BY_EFFORT = re.compile(r"(?:.*/)?(?:gpt-|o\d)")
"""OpenAI's models, also behind a proxy: they have an effort and no switch."""


def thinking_parameters(settings: ModelSettings, provider: str) -> Json:
    """What `model.effort` and `model.thinking` add to a request; nothing if neither is set."""
    effort, thinking = settings.effort, settings.thinking
    if thinking is None:
        return _effort(effort, settings, provider) if effort else {}
    if provider in BY_SWITCH:
        told = _body({"thinking": {"type": "enabled" if thinking else "disabled"}})
        both = thinking and effort and provider == "deepseek"  # Moonshot takes one of the two
        return told | (_effort(effort, settings, provider) if both else {})
    if provider == "openrouter":
        level = {"effort": effort} if thinking and effort else {}
        return _body({"reasoning": {"enabled": thinking} | level})
    if _is_a_server(settings, provider):
        told = _body({"chat_template_kwargs": {"enable_thinking": thinking}})
        return told | (_effort(effort, settings, provider) if thinking and effort else {})
    if provider == "anthropic" and not thinking:
        return {}  # it thinks only if it is told to
    return _effort((effort or USUAL_EFFORT) if thinking else "none", settings, provider)


def _effort(effort: str | None, settings: ModelSettings, provider: str) -> Json:
    """By OpenAI's parameter, which litellm makes the provider's own, or drops where it knows that
    the model has none; of what a server of the owner's takes it knows nothing."""
    as_it_is = provider == "deepseek" or _is_a_server(settings, provider)
    more: Json = {"allowed_openai_params": ["reasoning_effort"]} if as_it_is else {}
    return {"reasoning_effort": effort} | more


def _body(more: Json) -> Json:
    return {"extra_body": more}


def _is_a_server(settings: ModelSettings, provider: str) -> bool:
    named = (settings.name or "").partition("/")[2]
    own = provider == "openai" and settings.api_base is not None
    return provider in SERVERS or (own and not BY_EFFORT.match(named))
