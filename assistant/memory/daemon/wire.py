"""The `Memory` protocol as JSON lines; the daemon and its clients both speak through here.

A request is `{"id", "op", "params"}`. Its answer is any number of `{"id", "progress"}` lines, then
one of `{"id", "result"}` or `{"id", "error"}`. Progress is `[what, done, total]`, or null to say
that the daemon is alive and at work; a result may bring `notices`, lines for the owner. The
operations are the methods of `Memory`, with the types of its annotations: the protocol in
`base.py` is the schema of the wire. Three more concern the daemon itself: `hello`, `about` and
`yield`; these keep their form in every version.
"""

import functools
import inspect
import json
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from assistant import errors
from assistant.errors import AssistantError, DaemonError
from assistant.memory.base import Memory

PROTOCOL = 1
"""Raised whenever an older peer would misunderstand a line."""
MAX_REQUEST = 1 << 20
"""The longest request in bytes. A longer one is refused without being gathered."""

HELLO = "hello"
ABOUT = "about"
YIELD = "yield"
WRITES = frozenset({"remember", "forget", "undo", "review", "restore"})
"""Operations that happen once for each request id, however often it is sent."""
READS = frozenset({"recall", "locate", "status", "log", "waiting", "erased", "pairs"})
OPERATIONS = WRITES | READS | {"rebuild"}


@dataclass(frozen=True, slots=True)
class Hello:
    """What a client needs of a daemon: this protocol, program version, settings and workspace."""

    protocol: int
    version: str
    digest: str
    workspace: str


def line(**message: Any) -> bytes:
    """One message as a line; dataclasses become objects. What is not Unicode becomes `?`."""
    text = json.dumps(message, default=_fields, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def request(ident: str, op: str, params: Mapping[str, Any]) -> bytes:
    """A request's line. Raises DaemonError if it is longer than a daemon takes."""
    data = line(id=ident, op=op, params=params)
    if len(data) > MAX_REQUEST:
        raise DaemonError(
            f"the request is {len(data):,} bytes long, and {MAX_REQUEST:,} is the most",
            "Say it in fewer words, or in several requests",
        )
    return data


def parse(data: bytes) -> dict[str, Any]:
    """The message of a line. Raises DaemonError if it is not a JSON object."""
    try:
        message = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DaemonError("a line on the memory socket is not JSON") from error
    if not isinstance(message, dict):
        raise DaemonError("a line on the memory socket is not a JSON object")
    return message


def parameters(op: str, params: Any) -> dict[str, Any]:
    """The arguments of an operation, decoded. Raises DaemonError if they do not fit it."""
    if op not in OPERATIONS:
        raise DaemonError(f"memory has no operation {op!r}")
    values = _decode_object(_parameter_types(op), params)
    try:
        inspect.signature(getattr(Memory, op)).bind(None, **values)
    except TypeError as error:
        raise DaemonError(f"a request to {op} does not fit it: {error}") from error
    return values


def result(op: str, data: Any) -> Any:
    """What an operation returned, decoded. Raises DaemonError if it has another form."""
    return decode(_types(getattr(Memory, op))["return"], data)


def error(failure: AssistantError) -> dict[str, str]:
    """An error as the wire carries it."""
    kind = type(failure).__name__
    return {"kind": kind, "message": failure.message, "cure": failure.cure}


def raised(data: Any) -> AssistantError:
    """The error that the other side raised; one of an unknown kind is a DaemonError."""
    told = decode(dict[str, str], data)
    kind = _error_kinds().get(told.get("kind", ""), DaemonError)
    return kind(told.get("message", "the memory daemon failed"), told.get("cure", ""))


def decode(kind: Any, data: Any) -> Any:
    """JSON values as the values of a type: dataclass, tuple, dict, optional, literal or scalar.

    Raises DaemonError if `data` has another form.
    """
    if is_dataclass(kind):
        return _decode_dataclass(kind, data)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is types.UnionType:
        return None if data is None else decode(inner[0], data)
    if origin is Literal:
        return _checked(data in inner, kind, data)
    if origin in (tuple, Sequence):
        return tuple(decode(inner[0], item) for item in _checked(type(data) is list, kind, data))
    if origin is dict:
        _checked(type(data) is dict, kind, data)
        return {name: decode(inner[1], item) for name, item in data.items()}
    if kind is float and type(data) is int:
        return float(data)
    return _checked(type(data) is kind, kind, data)


def _decode_dataclass(kind: Any, data: Any) -> Any:
    values = _decode_object(_types(kind), data)
    try:
        return kind(**values)
    except TypeError as error:
        raise DaemonError(f"a message on the memory socket lacks a field: {error}") from error


def _decode_object(kinds: Mapping[str, Any], data: Any) -> dict[str, Any]:
    if not isinstance(data, dict) or not data.keys() <= kinds.keys():
        raise DaemonError("a message on the memory socket has fields that do not belong to it")
    return {name: decode(kinds[name], value) for name, value in data.items()}


def _checked(fits: bool, kind: Any, data: Any) -> Any:
    if not fits:
        raise DaemonError(f"a message on the memory socket holds {data!r:.40} instead of {kind}")
    return data


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


@functools.cache
def _types(owner: Any) -> dict[str, Any]:
    return get_type_hints(owner)


@functools.cache
def _parameter_types(op: str) -> dict[str, Any]:
    hints = _types(getattr(Memory, op))
    return {name: kind for name, kind in hints.items() if name != "return"}


@functools.cache
def _error_kinds() -> dict[str, type[AssistantError]]:
    plain = (kind for kind in vars(errors).values() if isinstance(kind, type))
    return {
        kind.__name__: kind
        for kind in plain
        if issubclass(kind, AssistantError) and kind.__init__ is AssistantError.__init__
    }
