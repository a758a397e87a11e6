"""When the model is to be told something in a turn, and when the turn ends without an answer.

An answer of nothing is asked for again once. A call made over and over is a loop: the model is
told to try another way, and if it goes on, to answer with what it has; so it is when the turn has
taken all its requests. If it calls a tool then, the turn fails, and says why. What has been told
stands in the transcript, so a turn that broke off goes on in the same state.
"""

import json
from collections.abc import Sequence
from typing import Literal

from assistant.errors import TurnError
from assistant.messages import ToolCall
from assistant.model.provider.stream.ending import MALFORMED, UNKNOWN
from assistant.session.entries import AssistantEntry, Entry, ReminderEntry, ToolResultEntry

MAX_ROUNDS = 25
"""Requests to the model in one turn, if nothing else is set."""
SAME_CALL = 5
"""The same call this many times is a loop."""

Reminder = Literal["empty", "malformed", "loop", "circles", "rounds"]

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


def reminded(turn: Sequence[Entry], kind: Reminder) -> bool:
    """Whether the model was told this in the turn, and has answered since."""
    told = [place for place, each in enumerate(turn) if _is(each, kind)]
    return bool(told) and any(isinstance(each, AssistantEntry) for each in turn[told[0] :])


def about_to_end(turn: Sequence[Entry]) -> Reminder | None:
    """Why the model was told to come to an end, if it was."""
    if any(_is(entry, "circles") for entry in turn):
        return "circles"
    return "rounds" if any(_is(entry, "rounds") for entry in turn) else None


def _is(entry: Entry, kind: Reminder) -> bool:
    return isinstance(entry, ReminderEntry) and entry.kind == kind


def rounds(turn: Sequence[Entry]) -> int:
    """The requests that the turn has taken."""
    return sum(isinstance(entry, AssistantEntry) for entry in turn)


def next_about_loop(turn: Sequence[Entry]) -> Reminder | None:
    """What to tell of a loop: nothing as long as the model has not seen what it was told."""
    if reminded(turn, "loop"):
        return "circles"
    return None if any(_is(entry, "loop") for entry in turn) else "loop"


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


def lacks(answer: AssistantEntry, finish: str) -> Reminder | None:
    """What is missing of an answer without calls: a word, or a call that was lost on the way."""
    if finish == MALFORMED:
        return "malformed"
    return None if answer.text.strip() else "empty"


def without_answer(why: Reminder, model: str, finish: str = "") -> TurnError:
    """The turn is over, and there is no answer: why, and what its owner can do about it."""
    if finish == "content_filter":
        said = f"the content filter of {model}'s provider withheld the answer"
        return TurnError(said, "Ask in other words, or choose another model")
    if finish == "length":
        said = f"{model} came to its limit before the first word of its answer"
        return TurnError(said, "Raise `model.max_output_tokens`, or lower `model.effort`")
    match why:
        case "empty":
            word = f"; its provider called that {finish}" if finish.startswith(UNKNOWN) else ""
            said = f"{model} answered with nothing, and again when it was asked to{word}"
            cure = ASK
        case "malformed":
            said, cure = f"{model} made a call that could not be read, twice", ASK
        case "rounds":
            said = f"{model} came to no answer within the requests of one turn"
            cure = "Say “go on”, or raise it: `assistant config set model.max_rounds …`"
        case _:
            said, cure = f"{model} went in circles: it made the same call again and again", ASK
    return TurnError(said, cure)


ASK = "Ask in other words, or choose another model with `assistant config set model.name …`"
