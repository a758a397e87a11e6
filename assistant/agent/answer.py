"""One request to the model, and its answer in the transcript: written before it is shown.

A request that has sent nothing yet blocks whoever reads it. Here that is a thread, which is left
behind when the owner interrupts: it hangs up at its next piece, or when the request times out.
"""

import contextlib
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue

from assistant.agent.interruption import Interruption
from assistant.errors import ModelError, ModelFailure
from assistant.events import Event, ReasoningDelta, Retrying, TextDelta
from assistant.messages import Message, Reply, ToolCall
from assistant.model.base import ChatModel, Piece, ReasoningPiece, RetryPiece, TextPiece, ToolSpec
from assistant.secrets.stand_ins import in_all
from assistant.session.entries import (
    AssistantEntry,
    Entry,
    InterruptedEntry,
    RetryEntry,
)
from assistant.session.transcript import Transcript, notice
from assistant.tools.base import Question
from assistant.tools.policy import Approver, DenyAll
from assistant.tools.toolbox import Toolbox

CUT_SHORT = {
    "length": "The answer was cut off at the model's own limit; ask it to go on",
    "content_filter": "The provider's content filter withheld the rest of the answer",
    "incomplete": "The answer broke off without an end; it may not be all of it",
    "too_long": "The answer had no end and was cut; what came of it is kept",
}
"""What the owner is told, by the reason why the model stopped."""

PATIENCE = 0.05
"""Seconds between looks at the interruption while the model is silent."""
HANG_UP = 0.2
"""Seconds given to the reader to hang up before the turn goes on without it."""
MAX_ROUNDS = 25
"""Requests to the model in one turn, if nothing else is set."""

Pieces = Generator[Piece, None, None]
Prompt = Callable[[Sequence[ToolSpec]], Sequence[Message]]
"""The messages of the next request, from the transcript as it stands, given the tools offered."""


class Cancelled(Exception):
    """The owner ended the turn from another thread; like KeyboardInterrupt."""


class Waits(Exception):
    """The turn waits for the owner's answer to this question, and nobody is there."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.text)
        self.question = question


@dataclass(frozen=True, slots=True)
class Agent:
    """What a turn is run with.

    `max_rounds` are the requests to the model before it is told to come to an end. `redact` takes
    secrets out of what the model says before that is written down.
    """

    model: ChatModel
    prompt: Prompt
    toolbox: Toolbox
    transcript: Transcript
    approver: Approver = field(default_factory=DenyAll)
    interruption: Interruption = field(default_factory=Interruption)
    max_rounds: int = MAX_ROUNDS
    redact: Callable[[str], str] = str


def ask(agent: Agent) -> Generator[Event, None, tuple[AssistantEntry, str] | None]:
    """One request; the answer is in the transcript when this returns, with its finish reason.

    None if interrupted. Raises ModelError, and what stops the turn.
    """
    specs = agent.toolbox.specs()
    draft = _Draft()
    try:
        asked = agent.model.stream(agent.prompt(specs), specs)
        with contextlib.closing(listen(asked, agent.interruption)) as stream:
            reply = yield from _streamed(agent, stream, draft)
            if reply is None:
                stop_if_cancelled(agent)
                _keep(agent, draft, "Interrupted: the owner added something")
                return None
            answer = agent.transcript.append(_entry(reply, agent))
            draft.clear()
            next(stream, None)  # to its own end, so that nothing is cancelled
            if reply.finish_reason in CUT_SHORT and answer.text.strip() and not answer.tool_calls:
                yield notice(agent.transcript, CUT_SHORT[reply.finish_reason])
            return answer, reply.finish_reason
    except BaseException as stopped:
        failed = isinstance(stopped, ModelError)
        _keep(
            agent, draft, "Broken off: the model failed" if failed else "Interrupted by the owner"
        )
        raise


def _streamed(
    agent: Agent, stream: Iterable[Piece], draft: "_Draft"
) -> Generator[Event, None, Reply | None]:
    """Show what comes until the answer is whole; None if the owner wants something meanwhile."""
    for piece in stream:
        match piece:
            case Reply():
                return piece
            case RetryPiece(model, reason, delay, attempt):
                draft.clear()  # at most a thought, which is thought anew
                reason = agent.redact(reason)
                agent.transcript.append(RetryEntry(model, reason, delay, attempt))
                yield Retrying(model, reason, delay, attempt)
            case TextPiece(text):
                draft.text += text
                yield TextDelta(text)
            case ReasoningPiece(text):
                draft.reasoning += text
                yield ReasoningDelta(text)
        if agent.interruption.wanted():
            return None
    if agent.interruption.wanted():
        return None
    raise ModelError("the model's answer has no end", "Try again", kind=ModelFailure.PROTOCOL)


@dataclass(slots=True)
class _Draft:
    """What was streamed of an answer that is not whole yet."""

    text: str = ""
    reasoning: str = ""

    def clear(self) -> None:
        self.text = self.reasoning = ""


def _keep(agent: Agent, draft: _Draft, why: str) -> None:
    """Write what was streamed before an answer broke off; nothing if there was nothing."""
    if draft.text or draft.reasoning:
        said = Reply(draft.text, draft.reasoning)
        agent.transcript.append(_entry(said, agent))
        agent.transcript.append(InterruptedEntry(why))


def _entry(reply: Reply, agent: Agent) -> AssistantEntry:
    redact = agent.redact
    calls = tuple(
        replace(call, arguments=in_all(redact, call.arguments))
        for call in _distinct(reply.tool_calls, agent.transcript.entries)
    )
    text, reasoning = redact(reply.text), redact(reply.reasoning)
    signed = reply.signed if reasoning == reply.reasoning else ()  # it cannot be redacted
    return AssistantEntry(text, reasoning, calls, reply.usage, agent.model.name, signed)


def _distinct(calls: Iterable[ToolCall], entries: Sequence[Entry]) -> Iterator[ToolCall]:
    """The calls, each with an id that no other of the session has: some models count from 0."""
    answers = (entry for entry in entries if isinstance(entry, AssistantEntry))
    taken = {call.id for answer in answers for call in answer.tool_calls}
    for index, call in enumerate(calls):
        free = call.id and call.id not in taken
        yield call if free else replace(call, id=f"call_{len(entries)}_{index}")
        taken.add(call.id)


def stop_if_cancelled(agent: Agent) -> None:
    """Raises Cancelled if the owner has ended the turn."""
    if agent.interruption.cancelled:
        raise Cancelled


# A stream that the owner can stop while it is silent


def listen(stream: Pieces, interruption: Interruption) -> Pieces:
    """The stream's pieces, each read when it is asked for.

    Ends early if the owner wants something to stop while the model is silent. Raises what the
    stream raises. Closing this cancels the request.
    """
    reader = _Reader(stream)
    try:
        while (piece := reader.next(interruption)) is not None:
            yield piece
    finally:
        reader.end()


class _Reader:
    """Pulls one piece at a time in a thread."""

    def __init__(self, stream: Pieces) -> None:
        self._stream = stream
        self._wanted = threading.Semaphore(0)
        self._over = False
        self._heard: SimpleQueue[Piece | BaseException | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="model stream", daemon=True)
        self._thread.start()

    def next(self, interruption: Interruption) -> Piece | None:
        """The next piece; None at the end, or when the owner interrupts the silence."""
        self._wanted.release()
        while True:
            try:
                heard = self._heard.get(timeout=PATIENCE)
            except Empty:
                if interruption.wanted():
                    return None
                continue
            if isinstance(heard, BaseException):
                raise heard
            return heard

    def end(self) -> None:
        """Have the thread hang up, now or at the piece it waits for."""
        self._over = True
        self._wanted.release()
        self._thread.join(HANG_UP)

    def _run(self) -> None:
        try:
            while self._wanted.acquire() and not self._over:
                self._heard.put(next(self._stream, None))
            self._stream.close()
        except BaseException as error:  # carried to the thread that listens
            self._heard.put(error)
