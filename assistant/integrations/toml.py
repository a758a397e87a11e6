"""TOML, changed in place: what is put in or taken out changes nothing else that the text says."""

from collections.abc import Sequence
from typing import Any

Path = Sequence[str]


def value(text: str, path: Path = ()) -> Any:
    """What the text says under a path of keys; None for nothing."""
    import tomlkit

    there: Any = tomlkit.parse(text).unwrap()
    for key in path:
        there = there.get(key) if isinstance(there, dict) else None
    return there


def put(text: str, path: Path, new: dict[str, Any]) -> str:
    """The text with a table under a path of keys. Raises ValueError, TOMLKitError."""
    import tomlkit
    from tomlkit.items import InlineTable

    there = value(text, path)
    if there == new:
        return text
    document, wanted = tomlkit.parse(text), value(text)
    _holder(wanted, path)[path[-1]] = new
    if there is None and not isinstance(document.get(path[0]), InlineTable):
        table = f"[{'.'.join(path)}]\n{tomlkit.dumps(new)}"
        return _checked(f"{text.rstrip()}\n\n{table}".lstrip("\n"), wanted)
    _holder(document, path)[path[-1]] = new
    return _checked(tomlkit.dumps(document), wanted)


def remove(text: str, path: Path) -> str:
    """The text without the table at a path, nor what held nothing else."""
    import tomlkit

    document, wanted = tomlkit.parse(text), value(text)
    _delete(document, path)
    _delete(wanted, path)
    left = tomlkit.dumps(document)
    return _checked(left if text.endswith("\n\n") else left.rstrip("\n") + "\n", wanted)


def _holder(document: Any, path: Path) -> Any:
    """What holds the last key of a path; tables on the way are made. Raises ValueError."""
    for depth, key in enumerate(path[:-1], start=1):
        document = document.setdefault(key, {})
        if not isinstance(document, dict):
            raise ValueError(f"{'.'.join(path[:depth])} is no table")
    return document


def _delete(holder: Any, path: Path) -> None:
    key, *rest = path
    if rest:
        _delete(holder[key], rest)
    if not rest or not holder[key]:
        del holder[key]


def _checked(text: str, wanted: Any) -> str:
    """A text that says what is wanted. Raises ValueError if it says another thing."""
    if value(text) != wanted:
        raise ValueError("a table cannot be put into it without changing what else it says")
    return text
