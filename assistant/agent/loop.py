"""The agent loop: ask the model, run the tools it calls, feed the results back, until it answers.

The loop keeps no state of its own: what was said is in the transcript, written before it is shown
and before it is sent. So a turn that broke off anywhere goes on by calling `run_turn` again.

An answer of nothing is asked for again once. A call made over and over is a loop: the model is
told to try another way, and if it goes on, to answer with what it has; so it is when the turn has
taken all its requests. If it calls a tool then, the turn fails, and says why.
"""

import json
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from assistant.agent.answer import Agent, Waits, ask, stop_if_cancelled
from assistant.errors import TurnError
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
from assistant.model.provider.stream import MALFORMED, UNKNOWN
from assistant.session.entries import (
    ApprovalEntry,
    AssistantEntry,
    Entry,
    QuestionEntry,
    ReminderEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.history import last_turn, unanswered
from assistant.tools.base import Question, ToolResult
from assistant.tools.toolbox import Verdict

STOPPED = "Not run: the owner interrupted."
UNANSWERED = "The owner closed the question without an answer."
OVER = "Not run: the turn is over."

Reminder = Literal["empty", "malformed", "loop", "circles", "rounds"]
SAME_CALL = 5
"""The same call this many times is a loop."""

LOOPED = (
    f"Not run: you have made this same call {SAME_CALL} times. Try another way, or answer with "
    "what you have."
)
LAST_ROUND = "The turn is at its end: answer now with what you have, without calling tools"
REMINDERS: dict[Reminder, str] = {
    "empty": "Your answer was empty. Answer now, in words, or make the call you meant to make",
    "malformed": "Your call could not be read and was not made; make it again, whole and valid",
    "loop": "You go in circles: the same call, again and again. Try another way",
    "circles": LAST_ROUND,
    "rounds": LAST_ROUND,
}
"""What the model is told. The last two end the turn with its next answer."""

Turning = Generator[Event, None, None]


def run_turn(agent: Agent) -> Generator[Event, None, AssistantEntry]:
    """Carry the transcript's last turn to its reply, which is returned and says something.

    Raises TurnError if it comes to none, Waits if it needs an answer first, ModelError with the
    transcript as it was before the failed request (plus what had been streamed), and
    KeyboardInterrupt or Cancelled; `Transcript.settle` then makes it valid.
    """
    if calls := unanswered(agent.transcript.entries):  # a crash left them open: they never ran
        yield StateChanged(State.EXECUTING_TOOL)
        yield from _run_calls(agent, calls)
    while True:
        yield from _join(agent)
        turn = _turn(agent)
        ending = about_to_end(turn)
        rounds = sum(isinstance(entry, AssistantEntry) for entry in turn)
        if ending is None and rounds >= agent.max_rounds - 1:
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
            raise without_answer(ending, agent.model.name)
        if answer.tool_calls:
            yield StateChanged(State.EXECUTING_TOOL)
            yield from _run_calls(agent, answer.tool_calls)
        elif agent.interruption.wanted():
            stop_if_cancelled(agent)
        elif (lacking := lacks(answer, finish)) is None:
            return answer
        else:
            yield _ask_again(agent, lacking, finish)


def _ask_again(agent: Agent, lacking: Reminder, finish: str) -> Reminded:
    """Ask once more for what the answer lacks. Raises TurnError if that was done before."""
    ending = about_to_end(_turn(agent))
    if ending or finish == "content_filter" or _answered_since(_turn(agent), lacking):
        raise without_answer(ending or lacking, agent.model.name, finish)
    return _remind(agent, lacking)


def _run_calls(agent: Agent, calls: Sequence[ToolCall]) -> Turning:
    """Run the calls in order; each has its result when this returns or stops."""
    for index, call in enumerate(calls):
        if agent.interruption.wanted():
            stop_if_cancelled(agent)
            yield from _not_run(agent, calls[index:], STOPPED)
            return
        yield from _run_call(agent, call)


def _run_call(agent: Agent, call: ToolCall) -> Turning:
    verdict = agent.toolbox.review(call)
    if verdict.action == "ask":
        verdict = yield from _approved(agent, verdict)
    looped = is_loop(_turn(agent), call)
    question = verdict.question if not looped else None
    answer = (yield from _asked(agent, call, question)) if question else None
    yield ToolStarted(call.id, call.name, call.arguments, verdict.compact)
    result = ToolResult(LOOPED, error=True) if looped else answer
    result = result or (yield from _run(agent, verdict))
    yield _answer(agent, call, replace(result, compact=result.compact or verdict.compact))
    if looped and (kind := next_about_loop(_turn(agent))):
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
    except Exception as error:  # the border: whatever a tool raises, the model is told
        return agent.toolbox.failed(error)
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
    return ToolFinished(call.id, call.name, result.content, error, compact, result.diff)


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
    turn = last_turn(agent.transcript.entries)
    return turn.entries if turn else ()


# When the model is told something, and when the turn ends without an answer


def _told(turn: Sequence[Entry]) -> list[str]:
    """The kinds of what the model was told in a turn."""
    return [entry.kind for entry in turn if isinstance(entry, ReminderEntry)]


def _answered_since(turn: Sequence[Entry], kind: Reminder) -> bool:
    """Whether the model was told this in the turn, and has answered since."""
    kinds = [getattr(entry, "kind", "") for entry in turn]
    later = turn[kinds.index(kind) :] if kind in kinds else ()
    return any(isinstance(entry, AssistantEntry) for entry in later)


def about_to_end(turn: Sequence[Entry]) -> Reminder | None:
    """Why the model was told to come to an end, if it was."""
    told, endings = _told(turn), ("circles", "rounds")
    return next((kind for kind in REMINDERS if kind in endings and kind in told), None)


def next_about_loop(turn: Sequence[Entry]) -> Reminder | None:
    """What to tell of a loop: nothing as long as the model has not seen what it was told."""
    if "loop" not in _told(turn):
        return "loop"
    return "circles" if _answered_since(turn, "loop") else None


def is_loop(turn: Sequence[Entry], call: ToolCall) -> bool:
    """Whether this is the same call for the fifth time: in a row, or always with one result.

    A call that is made again between others and answers otherwise each time, such as running the
    tests after each change, is none.
    """
    calls: dict[str, str] = {}
    earlier: list[tuple[str, str]] = []
    for entry in turn:
        match entry:
            case AssistantEntry(tool_calls=asked):
                calls = {call.id: _key(call) for call in asked}
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


def lacks(answer: AssistantEntry, finish: str) -> Reminder | None:
    """What is missing of an answer without calls: a word, or a call that was lost on the way."""
    if finish == MALFORMED:
        return "malformed"
    return None if answer.text.strip() else "empty"


CHOOSE = "Ask in other words, or choose another model with `assistant config set model.name …`"
WITHOUT_ANSWER = {
    "content_filter": ("the content filter of {model}'s provider withheld the answer", CHOOSE),
    "length": (
        "{model} came to its limit before the first word of its answer",
        "Raise `model.max_output_tokens`, or lower `model.effort`",
    ),
    "empty": ("{model} answered with nothing, and again when it was asked to{word}", CHOOSE),
    "malformed": ("{model} made a call that could not be read, twice", CHOOSE),
    "rounds": (
        "{model} came to no answer within the requests of one turn",
        "Say “go on”, or raise it: `assistant config set model.max_rounds …`",
    ),
    "circles": ("{model} went in circles: it made the same call again and again", CHOOSE),
}
"""What the owner is told and can do about it, by why there is no answer."""


def without_answer(why: Reminder, model: str, finish: str = "") -> TurnError:
    """The turn is over, and there is no answer: why, and what its owner can do about it."""
    text, cure = WITHOUT_ANSWER[finish if finish in ("content_filter", "length") else why]
    word = f"; its provider called that {finish}" if finish.startswith(UNKNOWN) else ""
    return TurnError(text.format(model=model, word=word), cure)
