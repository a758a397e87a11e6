"""Edits JSON with comments in place: everything else stays byte for byte."""

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
    """A text is not JSON, even with comments and trailing commas; `line` is where."""

    def __init__(self, text: str, offset: int, expected: str) -> None:
        self.line = text.count("\n", 0, offset) + 1
        super().__init__(f"line {self.line}: {expected} expected")


@dataclass(slots=True)
class Node:
    """A value, its position, and its parts by key or index; a part `begins` at its key."""

    start: int
    end: int = 0
    value: Any = None
    parts: dict[str | int, "Node"] = field(default_factory=dict)
    begins: int = 0


def parse(text: str) -> Node:
    """Parse a text; an empty one is an empty object. Raises BrokenJson."""
    start = _skip(text, 0)
    if start == len(text):
        return Node(start, start, {})
    node = _value(text, start)
    if (rest := _skip(text, node.end)) < len(text):
        raise BrokenJson(text, rest, "the end")
    return node


def find(text: str, path: Path) -> Node | None:
    """The node at a path; None if there is none."""
    node: Node | None = parse(text)
    for key in path:
        node = node.parts.get(key) if node else None
    return node


def value(text: str, path: Path = ()) -> Any:
    """The value at a path; None if there is none."""
    node = find(text, path)
    return node.value if node else None


def put(text: str, path: Path, new: Any) -> str:
    """Set the value at a path of keys, creating objects on the way.

    Raises BrokenJson, and ValueError if something on the way is not an object.
    """
    node = parse(text)
    if node.start == node.end:
        return f"{text}{_rendered(_nested(path, new), '', '  ')}\n"
    for depth, key in enumerate(path):
        if not isinstance(node.value, dict):
            raise ValueError(f"{'.'.join(map(str, path[:depth])) or 'it'} is not an object")
        if key not in node.parts:
            inner = _nested(path[depth + 1 :], new)
            return _inserted(text, node, f"{json.dumps(key)}: ", inner)
        node = node.parts[key]
    if node.value == new:
        return text
    indent = _indent(text, node.begins)
    return f"{text[: node.start]}{_rendered(new, indent, _unit(text))}{text[node.end :]}"


def add(text: str, path: Path, new: Any) -> str:
    """Insert a value into the array at a path, creating the array if it is missing."""
    array = find(text, path)
    if array is None:
        return put(text, path, [new])
    if not isinstance(array.value, list):
        raise ValueError(f"{'.'.join(map(str, path))} is not a list")
    return _inserted(text, array, "", new)


def remove(text: str, path: Path) -> str:
    """Remove the value at a path, with the containers that are empty then."""
    parent = find(text, path[:-1])
    node = parent.parts.get(path[-1]) if parent else None
    if parent is None or node is None:
        return text
    if len(parent.parts) == 1:
        if len(path) > 1:
            return remove(text, path[:-1])
        return f"{text[: parent.start]}{{}}{text[parent.end :]}"
    start, comma = len(text[: node.begins].rstrip()), _skip(text, node.end)
    if text[comma] == ",":
        rest = text[comma + 1 :]
        is_alone = "\n" in text[start : node.begins]
        return text[:start] + rest if is_alone else text[: node.begins] + rest.lstrip(" \t")
    before = _skip(text, max(part.end for part in parent.parts.values() if part is not node))
    return text[:before] + text[before + 1 : start] + text[node.end :]


# Reading


def _skip(text: str, offset: int) -> int:
    """The offset after white space and comments."""
    match = _BETWEEN.match(text, offset)
    return match.end() if match else offset


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


def _inserted(text: str, parent: Node, key: str, new: Any) -> str:
    """Insert a part at the start of an object or array, in its layout."""
    at, outer, unit = parent.start + 1, _indent(text, parent.start), _unit(text)
    first = next(iter(parent.parts.values()), None)
    if first and "\n" not in text[at : first.begins]:
        return f"{text[:at]}{key}{json.dumps(new, ensure_ascii=False)}, {text[at:]}"
    body = f"\n{outer}{unit}{key}{_rendered(new, outer + unit, unit)}"
    if first:
        return f"{text[:at]}{body},{text[at:]}"
    return f"{text[:at]}{body}\n{outer}{text[parent.end - 1 :]}"


def _rendered(new: Any, indent: str, unit: str) -> str:
    lines = json.dumps(new, ensure_ascii=False, indent=unit)
    return lines.replace("\n", f"\n{indent}")


def _indent(text: str, at: int) -> str:
    """The indentation of the line at an offset."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _unit(text: str) -> str:
    """The indentation step of the text."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else "  "
