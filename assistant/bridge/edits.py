"""What is wanted in a program's configuration: a value under a key, an item of a list, a file.

Each says how a text becomes one that has it, and one that has it no more; all else stays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from assistant.bridge import jsonc
from assistant.errors import ConfigError


class Edit(Protocol):
    """A wish about a text."""

    def present(self, text: str) -> Any:
        """What the text has of it; None for nothing."""

    def made(self, text: str) -> str:
        """The text that has it. Raises ValueError for a text that cannot."""

    def unmade(self, text: str) -> str:
        """The text without it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A value under a path of keys, in JSON with comments."""

    path: Sequence[str]
    value: Any

    def present(self, text: str) -> Any:
        there = jsonc.at(text, self.path)
        return there.value if there else None

    def made(self, text: str) -> str:
        return jsonc.put(text, self.path, self.value)

    def unmade(self, text: str) -> str:
        return jsonc.remove(text, self.path) if _ours(self.present(text)) else text


@dataclass(frozen=True, slots=True)
class Nested:
    """A value that later versions of a program have one step deeper, in a file of that form."""

    path: Sequence[str]
    value: Any
    deeper: Sequence[str]

    def present(self, text: str) -> Any:
        return self._entry(text).present(text)

    def made(self, text: str) -> str:
        return self._entry(text).made(text)

    def unmade(self, text: str) -> str:
        return self._entry(text).unmade(text)

    def _entry(self, text: str) -> Entry:
        holder = jsonc.at(text, self.deeper[:-1])
        now = {"type", "command", "enabled"}
        later = holder and not (isinstance(holder.value, dict) and now & set(holder.value))
        return Entry(self.deeper if later else self.path, self.value)


@dataclass(frozen=True, slots=True)
class Default:
    """A value that a file must have; one that is there already is as good."""

    path: Sequence[str]
    value: Any

    def present(self, text: str) -> Any:
        return jsonc.at(text, self.path)

    def made(self, text: str) -> str:
        return text if jsonc.at(text, self.path) else jsonc.put(text, self.path, self.value)

    def unmade(self, text: str) -> str:
        left = jsonc.value(text)
        alone = isinstance(left, dict) and list(left) == list(self.path)
        return jsonc.remove(text, self.path) if alone else text


@dataclass(frozen=True, slots=True)
class Hook:
    """A command among those that a program runs at an event; ours are known by how they end."""

    path: Sequence[str]
    item: Any
    mark: str

    def present(self, text: str) -> Any:
        return self._found(text) or None

    def made(self, text: str) -> str:
        found = self._found(text)
        holder = jsonc.at(text, self.path)
        items = holder.value if holder else []
        if len(found) == 1 and isinstance(items, list) and self.item in items:
            return text
        return jsonc.append(self.unmade(text), self.path, self.item)

    def unmade(self, text: str) -> str:
        while found := self._found(text):
            text = jsonc.remove(text, found[-1])
        return text

    def _found(self, text: str) -> list[Sequence[str | int]]:
        holder = jsonc.at(text, self.path)
        return list(_commands(holder.value, self.path, self.mark)) if holder else []


def _commands(value: Any, path: Sequence[str | int], mark: str) -> list[Sequence[str | int]]:
    """The paths of the objects whose `command` ends with a mark."""
    if isinstance(value, dict):
        if str(value.get("command", "")).endswith(mark):
            return [path]
        parts: Any = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    else:
        return []
    return [found for key, each in parts for found in _commands(each, (*path, key), mark)]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of TOML under a path of keys."""

    path: Sequence[str]
    values: dict[str, Any]

    def present(self, text: str) -> Any:
        import tomlkit

        there: Any = tomlkit.parse(text).unwrap()
        for key in self.path:
            there = there.get(key) if isinstance(there, dict) else None
        return there

    def made(self, text: str) -> str:
        import tomlkit
        from tomlkit.items import InlineTable

        there = self.present(text)
        if there == self.values:
            return text
        document = tomlkit.parse(text)
        wanted = document.unwrap()
        _holder(wanted, self.path)[self.path[-1]] = self.values
        if there is not None or isinstance(document.get(self.path[0]), InlineTable):
            _holder(document, self.path)[self.path[-1]] = self.values
            return _meaning(tomlkit.dumps(document), wanted)
        lines = [f"{key} = {tomlkit.item(value).as_string()}" for key, value in self.values.items()]
        table = "\n".join([f"[{'.'.join(self.path)}]", *lines])
        return _meaning(f"{text.rstrip()}\n\n{table}\n".lstrip("\n"), wanted)

    def unmade(self, text: str) -> str:
        import tomlkit

        if not _ours(self.present(text)):
            return text
        document = tomlkit.parse(text)
        wanted = document.unwrap()
        for holder in (document, wanted):
            holders: list[Any] = [holder]
            for key in self.path[:-1]:
                holders.append(holders[-1][key])
            for key, each in zip(reversed(self.path), reversed(holders), strict=True):
                del each[key]
                if each:
                    break
        left = tomlkit.dumps(document)
        return _meaning(left if text.endswith("\n\n") else left.rstrip("\n") + "\n", wanted)


def _holder(document: Any, path: Sequence[str]) -> Any:
    """What holds the last key of a path; tables on the way are made. Raises ValueError."""
    for depth, key in enumerate(path[:-1], start=1):
        document = document.setdefault(key, {})
        if not isinstance(document, dict):
            raise ValueError(f"{'.'.join(path[:depth])} is no table")
    return document


def _meaning(text: str, wanted: Any) -> str:
    """A text of TOML that says what is wanted. Raises ValueError if it says another thing."""
    import tomlkit

    if tomlkit.parse(text).unwrap() != wanted:
        raise ValueError("a table cannot be put into it without changing what else it says")
    return text


def _ours(server: Any) -> bool:
    """Whether a value starts our server, of whichever workspace; another's has the name alone."""
    if not isinstance(server, dict):
        return False
    words = [server.get("command"), server.get("args")]
    return all(f"'{word}'" in str(words) for word in ("mcp", "--as"))


@dataclass(frozen=True, slots=True)
class Whole:
    """A file of our own, which is known by its first line."""

    text: str

    def present(self, text: str) -> Any:
        return text if self.is_of(text) else None

    def made(self, text: str) -> str:
        return self.text

    def unmade(self, text: str) -> str:
        return "" if self.is_of(text) else text

    def is_of(self, text: str) -> bool:
        """Whether a text is this file, of whichever workspace and version."""
        return text.partition("\n")[0] == self.text.partition("\n")[0]


def changed(name: str, text: str, changes: Sequence[Callable[[str], str]]) -> str:
    """The text after all changes; a byte-order mark stays, and lines end as they all did.

    Raises ConfigError that says what is wrong with it, and where.
    """
    from tomlkit.exceptions import TOMLKitError

    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(mark)
    dos = 0 < text.count("\n") == text.count("\r\n")
    text = text.replace("\r\n", "\n") if dos else text
    try:
        for change in changes:
            text = change(text)
    except (ValueError, TOMLKitError, RecursionError) as error:
        raise ConfigError(
            f"{name} cannot be understood, so it stays as it is: {error}",
            "Correct it, or ask its program what is wrong with it",
        ) from error
    return mark + (text.replace("\n", "\r\n") if dos else text)
