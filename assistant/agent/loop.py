"""The agent loop: ask the model, run the tools it calls, feed the results back, until it answers.

The loop keeps no state of its own: what was said is in the transcript, written before it is shown
and before it is sent. So a turn that broke off anywhere goes on by calling `run_turn` again.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace

from assistant.agent import pacing
from assistant.agent.answering import Agent, Waits, ask, stop_if_cancelled
from assistant.agent.pacing import LOOPED, REMINDERS, Reminder
from assistant.errors import AssistantError
from assistant.events import (
    ApprovalDecided,
    ApprovalRequested,
    Event,
    MessageJoined,
    QuestionAsked,
    Reminded,
    State,
    StateChanged,
    ToolFinished,
    ToolStarted,
)
from assistant.messages import ToolCall
from assistant.session.entries import (
    ApprovalEntry,
    AssistantEntry,
    Entry,
    QuestionEntry,
    ReminderEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.history.turns import group, unanswered
from assistant.tools.base import Question, ToolResult
from assistant.tools.toolbox import Verdict

DEFERRED = "Deferred: one call at a time. Make this call again if you still need it."
STOPPED = "Not run: the owner interrupted."
UNANSWERED = "The owner closed the question without an answer."
OVER = "Not run: the turn is over."

Turning = Generator[Event, None, None]


def run_turn(agent: Agent) -> Generator[Event, None, AssistantEntry]:
    """Carry the transcript's last turn to its reply, which is returned and says something.

    Raises TurnError if it comes to none, Waits if it needs an answer first, ModelError with the
    transcript as it was before the failed request (plus what had been streamed), and
    KeyboardInterrupt or Cancelled; `Transcript.settle` then makes it valid.
    """
    yield from _finish_calls(agent)
    while True:
        yield from _join(agent)
        ending = pacing.about_to_end(_turn(agent))
        if ending is None and pacing.rounds(_turn(agent)) >= agent.max_rounds - 1:
            ending = "rounds"
            yield _remind(agent, ending)
        yield StateChanged(State.THINKING)
        stop_if_cancelled(agent)
        answered = yield from ask(agent)
        if answered is None:  # the owner said something into it
            continue
        answer, finish = answered
        if answer.tool_calls and ending:
            yield from _not_run(agent, answer.tool_calls, OVER)
            raise pacing.without_answer(ending, agent.model.name)
        if answer.tool_calls:
            yield StateChanged(State.EXECUTING_TOOL)
            yield from _run_calls(agent, answer.tool_calls)
        elif agent.interruption.wanted():
            stop_if_cancelled(agent)
        elif (lacking := pacing.lacks(answer, finish)) is None:
            return answer
        else:
            yield _ask_again(agent, lacking, finish)


def _ask_again(agent: Agent, lacking: Reminder, finish: str) -> Reminded:
    """Ask once more for what the answer lacks. Raises TurnError if that was done before."""
    ending = pacing.about_to_end(_turn(agent))
    if ending or finish == "content_filter" or pacing.reminded(_turn(agent), lacking):
        raise pacing.without_answer(ending or lacking, agent.model.name, finish)
    return _remind(agent, lacking)


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
            stop_if_cancelled(agent)
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
    looped = pacing.is_loop(_turn(agent), call)
    question = verdict.question if not looped else None
    answer = (yield from _asked(agent, call, question)) if question else None
    yield ToolStarted(call.id, call.name, call.arguments, verdict.compact)
    result = ToolResult(LOOPED, error=True) if looped else answer
    result = result or (yield from _run(agent, verdict))
    yield _answer(agent, call, replace(result, compact=result.compact or verdict.compact))
    if looped and (kind := pacing.next_about_loop(_turn(agent))):
        yield _remind(agent, kind)


def _approved(agent: Agent, verdict: Verdict) -> Generator[Event, None, Verdict]:
    """Put a call before the owner; both the question and the decision are written first."""
    call = verdict.call
    request = ApprovalRequested(call.id, call.name, verdict.compact, verdict.detail)
    agent.transcript.append(ApprovalEntry(call.id))
    yield request
    decision = agent.approver.decide(request)
    decision = replace(decision, reason=agent.redact(decision.reason))
    agent.transcript.append(ApprovalEntry(call.id, decision.kind, decision.reason))
    yield ApprovalDecided(call.id, call.name, verdict.compact, decision.kind, decision.reason)
    return agent.toolbox.settle(verdict, decision)


def _run(agent: Agent, verdict: Verdict) -> Generator[Event, None, ToolResult]:
    """Carry out a verdict, showing what it does if it has something to show."""
    if verdict.work is None:
        return agent.toolbox.run(verdict)
    try:
        result = yield from verdict.work(verdict.call.id)
    except AssistantError as error:
        return ToolResult(agent.redact(str(error)), error=True)
    return agent.toolbox.cleaned(result)


def _asked(agent: Agent, call: ToolCall, question: Question) -> Generator[Event, None, ToolResult]:
    """Put a question of the model's before the owner; their answer. Raises Waits for one."""
    text, options, several = question.text, question.options, question.several
    agent.transcript.append(QuestionEntry(call.id, text, options, several))
    asked = QuestionAsked(call.id, text, options, several)
    yield asked
    said = agent.approver.answer(asked)
    if said is None:
        raise Waits(question)
    return answered(question, agent.redact(said))


def answered(question: Question, said: str) -> ToolResult:
    """What the owner said to a question, as the model reads it."""
    if not said.strip():
        return ToolResult(UNANSWERED, error=True, compact="no answer")
    meant = question.meant(said)
    return ToolResult(meant, compact=meant)


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
    stop_if_cancelled(agent)
    interrupting = agent.interruption.wanted()
    said = agent.interruption.take()
    for text in said:
        agent.transcript.append(UserEntry(text, joins=True))
    yield from (MessageJoined(text, interrupting) for text in said)


def _remind(agent: Agent, kind: Reminder) -> Reminded:
    """Tell the model something."""
    text = REMINDERS[kind]
    agent.transcript.append(ReminderEntry(text, kind))
    return Reminded(text)


def _turn(agent: Agent) -> Sequence[Entry]:
    return group(agent.transcript.entries)[-1].entries
