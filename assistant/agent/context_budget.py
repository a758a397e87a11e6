"""What of a model's window a request takes, and how much of the history fits into the rest."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from assistant.errors import ModelError, ModelFailure
from assistant.messages import Message, estimate_tokens
from assistant.model.base import UNKNOWN_WINDOW, ToolSpec
from assistant.session.fitting import Fitted, fit, measure, render, view
from assistant.session.history import History, Turn, history, messages
from assistant.session.keeping import with_pictures
from assistant.session.transcript import Transcript

if TYPE_CHECKING:
    from assistant.agent.prompt import Prompt

RATIOS = (0.5, 4.0)
"""Within these the provider's count may correct the estimate: code and CJK text cost more."""
SMALLEST_WINDOW = 4_096
"""No refusal makes us think a window smaller: then something else is wrong with the request."""
LEAST_ROOM = 64
"""Tokens that a talk needs at least beside the prompt and the answer."""


class ContextBudget:
    """The tokens of one model's window, the estimate corrected by what its provider reports.

    `left_out` is how many of the oldest turns may be missing from a request; `sent` what the
    latest was estimated to cost, None if it could not be made.
    """

    def __init__(self, window: int | None, reserve: int) -> None:
        self.window = window or UNKNOWN_WINDOW
        self.left_out = 0
        self.sent: int | None = None
        self._reserve = reserve
        self._ratio = 1.0

    @property
    def reserve(self) -> int:
        """Tokens kept free for the reply: the setting, or a quarter of a small window."""
        return min(self._reserve, self.window // 4)

    def measured(self, said: Sequence[Message]) -> int:
        """Tokens of messages."""
        return math.ceil(measure(said) * self._ratio)

    def specs(self, tools: Sequence[ToolSpec]) -> int:
        """Tokens of tool descriptions."""
        texts = (json.dumps([tool.name, tool.description, dict(tool.parameters)]) for tool in tools)
        return math.ceil(sum(map(estimate_tokens, texts)) * self._ratio)

    def room(self, system: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """Tokens left for the history; negative if the prompt alone is too long."""
        return self.window - self.reserve - self.measured(system) - self.specs(tools)

    def learn(self, reported: int) -> None:
        """Correct the estimate: the latest request has cost so many tokens."""
        if self.sent and reported:
            least, most = RATIOS
            self._ratio = min(most, max(least, self._ratio * reported / self.sent))

    def refused(self, window: int) -> None:
        """The provider found the latest request too long, if it was one that could be made.

        `window` is the model's, as its provider may have said.
        """
        if self.sent is not None:
            self.window = min(self.window, max(self.sent, SMALLEST_WINDOW))
        self.window = min(self.window, window)

    def request(
        self, prompt: "Prompt", record: Transcript, specs: Sequence[ToolSpec]
    ) -> Sequence[Message]:
        """The messages to send. Raises ModelError (overflow) if more than `left_out` must go."""
        self.sent = None
        shown = history(record.entries)
        fitted = self._fitted(prompt, shown, specs)
        if fitted.left_out > self.left_out:
            raise ModelError("the history is too long", kind=ModelFailure.OVERFLOW)
        self.sent = self.measured(prompt.system) + self.specs(specs) + fitted.tokens
        said = [with_pictures(record, each) for each in fitted.messages]
        return [*prompt.system, *marked(said, shown.turns[-2:])]

    def needed(self, prompt: "Prompt", record: Transcript, specs: Sequence[ToolSpec]) -> int:
        """How many of the oldest turns must go. Raises ModelError if the last alone is too long."""
        return self._fitted(prompt, history(record.entries), specs).left_out

    def fullness(self, prompt: "Prompt", record: Transcript, specs: Sequence[ToolSpec]) -> float:
        """The share of the room for the history that it takes; over 1 if it does not fit."""
        room = self.room([*prompt.system, Message("user", prompt.briefing)], specs)
        tokens = self.measured(shown_messages(history(record.entries)))
        return tokens / room if room > 0 else float("inf")

    def _fitted(self, prompt: "Prompt", shown: History, specs: Sequence[ToolSpec]) -> Fitted:
        """The history in what the system prompt and the tools leave of the window."""
        room = self.room(prompt.system, specs)
        if room < LEAST_ROOM:
            text, tools = self.measured(prompt.system), self.specs(specs)
            raise ModelError(
                f"the prompt alone is too long for the model: it takes {text:,} tokens, the tools "
                f"{tools:,} and the answer {self.reserve:,}, of a window of {self.window:,}",
                "Shorten SOUL.md and its like (`assistant context` shows each part), or set a "
                "larger window: `assistant config set model.context_window …`",
                kind=ModelFailure.OVERFLOW,
            )
        briefed = (replace(turn, briefing=prompt.briefing) for turn in shown.turns[-1:])
        turns = (*shown.turns[:-1], *briefed)
        return fit(replace(shown, turns=turns), room, self.measured)


def marked(said: Sequence[Message], latest: Sequence[Turn]) -> list[Message]:
    """The messages with marks where a provider may keep what it has read.

    At the end of what came before each of the latest turns: this request finds what the one
    before it has left there. And at the end, where the turn's own calls go on from.
    """
    places = {len(said) - 1} if said and said[-1].role == "tool" else set()
    end = len(said)
    for turn in reversed(latest):
        end -= len(messages((turn,)))
        places.add(end - 1)
    return [
        replace(message, cache=True) if place in places and place < len(said) else message
        for place, message in enumerate(said)
    ]


def shown_messages(shown: History) -> list[Message]:
    """The history as the model is shown it while all of it fits."""
    return render(History(shown.first, shown.compaction, view(shown.turns)))
