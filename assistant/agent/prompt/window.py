"""How much a model takes, and what a request will cost of it."""

import json
import math
from collections.abc import Sequence

from assistant.messages import Message, estimate_tokens
from assistant.model.base import UNKNOWN_WINDOW, ToolSpec
from assistant.session.history.fitting import measure

RATIOS = (0.5, 4.0)
"""Within these the provider's count may correct the estimate: code and CJK text cost more."""
SMALLEST_WINDOW = 4_096
"""No refusal makes us think a window smaller: then something else is wrong with the request."""


class Window:
    """The tokens of one model's window, the estimate corrected by what its provider reports."""

    def __init__(self, tokens: int | None, reserve: int) -> None:
        self.tokens = tokens or UNKNOWN_WINDOW
        self._reserve = reserve
        self._ratio = 1.0

    @property
    def reserve(self) -> int:
        """Tokens kept free for the reply: the setting, or a quarter of a small window."""
        return min(self._reserve, self.tokens // 4)

    def measured(self, messages: Sequence[Message]) -> int:
        """Tokens of messages."""
        return math.ceil(measure(messages) * self._ratio)

    def specs(self, tools: Sequence[ToolSpec]) -> int:
        """Tokens of tool descriptions."""
        texts = (json.dumps([tool.name, tool.description, dict(tool.parameters)]) for tool in tools)
        return math.ceil(sum(map(estimate_tokens, texts)) * self._ratio)

    def room(self, system: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """Tokens left for the history; negative if the prompt alone is too long."""
        return self.tokens - self.reserve - self.measured(system) - self.specs(tools)

    def learn(self, estimated: int, reported: int) -> None:
        """Correct the estimate: a request estimated at this has cost that."""
        if estimated and reported:
            least, most = RATIOS
            self._ratio = min(most, max(least, self._ratio * reported / estimated))

    def refused(self, estimated: int) -> None:
        """The provider found a request of so many tokens too long."""
        self.tokens = min(self.tokens, max(estimated, SMALLEST_WINDOW))
