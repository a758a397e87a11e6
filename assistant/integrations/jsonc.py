"""JSON with comments, changed in place: all but what is put in or taken out stays byte for byte."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Path = Sequence[str | int]
_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}


class BrokenJson(ValueError):
    """A text is no JSON, even with comments and trailing commas; `line` is where."""

    def __init__(self, text: str, at: int, wanted: str) -> None:
        self.line = text.count("\n", 0, at) + 1
        super().__init__(f"line {self.line}: {wanted} expected")


@dataclass(slots=True)
class Node:
    """A value and where it stands; its parts by key or index. A part `begins` at its key."""

    start: int
    end: int = 0
    value: Any = None
    parts: dict[str | int, "Node"] = field(default_factory=dict)
    begins: int = 0


def parse(text: str) -> Node:
    """The value of a text; an empty object for one without any. Raises BrokenJson."""
    start = _skip(text, 0)
    if start == len(text):
        return Node(start, start, {})
    node = _value(text, start)
    if (rest := _skip(text, node.end)) < len(text):
        raise BrokenJson(text, rest, "the end")
    return node


def at(text: str, path: Path) -> Node | None:
    """The value at a path; None if there is none."""
    node: Node | None = parse(text)
    for key in path:
        node = node.parts.get(key) if node else None
    return node


def value(text: str, path: Path = ()) -> Any:
    """What the text says at a path; None for nothing."""
    node = at(text, path)
    return node.value if node else None


def put(text: str, path: Path, new: Any) -> str:
    """The text with a value at a path of keys; objects on the way are made.

    Raises BrokenJson, and ValueError if something on the way is no object.
    """
    node = parse(text)
    if node.start == node.end:
        return f"{text}{_rendered(_nested(path, new), '', '  ')}\n"
    for depth, key in enumerate(path):
        if not isinstance(node.value, dict):
            raise ValueError(f"{'.'.join(map(str, path[:depth])) or 'it'} is no object")
        if key not in node.parts:
            inner = _nested(path[depth + 1 :], new)
            return _inserted(text, node, f"{json.dumps(key)}: ", inner)
        node = node.parts[key]
    if node.value == new:
        return text
    indent = _indent(text, node.begins)
    return f"{text[: node.start]}{_rendered(new, indent, _unit(text))}{text[node.end :]}"


def add(text: str, path: Path, new: Any) -> str:
    """The text with a value in the array at a path, which is made if there is none."""
    found = at(text, path)
    if found is None:
        return put(text, path, [new])
    if not isinstance(found.value, list):
        raise ValueError(f"{'.'.join(map(str, path))} is no list")
    return _inserted(text, found, "", new)


def remove(text: str, path: Path) -> str:
    """The text without the value at a path, nor what held nothing else; as it was if none is."""
    holder = at(text, path[:-1])
    gone = holder.parts.get(path[-1]) if holder else None
    if holder is None or gone is None:
        return text
    if len(holder.parts) == 1:
        if len(path) > 1:
            return remove(text, path[:-1])
        return f"{text[: holder.start]}{{}}{text[holder.end :]}"
    start, comma = len(text[: gone.begins].rstrip()), _skip(text, gone.end)
    if text[comma] == ",":
        rest = text[comma + 1 :]
        is_alone = "\n" in text[start : gone.begins]
        return text[:start] + rest if is_alone else text[: gone.begins] + rest.lstrip(" \t")
    before = _skip(text, max(part.end for part in holder.parts.values() if part is not gone))
    return text[:before] + text[before + 1 : start] + text[gone.end :]


# Reading


def _skip(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at


def _value(text: str, start: int) -> Node:
    if text[start : start + 1] in _CLOSING:
        return _container(text, start)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError as error:
        raise BrokenJson(text, start, "a value") from error
    return Node(start, end, value, begins=start)


def _container(text: str, start: int) -> Node:
    """An object or an array."""
    closing = _CLOSING[text[start]]
    node = Node(start, begins=start)
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        begins, key = at, len(node.parts)
        if closing == "}":
            key, at = _key(text, at)
        part = node.parts[key] = _value(text, at)
        part.begins = begins
        at = _skip(text, part.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != closing:
            raise BrokenJson(text, at, f"`,` or `{closing}`")
    node.end = at + 1
    values = {key: part.value for key, part in node.parts.items()}
    node.value = values if closing == "}" else [*values.values()]
    return node


def _key(text: str, at: int) -> tuple[Any, int]:
    if text[at : at + 1] != '"':
        raise BrokenJson(text, at, "a key in quotes")
    key = _value(text, at)
    colon = _skip(text, key.end)
    if text[colon : colon + 1] != ":":
        raise BrokenJson(text, colon, "`:`")
    return key.value, _skip(text, colon + 1)


# Writing


def _nested(path: Path, new: Any) -> Any:
    for key in reversed(path):
        new = {key: new}
    return new


def _inserted(text: str, holder: Node, key: str, new: Any) -> str:
    """The text with one more part at the beginning of an object or array, laid out as it is."""
    at, outer, unit = holder.start + 1, _indent(text, holder.start), _unit(text)
    first = next(iter(holder.parts.values()), None)
    if first and "\n" not in text[at : first.begins]:
        return f"{text[:at]}{key}{json.dumps(new, ensure_ascii=False)}, {text[at:]}"
    body = f"\n{outer}{unit}{key}{_rendered(new, outer + unit, unit)}"
    if first:
        return f"{text[:at]}{body},{text[at:]}"
    return f"{text[:at]}{body}\n{outer}{text[holder.end - 1 :]}"


def _rendered(new: Any, indent: str, unit: str) -> str:
    lines = json.dumps(new, ensure_ascii=False, indent=unit)
    return lines.replace("\n", f"\n{indent}")


def _indent(text: str, at: int) -> str:
    """The white space that the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _unit(text: str) -> str:
    """One step of indentation, as the text has it."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "
