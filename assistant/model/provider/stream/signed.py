"""A provider's signed record of what was thought, put together from its pieces (Anthropic's)."""

from collections.abc import Iterable, Mapping
from typing import Any

from assistant.messages import Signed


class SignedThinking:
    """Blocks in the making: thoughts come in pieces, then their signature; sealed ones whole."""

    def __init__(self) -> None:
        self._whole: list[Mapping[str, Any]] = []
        self._thought: list[str] = []

    def add(self, blocks: Iterable[Mapping[str, Any]]) -> None:
        """Take pieces in."""
        for block in blocks:
            if block.get("type") == "redacted_thinking":
                self._whole.append({"type": "redacted_thinking", "data": block.get("data", "")})
                continue
            self._thought.append(block.get("thinking") or "")
            if signature := block.get("signature"):
                text = "".join(self._thought)
                self._whole.append({"type": "thinking", "thinking": text, "signature": signature})
                self._thought = []

    @property
    def blocks(self) -> Signed:
        """Those that are whole: one without its signature is worth nothing."""
        return tuple(self._whole)
