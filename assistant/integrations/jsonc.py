"""Edits JSON with comments in place: everything else stays byte for byte.

Positions are found in a copy of the text that is strict JSON of the same length.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assistant.tables import value_at

Path = Sequence[str | int]
_DECODER = json.JSONDecoder()
_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Part:
    """The positions of a value; a part of an object `begins` at its key."""

    begins: int
    start: int
    end: int


def value(text: str, path: Path = ()) -> Any:
    """Return the value at a path; None if there is none. An empty text is an empty object.

    Raises ValueError with the line of the fault.
    """
    plain = _plain(text)
    return value_at(json.loads(plain) if plain.strip() else {}, path)


def put(text: str, path: Path, new: Any) -> str:
    """Set the value at a path, creating missing objects.

    Raises ValueError for invalid JSON, or if a value on the path is not an object or array.
    """
    if value(text, path) == new:
        return text
    plain = _plain(text)
    if not plain.strip():
        return f"{text}{_rendered(_nested(path, new), '', '  ')}\n"
    part = _find(plain, ())
    for depth, key in enumerate(path):
        if not part or plain[part.start] != ("[" if isinstance(key, int) else "{"):
            raise ValueError(f"{'.'.join(map(str, path[:depth])) or 'it'} is not an object")
        inner = _parts(plain, part).get(key)
        if inner is None:
            return _inserted(text, part, f"{json.dumps(key)}: ", _nested(path[depth + 1 :], new))
        part = inner
    assert part is not None
    indent = _indent(text, part.begins)
    return f"{text[: part.start]}{_rendered(new, indent, _unit(text))}{text[part.end :]}"


def add(text: str, path: Path, new: Any) -> str:
    """Insert a value into the array at a path, creating the array if it is missing."""
    existing = value(text, path)
    array = _find(_plain(text), path)
    if existing is None or array is None:
        return put(text, path, [new])
    if not isinstance(existing, list):
        raise ValueError(f"{'.'.join(map(str, path))} is not a list")
    return _inserted(text, array, "", new)


def remove(text: str, path: Path) -> str:
    """Remove the value at a path, and containers that then have neither a value nor a comment."""
    value(text)  # raises if the text is invalid
    plain, bare = _plain(text), _bare(text)
    parent = _find(plain, path[:-1])
    parts = _parts(plain, parent) if parent else {}
    part = parts.pop(path[-1], None)
    if parent is None or part is None:
        return text
    start, comma = len(text[: part.begins].rstrip()), _skip(bare, part.end)
    has_comma = bare[comma] == ","
    rest = text[part.end : comma] + text[comma + 1 :] if has_comma else text[part.end :]
    if start == parent.start + 1 and rest.lstrip()[0] in "}]":
        if len(path) > 1:
            return remove(text, path[:-1])
        return f"{text[: parent.start]}{{}}{text[parent.end :]}"
    in_comment = bare[start - 1].isspace() and not rest.lstrip(" \t").startswith("\n")
    if in_comment or (has_comma and "\n" not in text[start : part.begins]):
        start, rest = part.begins, rest.lstrip(" \t")
    if has_comma or not parts:
        return text[:start] + rest
    before = _skip(bare, max(other.end for other in parts.values()))
    return text[:before] + text[before + 1 : start] + rest


# Reading


def _plain(text: str) -> str:
    """Return the text with spaces for comments and trailing commas."""
    return _COMMA.sub(_blank, _bare(text))


def _bare(text: str) -> str:
    """Return the text with spaces for comments."""
    return _COMMENT.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    before = match.string[: match.start()].rstrip()[-1:] if match[0] == "," else ""
    kept = match[0][0] == '"' or before in (",", "{", "[")  # such a comma is an error
    return match[0] if kept else re.sub(r"[^\n]", " ", match[0])


def _skip(plain: str, offset: int) -> int:
    """Return the offset after white space."""
    match = _SPACE.match(plain, offset)
    return match.end() if match else offset


def _find(plain: str, path: Path) -> Part | None:
    """Return the positions of the value at a path in a valid text; None if there is none."""
    start = _skip(plain, 0)
    part: Part | None = Part(start, start, len(plain.rstrip()))
    for key in path:
        part = _parts(plain, part).get(key) if part else None
    return part


def _parts(plain: str, container: Part) -> dict[str | int, Part]:
    """Return the parts of an object or array by key or index."""
    parts: dict[str | int, Part] = {}
    closing = {"{": "}", "[": "]"}.get(plain[container.start : container.start + 1])
    at = _skip(plain, container.start + 1)
    while closing and plain[at] != closing:
        begins, key = at, len(parts)
        if closing == "}":
            key, at = _DECODER.raw_decode(plain, at)
            at = _skip(plain, _skip(plain, at) + 1)  # after the colon
        _, end = _DECODER.raw_decode(plain, at)
        parts[key] = Part(begins, at, end)
        at = _skip(plain, end)
        at = _skip(plain, at + 1) if plain[at] == "," else at
    return parts


# Writing


def _nested(path: Path, new: Any) -> Any:
    for key in reversed(path):
        new = {key: new}
    return new


def _inserted(text: str, parent: Part, key: str, new: Any) -> str:
    """Insert a part at the start of an object or array, in its layout."""
    at, outer, unit = parent.start + 1, _indent(text, parent.start), _unit(text)
    first = next(iter(_parts(_plain(text), parent).values()), None)
    if first and "\n" not in text[at : first.begins]:
        return f"{text[:at]}{key}{json.dumps(new, ensure_ascii=False)}, {text[at:]}"
    body = f"\n{outer}{unit}{key}{_rendered(new, outer + unit, unit)}"
    if first:
        return f"{text[:at]}{body},{text[at:]}"
    end = parent.end - 1
    is_blank = not text[at:end].strip()
    return f"{text[:at]}{body}" + (f"\n{outer}{text[end:]}" if is_blank else text[at:])


def _rendered(new: Any, indent: str, unit: str) -> str:
    lines = json.dumps(new, ensure_ascii=False, indent=unit)
    return lines.replace("\n", f"\n{indent}")


def _indent(text: str, at: int) -> str:
    """Return the indentation of the line at an offset."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _unit(text: str) -> str:
    """Return the indentation step of the text."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else "  "
