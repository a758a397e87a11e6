"""The next request of a conversation: the system prompt, and as much of the history as fits."""

from collections.abc import Callable, Sequence

from assistant.agent.window import Window
from assistant.errors import ModelError, ModelFailure
from assistant.messages import Message
from assistant.model.base import ToolSpec
from assistant.session.fitting import Fitted, fit, render, view
from assistant.session.transcript import Transcript
from assistant.session.turns import History, history

System = Callable[[], Sequence[Message]]
"""The system messages as they are now."""


class Requests:
    """Makes each request from the transcript as it stands.

    `left_out` is how many of the oldest turns may be missing from it; `sent` what the latest
    request was estimated to cost, None if it could not be made.
    """

    def __init__(self, transcript: Transcript, window: Window, system: System) -> None:
        self.window = window
        self.left_out = 0
        self.sent: int | None = None
        self._transcript = transcript
        self._system = system

    def make(self, specs: Sequence[ToolSpec]) -> Sequence[Message]:
        """The messages to send. Raises ModelError (overflow) if more than `left_out` must go."""
        self.sent = None
        system = self._system()
        fitted = self.fitted(system, specs)
        if fitted.left_out > self.left_out:
            raise ModelError("the history is too long", kind=ModelFailure.OVERFLOW)
        self.sent = self.window.measured(system) + self.window.specs(specs) + fitted.tokens
        return [*system, *fitted.messages]

    def needed(self, specs: Sequence[ToolSpec]) -> int:
        """How many of the oldest turns must go. Raises ModelError if the last alone is too long."""
        return self.fitted(self._system(), specs).left_out

    def fitted(self, system: Sequence[Message], specs: Sequence[ToolSpec]) -> Fitted:
        """The history in what the system prompt and the tools leave of the window."""
        room = self.window.room(system, specs)
        return fit(history(self._transcript.entries), room, self.window.measured)

    def fullness(self, specs: Sequence[ToolSpec]) -> float:
        """The share of the room for the history that it takes; over 1 if it does not fit."""
        room = self.window.room(self._system(), specs)
        shown = history(self._transcript.entries)
        tokens = self.window.measured(shown_messages(shown))
        return tokens / room if room > 0 else float("inf")


def shown_messages(shown: History) -> list[Message]:
    """The history as the model is shown it while all of it fits."""
    return render(History(shown.first, shown.compaction, view(shown.turns)))
