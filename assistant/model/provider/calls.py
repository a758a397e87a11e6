"""Assemble tool calls from the pieces of a stream.

A provider may merge parallel calls under one index (Ollama), repeat an id, leave it out, or
truncate the JSON. So a delta opens a new call if it brings a name and its id is new or, without an
id, if the previous call is already complete; and a call is only run if its name and its arguments
are valid.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from assistant.characters import SURROGATE, mend
from assistant.messages import ToolCall

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Tool names that OpenAI and Anthropic accept."""
SPARE_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
"""A string, or a comma before a closing bracket outside strings."""
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
        """Whether its arguments are already one JSON object, so that more cannot belong to them."""
        try:
            return bool(self.arguments.strip()) and decode_arguments(self.arguments) is not None
        except ValueError:
            return False


class Calls:
    """The calls of a reply while it streams; an id may be missing or used twice."""

    def __init__(self) -> None:
        self._calls: list[CallDelta] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, delta: CallDelta) -> None:
        """Add a piece."""
        call = self._continued(delta)
        if call is None:
            index = len(self._calls) if delta.index is None else delta.index
            call = CallDelta(index)
            self._calls.append(call)
        call.id = call.id or delta.id
        call.name = call.name or delta.name
        call.arguments += delta.arguments

    def sound(self, *, ended: bool) -> Iterator[ToolCall]:
        """Yield the calls; an invalid one has a fault. `ended`: the reply is complete."""
        for call in self._calls:
            yield sound_call(call.id, call.name, mend(call.arguments), ended=ended)

    def _continued(self, delta: CallDelta) -> CallDelta | None:
        """Return the call that this delta continues, or None if it starts a new one."""
        candidates = [call for call in self._calls if delta.index in (None, call.index)]
        if not candidates:
            return None
        last = candidates[-1]
        if delta.id and (with_id := [call for call in candidates if call.id == delta.id]):
            return with_id[-1]
        if delta.name and last.name and (last.is_whole or (delta.id and last.id)):
            return None
        return last


def sound_call(identity: str, name: str, arguments: str, *, ended: bool = True) -> ToolCall:
    """Return a call with its arguments decoded, or with a fault for the model."""
    if not TOOL_NAME.fullmatch(name):
        safe_name = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:64] or "unnamed"
        return ToolCall(identity, safe_name, fault=f"there is no tool named {name!r}")
    try:
        return ToolCall(identity, name, decode_arguments(arguments, ended=ended))
    except ValueError as error:
        return ToolCall(identity, name, fault=str(error))


def decode_arguments(text: str, *, ended: bool = True) -> dict[str, Any]:
    """Decode the arguments of a call. Empty text means none, if the reply has `ended` by itself.

    Models write JSON with raw line breaks and extra commas, or in a fence: only unambiguous
    mistakes are repaired. Truncated JSON is not completed, since the call would run with partial
    arguments. Raises ValueError, one line for the model, unless the text is one JSON object.
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
    """Parse JSON, allowing control characters such as raw line breaks in strings."""
    return json.loads(text, strict=False, parse_constant=_no_constant)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
