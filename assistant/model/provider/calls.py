"""Tool calls, put together from the pieces that a stream has of them.

A provider may merge parallel calls under one index (Ollama), repeat an id, leave it out, or cut the
JSON. So a delta opens a new call if it brings a name and its id is a new one or, when it has none,
if the call before it is already whole; and a call is only ever run if its name and its arguments
are sound.
"""

import json
import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from assistant.characters import SURROGATE, mend
from assistant.messages import ToolCall

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What OpenAI and Anthropic take as the name of a tool."""
SPARE_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
"""A string, or a comma before a closing bracket outside of any."""
FENCED = re.compile(r"\s*```(?:json)?\s*\n(?P<inside>.*)\n\s*```\s*", re.DOTALL)
AGAIN = "send the call again"


@dataclass(slots=True)
class CallDelta:
    """A tool call, or a piece of one as the wire has it: any part may be missing."""

    index: int | None = None
    id: str = ""
    name: str = ""
    arguments: str = ""

    @property
    def is_whole(self) -> bool:
        """Its arguments are already one JSON object: what follows cannot belong to them."""
        try:
            return bool(self.arguments.strip()) and decode_arguments(self.arguments) is not None
        except ValueError:
            return False


class Calls:
    """The calls of one reply in the making.

    `taken` are the ids of the calls before this reply: each call gets an id of its own.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._calls: list[CallDelta] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, delta: CallDelta) -> None:
        """Take a piece in."""
        call = self._continued(delta)
        if call is None:
            index = len(self._calls) if delta.index is None else delta.index
            call = CallDelta(index)
            self._calls.append(call)
        call.id = call.id or delta.id
        call.name = call.name or delta.name
        call.arguments += delta.arguments

    def sound(self, *, ended: bool) -> Iterator[ToolCall]:
        """The calls; one that must not run has a fault. `ended`: the reply came to its end."""
        for call in self._calls:
            is_new = call.id and call.id not in self._taken
            identity = call.id if is_new else f"call_{uuid.uuid4().hex}"
            self._taken.add(identity)
            yield sound_call(identity, call.name, mend(call.arguments), ended=ended)

    def _continued(self, delta: CallDelta) -> CallDelta | None:
        """The call this delta continues, or None if it begins another."""
        same = [call for call in self._calls if delta.index in (None, call.index)]
        if not same:
            return None
        last = same[-1]
        if delta.id and (with_id := [call for call in same if call.id == delta.id]):
            return with_id[-1]
        if delta.name and last.name and (last.is_whole or (delta.id and last.id)):
            return None
        return last


def sound_call(identity: str, name: str, arguments: str, *, ended: bool = True) -> ToolCall:
    """A call with its arguments decoded, or with a fault that the model is told."""
    if not TOOL_NAME.fullmatch(name):
        shown = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:64] or "unnamed"
        return ToolCall(identity, shown, fault=f"there is no tool named {name!r}")
    try:
        return ToolCall(identity, name, decode_arguments(arguments, ended=ended))
    except ValueError as error:
        return ToolCall(identity, name, fault=str(error))


def decode_arguments(text: str, *, ended: bool = True) -> dict[str, Any]:
    """The arguments of a call. No text means none, if the reply has `ended` of itself.

    Models write JSON with line breaks in it and commas too many, or in a fence: only what has one
    meaning is mended. JSON that was cut off is not made whole: the call would run with what is
    left of its arguments. Raises ValueError, one line for the model, unless it is one JSON object.
    """
    if not text.strip():
        if not ended:
            raise ValueError(f"the reply was cut off before the arguments; {AGAIN}")
        return {}
    fenced = FENCED.fullmatch(text)
    text = fenced["inside"] if fenced else text
    try:
        value = _loads(text)
    except (ValueError, RecursionError) as error:
        try:
            value = _loads(SPARE_COMMA.sub(lambda match: match[1] or "", text))
        except (ValueError, RecursionError):
            raise ValueError(f"the arguments are not valid JSON ({error}); {AGAIN}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"the arguments must be one JSON object; {AGAIN}")
    encoded = json.dumps(value, ensure_ascii=False)
    return dict(json.loads(mend(encoded))) if SURROGATE.search(encoded) else value


def _loads(text: str) -> Any:
    """JSON, with control characters in its strings: a raw line break is one of the value's."""
    return json.loads(text, strict=False, parse_constant=_no_constant)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
