"""The protocol of the daemon's socket: JSON, one message per line.

A request is `{"id", "op", "params"}`. Its answer is any number of `{"id", "progress"}` lines, then
one of `{"id", "result"}` or `{"id", "error"}`. Progress is `[message, done, total]`, or null as a
sign of life; a result may have `notices`, lines for the owner.

The methods of `Memory` and `Keeper` are the operations, and their annotations are the schema.
Two more concern the daemon itself, and never change: `hello` and `yield`.

msgspec encodes our dataclasses and validates what it decodes, in C: importing it costs a client
about 6 ms, half of which the first request regains.
"""

import functools
import inspect
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from assistant import errors
from assistant.errors import AssistantError, DaemonError
from assistant.memory.base import Keeper, Memory

PROTOCOL = 5
"""Incremented whenever an older peer would misunderstand a line."""
MAX_REQUEST = 1 << 20
"""The maximum length of a request in bytes. A longer one is refused without being read in full."""

HELLO = "hello"
YIELD = "yield"
_REQUEST = "request"
"""The parameter that identifies a write, so that it happens once however often it is sent."""
_Message = TypeVar("_Message")


class Hello(Struct, frozen=True):
    """What client and daemon must have in common: protocol, version, settings and workspace."""

    protocol: int
    version: str
    digest: str
    workspace: str


def utc_offset() -> int:
    """Return this process's UTC offset in seconds: today's date and the time depend on it."""
    return time.localtime().tm_gmtoff


class Greeting(Struct, frozen=True):
    """The parameters of `hello`, with which a daemon is also started.

    `settings` are the client's; those of the index must match the daemon's. `configured` is when
    the configuration file was last changed (time.time). `offset` is the client's UTC offset.
    """

    hello: Hello
    settings: dict[str, Any] = {}
    configured: float = 0.0
    offset: int = msgspec.field(default_factory=utc_offset)


class Request(Struct, frozen=True, omit_defaults=True):
    """A client's request; `params` is an object that is decoded later."""

    id: str
    op: str
    params: Raw = Raw(b"{}")


class Failure(Struct, frozen=True):
    """An error on the wire; `kind` is the name of its class."""

    kind: str
    message: str
    cure: str = ""


class Answer(Struct, frozen=True, omit_defaults=True):
    """A daemon's line about the request `id`: progress, a result, or an error."""

    id: str | None = None
    progress: tuple[str, int, int] | UnsetType | None = UNSET
    result: Raw | UnsetType = UNSET
    error: Failure | UnsetType = UNSET
    notices: tuple[str, ...] = ()

    @property
    def value(self) -> bytes:
        """The result's JSON."""
        return bytes(self.result or b"null")


def arguments(function: Callable[..., Any], *, strict: bool = False) -> type[Struct]:
    """Return a struct of a function's arguments, from its annotations; if `strict`, others are
    refused."""
    signature = inspect.signature(function)
    fields = [
        (parameter.name, parameter.annotation)
        if parameter.default is parameter.empty
        else (parameter.name, parameter.annotation, parameter.default)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    return msgspec.defstruct(function.__name__, fields, forbid_unknown_fields=strict)


def line(message: Any) -> bytes:
    """Encode a message as one line. Surrogates become `?`."""
    return encode(message) + b"\n"


def encode(value: Any) -> bytes:
    """Encode a value as JSON; dataclasses become objects. Surrogates become `?`."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # the shell may pass bytes that are not text
        import json

        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
        return text.encode("utf-8", "replace")


def request(ident: str, op: str, params: Any) -> bytes:
    """Encode a request. Raises DaemonError if it is longer than a daemon accepts."""
    data = line(Request(ident, op, Raw(encode(params))))
    if len(data) > MAX_REQUEST:
        raise DaemonError(
            f"the request is {len(data):,} bytes long; the limit is {MAX_REQUEST:,}",
            "Shorten it, or split it into several requests",
        )
    return data


def result(ident: str | None, value: Any, notices: tuple[str, ...] = ()) -> Answer:
    """Return an answer with a result."""
    return Answer(ident, result=Raw(encode(value)), notices=notices)


def refusal(ident: str | None, failure: AssistantError) -> Answer:
    """Return an answer with an error."""
    kind = type(failure).__name__
    return Answer(ident, error=Failure(kind, failure.message, failure.cure))


def parse(data: bytes, kind: type[_Message], of: str = "the memory socket") -> _Message:
    """Decode a line. Raises DaemonError if it does not match `kind`."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError) as error:
        raise DaemonError(f"a line of {of} cannot be read: {error}") from error


def raised(failure: Failure) -> AssistantError:
    """Return the error that the other side raised; one of an unknown kind is a DaemonError."""
    return _error_kinds().get(failure.kind, DaemonError)(failure.message, failure.cure)


@functools.cache
def _error_kinds() -> dict[str, type[AssistantError]]:
    classes = (kind for kind in vars(errors).values() if isinstance(kind, type))
    kinds = (kind for kind in classes if issubclass(kind, AssistantError))
    return {kind.__name__: kind for kind in kinds if kind.__init__ is AssistantError.__init__}


class Operation:
    """A method of memory, with the encoding of its request and its result."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.name = method.__name__
        self._method = method

    @cached_property
    def writes(self) -> bool:
        """Whether it takes a `request` id, so that it happens once."""
        return _REQUEST in self._method.__annotations__

    def request(self, ident: str, /, *args: Any, **kwargs: Any) -> bytes:
        """Encode a request for the operation; a write without an id gets `ident`."""
        if self.writes and kwargs.get(_REQUEST) is None:
            kwargs[_REQUEST] = ident
        return request(ident, self.name, self._arguments(*args, **kwargs))

    def parameters(self, data: bytes) -> dict[str, Any]:
        """Decode the arguments of a request. Raises DaemonError if they do not fit."""
        return msgspec.structs.asdict(parse(data, self._arguments, self.name))

    def result(self, data: bytes) -> Any:
        """Decode the result of the operation. Raises DaemonError if it has another form."""
        return parse(data, self._method.__annotations__["return"], self.name)

    @cached_property
    def _arguments(self) -> type[Struct]:
        return arguments(self._method, strict=True)


OPERATIONS = {
    name: Operation(method)
    for protocol in (Memory, Keeper)
    for name, method in vars(protocol).items()
    if inspect.isfunction(method) and name[0] != "_" and name != "close"
}
