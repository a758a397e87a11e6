"""What the owner is told of a failure: one line, and its cure."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from assistant.display import shortened
from assistant.errors import ModelFailure

UNKNOWN_PROVIDER = "LLM Provider NOT provided"
"""litellm's words for a name whose provider it cannot tell."""
CHOOSE = "choose another model with `assistant config set model.name …`"
DETAIL_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is reached. `key_name` is the environment variable of its key, if any."""

    model: str
    api_base: str | None = None
    key_name: str = ""

    @property
    def is_ollama(self) -> bool:
        """Served by Ollama, which has its own ways to fail and be helped."""
        return self.model.startswith(("ollama/", "ollama_chat/"))

    @property
    def is_here(self) -> bool:
        """Served by this machine."""
        if self.api_base is None:
            return self.is_ollama
        return urlsplit(self.api_base).hostname in ("localhost", "127.0.0.1", "::1")


def message(
    kind: ModelFailure,
    endpoint: Endpoint,
    status: int | None,
    chain: Sequence[BaseException],
    detail: str,
) -> str:
    model, code = endpoint.model, f" ({status})" if status else ""
    where = f" at {endpoint.api_base}" if endpoint.api_base else ""
    match kind:
        case ModelFailure.AUTH:
            return f"{model} did not accept the key{code}: {detail}"
        case ModelFailure.BILLING:
            return f"{model} wants to be paid first{code}: {detail}"
        case ModelFailure.RATE_LIMIT:
            return f"{model} gets too many requests{code}: {detail}"
        case ModelFailure.OVERFLOW:
            return f"the conversation is too long for {model}: {detail}"
        case ModelFailure.NOT_FOUND:
            if UNKNOWN_PROVIDER in detail:
                return f"{model!r} names no provider that is known"
            return f"there is no model {model}{where}: {detail}"
        case ModelFailure.CONNECTION:
            why = detail_of(str(chain[-1])) if chain else detail
            return f"{model} cannot be reached{where}: {why}"
        case ModelFailure.TIMEOUT:
            return f"{model} did not answer in time{where}"
        case ModelFailure.PROTOCOL:
            return f"{model} sent an answer that cannot be read: {detail}"
        case ModelFailure.BAD_REQUEST:
            return f"{model} refused the request{code}: {detail}"
        case _:
            return f"{model} failed{code}: {detail}"


def cure(kind: ModelFailure, endpoint: Endpoint, wish: float | None, detail: str) -> str:
    match kind:
        case ModelFailure.AUTH:
            key = endpoint.key_name or "the provider's key"
            return f"Check {key} in the environment, or {CHOOSE}"
        case ModelFailure.BILLING:
            return f"Check the account at the provider, or {CHOOSE}"
        case ModelFailure.RATE_LIMIT:
            return f"Try again in {wish:.0f} s" if wish else "Wait a moment and try again"
        case ModelFailure.OVERFLOW:
            return "Use /compact, or start a new session"
        case ModelFailure.NOT_FOUND:
            return _cure_unknown(endpoint, detail)
        case ModelFailure.CONNECTION if endpoint.is_ollama:
            return "Is Ollama running? Start it with `ollama serve`"
        case ModelFailure.CONNECTION:
            return "Check the network, and `model.api_base` in `assistant config show`"
        case ModelFailure.TIMEOUT:
            return "Try again, or raise it: `assistant config set model.timeout_seconds …`"
        case ModelFailure.BAD_REQUEST | ModelFailure.PROTOCOL:
            return f"If it happens again, {CHOOSE}"
        case _:
            return f"Try again later, or {CHOOSE}"


def _cure_unknown(endpoint: Endpoint, detail: str) -> str:
    if endpoint.is_ollama:
        return f"Fetch it with `ollama pull {endpoint.model.partition('/')[2]}`"
    if UNKNOWN_PROVIDER in detail:
        return "Name it as provider/model: `assistant config set model.name ollama_chat/qwen3`"
    return CHOOSE.capitalize()


def detail_of(text: str) -> str:
    """The provider's own words in one line, out of litellm's wrapping."""
    found = re.search(r'"(?:message|error)":\s*("(?:[^"\\]|\\.)*")', text)
    if found:
        text = _unquoted(found[1])
    text = re.sub(
        r"^(?:[\w.]+(?:Error|Timeout): )+|^\[Errno -?\d+\] |\b\w+Exception(?: \w+)? - ", "", text
    )
    lines: list[Any] = text.strip().splitlines() or ["no reason given"]
    line = re.sub(r"\s+", " ", lines[0]).rstrip(". ")
    return shortened(line, DETAIL_LENGTH)


def _unquoted(literal: str) -> str:
    try:
        return str(json.loads(literal))
    except json.JSONDecodeError:
        return literal.strip('"')
