"""The agent loop: ask the model, run the tools it calls, feed the results back, until it answers.

The loop keeps no state of its own: what was said is in the transcript, written before it is shown
and before it is sent. So a turn that broke off anywhere goes on by calling `run_turn` again.
"""

import contextlib
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from assistant.agent.interruption import Interruption
from assistant.agent.listening import listen
from assistant.errors import ModelError, ModelFailure
from assistant.events import (
    ApprovalDecided,
    ApprovalRequested,
    Event,
    MessageJoined,
    Notice,
    ReasoningDelta,
    Reminded,
    Retrying,
    State,
    StateChanged,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from assistant.messages import Message, Reply, ToolCall
from assistant.model.base import ChatModel, ReasoningPiece, RetryPiece, TextPiece, ToolSpec
from assistant.secrets.stand_ins import in_all
from assistant.session.entries import (
    ApprovalEntry,
    AssistantEntry,
    Entry,
    InterruptedEntry,
    NoticeEntry,
    ReminderEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.transcript import Transcript
from assistant.session.turns import group, unanswered
from assistant.tools.base import ToolResult
from assistant.tools.policy import Approver, DenyAll
from assistant.tools.toolbox import Toolbox, Verdict

MAX_ROUNDS = 25
"""Requests to the model in one turn, before it is told to come to an end."""
SAME_CALL = 5
"""The same call this many times is a loop."""

DEFERRED = "Deferred: one call at a time. Make this call again if you still need it."
STOPPED = "Not run: the owner interrupted."
LOOPED = f"Not run: you have made this same call {SAME_CALL} times. Answer with what you have."
OVER = "Not run: the turn is over."
LAST_ROUND = "The turn is at its end: answer now with what you have, without calling tools"

CUT_SHORT = {
    "length": "The answer was cut off at the model's own limit; ask it to go on",
    "content_filter": "The provider's content filter withheld the rest of the answer",
    "incomplete": "The answer broke off without an end; it may not be all of it",
    "too_long": "The answer had no end and was cut; what came of it is kept",
}
"""What the owner is told, by the reason why the model stopped."""

Prompt = Callable[[Sequence[ToolSpec]], Sequence[Message]]
"""The messages of the next request, from the transcript as it stands, given the tools offered."""
Turning = Generator[Event, None, None]


class Cancelled(Exception):
    """The owner ended the turn from another thread; like KeyboardInterrupt."""


@dataclass(frozen=True, slots=True)
class Agent:
    """What a turn is run with. `one_call` runs only the first tool call of an answer.

    `redact` takes secrets out of what the model says before that is written down.
    """

    model: ChatModel
    prompt: Prompt
    toolbox: Toolbox
    transcript: Transcript
    approver: Approver = field(default_factory=DenyAll)
    interruption: Interruption = field(default_factory=Interruption)
    one_call: bool = False
    max_rounds: int = MAX_ROUNDS
    redact: Callable[[str], str] = str


def run_turn(agent: Agent) -> Generator[Event, None, AssistantEntry]:
    """Carry the transcript's last turn to its reply, which is returned.

    Raises ModelError with the transcript as it was before the failed request (plus what had been
    streamed), and KeyboardInterrupt or Cancelled; `Transcript.settle` then makes it valid.
    """
    yield from _finish_calls(agent)
    while True:
        yield from _join(agent)
        last = _rounds(agent.transcript) >= agent.max_rounds - 1 or _told_to_end(agent.transcript)
        if last and not _told_to_end(agent.transcript):
            yield _remind(agent)
        yield StateChanged(State.THINKING)
        answer = yield from _ask(agent)
        if answer is None:  # the owner said something into it
            continue
        if last:
            yield from _not_run(agent, answer.tool_calls, OVER)
            return answer
        if not answer.tool_calls:
            if not agent.interruption.wanted():
                return answer
            _stop_if_cancelled(agent)
            continue
        yield StateChanged(State.EXECUTING_TOOL)
        yield from _run_calls(agent, answer.tool_calls)


def _ask(agent: Agent) -> Generator[Event, None, AssistantEntry | None]:
    """One request; the answer is in the transcript when this returns. None if interrupted."""
    specs = agent.toolbox.specs()
    draft = _Draft()
    try:
        asked = agent.model.stream(agent.prompt(specs), specs)
        with contextlib.closing(listen(asked, agent.interruption)) as stream:
            for piece in stream:
                match piece:
                    case Reply():
                        answer = agent.transcript.append(_entry(piece, agent))
                        draft = _Draft()
                        break
                    case RetryPiece(model, reason, delay, attempt):
                        draft = _Draft()  # at most a thought, which is thought anew
                        yield Retrying(model, reason, delay, attempt)
                    case TextPiece(text):
                        draft.text += text
                        yield TextDelta(text)
                    case ReasoningPiece(text):
                        draft.reasoning += text
                        yield ReasoningDelta(text)
                if agent.interruption.wanted():
                    _broken_off(agent, draft)
                    return None
            else:
                if agent.interruption.wanted():
                    _broken_off(agent, draft)
                    return None
                raise ModelError(
                    "the model's answer has no end", "Try again", kind=ModelFailure.PROTOCOL
                )
            next(stream, None)  # to its own end, so that nothing is cancelled
            if piece.finish_reason in CUT_SHORT and not answer.tool_calls:
                yield notice(agent.transcript, CUT_SHORT[piece.finish_reason])
            return answer
    except BaseException as stopped:
        _keep(agent, draft, _why(stopped))
        raise


def _broken_off(agent: Agent, draft: "_Draft") -> None:
    _stop_if_cancelled(agent)
    _keep(agent, draft, "Interrupted: the owner added something")


@dataclass(slots=True)
class _Draft:
    text: str = ""
    reasoning: str = ""


def _keep(agent: Agent, draft: _Draft, why: str) -> None:
    """Write what was streamed before an answer broke off; nothing if there was nothing."""
    if draft.text or draft.reasoning:
        said = Reply(draft.text, draft.reasoning)
        agent.transcript.append(_entry(said, agent))
        agent.transcript.append(InterruptedEntry(why))


def _why(stopped: BaseException) -> str:
    if isinstance(stopped, ModelError):
        return "Broken off: the model failed"
    return "Interrupted by the owner"


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


def _finish_calls(agent: Agent) -> Turning:
    """Go on with calls that a crash left open: they never ran, the first was being asked about."""
    calls = unanswered(agent.transcript.entries)
    if calls:
        yield StateChanged(State.EXECUTING_TOOL)
        yield from _run_calls(agent, calls)


def _run_calls(agent: Agent, calls: Sequence[ToolCall]) -> Turning:
    """Run the calls in order; each has its result when this returns or stops."""
    for index, call in enumerate(calls):
        if agent.interruption.wanted():
            _stop_if_cancelled(agent)
            yield from _not_run(agent, calls[index:], STOPPED)
            return
        if agent.one_call and index:
            yield from _not_run(agent, calls[index:], DEFERRED)
            return
        yield from _run_call(agent, call)


def _run_call(agent: Agent, call: ToolCall) -> Turning:
    verdict = agent.toolbox.review(call)
    if verdict.action == "ask":
        verdict = yield from _approved(agent, verdict)
    yield ToolStarted(call.id, call.name, call.arguments, verdict.compact)
    looped = _is_loop(agent.transcript, call)
    result = ToolResult(LOOPED, error=True) if looped else agent.toolbox.run(verdict)
    yield _answer(agent, call, replace(result, compact=result.compact or verdict.compact))
    if looped:
        yield _remind(agent)


def _approved(agent: Agent, verdict: Verdict) -> Generator[Event, None, Verdict]:
    """Put a call before the owner; both the question and the decision are written first."""
    call = verdict.call
    request = ApprovalRequested(call.id, call.name, verdict.compact, verdict.detail)
    agent.transcript.append(ApprovalEntry(call.id))
    yield request
    decision = agent.approver.decide(request)
    agent.transcript.append(ApprovalEntry(call.id, decision.kind, decision.reason))
    yield ApprovalDecided(call.id, call.name, verdict.compact, decision.kind, decision.reason)
    return agent.toolbox.settle(verdict, decision)


def _not_run(agent: Agent, calls: Iterable[ToolCall], why: str) -> Turning:
    for call in calls:
        yield _answer(agent, call, ToolResult(why, error=True, compact=why), synthetic=True)


def _answer(
    agent: Agent, call: ToolCall, result: ToolResult, *, synthetic: bool = False
) -> ToolFinished:
    compact, error = result.compact, result.error
    agent.transcript.append(
        ToolResultEntry(call.id, call.name, result.content, error, compact, synthetic)
    )
    return ToolFinished(call.id, call.name, result.content, error, compact)


def _join(agent: Agent) -> Turning:
    """Let what the owner said in the meantime join the turn."""
    _stop_if_cancelled(agent)
    interrupting = agent.interruption.wanted()
    said = agent.interruption.take()
    for text in said:
        agent.transcript.append(UserEntry(text, joins=True))
    yield from (MessageJoined(text, interrupting) for text in said)


def _remind(agent: Agent) -> Reminded:
    """Tell the model that the turn must come to an end."""
    agent.transcript.append(ReminderEntry(LAST_ROUND))
    return Reminded(LAST_ROUND)


def _stop_if_cancelled(agent: Agent) -> None:
    if agent.interruption.cancelled:
        raise Cancelled


def _rounds(transcript: Transcript) -> int:
    turn = group(transcript.entries)[-1]
    return sum(isinstance(entry, AssistantEntry) for entry in turn.entries)


def _told_to_end(transcript: Transcript) -> bool:
    turn = group(transcript.entries)[-1]
    return any(isinstance(each, ReminderEntry) and each.text == LAST_ROUND for each in turn.entries)


def _is_loop(transcript: Transcript, call: ToolCall) -> bool:
    """Whether this is the same call for the fifth time: in a row, or always with one result.

    A call that is made again between others and answers otherwise each time, such as running the
    tests after each change, is none.
    """
    turn = group(transcript.entries)[-1]
    calls: dict[str, str] = {}
    earlier: list[tuple[str, str]] = []
    for entry in turn.entries:
        match entry:
            case AssistantEntry(tool_calls=asked):
                calls = {each.id: _key(each) for each in asked}
            case ToolResultEntry(call_id=call_id, content=content):
                earlier.append((calls.get(call_id, ""), content))
    key = _key(call)
    results = [content for each, content in earlier if each == key]
    in_a_row = len(earlier) >= SAME_CALL - 1 and all(
        each == key for each, _ in earlier[-(SAME_CALL - 1) :]
    )
    return in_a_row or any(results.count(content) >= SAME_CALL - 1 for content in set(results))


def _key(call: ToolCall) -> str:
    return json.dumps([call.name, dict(call.arguments)], sort_keys=True, default=str)


def notice(transcript: Transcript, text: str) -> Notice:
    """A notice, written down and then shown."""
    transcript.append(NoticeEntry(text))
    return Notice(text)
