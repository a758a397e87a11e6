"""Models that could be connected from here: offered by name, never used unasked."""

import http.client
import importlib.util
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from assistant.errors import ConfigError
from assistant.model.provider.litellm_model import has_provider

KEYS = {
    "ANTHROPIC_API_KEY": "anthropic/claude-sonnet-5-5",
    "OPENAI_API_KEY": "openai/gpt-5.6",
    "GEMINI_API_KEY": "gemini/gemini-flash-latest",
    "OPENROUTER_API_KEY": "openrouter/anthropic/claude-sonnet-4.5",
    "MISTRAL_API_KEY": "mistral/mistral-large-latest",
    "DEEPSEEK_API_KEY": "deepseek/deepseek-flash",
    "GROQ_API_KEY": "groq/openai/gpt-oss-120b",
    "XAI_API_KEY": "xai/grok-4.5-latest",
}
"""A provider's key in the environment, and a model of that provider that calls tools."""
OLLAMA = "127.0.0.1:11434"
OLLAMA_EXAMPLE = "ollama_chat/qwen3"


@dataclass(frozen=True, slots=True)
class Offer:
    """A model and why it is offered."""

    model: str
    reason: str

    @property
    def command(self) -> str:
        """What connects it."""
        return f"assistant config set model.name {self.model}"


def offers(
    environ: Mapping[str, str] = os.environ, ollama: str = OLLAMA, most: int = 1
) -> list[Offer]:
    """What is at hand: so many models of an Ollama on this machine, then keys, by their names
    alone."""
    served = ollama_models(ollama) or ()
    local = [Offer(f"ollama_chat/{name}", "Ollama runs here") for name in served]
    keys = [Offer(model, f"{key} is set") for key, model in KEYS.items() if environ.get(key)]
    return local[:most] + keys


def ollama_models(host: str) -> list[str] | None:
    """The models an Ollama at `host` serves; None if nothing answers within 0.3 s."""
    connection = http.client.HTTPConnection(host, timeout=0.3)
    try:
        connection.request("GET", "/api/tags")
        answer: Any = json.loads(connection.getresponse().read())
        return [str(model["name"]) for model in answer["models"]]
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return None  # something else listens there, or nothing
    finally:
        connection.close()


PROVIDERS = "provider_endpoints_support_backup.json"
MODELS = "model_prices_and_context_window_backup.json"
TALKING = ("chat", "responses")
"""The modes of models that can hold a conversation."""
NEAREST = 3
"""Names that are proposed in place of one that is not listed."""
USUAL = {model.partition("/")[0]: key for key, model in KEYS.items()}
"""Providers by their own name, and the variable that holds their key."""


def doubts(
    name: str, api_base: str | None = None, environ: Mapping[str, str] = os.environ
) -> list[str]:
    """What may be wrong with a model's name, one line each; nothing if nothing seems to be.

    Raises ConfigError if litellm would not know whom to ask.
    """
    provider, _, model = name.partition("/")
    if not model:
        provider = next((known for known, models in _listed().items() if name in models), "")
    elif provider not in _providers() and not has_provider(name):
        provider = ""
    if not provider:
        named = name.partition("/")[0]
        near = get_close_matches(named, sorted(_providers()), n=1) if model else []
        raise ConfigError(
            f"the model {name!r} has no provider" + (f" that is known: {named!r}" if model else ""),
            f"Did you mean {near[0]}/{model}?"
            if near
            else "Write PROVIDER/MODEL, such as anthropic/… or ollama_chat/…",
        )
    if provider in ("ollama", "ollama_chat"):
        return _on_ollama(model, (api_base or f"http://{OLLAMA}").split("//")[-1].rstrip("/"))
    if api_base or provider not in USUAL:
        return []
    key = USUAL[provider]
    return _unlisted(provider, model or name) + ([] if environ.get(key) else [f"{key} is not set"])


def names(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The models that litellm lists of the usual providers whose keys are set."""
    return [
        model if model.startswith(f"{provider}/") else f"{provider}/{model}"
        for provider, key in USUAL.items()
        if environ.get(key)
        for model in sorted(_listed().get(provider, ()))
    ]


def _unlisted(provider: str, model: str) -> list[str]:
    """That this provider's models, as litellm lists them, lack this one."""
    models = _listed().get(provider, frozenset())
    if model in models:
        return []
    near = get_close_matches(model, sorted(models), NEAREST)
    meant = f"; did you mean {' or '.join(f'{provider}/{name}' for name in near)}?" if near else ""
    return [f"{provider}/{model} is not among the models that litellm lists{meant}"]


def _on_ollama(model: str, host: str) -> list[str]:
    """That no Ollama answers, or that it lacks this model."""
    served = ollama_models(host)
    if served is None:
        return [f"no Ollama answers at {host}: `ollama serve` starts it"]
    if model in served or f"{model}:latest" in served:
        return []
    has = ", ".join(served) or "no model yet"
    return [f"Ollama has {has}: `ollama pull {model}` gets this one"]


@cache
def _providers() -> frozenset[str]:
    return frozenset(_shipped(PROVIDERS)["providers"]) | frozenset(_listed())


@cache
def _listed() -> Mapping[str, frozenset[str]]:
    """The models that talk, without their provider, by provider."""
    listed: dict[str, set[str]] = {}
    for name, facts in _shipped(MODELS).items():
        if facts.get("mode") in TALKING:
            provider = facts["litellm_provider"]
            listed.setdefault(provider, set()).add(name.removeprefix(f"{provider}/"))
    return {provider: frozenset(models) for provider, models in listed.items()}


def _shipped(name: str) -> Any:
    """A list that litellm ships; litellm itself is not imported."""
    spec = importlib.util.find_spec("litellm")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return json.loads((Path(folders[0]) / name).read_text("utf-8"))
