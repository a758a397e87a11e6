"""One request to the model, and its answer in the transcript: written before it is shown.

Reading a stream blocks until the provider sends something. A thread does that, so that the owner
can interrupt a silent model: the thread is abandoned, and closes the stream at its next piece or
when the request times out.
"""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue

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
    "length": "The answer was cut off at the model's output limit; ask it to continue",
    "content_filter": "The provider's content filter withheld the rest of the answer",
    "incomplete": "The answer ended unexpectedly; it may be incomplete",
    "too_long": "The answer did not end and was cut off; what arrived is kept",
}
"""The notices to the owner, by the reason why the answer is incomplete."""

CHECK_SECONDS = 0.05
"""Seconds between checks for an interruption while the model is silent."""
CLOSE_SECONDS = 0.2
"""Seconds to wait for the reader thread to close the stream before going on without it."""
MAX_ROUNDS = 25
"""The default limit of requests to the model in one turn."""

Pieces = Generator[Piece, None, None]
Prompt = Callable[[Sequence[ToolSpec]], Sequence[Message]]
"""Returns the messages of the next request for the tools offered, from the current transcript."""


class Interruption:
    """Messages and a stop signal for the running turn.

    `event` is set while the current call or tool should stop. Long-running code watches it; the
    loop then checks whether the turn was cancelled or a message was queued.
    """

    def __init__(self) -> None:
        self.event = threading.Event()
        self._lock = threading.Lock()
        self._queued: deque[str] = deque()
        self._cancelled = False

    def cancel(self) -> None:
        """End the turn."""
        with self._lock:
            self._cancelled = True
            self.event.set()

    def queue(self, text: str) -> None:
        """Add `text` to the turn when the current call or tool has finished."""
        with self._lock:
            self._queued.append(text)

    @property
    def waiting(self) -> list[str]:
        """The queued messages that have not joined the turn yet."""
        with self._lock:
            return list(self._queued)

    def hurry(self) -> None:
        """Stop the current call or tool if a message is queued."""
        with self._lock:
            if self._queued:
                self.event.set()

    def wanted(self) -> bool:
        """Whether the current call or tool should stop."""
        return self.event.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether the turn should end."""
        return self._cancelled

    def take(self) -> list[str]:
        """Take the queued messages, oldest first, and clear the stop signal."""
        with self._lock:
            messages = list(self._queued)
            self._queued.clear()
            if not self._cancelled:
                self.event.clear()
            return messages

    def reset(self) -> None:
        """Clear a cancellation for a new turn; messages that are still queued are kept."""
        with self._lock:
            self._cancelled = False
            if not self._queued:
                self.event.clear()


class Cancelled(Exception):
    """The owner ended the turn from another thread; like KeyboardInterrupt."""


class Waits(Exception):
    """The turn waits for the owner to answer this question, but nobody is there to be asked."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.text)
        self.question = question


@dataclass(frozen=True, slots=True)
class Agent:
    """Everything that running a turn needs.

    After `max_rounds` requests the model is told to finish; once the session has cost `max_tokens`,
    no more requests are made. `redact` removes secrets from the model's output before it is written
    down.
    """

    model: ChatModel
    prompt: Prompt
    toolbox: Toolbox
    transcript: Transcript
    approver: Approver = field(default_factory=DenyAll)
    interruption: Interruption = field(default_factory=Interruption)
    max_rounds: int = MAX_ROUNDS
    max_tokens: int | None = None
    redact: Callable[[str], str] = str


def ask(agent: Agent) -> Generator[Event, None, tuple[AssistantEntry, str] | None]:
    """Make one request and write its answer down; return the entry and the finish reason.

    None if the owner added a message. Raises ModelError, KeyboardInterrupt and Cancelled.
    """
    specs = agent.toolbox.specs()
    draft = _Draft()
    try:
        response = agent.model.stream(agent.prompt(specs), specs)
        with contextlib.closing(listen(response, agent.interruption)) as stream:
            reply = yield from _streamed(agent, stream, draft)
            if reply is None:
                stop_if_cancelled(agent)
                _keep(agent, draft, "Interrupted: the owner added something")
                return None
            answer = agent.transcript.append(_entry(reply, agent))
            draft.clear()
            next(stream, None)  # exhaust it: closing it early would cancel the request
            if reply.finish_reason in CUT_SHORT and answer.text.strip() and not answer.tool_calls:
                yield notice(agent.transcript, CUT_SHORT[reply.finish_reason])
            return answer, reply.finish_reason
    except BaseException as error:
        failed = isinstance(error, ModelError)
        _keep(
            agent, draft, "Broken off: the model failed" if failed else "Interrupted by the owner"
        )
        raise


def _streamed(
    agent: Agent, stream: Iterable[Piece], draft: "_Draft"
) -> Generator[Event, None, Reply | None]:
    """Show the pieces until the reply is complete; None if the owner interrupts before."""
    for piece in stream:
        match piece:
            case Reply():
                return piece
            case RetryPiece(model, reason, delay, attempt):
                draft.clear()  # at most reasoning, which starts again
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
    raise ModelError("the model's answer is incomplete", "Try again", kind=ModelFailure.PROTOCOL)


@dataclass(slots=True)
class _Draft:
    """The part of an answer that has been streamed so far."""

    text: str = ""
    reasoning: str = ""

    def clear(self) -> None:
        self.text = self.reasoning = ""


def _keep(agent: Agent, draft: _Draft, reason: str) -> None:
    """Write down what was streamed before the answer broke off, if anything."""
    if draft.text or draft.reasoning:
        partial = Reply(draft.text, draft.reasoning)
        agent.transcript.append(_entry(partial, agent))
        agent.transcript.append(InterruptedEntry(reason))


def _entry(reply: Reply, agent: Agent) -> AssistantEntry:
    redact = agent.redact
    calls = tuple(
        replace(call, arguments=in_all(redact, call.arguments))
        for call in _distinct(reply.tool_calls, agent.transcript.entries)
    )
    text, reasoning = redact(reply.text), redact(reply.reasoning)
    signed = reply.signed if reasoning == reply.reasoning else ()  # cannot be redacted
    return AssistantEntry(text, reasoning, calls, reply.usage, agent.model.name, signed)


def _distinct(calls: Iterable[ToolCall], entries: Sequence[Entry]) -> Iterator[ToolCall]:
    """The calls with ids that are unique in the session: some models count from 0 each time."""
    answers = (entry for entry in entries if isinstance(entry, AssistantEntry))
    taken = {call.id for answer in answers for call in answer.tool_calls}
    for index, call in enumerate(calls):
        free = call.id and call.id not in taken
        yield call if free else replace(call, id=f"call_{len(entries)}_{index}")
        taken.add(call.id)


def stop_if_cancelled(agent: Agent) -> None:
    """Raise Cancelled if the owner has ended the turn."""
    if agent.interruption.cancelled:
        raise Cancelled


# A stream that the owner can stop while it is silent


def listen(stream: Pieces, interruption: Interruption) -> Pieces:
    """Yield the stream's pieces, each read on demand.

    Ends early if the owner interrupts while the model is silent. Raises what the stream raises.
    Closing this generator cancels the request.
    """
    reader = _Reader(stream)
    try:
        while (piece := reader.next(interruption)) is not None:
            yield piece
    finally:
        reader.end()


class _Reader:
    """Reads a stream in a thread, one piece at a time."""

    def __init__(self, stream: Pieces) -> None:
        self._stream = stream
        self._requests = threading.Semaphore(0)
        self._closed = False
        self._items: SimpleQueue[Piece | BaseException | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="model stream", daemon=True)
        self._thread.start()

    def next(self, interruption: Interruption) -> Piece | None:
        """Return the next piece; None at the end, or if the owner interrupts while waiting."""
        self._requests.release()
        while True:
            try:
                item = self._items.get(timeout=CHECK_SECONDS)
            except Empty:
                if interruption.wanted():
                    return None
                continue
            if isinstance(item, BaseException):
                raise item
            return item

    def end(self) -> None:
        """Make the thread close the stream, now or at the piece it waits for."""
        self._closed = True
        self._requests.release()
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        try:
            while self._requests.acquire() and not self._closed:
                self._items.put(next(self._stream, None))
            self._stream.close()
        except BaseException as error:  # raised again in `next`
            self._items.put(error)
