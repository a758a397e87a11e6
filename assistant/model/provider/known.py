"""What is known of a model before it is asked: by the settings, litellm, or Ollama."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from assistant.model.base import UNKNOWN_WINDOW
from assistant.model.provider.failures import classify
from assistant.model.provider.litellm_library import preload
from assistant.model.provider.wording import Endpoint
from assistant.settings.answering import ModelSettings


class Known:
    """What is known of a model by litellm's name for it; looked up where it is first needed."""

    def __init__(self, name: str, settings: ModelSettings) -> None:
        self.on_ollama = Endpoint(name).is_ollama
        self._name = name
        self._settings = settings

    @cached_property
    def provider(self) -> str:
        """litellm's name for the provider. Raises ModelError."""
        try:
            provider: str = preload().get_llm_provider(self._name)[1]
        except Exception as error:  # it raises a bare Exception for a name it does not know
            raise classify(error, Endpoint(self._name, self._settings.api_base)) from error
        return provider

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """What litellm knows of the model; for Ollama it asks the server."""
        try:
            facts: Mapping[str, Any] = preload().get_model_info(
                self._name, api_base=self._settings.api_base
            )
        except Exception:  # it raises a bare Exception for a model it does not know
            return {}
        return facts

    @cached_property
    def window(self) -> int | None:
        """Tokens the model takes.

        Ollama serves as much as it is asked to, which is never more than the model can take, nor
        more than UNKNOWN_WINDOW unless the setting says so.
        """
        if self._settings.context_window is not None:
            return self._settings.context_window
        known = self.facts.get("max_input_tokens") or self.facts.get("max_tokens")
        if self.on_ollama:
            return min(known or UNKNOWN_WINDOW, UNKNOWN_WINDOW)
        return known

    @cached_property
    def calls_tools(self) -> bool:
        """Whether tools may be offered in the provider's own way.

        What litellm says of a model on Ollama is guessed from its template, and not taken.
        """
        takes = preload().get_supported_openai_params(self._name, self.provider) or ()
        known = self.on_ollama or self.facts.get("supports_function_calling")
        return "tools" in takes and known is not False

    @cached_property
    def sees(self) -> bool:
        """Whether it can be sent pictures.

        Of a model on Ollama litellm does not know, and of one that nobody knows it is hoped.
        """
        if self._settings.sees is not None:
            return self._settings.sees
        return self.on_ollama or not self.facts or bool(self.facts.get("supports_vision"))

    def cost(self, usage: Any) -> float | None:
        """What an answer cost, in dollars; None where nobody knows the price."""
        cost = getattr(usage, "cost", None)
        if cost is None:
            try:
                cost = sum(preload().cost_per_token(model=self._name, usage_object=usage))
            except Exception:  # it raises a bare Exception where it knows no price
                return None
        return float(cost)
