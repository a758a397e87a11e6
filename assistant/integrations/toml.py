"""Edits TOML in place, and checks that nothing else in the text has changed."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from assistant.tables import value_at

Path = Sequence[str]
_COMMENTS = re.compile(r"(?:^[ \t]*(?:#.*)?\n?)*\Z", re.MULTILINE)


def value(text: str, path: Path = ()) -> Any:
    """Return the value at a path of keys; None if there is none."""
    import tomlkit

    return value_at(tomlkit.parse(text).unwrap(), path)


def put(text: str, path: Path, new: Any) -> str:
    """Set the value at a path of keys. Raises ValueError, TOMLKitError."""
    import tomlkit
    from tomlkit.items import InlineTable

    current = value(text, path)
    if current == new:
        return text
    document, expected = tomlkit.parse(text), value(text)
    _parent(expected, path)[path[-1]] = new
    is_table = isinstance(new, dict) and not isinstance(document.get(path[0]), InlineTable)
    if current is None and is_table:
        table = f"[{'.'.join(path)}]\n{tomlkit.dumps(new)}"
        return _checked(f"{text.rstrip()}\n\n{table}".lstrip("\n"), expected)
    _parent(document, path)[path[-1]] = new
    return _checked(tomlkit.dumps(document), expected)


def remove(text: str, path: Path) -> str:
    """Remove the table at a path of two keys; the comments after it stay."""
    import tomlkit

    document, expected = tomlkit.parse(text), value(text)
    for tables in (document, expected):
        del tables[path[0]][path[1]]
    remaining = tomlkit.dumps(document)
    if value(remaining, path[:1]) is None:  # nothing else uses the outer table
        del expected[path[0]]
    same = takewhile(lambda pair: pair[0] == pair[1], zip(text, remaining, strict=False))
    start = text.rfind("\n", 0, len(list(same))) + 1
    removed = text[start : start + len(text) - len(remaining)]
    comments = removed[len(_COMMENTS.sub("", removed)) :].lstrip("\n")
    remaining = remaining[:start] + comments + remaining[start:]
    remaining = remaining if text.endswith("\n\n") else remaining.rstrip("\n") + "\n"
    return _checked(remaining, expected)


def _parent(document: Any, path: Path) -> Any:
    """Return the table that holds the last key of a path, creating it if needed. Raises
    ValueError."""
    for depth, key in enumerate(path[:-1], start=1):
        document = document.setdefault(key, {})
        if not isinstance(document, dict):
            raise ValueError(f"{'.'.join(path[:depth])} is not a table")
    return document


def _checked(text: str, expected: Any) -> str:
    """Return the text. Raises ValueError if it does not have the expected value."""
    if value(text) != expected:
        raise ValueError("a table cannot be added without changing something else")
    return text
