"""Tool calls, put together from the pieces that a stream has of them.

A provider may merge parallel calls under one index (Ollama), repeat an id, leave it out, cut a
name in two, or cut the JSON. So a delta opens a new call if it brings a name and its id is a new
one or, when it has none, if the call before it is already whole; and a call is only ever run if
its name and its arguments are sound.
"""

import json
import re
import uuid
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from assistant.characters import SURROGATE, mend
from assistant.messages import ToolCall

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What OpenAI and Anthropic take as the name of a tool."""
SPARE_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
"""A string, or a comma before a closing bracket outside of any."""
FENCED = re.compile(r"\s*```(?:json)?\s*\n(?P<inside>.*)\n\s*```\s*", re.DOTALL)
AGAIN = "send the call again"


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call, as the wire has it: any part may be missing."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str = ""


@dataclass(slots=True)
class _Call:
    index: int
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return mend("".join(self.pieces))

    @property
    def whole(self) -> bool:
        """Its arguments are already one JSON object: what follows cannot belong to them."""
        try:
            return bool(self.arguments.strip()) and decode_arguments(self.arguments) is not None
        except ValueError:
            return False


class Calls:
    """The calls of one reply in the making.

    `tools` are the names there are. `taken` are the ids of the calls before this reply: each
    call gets an id of its own.
    """

    def __init__(self, tools: Collection[str] = (), taken: Iterable[str] = ()) -> None:
        self._tools = tools
        self._taken = set(taken)
        self._calls: list[_Call] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, delta: CallDelta) -> None:
        """Take a piece in."""
        call = self._continued(delta)
        if call is None:
            call = _Call(len(self._calls) if delta.index is None else delta.index)
            self._calls.append(call)
        call.id = call.id or delta.id or ""
        call.name = self._joined_name(call, delta.name or "")
        call.pieces.append(delta.arguments)

    def sound(self, *, ended: bool) -> Iterator[ToolCall]:
        """The calls; one that must not run has a fault. `ended`: the reply came to its end."""
        for call in self._calls:
            new = call.id and call.id not in self._taken
            identity = call.id if new else f"call_{uuid.uuid4().hex}"
            self._taken.add(identity)
            if not TOOL_NAME.fullmatch(call.name):
                name = re.sub(r"[^A-Za-z0-9_-]+", "_", call.name)[:64] or "unnamed"
                yield ToolCall(identity, name, fault=f"there is no tool named {call.name!r}")
                continue
            try:
                yield ToolCall(identity, call.name, decode_arguments(call.arguments, ended=ended))
            except ValueError as error:
                yield ToolCall(identity, call.name, fault=str(error))

    def _continued(self, delta: CallDelta) -> _Call | None:
        """The call this delta goes on with, or None if it begins another."""
        same = [call for call in self._calls if delta.index in (None, call.index)]
        if not same:
            return None
        last = same[-1]
        if delta.id and (with_id := [call for call in same if call.id == delta.id]):
            return with_id[-1]
        if not delta.name or not last.name:
            return last
        # A name that cannot go on with the call's, and is one itself: that call had no arguments.
        other_name = (
            delta.name != last.name
            and last.name in self._tools
            and not last.arguments
            and not self._begins_a_tool(last.name + delta.name)
            and self._begins_a_tool(delta.name)
        )
        return None if last.whole or (delta.id and last.id) or other_name else last

    def _begins_a_tool(self, name: str) -> bool:
        return any(tool.startswith(name) for tool in self._tools)

    def _joined_name(self, call: _Call, piece: str) -> str:
        """The call's name with another piece, or with all of it once more."""
        if not call.name or not piece or call.arguments:
            return call.name or piece
        if self._begins_a_tool(call.name + piece):
            return call.name + piece
        if piece.startswith(call.name):
            return piece
        return call.name if call.name in self._tools else call.name + piece


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
            value = _loads(SPARE_COMMA.sub(lambda found: found[1] or "", text))
        except (ValueError, RecursionError):
            raise ValueError(f"the arguments are not valid JSON ({error}); {AGAIN}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"the arguments must be one JSON object; {AGAIN}")
    written = json.dumps(value, ensure_ascii=False)
    return dict(json.loads(mend(written))) if SURROGATE.search(written) else value


def _loads(text: str) -> Any:
    """JSON, with control characters in its strings: a raw line break is one of the value's."""
    return json.loads(text, strict=False, parse_constant=_no_constant)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
