"""The agent loop: ask the model, run the tools it calls, feed the results back, until it answers.

The loop is stateless: every message is written to the transcript before it is shown or sent. So a
turn that broke off at any point continues when `run_turn` is called again.

An empty answer is requested once more. If the model repeats the same call, it is told to try
another way, and if it continues, to answer with what it has; it is told the same when the turn has
used up its requests. If it still calls a tool, the turn fails with a reason.

Reading a stream blocks until the provider sends something. A thread does that, so the owner can
interrupt a silent model: the thread is abandoned, and closes the stream at its next piece or when
the request times out.
"""

import contextlib
import json
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Literal

from assistant import events
from assistant.display import counted
from assistant.errors import ModelError, ModelFailure, TurnError
from assistant.events import Event
from assistant.messages import Message, Reply, ToolCall
from assistant.model.base import ChatModel, Piece, ToolSpec
from assistant.model.provider.stream import MALFORMED, UNKNOWN
from assistant.secrets.stand_ins import in_all
from assistant.session.entries import (
    ApprovalEntry,
    AssistantEntry,
    Entry,
    InterruptedEntry,
    QuestionEntry,
    ReminderEntry,
    RetryEntry,
    ToolResultEntry,
    UserEntry,
    usage_of,
)
from assistant.session.history import last_turn, unanswered
from assistant.session.keeping import keep_picture
from assistant.session.transcript import Transcript, notice
from assistant.tables import table_of
from assistant.tools.base import MOST_PICTURES, ToolResult
from assistant.tools.policy import Approver, DenyAll
from assistant.tools.toolbox import Toolbox, Verdict

STOPPED = "Not run: the owner interrupted."
UNANSWERED = "The owner closed the question without an answer."
OVER = "Not run: the turn is over."

Reminder = Literal["empty", "malformed", "circles", "rounds"]
SAME_CALL = 5
"""A call repeated this many times with the same result is a loop."""

LOOPED = (
    f"Not run: you have made this same call {SAME_CALL} times. Try another way, or answer with "
    "what you have."
)
_data = table_of(__file__)
REMINDERS: Mapping[Reminder, str] = _data["reminders"]
CUT_SHORT: Mapping[str, str] = _data["cut_short"]

CHECK_SECONDS = 0.05
"""Seconds between checks for an interruption while the model is silent."""
CLOSE_SECONDS = 0.2
"""Seconds to wait for the reader thread to close the stream before going on without it."""
MAX_ROUNDS = 25
"""The default limit of requests to the model in one turn."""

Events = Generator[Event, None, None]
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
        self.cancelled = False
        """Whether the turn should end."""

    def cancel(self) -> None:
        """End the turn."""
        with self._lock:
            self.cancelled = True
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
        """Return whether the current call or tool should stop."""
        return self.event.is_set()

    def take(self) -> list[str]:
        """Take the queued messages, oldest first, and clear the stop signal."""
        with self._lock:
            messages = list(self._queued)
            self._queued.clear()
            if not self.cancelled:
                self.event.clear()
            return messages

    def reset(self) -> None:
        """Clear a cancellation for a new turn; messages still queued are kept."""
        with self._lock:
            self.cancelled = False
            if not self._queued:
                self.event.clear()


class Cancelled(Exception):
    """The owner ended the turn from another thread; like KeyboardInterrupt."""


class Waits(Exception):
    """The turn waits for the owner to answer this question, but nobody is there to ask."""

    def __init__(self, question: events.QuestionAsked) -> None:
        super().__init__(question.question)
        self.question = question


@dataclass(frozen=True, slots=True)
class Agent:
    """Everything needed to run a turn.

    After `max_rounds` requests the model is told to finish; once the session has used `max_tokens`,
    no more requests are made. `redact` removes secrets from the model's output before it is
    written.
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


def run_turn(agent: Agent) -> Generator[Event, None, AssistantEntry]:
    """Run the transcript's last turn until the model replies; return the reply, never an empty one.

    Raises TurnError if there is no reply, Waits if the owner must answer a question first,
    KeyboardInterrupt or Cancelled if they interrupt, and ModelError if a request fails: the
    transcript is then as before the request, plus what had been streamed. `Transcript.settle` makes
    an unfinished transcript valid.
    """
    if pending := unanswered(agent.transcript.entries):  # left by a crash; they never ran
        yield events.StateChanged(events.State.EXECUTING_TOOL)
        yield from _run_calls(agent, pending)
    while True:
        yield from _join(agent)
        turn = _turn(agent)
        ending_reason = final_reminder(turn)
        rounds = sum(isinstance(entry, AssistantEntry) for entry in turn)
        if ending_reason is None and rounds >= agent.max_rounds - 1:
            ending_reason = "rounds"
            yield _remind(agent, ending_reason)
        yield events.StateChanged(events.State.THINKING)
        stop_if_cancelled(agent)
        _check_tokens(agent)
        response = yield from ask(agent)
        if response is None:  # the owner has added a message
            continue
        answer, finish = response
        if answer.tool_calls and ending_reason:
            yield from _skip_calls(agent, answer.tool_calls, OVER)
            raise without_answer(ending_reason, agent.model.name)
        if answer.tool_calls:
            yield events.StateChanged(events.State.EXECUTING_TOOL)
            yield from _run_calls(agent, answer.tool_calls)
        elif agent.interruption.wanted():
            stop_if_cancelled(agent)
        elif (missing := defect(answer, finish)) is None:
            return answer
        else:
            yield _ask_again(agent, missing, finish)


def _ask_again(agent: Agent, missing: Reminder, finish: str) -> events.Reminded:
    """Ask for the answer once more. Raises TurnError if that was already done."""
    ending_reason = final_reminder(_turn(agent))
    if ending_reason or finish == "content_filter" or _answered_since(_turn(agent), missing):
        raise without_answer(ending_reason or missing, agent.model.name, finish)
    return _remind(agent, missing)


def _run_calls(agent: Agent, calls: Sequence[ToolCall]) -> Events:
    """Run the calls in order; all of them have a result afterwards, even if interrupted."""
    for index, call in enumerate(calls):
        if agent.interruption.wanted():
            yield from _skip_calls(agent, calls[index:], STOPPED)
            return
        yield from _run_call(agent, call)


def _run_call(agent: Agent, call: ToolCall) -> Events:
    verdict = agent.toolbox.review(call)
    if verdict.action == "ask":
        verdict = yield from _ask_approval(agent, verdict)
    looped = is_loop(_turn(agent), call)
    question = verdict.question if not looped else None
    answer = (yield from _ask_owner(agent, call, question)) if question else None
    yield events.ToolStarted(call.id, call.name, call.arguments, verdict.compact)
    began = time.monotonic()
    result = ToolResult(LOOPED, error=True) if looped else answer
    result = result or (yield from agent.toolbox.work(verdict))
    result = replace(_visible(agent, result), compact=result.compact or verdict.compact)
    if result.interrupted:
        agent.interruption.cancel()
    yield _record(agent, call, result, seconds=round(time.monotonic() - began, 1))
    if looped and _was_told_to_stop(_turn(agent)):
        yield _remind(agent, "circles")


def _ask_approval(agent: Agent, verdict: Verdict) -> Generator[Event, None, Verdict]:
    """Ask the owner to approve a call; the request and the decision are recorded first."""
    call = verdict.call
    request = events.ApprovalRequested(call.id, call.name, verdict.compact, verdict.detail)
    agent.transcript.append(ApprovalEntry(call.id))
    yield request
    decision = agent.approver.decide(request)
    decision = replace(decision, reason=agent.redact(decision.reason))
    agent.transcript.append(ApprovalEntry(call.id, decision.kind, decision.reason))
    yield events.ApprovalDecided(
        call.id, call.name, verdict.compact, decision.kind, decision.reason
    )
    return agent.toolbox.settle(verdict, decision)


def _ask_owner(
    agent: Agent, call: ToolCall, question: events.QuestionAsked
) -> Generator[Event, None, ToolResult]:
    """Ask the owner the model's question; return their answer. Raises Waits if nobody is there."""
    asked = replace(question, call_id=call.id)
    agent.transcript.append(QuestionEntry(call.id, asked.question, asked.options, asked.several))
    yield asked
    answer = agent.approver.answer(asked)
    if answer is None:
        raise Waits(question)
    return answer_result(question, agent.redact(answer))


def answer_result(question: events.QuestionAsked, text: str) -> ToolResult:
    """Return the owner's answer to a question, as a tool result for the model."""
    if not text.strip():
        return ToolResult(UNANSWERED, error=True, compact="no answer")
    meant = question.meant(text)
    return ToolResult(meant, compact=meant)


def _skip_calls(agent: Agent, calls: Iterable[ToolCall], reason: str) -> Events:
    for call in calls:
        yield _record(agent, call, ToolResult(reason, error=True, compact=reason), synthetic=True)


def _record(
    agent: Agent, call: ToolCall, result: ToolResult, *, synthetic: bool = False, seconds: float = 0
) -> events.ToolFinished:
    fields = (call.id, call.name, result.content, result.error, result.compact)
    agent.transcript.append(ToolResultEntry(*fields, synthetic, result.whole, seconds))
    for number, picture in enumerate(result.pictures, 1):
        keep_picture(agent.transcript, f"Picture {number} of {call.name}", picture, call.id)
    return events.ToolFinished(*fields, result.diff, seconds)


def _visible(agent: Agent, result: ToolResult) -> ToolResult:
    """Return the result with the pictures that the model can see; its text counts the others."""
    shown = result.pictures[:MOST_PICTURES]
    if shown and not agent.model.sees:
        shown = ()
    if not (missing := len(result.pictures) - len(shown)):
        return result
    reason = "there are too many" if shown else "you cannot be shown pictures"
    text = f"{result.content}\n[Left out: {counted(missing, 'picture')}, since {reason}.]"
    return replace(result, content=text, pictures=shown)


def _join(agent: Agent) -> Events:
    """Add the messages that the owner has queued to the turn."""
    stop_if_cancelled(agent)
    interrupting = agent.interruption.wanted()
    messages = agent.interruption.take()
    for text in messages:
        agent.transcript.append(UserEntry(text, joins=True))
    yield from (events.MessageJoined(text, interrupting) for text in messages)


def _remind(agent: Agent, kind: Reminder) -> events.Reminded:
    """Send the model a reminder of this kind."""
    text = REMINDERS[kind]
    agent.transcript.append(ReminderEntry(text, kind))
    return events.Reminded(text)


def _check_tokens(agent: Agent) -> None:
    """Raise TurnError if the session has used all of its tokens."""
    if agent.max_tokens is None:
        return
    spent = usage_of(agent.transcript.entries).tokens
    if spent >= agent.max_tokens:
        raise TurnError(
            f"stopped: it had cost {spent:,} of {agent.max_tokens:,} tokens",
            "Give it a smaller task, or more tokens",
        )


def _turn(agent: Agent) -> Sequence[Entry]:
    turn = last_turn(agent.transcript.entries)
    return turn.entries if turn else ()


# One request, and its answer, which is written to the transcript before it is shown


def ask(agent: Agent) -> Generator[Event, None, tuple[AssistantEntry, str] | None]:
    """Make one request and record its answer; return the entry and the finish reason.

    None if the owner added a message. Raises ModelError, KeyboardInterrupt and Cancelled.
    """
    specs = agent.toolbox.specs()
    draft = Reply()  # streamed but not yet recorded
    try:
        response = agent.model.stream(agent.prompt(specs), specs)
        with contextlib.closing(listen(response, agent.interruption)) as stream:
            for piece in stream:
                match piece:
                    case Reply(finish_reason=finish):
                        answer = agent.transcript.append(_entry(piece, agent))
                        draft = Reply()
                        next(stream, None)  # exhaust it: closing it early would cancel the request
                        is_cut = finish in CUT_SHORT and answer.text.strip()
                        if is_cut and not answer.tool_calls:
                            yield notice(agent.transcript, CUT_SHORT[finish])
                        return answer, finish
                    case events.Retrying(model, reason, delay, attempt):
                        draft = Reply()  # at most reasoning, which starts again
                        piece = replace(piece, reason=agent.redact(reason))
                        agent.transcript.append(RetryEntry(model, piece.reason, delay, attempt))
                    case events.TextDelta(text):
                        draft = replace(draft, text=draft.text + text)
                    case events.ReasoningDelta(text):
                        draft = replace(draft, reasoning=draft.reasoning + text)
                yield piece
                if agent.interruption.wanted():
                    break
        if not agent.interruption.wanted():
            reason = "the model's answer is incomplete"
            raise ModelError(reason, "Try again", kind=ModelFailure.PROTOCOL)
        stop_if_cancelled(agent)
        _keep(agent, draft, "Interrupted: the owner added something")
        return None
    except BaseException as error:
        failed = isinstance(error, ModelError)
        _keep(
            agent, draft, "Broken off: the model failed" if failed else "Interrupted by the owner"
        )
        raise


def _keep(agent: Agent, draft: Reply, reason: str) -> None:
    """Record what was streamed before the answer broke off, if anything."""
    if draft.text or draft.reasoning:
        agent.transcript.append(_entry(draft, agent))
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
    """Yield the calls with ids unique in the session: some models count from 0 each time."""
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
    wanted: SimpleQueue[bool] = SimpleQueue()  # whether to read another piece
    items: SimpleQueue[Piece | BaseException | None] = SimpleQueue()

    def read() -> None:
        try:
            while wanted.get():
                items.put(next(stream, None))
            stream.close()
        except BaseException as error:  # raised again by the consumer
            items.put(error)

    thread = threading.Thread(target=read, name="model stream", daemon=True)
    thread.start()
    try:
        wanted.put(True)
        while True:
            try:
                item = items.get(timeout=CHECK_SECONDS)
            except Empty:
                if interruption.wanted():
                    return
                continue
            if isinstance(item, BaseException):
                raise item
            if item is None:
                return
            yield item
            wanted.put(True)
    finally:
        wanted.put(False)
        thread.join(CLOSE_SECONDS)


# When to remind the model, and when to end the turn without an answer


def _answered_since(turn: Sequence[Entry], kind: Reminder) -> bool:
    """Return whether the model has answered since it got this reminder in the turn."""
    kinds = [getattr(entry, "kind", "") for entry in turn]
    later = turn[kinds.index(kind) :] if kind in kinds else ()
    return any(isinstance(entry, AssistantEntry) for entry in later)


def final_reminder(turn: Sequence[Entry]) -> Reminder | None:
    """Return the reason why the model was told to finish; None if it was not."""
    endings: tuple[Reminder, ...] = ("circles", "rounds")
    kinds = [entry.kind for entry in turn if isinstance(entry, ReminderEntry)]
    return next((kind for kind in endings if kind in kinds), None)


def _was_told_to_stop(turn: Sequence[Entry]) -> bool:
    """Return whether the model had been told of a loop before its latest answer."""
    is_notice = [getattr(entry, "content", "") == LOOPED for entry in turn]
    answers = [number for number, entry in enumerate(turn) if isinstance(entry, AssistantEntry)]
    return any(is_notice[: max(answers, default=0)])


def is_loop(turn: Sequence[Entry], call: ToolCall) -> bool:
    """Return whether this call repeats for the `SAME_CALL`th time with the same result.

    Different results are no loop: the tests run after each change, or a command is polled.
    """
    key, calls = _key(call), dict[str, str]()
    results: Counter[str] = Counter()
    for entry in turn:
        match entry:
            case AssistantEntry(tool_calls=tool_calls):
                calls = {call.id: _key(call) for call in tool_calls}
            case ToolResultEntry(call_id=call_id, content=content) if calls.get(call_id) == key:
                results[content] += 1
    return max(results.values(), default=0) >= SAME_CALL - 1


def _key(call: ToolCall) -> str:
    return json.dumps([call.name, dict(call.arguments)], sort_keys=True, default=str)


def defect(answer: AssistantEntry, finish: str) -> Reminder | None:
    """Return what is wrong with an answer without calls: empty, or a malformed call."""
    if finish == MALFORMED:
        return "malformed"
    return None if answer.text.strip() else "empty"


def without_answer(reason: Reminder, model: str, finish: str = "") -> TurnError:
    """Return the error of a turn without an answer: the reason, and what the owner can do."""
    error = _data["without_answer"][finish if finish in ("content_filter", "length") else reason]
    word = f"; its provider called that {finish}" if finish.startswith(UNKNOWN) else ""
    return TurnError(error["text"].format(model=model, word=word), error["cure"])
