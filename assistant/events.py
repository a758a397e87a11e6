"""The closed set of events a turn yields. The terminal, `--json` and the tests consume them.

A turn is `turn_started`, then any of the others, then exactly one of `turn_finished` or
`turn_failed`. Anything an event shows is already in the transcript when it is yielded.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Literal

from assistant.messages import Usage


class State(StrEnum):
    """Where a turn stands."""

    INITIALIZING = "initializing"  # recall and the prompt are being made
    THINKING = "thinking"  # the model is answering
    EXECUTING_TOOL = "executing_tool"
    FINALIZING = "finalizing"  # the reply is whole; usage, compaction
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The owner's message is in the transcript."""

    name: ClassVar[str] = "turn_started"
    session: str
    entry: str


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The turn moved to another state."""

    name: ClassVar[str] = "state_changed"
    state: State


@dataclass(frozen=True, slots=True)
class Recalled:
    """The passages that went into this turn's prompt; `citations` are `file:line`, best first.

    `weak`: they are only the nearest. `texts` are the first words of each.
    """

    name: ClassVar[str] = "recalled"
    citations: tuple[str, ...]
    tokens: int
    weak: bool = False
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillLoaded:
    """A skill is in this turn's prompt, since the message holds its `trigger`."""

    name: ClassVar[str] = "skill_loaded"
    skill: str
    path: str
    trigger: str


@dataclass(frozen=True, slots=True)
class Attached:
    """What came with the owner's message: its title, and so many lines, or what `picture` it is."""

    name: ClassVar[str] = "attached"
    title: str
    lines: int
    picture: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the reply."""

    name: ClassVar[str] = "text_delta"
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's reasoning, kept apart from the reply."""

    name: ClassVar[str] = "reasoning_delta"
    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call is about to run. `compact` is its one-line form."""

    name: ClassVar[str] = "tool_started"
    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    compact: str


@dataclass(frozen=True, slots=True)
class ToolPrinted:
    """The newest lines that a running command has printed."""

    name: ClassVar[str] = "tool_printed"
    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call has its result, also if it was refused or never ran (`error`).

    `diff` is what it has changed in files, as a unified diff.
    """

    name: ClassVar[str] = "tool_finished"
    call_id: str
    tool: str
    content: str
    error: bool
    compact: str
    diff: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """A dangerous call waits for the owner; `detail` is what is shown, a diff for a write.

    `who` is the subtask whose call it is; empty for the conversation's own.
    """

    name: ClassVar[str] = "approval_requested"
    call_id: str
    tool: str
    compact: str
    detail: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalDecided:
    """The owner has decided on a call: `once`, `always` or `no`, with the reason they gave."""

    name: ClassVar[str] = "approval_decided"
    call_id: str
    tool: str
    compact: str
    decision: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The model asks the owner; of `several` options more than one may be meant."""

    name: ClassVar[str] = "question_asked"
    call_id: str
    question: str
    options: tuple[str, ...] = ()
    several: bool = False


@dataclass(frozen=True, slots=True)
class SubtaskMoved:
    """A subtask of a call has begun, does something, or has come to its end.

    `state` is `running`, `done`, `failed` or `stopped`; `doing` is what it does, or why it ended.
    """

    name: ClassVar[str] = "subtask_moved"
    call_id: str
    number: int
    title: str
    session: str
    state: str
    doing: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class MessageJoined:
    """What the owner said while the turn ran is part of it from here on.

    `interrupting`: the call or tool that ran was stopped for it.
    """

    name: ClassVar[str] = "message_joined"
    text: str
    interrupting: bool = False


@dataclass(frozen=True, slots=True)
class Reminded:
    """The model was told something by the program, such as that the turn must end."""

    name: ClassVar[str] = "reminded"
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the owner should know that is not an error."""

    name: ClassVar[str] = "notice"
    text: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """The model call failed and is tried again, after `delay` seconds, on `model`."""

    name: ClassVar[str] = "retrying"
    model: str
    reason: str
    delay: float
    attempt: int
    """How many calls of this request have failed; none where one of an earlier request has."""

    @property
    def said(self) -> str:
        """What is told of it."""
        wait = f" in {self.delay:.0f} s" if self.delay else ""
        return f"{self.reason}; trying {self.model}{wait}"


@dataclass(frozen=True, slots=True)
class Compacting:
    """How far a compaction is: `done` of `total` turns read for facts, then summarised."""

    name: ClassVar[str] = "compacting"
    step: Literal["facts", "summary"]
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """`turns` older turns now stand as a summary; token counts of the history sent."""

    name: ClassVar[str] = "compacted"
    turns: int
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class FactsCaptured:
    """Facts that compaction wrote to memory, and how many wait for the owner's review."""

    name: ClassVar[str] = "facts_captured"
    facts: tuple[str, ...]
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn is over and its reply is in the transcript.

    `waiting`: nobody was there to answer the question that `reply` is; the next message does.
    """

    name: ClassVar[str] = "turn_finished"
    reply: str
    usage: Usage = field(default_factory=Usage)
    interrupted: bool = False
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The turn could not be finished; the transcript is valid and a next turn may follow."""

    name: ClassVar[str] = "turn_failed"
    message: str
    cure: str = ""


Event = (
    TurnStarted
    | StateChanged
    | Attached
    | Recalled
    | SkillLoaded
    | TextDelta
    | ReasoningDelta
    | ToolStarted
    | ToolPrinted
    | ToolFinished
    | ApprovalRequested
    | ApprovalDecided
    | QuestionAsked
    | SubtaskMoved
    | MessageJoined
    | Reminded
    | Notice
    | Retrying
    | Compacting
    | Compacted
    | FactsCaptured
    | TurnFinished
    | TurnFailed
)


def to_json(event: Event) -> str:
    """The event as one line of JSON, its name under `event`."""
    return json.dumps({"event": event.name, **asdict(event)}, ensure_ascii=False)
