"""Models that could be connected from here: offered by name, never used unasked."""

import http.client
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    found = [Offer(f"ollama_chat/{name}", "Ollama runs here") for name in served]
    keys = [Offer(model, f"{key} is set") for key, model in KEYS.items() if environ.get(key)]
    return found[:most] + keys


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
