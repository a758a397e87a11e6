"""Tool calls, put together from the pieces that a stream has of them.

A provider may merge parallel calls under one index (Ollama), repeat an id, leave it out, cut a
name in two, or cut the JSON. So a delta opens a new call if it brings a name and its id is a new
one or, when it has none, if the call before it is already whole; and a call is only ever run if
its name and its arguments are sound.
"""

import re
import uuid
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from assistant.messages import ToolCall
from assistant.model.provider.stream.arguments import decode_arguments
from assistant.model.provider.stream.characters import mend

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What OpenAI and Anthropic take as the name of a tool."""


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call, as the wire has it: any part may be missing."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str = ""


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
        call = self._open(delta)
        if call is None:
            index = delta.index if delta.index is not None else len(self._calls)
            call = _Call(index)
            self._calls.append(call)
        call.id = call.id or delta.id or ""
        call.name = self._named(call, delta.name or "")
        call.arguments.append(delta.arguments)

    def sound(self, *, ended: bool) -> Iterator[ToolCall]:
        """The calls; one that must not run has a fault. `ended`: the reply came to its end."""
        for call in self._calls:
            yield self._sound(call, ended)

    def _open(self, delta: CallDelta) -> "_Call | None":
        """The call this delta goes on with, or None if it begins another."""
        same = [call for call in self._calls if delta.index in (None, call.index)]
        if not same:
            return None
        last = same[-1]
        if delta.id and (named := [call for call in same if call.id == delta.id]):
            return named[-1]
        if not delta.name or not last.name:
            return last
        another = last.whole or (delta.id and last.id) or self._is_another(last, delta.name)
        return None if another else last

    def _is_another(self, call: "_Call", name: str) -> bool:
        """The name cannot go on with the call's, and is one itself: a call without arguments."""
        if name == call.name or call.name not in self._tools or call.text:
            return False
        return not self._begins(call.name + name) and self._begins(name)

    def _begins(self, name: str) -> bool:
        return any(tool.startswith(name) for tool in self._tools)

    def _named(self, call: "_Call", piece: str) -> str:
        """The call's name with another piece, or with all of it once more."""
        if not call.name or not piece or call.text:
            return call.name or piece
        if self._begins(call.name + piece):
            return call.name + piece
        if piece.startswith(call.name):
            return piece
        return call.name if call.name in self._tools else call.name + piece

    def _sound(self, call: "_Call", ended: bool) -> ToolCall:
        identity = call.id if call.id and call.id not in self._taken else f"call_{uuid.uuid4().hex}"
        self._taken.add(identity)
        if not TOOL_NAME.fullmatch(call.name):
            name = re.sub(r"[^A-Za-z0-9_-]+", "_", call.name)[:64] or "unnamed"
            return ToolCall(identity, name, fault=f"there is no tool named {call.name!r}")
        try:
            return ToolCall(identity, call.name, decode_arguments(call.text, ended=ended))
        except ValueError as error:
            return ToolCall(identity, call.name, fault=str(error))


@dataclass(slots=True)
class _Call:
    index: int
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return mend("".join(self.arguments))

    @property
    def whole(self) -> bool:
        """Its arguments are already one JSON object: what follows cannot belong to them."""
        try:
            return bool(self.text.strip()) and decode_arguments(self.text) is not None
        except ValueError:
            return False
