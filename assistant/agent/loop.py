"""The agent loop: ask the model, run the tools it calls, feed the results back, until it answers.

The loop keeps no state of its own: every message is written to the transcript before it is shown
or sent. So a turn that broke off at any point continues when `run_turn` is called again.

An empty answer is asked for once more. If the model repeats the same call, it is told to try
another way, and if it goes on, to answer with what it has; it is told the same when the turn has
used up its requests. If it still calls a tool, the turn fails with a reason.
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
    usage_of,
)
from assistant.session.history import last_turn, unanswered
from assistant.tools.base import Question, ToolResult
from assistant.tools.toolbox import Verdict

STOPPED = "Not run: the owner interrupted."
UNANSWERED = "The owner closed the question without an answer."
OVER = "Not run: the turn is over."

Reminder = Literal["empty", "malformed", "loop", "circles", "rounds"]
SAME_CALL = 5
"""A call repeated this many times is a loop."""

LOOPED = (
    f"Not run: you have made this same call {SAME_CALL} times. Try another way, or answer with "
    "what you have."
)
LAST_ROUND = "This turn is ending: answer now with what you have, without calling tools"
REMINDERS: dict[Reminder, str] = {
    "empty": "Your answer was empty. Answer now, in words, or make the call you meant to make",
    "malformed": "Your call could not be parsed and was not made; repeat it, complete and valid",
    "loop": "You keep repeating the same call. Try another way",
    "circles": LAST_ROUND,
    "rounds": LAST_ROUND,
}
"""What the model is told, by the reason. After either of the last two its next answer is final."""

Events = Generator[Event, None, None]


def run_turn(agent: Agent) -> Generator[Event, None, AssistantEntry]:
    """Run the transcript's last turn until the model replies; return the reply, never an empty one.

    Raises TurnError if there is no reply, Waits if the owner must answer a question first,
    KeyboardInterrupt or Cancelled if they interrupt, and ModelError if a request fails: the
    transcript is then as it was before the request, plus what had been streamed.
    `Transcript.settle` makes an unfinished transcript valid.
    """
    if pending := unanswered(agent.transcript.entries):  # left by a crash; they never ran
        yield StateChanged(State.EXECUTING_TOOL)
        yield from _run_calls(agent, pending)
    while True:
        yield from _join(agent)
        turn = _turn(agent)
        ending_reason = final_reminder(turn)
        rounds = sum(isinstance(entry, AssistantEntry) for entry in turn)
        if ending_reason is None and rounds >= agent.max_rounds - 1:
            ending_reason = "rounds"
            yield _remind(agent, ending_reason)
        yield StateChanged(State.THINKING)
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
            yield StateChanged(State.EXECUTING_TOOL)
            yield from _run_calls(agent, answer.tool_calls)
        elif agent.interruption.wanted():
            stop_if_cancelled(agent)
        elif (missing := defect(answer, finish)) is None:
            return answer
        else:
            yield _ask_again(agent, missing, finish)


def _ask_again(agent: Agent, missing: Reminder, finish: str) -> Reminded:
    """Ask for the answer once more. Raises TurnError if that has been done already."""
    ending_reason = final_reminder(_turn(agent))
    if ending_reason or finish == "content_filter" or _answered_since(_turn(agent), missing):
        raise without_answer(ending_reason or missing, agent.model.name, finish)
    return _remind(agent, missing)


def _run_calls(agent: Agent, calls: Sequence[ToolCall]) -> Events:
    """Run the calls in order; all of them have a result afterwards, even when interrupted."""
    for index, call in enumerate(calls):
        if agent.interruption.wanted():
            stop_if_cancelled(agent)
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
    yield ToolStarted(call.id, call.name, call.arguments, verdict.compact)
    result = ToolResult(LOOPED, error=True) if looped else answer
    result = result or (yield from agent.toolbox.work(verdict))
    yield _record(agent, call, replace(result, compact=result.compact or verdict.compact))
    if looped and (kind := next_loop_reminder(_turn(agent))):
        yield _remind(agent, kind)


def _ask_approval(agent: Agent, verdict: Verdict) -> Generator[Event, None, Verdict]:
    """Ask the owner to approve a call; the request and the decision are written down first."""
    call = verdict.call
    request = ApprovalRequested(call.id, call.name, verdict.compact, verdict.detail)
    agent.transcript.append(ApprovalEntry(call.id))
    yield request
    decision = agent.approver.decide(request)
    decision = replace(decision, reason=agent.redact(decision.reason))
    agent.transcript.append(ApprovalEntry(call.id, decision.kind, decision.reason))
    yield ApprovalDecided(call.id, call.name, verdict.compact, decision.kind, decision.reason)
    return agent.toolbox.settle(verdict, decision)


def _ask_owner(
    agent: Agent, call: ToolCall, question: Question
) -> Generator[Event, None, ToolResult]:
    """Ask the owner the model's question; return their answer. Raises Waits if nobody is there."""
    text, options, several = question.text, question.options, question.several
    agent.transcript.append(QuestionEntry(call.id, text, options, several))
    request = QuestionAsked(call.id, text, options, several)
    yield request
    answer = agent.approver.answer(request)
    if answer is None:
        raise Waits(question)
    return answer_result(question, agent.redact(answer))


def answer_result(question: Question, text: str) -> ToolResult:
    """The owner's answer to a question, as a tool result for the model."""
    if not text.strip():
        return ToolResult(UNANSWERED, error=True, compact="no answer")
    meant = question.meant(text)
    return ToolResult(meant, compact=meant)


def _skip_calls(agent: Agent, calls: Iterable[ToolCall], reason: str) -> Events:
    for call in calls:
        yield _record(agent, call, ToolResult(reason, error=True, compact=reason), synthetic=True)


def _record(
    agent: Agent, call: ToolCall, result: ToolResult, *, synthetic: bool = False
) -> ToolFinished:
    compact, error = result.compact, result.error
    agent.transcript.append(
        ToolResultEntry(call.id, call.name, result.content, error, compact, synthetic)
    )
    return ToolFinished(call.id, call.name, result.content, error, compact, result.diff)


def _join(agent: Agent) -> Events:
    """Add the messages that the owner has queued to the turn."""
    stop_if_cancelled(agent)
    interrupting = agent.interruption.wanted()
    messages = agent.interruption.take()
    for text in messages:
        agent.transcript.append(UserEntry(text, joins=True))
    yield from (MessageJoined(text, interrupting) for text in messages)


def _remind(agent: Agent, kind: Reminder) -> Reminded:
    """Send the model a reminder of this kind."""
    text = REMINDERS[kind]
    agent.transcript.append(ReminderEntry(text, kind))
    return Reminded(text)


def _check_tokens(agent: Agent) -> None:
    """Raise TurnError if the session has cost all of its tokens."""
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


# When to remind the model, and when to end the turn without an answer


def _reminders(turn: Sequence[Entry]) -> list[str]:
    """The kinds of the reminders in a turn."""
    return [entry.kind for entry in turn if isinstance(entry, ReminderEntry)]


def _answered_since(turn: Sequence[Entry], kind: Reminder) -> bool:
    """Whether the model has answered since it got this reminder in the turn."""
    kinds = [getattr(entry, "kind", "") for entry in turn]
    later = turn[kinds.index(kind) :] if kind in kinds else ()
    return any(isinstance(entry, AssistantEntry) for entry in later)


def final_reminder(turn: Sequence[Entry]) -> Reminder | None:
    """The reason why the model was told to finish; None if it was not."""
    kinds, endings = _reminders(turn), ("circles", "rounds")
    return next((kind for kind in REMINDERS if kind in endings and kind in kinds), None)


def next_loop_reminder(turn: Sequence[Entry]) -> Reminder | None:
    """The next reminder about a loop; None while the model has not seen the last one."""
    if "loop" not in _reminders(turn):
        return "loop"
    return "circles" if _answered_since(turn, "loop") else None


def is_loop(turn: Sequence[Entry], call: ToolCall) -> bool:
    """Whether this call repeats for the `SAME_CALL`th time, in a row or with the same result.

    Repeating a call between others is not a loop if its result differs, such as running the tests
    after each change.
    """
    calls: dict[str, str] = {}
    earlier: list[tuple[str, str]] = []
    for entry in turn:
        match entry:
            case AssistantEntry(tool_calls=tool_calls):
                calls = {call.id: _key(call) for call in tool_calls}
            case ToolResultEntry(call_id=call_id, content=content):
                earlier.append((calls.get(call_id, ""), content))
    key = _key(call)
    results = [content for call_key, content in earlier if call_key == key]
    in_a_row = len(earlier) >= SAME_CALL - 1 and all(
        call_key == key for call_key, _ in earlier[-(SAME_CALL - 1) :]
    )
    return in_a_row or any(results.count(content) >= SAME_CALL - 1 for content in set(results))


def _key(call: ToolCall) -> str:
    return json.dumps([call.name, dict(call.arguments)], sort_keys=True, default=str)


def defect(answer: AssistantEntry, finish: str) -> Reminder | None:
    """What is wrong with an answer without calls: it is empty, or its call was malformed."""
    if finish == MALFORMED:
        return "malformed"
    return None if answer.text.strip() else "empty"


CHOOSE = "Rephrase it, or choose another model with `assistant config set model.name …`"
WITHOUT_ANSWER = {
    "content_filter": ("the content filter of {model}'s provider withheld the answer", CHOOSE),
    "length": (
        "{model} reached its limit before it began to answer",
        "Raise `model.max_output_tokens`, or lower `model.effort`",
    ),
    "empty": ("{model} gave an empty answer, twice{word}", CHOOSE),
    "malformed": ("{model} made a call that could not be parsed, twice", CHOOSE),
    "rounds": (
        "{model} gave no answer within the requests allowed for one turn",
        "Say “go on”, or raise it: `assistant config set model.max_rounds …`",
    ),
    "circles": ("{model} kept repeating the same call", CHOOSE),
}
"""The error message and its cure, by the reason why there is no answer."""


def without_answer(reason: Reminder, model: str, finish: str = "") -> TurnError:
    """The error of a turn that ends without an answer: the reason, and what the owner can do."""
    text, cure = WITHOUT_ANSWER[finish if finish in ("content_filter", "length") else reason]
    word = f"; its provider called that {finish}" if finish.startswith(UNKNOWN) else ""
    return TurnError(text.format(model=model, word=word), cure)
