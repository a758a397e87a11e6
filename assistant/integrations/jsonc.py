"""JSON with comments, changed in place: all but what is put in or taken out stays byte for byte."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Path = Sequence[str | int]
_DECODER = json.JSONDecoder()
_SKIPPED = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_LINE_REST = re.compile(r"[ \t]*(?://[^\n]*)?(?=\n)")


class BrokenJson(ValueError):
    """A text is no JSON, even with comments and trailing commas; `line` is where."""

    def __init__(self, text: str, place: int, wanted: str) -> None:
        self.line = text.count("\n", 0, place) + 1
        super().__init__(f"line {self.line}: {wanted} expected")


@dataclass(slots=True)
class Node:
    """A value and where it stands. `parts` are those of an object or array, by key or index.

    A part `begins` at its key, or where it starts.
    """

    start: int
    end: int = 0
    value: Any = None
    parts: dict[str | int, "Node"] = field(default_factory=dict)
    begins: int = 0


def parse(text: str) -> Node:
    """The value of a text; an empty object for one without any. Raises BrokenJson."""
    place = _skip(text, 0)
    if place == len(text):
        return Node(place, place, {})
    node = _value(text, place)
    if (rest := _skip(text, node.end)) < len(text):
        raise BrokenJson(text, rest, "the end")
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


def append(text: str, path: Path, new: Any) -> str:
    """The text with a value at the end of the array at a path, which is made if there is none."""
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
        return text[: holder.start] + "{}" + text[holder.end :]
    start, end = gone.begins, gone.end
    comma = _skip(text, end)
    if text[comma : comma + 1] == ",":
        end = comma + 1
        line = text.rfind("\n", 0, start) + 1
        rest = _LINE_REST.match(text, end)
        if rest and not text[line:start].strip():
            return text[:line] + text[rest.end() + 1 :]
        return text[:start] + text[end:].lstrip(" \t")
    before = max(each.end for each in holder.parts.values() if each.end <= start)
    comma = text.index(",", before)
    return text[:comma] + text[comma + 1 : start].rstrip() + text[end:]


def at(text: str, path: Path) -> Node | None:
    """The value at a path; None if there is none."""
    node: Node | None = parse(text)
    for key in path:
        node = node.parts.get(key) if node else None
    return node


# Reading


def _skip(text: str, place: int) -> int:
    found = _SKIPPED.match(text, place)
    return found.end() if found else place


def _value(text: str, place: int) -> Node:
    match text[place : place + 1]:
        case "{":
            return _held(text, place, "}", {})
        case "[":
            return _held(text, place, "]", [])
    try:
        value, end = _DECODER.raw_decode(text, place)
    except ValueError as error:
        raise BrokenJson(text, place, "a value") from error
    return Node(place, end, value, begins=place)


def _held(text: str, start: int, closing: str, value: Any) -> Node:
    """An object or an array."""
    node = Node(start, value=value, begins=start)
    place = _skip(text, start + 1)
    while text[place : place + 1] != closing:
        begins, key = place, len(node.parts)
        if closing == "}":
            key, place = _key(text, place)
        part = _value(text, place)
        part.begins = begins
        node.parts[key] = part
        if closing == "}":
            value[key] = part.value
        else:
            value.append(part.value)
        place = _skip(text, part.end)
        if text[place : place + 1] == ",":
            place = _skip(text, place + 1)
        elif text[place : place + 1] != closing:
            raise BrokenJson(text, place, f"`,` or `{closing}`")
    node.end = place + 1
    return node


def _key(text: str, place: int) -> tuple[Any, int]:
    if text[place : place + 1] != '"':
        raise BrokenJson(text, place, "a key in quotes")
    key = _value(text, place)
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
    """The text with one more part at the end of an object or array, laid out as the others are."""
    outer = _indent(text, holder.start)
    if not holder.parts:
        inner = outer + _unit(text)
        body = f"\n{inner}{key}{_rendered(new, inner, _unit(text))}\n{outer}"
        return text[: holder.start + 1] + body + text[holder.end - 1 :]
    last = list(holder.parts.values())[-1]
    if "\n" not in text[holder.start : last.begins]:
        said = f", {key}{json.dumps(new, ensure_ascii=False)}"
        return text[: last.end] + said + text[last.end :]
    inner = _indent(text, last.begins)
    comma = _skip(text, last.end)
    after = comma + 1 if text[comma : comma + 1] == "," else last.end
    joined, closing = ("", ",") if after > last.end else (",", "")
    rest = _LINE_REST.match(text, after)
    line = rest.end() if rest else after
    body = f"\n{inner}{key}{_rendered(new, inner, _unit(text))}{closing}"
    return text[: last.end] + joined + text[last.end : line] + body + text[line:]


def _rendered(new: Any, indent: str, unit: str) -> str:
    lines = json.dumps(new, ensure_ascii=False, indent=unit)
    return lines.replace("\n", f"\n{indent}")


def _indent(text: str, place: int) -> str:
    """The white space that the line of a place begins with."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip())]


def _unit(text: str) -> str:
    """One step of indentation, as the text has it."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "
