"""Models that could be connected from this machine: suggested by name, never used without
consent."""

import http.client
import importlib.util
import json
import os
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from assistant.errors import ConfigError
from assistant.model.provider.litellm_model import has_provider
from assistant.tables import table_of

KEYS: Mapping[str, str] = table_of(__file__)
"""The environment variable of each provider's key, and a model of that provider that calls
tools."""
OLLAMA = "http://127.0.0.1:11434"
OLLAMA_EXAMPLE = "ollama_chat/qwen3"


@dataclass(frozen=True, slots=True)
class Offer:
    """A model and the reason for suggesting it."""

    model: str
    reason: str

    @property
    def command(self) -> str:
        """The command that connects it."""
        return f"assistant config set model.name {self.model}"


def offers(
    environ: Mapping[str, str] = os.environ, ollama: str = OLLAMA, most: int = 1
) -> list[Offer]:
    """Return the available models: up to `most` of a local Ollama, then those whose keys are
    set."""
    served = ollama_models(ollama) or ()
    local = [Offer(f"ollama_chat/{name}", "Ollama is running here") for name in served]
    keys = [Offer(model, f"{key} is set") for key, model in KEYS.items() if environ.get(key)]
    return local[:most] + keys


def ollama_models(address: str) -> list[str] | None:
    """Return the models that the Ollama there serves; None if nothing answers within 0.3 s."""
    without_proxy = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with without_proxy.open(f"{address}/api/tags", timeout=0.3) as answer:
            return [str(model["name"]) for model in json.load(answer)["models"]]
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return None  # something else listens there, or nothing


PROVIDERS = "provider_endpoints_support_backup.json"
MODELS = "model_prices_and_context_window_backup.json"
TALKING = ("chat", "responses")
"""The modes of models that can hold a conversation."""
NEAREST = 3
"""Maximum number of names suggested for an unlisted model."""
USUAL = {model.partition("/")[0]: key for key, model in KEYS.items()}
"""Providers by name, and the variable that holds their key."""


def doubts(
    name: str, api_base: str | None = None, environ: Mapping[str, str] = os.environ
) -> list[str]:
    """Return possible problems with a model's name, one line each; empty if it seems right.

    Raises ConfigError if litellm knows no provider for it.
    """
    provider, _, model = name.partition("/")
    if not model:
        provider = next((listed for listed, models in _listed().items() if name in models), "")
    elif provider not in _providers() and not has_provider(name):
        provider = ""
    if not provider:
        prefix = name.partition("/")[0]
        nearest = get_close_matches(prefix, sorted(_providers()), n=1) if model else []
        raise ConfigError(
            f"the model {name!r} has no {f'known provider: {prefix!r}' if model else 'provider'}",
            f"Did you mean {nearest[0]}/{model}?"
            if nearest
            else "Write PROVIDER/MODEL, such as anthropic/… or ollama_chat/…",
        )
    if provider in ("ollama", "ollama_chat"):
        return _on_ollama(model, (api_base or OLLAMA).rstrip("/"))
    if api_base or provider not in USUAL:
        return []
    key = USUAL[provider]
    return _unlisted(provider, model or name) + ([] if environ.get(key) else [f"{key} is not set"])


def names(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the models that litellm lists for the usual providers whose keys are set."""
    return [
        model if model.startswith(f"{provider}/") else f"{provider}/{model}"
        for provider, key in USUAL.items()
        if environ.get(key)
        for model in sorted(_listed().get(provider, ()))
    ]


def _unlisted(provider: str, model: str) -> list[str]:
    """Return a warning if litellm does not list this model of the provider."""
    models = _listed().get(provider, frozenset())
    if model in models:
        return []
    nearest = get_close_matches(model, sorted(models), NEAREST)
    suggestion = (
        f"; did you mean {' or '.join(f'{provider}/{name}' for name in nearest)}?"
        if nearest
        else ""
    )
    return [f"{provider}/{model} is not among the models that litellm lists{suggestion}"]


def _on_ollama(model: str, address: str) -> list[str]:
    """Return a warning if no Ollama answers, or if it lacks this model."""
    served = ollama_models(address)
    if served is None:
        return [f"no Ollama answers at {address}: `ollama serve` starts it"]
    if model in served or f"{model}:latest" in served:
        return []
    available = ", ".join(served) or "no model yet"
    return [f"Ollama has {available}: `ollama pull {model}` gets this one"]


@cache
def _providers() -> frozenset[str]:
    return frozenset(_litellm_data(PROVIDERS)["providers"]) | frozenset(_listed())


@cache
def _listed() -> Mapping[str, frozenset[str]]:
    """Return the chat models by provider, without the provider's prefix."""
    listed: dict[str, set[str]] = {}
    for name, facts in _litellm_data(MODELS).items():
        if facts.get("mode") in TALKING:
            provider = facts["litellm_provider"]
            listed.setdefault(provider, set()).add(name.removeprefix(f"{provider}/"))
    return {provider: frozenset(models) for provider, models in listed.items()}


def _litellm_data(name: str) -> Any:
    """Read a list that ships with litellm, without importing litellm."""
    spec = importlib.util.find_spec("litellm")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return json.loads((Path(folders[0]) / name).read_text("utf-8"))
