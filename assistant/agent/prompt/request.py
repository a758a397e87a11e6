"""The next request of a conversation: the system prompt, and as much of the history as fits."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from assistant.agent.prompt.window import Window
from assistant.errors import ModelError, ModelFailure
from assistant.messages import Message
from assistant.model.base import ToolSpec
from assistant.session.history.fitting import Fitted, fit, render, view
from assistant.session.history.turns import History, Turn, history, messages
from assistant.session.pictures import with_pictures
from assistant.session.transcript import Transcript

System = Callable[[], Sequence[Message]]
"""The system messages as they are now."""
Briefing = Callable[[], str]
"""What the program says at the head of the owner's latest message; empty for nothing."""


class Requests:
    """Makes each request from the transcript as it stands.

    `left_out` is how many of the oldest turns may be missing from it; `sent` what the latest
    request was estimated to cost, None if it could not be made.
    """

    def __init__(
        self, transcript: Transcript, window: Window, system: System, briefing: Briefing = str
    ) -> None:
        self.window = window
        self.left_out = 0
        self.sent: int | None = None
        self._transcript = transcript
        self._system = system
        self._briefing = briefing

    def make(self, specs: Sequence[ToolSpec]) -> Sequence[Message]:
        """The messages to send. Raises ModelError (overflow) if more than `left_out` must go."""
        self.sent = None
        system = self._system()
        fitted = self.fitted(system, specs)
        if fitted.left_out > self.left_out:
            raise ModelError("the history is too long", kind=ModelFailure.OVERFLOW)
        self.sent = self.window.measured(system) + self.window.specs(specs) + fitted.tokens
        shown = [with_pictures(self._transcript, each) for each in fitted.messages]
        return [*system, *marked(shown, self._turns(2))]

    def needed(self, specs: Sequence[ToolSpec]) -> int:
        """How many of the oldest turns must go. Raises ModelError if the last alone is too long."""
        return self.fitted(self._system(), specs).left_out

    def fitted(self, system: Sequence[Message], specs: Sequence[ToolSpec]) -> Fitted:
        """The history in what the system prompt and the tools leave of the window."""
        room = self.window.room(system, specs)
        shown = history(self._transcript.entries)
        turns = (
            *shown.turns[:-1],
            *(replace(t, briefing=self._briefing()) for t in shown.turns[-1:]),
        )
        return fit(replace(shown, turns=turns), room, self.window.measured)

    def _turns(self, count: int) -> Sequence[Turn]:
        return history(self._transcript.entries).turns[-count:]

    def fullness(self, specs: Sequence[ToolSpec]) -> float:
        """The share of the room for the history that it takes; over 1 if it does not fit."""
        briefing = Message("user", self._briefing())
        room = self.window.room([*self._system(), briefing], specs)
        shown = history(self._transcript.entries)
        tokens = self.window.measured(shown_messages(shown))
        return tokens / room if room > 0 else float("inf")


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
