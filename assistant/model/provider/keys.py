"""Where the key to a provider is found: in a variable that is named, or where litellm looks."""

import os
from dataclasses import dataclass

from assistant.model.provider.failures import missing_key
from assistant.model.provider.litellm_library import preload
from assistant.model.provider.wording import Endpoint


@dataclass(frozen=True, slots=True)
class Keys:
    """The key to a model's provider. `named` is the variable that the settings say holds it."""

    model: str
    provider: str
    named: str | None = None

    @property
    def variable(self) -> str:
        """The variable that holds the key, or is to hold it."""
        return self.named or next(iter(self._missing), None) or self._present()

    def key(self, endpoint: Endpoint) -> str | None:
        """The key to send, or None where litellm finds it. Raises ModelError if there is none."""
        if self.named:
            if key := os.environ.get(self.named):
                return key
        elif self._is_found():
            return None
        if endpoint.api_base:
            return "none"  # a local server asks for no key, but its client insists on one
        raise missing_key(endpoint)

    @property
    def _missing(self) -> list[str]:
        """The variables that litellm would read the key from, if none is set."""
        missing = preload().validate_environment(self.model)["missing_keys"]
        return [name for name in reversed(missing) if name.endswith(("_API_KEY", "_API_TOKEN"))]

    def _present(self) -> str:
        """The variable that holds the key, by its name."""
        usual = f"{self.provider.removesuffix('_chat').upper()}_API_KEY"
        plain = usual.replace("_", "")
        return next((name for name in os.environ if name.replace("_", "") == plain), usual)

    def _is_found(self) -> bool:
        """The environment has the key, or another variable of the provider's that may do."""
        missing = self._missing
        prefixes = tuple(name.partition("_")[0] + "_" for name in missing)
        return not missing or any(name.startswith(prefixes) for name in os.environ)
