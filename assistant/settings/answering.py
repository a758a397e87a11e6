"""The settings of who answers: models and their fallbacks."""

from typing import Literal

from pydantic import (
    Field,
)

from assistant.settings.base import Table

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""Levels of thinking, by the names that providers have for them."""


class ModelSettings(Table):
    """[model]: the language model that answers."""

    name: str | None = None
    """A model as litellm names it, such as `ollama_chat/qwen3` or `anthropic/claude-sonnet-5-5`.
    Unset: the offline responder."""
    api_base: str | None = None
    """The address of the provider's API, for a local server or a proxy."""
    context_window: int | None = Field(default=None, ge=1024)
    """Tokens the model can take. Unset: what the provider reports, else 32,000."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """Maximum tokens of a reply. Unset: the provider's limit."""
    effort: Effort | None = None
    """How hard the model thinks. Unset: the provider's default."""
    thinking: bool | None = None
    """Turn thinking on or off. Unset: the provider's default."""
    timeout_seconds: float = Field(default=120.0, gt=0)
    """How long an answer that has begun may be silent."""
    first_token_seconds: float | None = Field(default=None, gt=0)
    """How long to wait for the first word. Unset: 300; for a model on this machine only
    `answer_seconds` counts."""
    answer_seconds: float = Field(default=1800.0, gt=0)
    """How long an answer may take."""
    retry_seconds: float = Field(default=120.0, ge=0)
    """How long a failed request is retried, with growing pauses."""
    tool_calls: Literal["all", "one"] = "all"
    """Run all tool calls of a reply, or only the first."""
    max_rounds: int = Field(default=25, ge=1)
    """Maximum requests to the model in a turn, before it has to answer."""
    resident: bool = True
    """After an `ask`, keep a process with the provider's library loaded (200 MB), so that the next
    starts at once. It ends after `daemon.idle_seconds`."""
    sees: bool | None = None
    """Whether it takes pictures. Unset: what litellm knows, else they are tried."""
    tool_format: Literal["auto", "native", "xml"] = "auto"
    """How tools are offered: by the provider's tool calling, or as XML in the prompt."""


class ProfileSettings(Table):
    """[[profiles]]: models to fall back on, in order, when the one before it is not available."""

    name: str
    """A model as litellm names it."""
    api_base: str | None = None
    """The address of its API."""
    api_key_env: str | None = None
    """The environment variable that holds its key. Unset: the provider's usual one."""
    context_window: int | None = Field(default=None, ge=1024)
    """Tokens the model can take."""
