"""The closed set of events that a turn yields, for the terminal, `--json` and the tests.

A turn is `turn_started`, then any of the others, then exactly one `turn_finished` or
`turn_failed`. Everything an event shows is already in the transcript when it is yielded.
"""

import json
import re
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Literal, TypeVar, cast

from assistant.messages import Usage

T = TypeVar("T")


class State(StrEnum):
    """The state of a turn."""

    INITIALIZING = "initializing"  # recalling, and building the prompt
    THINKING = "thinking"  # the model is answering
    EXECUTING_TOOL = "executing_tool"
    FINALIZING = "finalizing"  # the reply is complete; usage, compaction
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Event:
    """An event; its `name` is its class name in snake case: `turn_started`."""

    name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


@dataclass(frozen=True, slots=True)
class TurnStarted(Event):
    """The owner's message is in the transcript."""

    session: str
    entry: str


@dataclass(frozen=True, slots=True)
class StateChanged(Event):
    """The turn moved to another state."""

    state: State


@dataclass(frozen=True, slots=True)
class Recalled(Event):
    """The passages in this turn's prompt; `citations` are `file:line`, best first.

    `weak`: none is clearly relevant. `texts` are the beginnings of those that are clearly relevant
    to the message, and empty for the others.
    """

    citations: tuple[str, ...]
    tokens: int
    weak: bool = False
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillLoaded(Event):
    """A skill is in this turn's prompt because the message contains its `trigger`."""

    skill: str
    path: str
    trigger: str


@dataclass(frozen=True, slots=True)
class Attached(Event):
    """An attachment of the owner's message: its title, and its number of lines or its `picture`."""

    title: str
    lines: int
    picture: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta(Event):
    """A piece of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta(Event):
    """A piece of the model's reasoning, kept apart from the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted(Event):
    """A tool call is about to run. `compact` is its one-line form."""

    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    compact: str


@dataclass(frozen=True, slots=True)
class ToolPrinted(Event):
    """The latest lines printed by a running command."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished(Event):
    """A tool call has its result, even if it was refused or never ran (`error`).

    `diff` is its changes to files, as a unified diff; it took `seconds`.
    """

    call_id: str
    tool: str
    content: str
    error: bool
    compact: str
    diff: str = ""
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class ApprovalRequested(Event):
    """A dangerous call waits for the owner; `detail` is what they see, a diff for a write.

    `who` is the subtask that made the call; empty for the conversation itself.
    """

    call_id: str
    tool: str
    compact: str
    detail: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalDecided(Event):
    """The owner has decided on a call: `once`, `always` or `no`, with the reason they gave."""

    call_id: str
    tool: str
    compact: str
    decision: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class QuestionAsked(Event):
    """The model asks the owner; with `several`, more than one option may be chosen."""

    call_id: str
    question: str
    options: tuple[str, ...] = ()
    several: bool = False

    @property
    def rendered(self) -> str:
        """The question, followed by one numbered line per option."""
        lines = (f"{number}. {option}" for number, option in enumerate(self.options, start=1))
        return "\n".join([self.question, *lines])

    def meant(self, answer: str) -> str:
        """Return the options that the answer names by number or text, or else the answer itself."""
        choices = {_plain(option): option for option in self.options}
        choices |= {str(number): option for number, option in enumerate(self.options, start=1)}
        separators = (";", ",", " ") if self.several else ()
        for parts in (
            [answer],
            *(answer.replace(",", separator).split(separator) for separator in separators),
        ):
            chosen = [choices.get(_plain(part)) for part in parts if part.strip()]
            if chosen and all(chosen):
                return "; ".join(dict.fromkeys(filter(None, chosen)))
        return answer.strip()


def _plain(answer: str) -> str:
    return " ".join(answer.split()).strip(" .!").casefold()


@dataclass(frozen=True, slots=True)
class SubtaskMoved(Event):
    """A subtask of a call has started, changed its activity, or ended.

    `state` is `running`, `done`, `failed` or `stopped`; `doing` is its current activity, or why it
    ended.
    """

    call_id: str
    number: int
    title: str
    session: str
    state: str
    doing: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class MessageJoined(Event):
    """A message from the owner joined the running turn.

    `interrupting`: the running model call or tool was stopped for it.
    """

    text: str
    interrupting: bool = False


@dataclass(frozen=True, slots=True)
class Reminded(Event):
    """The program told the model something, such as that the turn must end."""

    text: str


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """Something the owner should know that is not an error."""

    text: str


@dataclass(frozen=True, slots=True)
class Retrying(Event):
    """The model call failed and is retried after `delay` seconds, on `model`."""

    model: str
    reason: str
    delay: float
    attempt: int
    """How many calls of this request have failed; 0 if a call of an earlier request failed."""

    @property
    def text(self) -> str:
        """The message for the owner."""
        wait = f" in {self.delay:.0f} s" if self.delay else ""
        return f"{self.reason}; trying {self.model}{wait}"


@dataclass(frozen=True, slots=True)
class Compacting(Event):
    """The progress of a compaction: `done` of `total` turns read for facts, then summarised."""

    step: Literal["facts", "summary"]
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Compacted(Event):
    """`turns` older turns were replaced by a summary; token counts of the history sent."""

    turns: int
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class FactsCaptured(Event):
    """Facts that compaction wrote to memory, and how many wait for the owner's review."""

    facts: tuple[str, ...]
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class TurnFinished(Event):
    """The turn is over and its reply is in the transcript.

    `waiting`: nobody was there to answer the question in `reply`; the next message answers it. The
    turn took `seconds`, and the model answered `requests` times.
    """

    reply: str
    usage: Usage = field(default_factory=Usage)
    interrupted: bool = False
    waiting: bool = False
    seconds: float = field(default=0.0, compare=False)
    requests: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class TurnFailed(Event):
    """The turn could not be finished; the transcript is valid and another turn may follow.

    `code` is the name of the error, such as `ModelFailure`.
    """

    message: str
    cure: str = ""
    code: str = field(default="", compare=False)


def to_json(event: Event) -> str:
    """Return the event as one line of JSON, with its name under `event`."""
    return json.dumps({"event": event.name, **asdict(event)}, ensure_ascii=False)


def drained(work: Generator[Event, None, T]) -> T:
    """Run the generator to its end, discard its events, and return its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return cast(T, end.value)
