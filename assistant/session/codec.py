"""An entry of a transcript as a line of JSON, and back.

A field that holds its default is left out. Types that this version does not know are read as
`OtherEntry`: kept in the file, ignored in the history. The types of `entries` are the schema.
"""

import json
from dataclasses import fields
from typing import Any, get_args

import msgspec

from assistant.session.entries import Entry, OtherEntry

_TYPES: dict[str, type[Any]] = {
    kind.type: kind for kind in get_args(Entry) if kind is not OtherEntry
}


def encode(entry: Entry) -> bytes:
    """The entry as one line of JSON with its line end.

    A lone surrogate, which UTF-8 cannot hold, is written as its JSON escape.
    """
    values: dict[str, Any] = {"type": entry.type, "id": entry.id, "time": entry.time}
    for field in fields(entry):
        value = getattr(entry, field.name)
        if field.name not in values and value != field.default:
            values[field.name] = msgspec.to_builtins(value)
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def decode(line: bytes) -> Entry:
    """The entry of one line. Raises ValueError that says what is wrong with it."""
    try:
        text = line.decode("utf-8-sig", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no UTF-8 text, from its byte {error.start} on") from error
    values = json.loads(text)
    if not isinstance(values, dict) or not all(
        isinstance(values.get(name), str) for name in ("type", "id", "time")
    ):
        raise ValueError("it is no object with a type, an id and a time")
    kind = _TYPES.get(values["type"])
    if kind is None:
        return OtherEntry(values, id=values["id"], time=values["time"])
    try:
        entry: Entry = msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"this {kind.type} entry is malformed: {error}") from error
    return entry
