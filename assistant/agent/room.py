"""Room for the history: requests that fit the model's window, and compaction when they do not."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field

from assistant.agent.answering import notice
from assistant.agent.capture import Reading
from assistant.agent.compact import Compaction, compact
from assistant.agent.prompt.request import Briefing, Requests, System
from assistant.agent.prompt.window import Window
from assistant.display import counted
from assistant.errors import AssistantError, ModelError, ModelFailure
from assistant.events import Event
from assistant.messages import Usage
from assistant.model.base import ChatModel
from assistant.session.entries import AssistantEntry
from assistant.session.transcript import Transcript
from assistant.settings.prompt import ContextSettings
from assistant.tools.toolbox import Toolbox

OVERFLOWS = 6
"""How often the request of one turn may be found too long."""


@dataclass(slots=True)
class Room:
    """Keeps a conversation within the window of whatever `model` answers at the moment.

    `reading` says who takes facts from what is compacted, given the window; without `captures`
    nobody does.
    """

    transcript: Transcript
    toolbox: Toolbox
    settings: Callable[[], ContextSettings]
    captures: bool
    model: Callable[[], ChatModel]
    system: System
    briefing: Briefing
    reading: Callable[[Window], Reading]
    _requests: dict[str, Requests] = field(default_factory=dict)
    _refused: int = 0

    @property
    def requests(self) -> Requests:
        """What makes this model's requests; it remembers what the provider said of their size."""
        model = self.model()
        known = self._requests.get(model.name)
        if known is None:
            window = Window(model.context_window, self.settings().reserve_tokens)
            known = Requests(self.transcript, window, self.system, self.briefing)
            self._requests[model.name] = known
        return known

    @property
    def filled(self) -> tuple[int, int] | None:
        """Tokens of the latest request and its answer, and of the model's window; None before."""
        known = self._requests.get(self.model().name)
        if known is None or known.sent is None:
            return None
        answers = (e for e in reversed(self.transcript.entries) if isinstance(e, AssistantEntry))
        last = next((each.usage for each in answers), Usage())
        return last.input_tokens + last.output_tokens or known.sent, known.window.tokens

    def begin(self) -> None:
        """A turn begins: it may compact once, and be refused only so often."""
        self._refused = 0

    def learn(self, usage: Usage) -> None:
        """Take in what the provider counted."""
        self.requests.window.learn(self.requests.sent or 0, usage.input_tokens)

    def compact(self) -> Generator[Event, None, bool]:
        """Turn the older turns into facts in memory and a summary; False if there are none."""
        requests = self.requests
        reading = self.reading(requests.window)
        done = yield from compact(Compaction(reading, self.settings().keep_recent, self.captures))
        if done:
            requests.left_out = 0
        return done

    def compact_if_full(self) -> Iterator[Event]:
        """Compact when the history takes its share of the room; the reply stands in any case."""
        if self.requests.fullness(self.toolbox.specs()) <= self.settings().compact_at:
            return
        try:
            yield from self.compact()
        except (KeyboardInterrupt, AssistantError) as error:
            why = error.message if isinstance(error, AssistantError) else "interrupted"
            yield notice(self.transcript, f"Compaction was put off: {why}")

    def make(self) -> Iterator[Event]:
        """The request was too long: compact, once a turn; after that the oldest turns leave.

        Raises ModelError once the turn was refused too often.
        """
        self._refused += 1
        if self._refused == OVERFLOWS:
            raise ModelError(
                "the model finds every request too long",
                "Set its true window: `assistant config set model.context_window TOKENS`",
                kind=ModelFailure.OVERFLOW,
            )
        requests = self.requests
        if requests.sent is not None:  # it was the provider who said so
            requests.window.refused(requests.sent)
        needed = requests.needed(self.toolbox.specs())
        if self._refused == 1 and (yield from self.compact()):
            return
        if needed > requests.left_out:
            requests.left_out = needed
            left = counted(needed, "older turn")
            yield notice(self.transcript, f"Left out, as the model's window is too small: {left}")
