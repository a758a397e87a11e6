"""What can be asked of memory over the wire, each operation once: client and server derive from it.

The annotations of `protocol.py` are the schema: an operation's parameters are those of its method,
its result has the type that the method returns.
"""

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import msgspec

from assistant.errors import DaemonError
from assistant.memory.daemon import wire
from assistant.memory.protocol import Keeper, Memory

P = ParamSpec("P")
R = TypeVar("R")

_REQUEST = "request"
"""The parameter that names a write, so that it happens once however often it is sent."""


class Operation(Generic[P, R]):
    """One of memory's methods: how it is asked for, and how it is done."""

    def __init__(
        self,
        method: Callable[Concatenate[Any, P], R],
        of: Callable[[Keeper], Callable[P, R]],
        *,
        changes: bool = False,
    ) -> None:
        """`method` is the protocol's own; `of` gives that of a memory.

        It `changes` memory, too, if it can be named by a request.
        """
        self._signature = inspect.signature(method)
        self._of = of
        self.name = method.__name__
        self.writes = _REQUEST in self._signature.parameters
        self.changes = changes or self.writes

    def request(self, ident: str, /, *args: P.args, **kwargs: P.kwargs) -> bytes:
        """The line that asks for it; a write that has no name yet is named `ident`."""
        named = dict(kwargs)
        if self.writes and named.get(_REQUEST) is None:
            named[_REQUEST] = ident
        return wire.request(ident, self.name, self._schema(*args, **named))

    def perform(self, memory: Keeper, arguments: dict[str, Any]) -> R:
        """Do what was asked for, with the arguments that `parameters` found."""
        method: Callable[..., R] = self._of(memory)
        return method(**arguments)

    def parameters(self, data: bytes) -> dict[str, Any]:
        """The arguments that a request gave. Raises DaemonError if they do not fit."""
        return msgspec.structs.asdict(_decoded(self._asked, data, self.name))

    def result(self, data: bytes) -> R:
        """What the other side's memory returned. Raises DaemonError if it has another form."""
        found: R = _decoded(self._returned, data, self.name)
        return found

    @cached_property
    def _schema(self) -> type[msgspec.Struct]:
        _, *parameters = self._signature.parameters.values()
        fields = [
            (each.name, each.annotation)
            if each.default is each.empty
            else (each.name, each.annotation, each.default)
            for each in parameters
        ]
        return msgspec.defstruct(self.name, fields, forbid_unknown_fields=True)

    @cached_property
    def _asked(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(self._schema)

    @cached_property
    def _returned(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(self._signature.return_annotation)


def _decoded(decoder: msgspec.json.Decoder[Any], data: bytes, name: str) -> Any:
    try:
        return decoder.decode(data)
    except (ValueError, RecursionError) as error:
        raise DaemonError(f"{name} was asked or answered amiss: {error}") from error


RECALL = Operation(Memory.recall, lambda memory: memory.recall)
CORE = Operation(Memory.core, lambda memory: memory.core)
EXISTING = Operation(Memory.existing, lambda memory: memory.existing)
REMEMBER = Operation(Memory.remember, lambda memory: memory.remember)
WAITING = Operation(Memory.waiting, lambda memory: memory.waiting)
ERASED = Operation(Memory.erased, lambda memory: memory.erased)
LOCATE = Operation(Keeper.locate, lambda memory: memory.locate)
FORGET = Operation(Keeper.forget, lambda memory: memory.forget)
PURGE = Operation(Keeper.purge, lambda memory: memory.purge)
UNDO = Operation(Keeper.undo, lambda memory: memory.undo)
REVIEW = Operation(Keeper.review, lambda memory: memory.review)
RESTORE = Operation(Keeper.restore, lambda memory: memory.restore)
STATUS = Operation(Keeper.status, lambda memory: memory.status)
LOG = Operation(Keeper.log, lambda memory: memory.log)
PAIRS = Operation(Keeper.pairs, lambda memory: memory.pairs)
DUE = Operation(Keeper.due, lambda memory: memory.due)
CHART = Operation(Keeper.chart, lambda memory: memory.chart)
CHECK = Operation(Keeper.check, lambda memory: memory.check, changes=True)
UPKEEP = Operation(Keeper.upkeep, lambda memory: memory.upkeep, changes=True)
REBUILD = Operation(Keeper.rebuild, lambda memory: memory.rebuild, changes=True)
COLLECTIONS = Operation(Keeper.collections, lambda memory: memory.collections)
REMOVE_COLLECTIONS = Operation(
    Keeper.remove_collections, lambda memory: memory.remove_collections, changes=True
)

OPERATIONS = {each.name: each for each in list(vars().values()) if isinstance(each, Operation)}
