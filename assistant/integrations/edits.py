"""What is wanted in a program's configuration: a value under a key, a hook in a list, a file.

Each says how a text becomes one that has it, and one that has it no more; all else stays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from assistant.errors import ConfigError
from assistant.integrations import jsonc


class Edit(Protocol):
    """A change to a text."""

    def present(self, text: str) -> Any:
        """What the text has of it; None for nothing."""

    def made(self, text: str) -> str:
        """The text that has it. Raises ValueError for a text that cannot."""

    def unmade(self, text: str) -> str:
        """The text without it."""


class Language(Protocol):
    """How a configuration is written: `jsonc` or `toml`."""

    def value(self, text: str, path: Sequence[str]) -> Any:
        """What the text says under a path of keys; None for nothing."""

    def put(self, text: str, path: Sequence[str], new: Any) -> str:
        """The text with a value at a path."""

    def remove(self, text: str, path: Sequence[str]) -> str:
        """The text without the value at a path."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Our server under a path of keys."""

    path: Sequence[str]
    server: dict[str, Any]
    language: Language = jsonc

    def present(self, text: str) -> Any:
        return self.language.value(text, self.path)

    def made(self, text: str) -> str:
        return self.language.put(text, self.path, self.server)

    def unmade(self, text: str) -> str:
        """Without our server, of whichever workspace; another's has the name alone."""
        server = self.present(text)
        words = [server.get("command"), server.get("args")] if isinstance(server, dict) else []
        ours = all(f"'{word}'" in str(words) for word in ("mcp", "--as"))
        return self.language.remove(text, self.path) if ours else text


@dataclass(frozen=True, slots=True)
class Hook:
    """A command among those that a program runs at an event; ours are known by how they end.

    `version` is what the file must say of its own form, unless it says something.
    """

    path: Sequence[str]
    item: dict[str, Any]
    mark: str
    version: int | None = None

    def present(self, text: str) -> Any:
        return self._found(text) or None

    def made(self, text: str) -> str:
        if self.version and jsonc.value(text, ("version",)) is None:
            text = jsonc.put(text, ("version",), self.version)
        items = jsonc.value(text, self.path)
        if len(self._found(text)) == 1 and isinstance(items, list) and self.item in items:
            return text
        return jsonc.add(self._without(text), self.path, self.item)

    def unmade(self, text: str) -> str:
        text = self._without(text)
        only = {"version": self.version}
        return jsonc.remove(text, ("version",)) if jsonc.value(text) == only else text

    def _without(self, text: str) -> str:
        while found := self._found(text):
            text = jsonc.remove(text, found[-1])
        return text

    def _found(self, text: str) -> list[Sequence[str | int]]:
        return _commands(jsonc.value(text, self.path), self.path, self.mark)


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
    return [found for key, part in parts for found in _commands(part, (*path, key), mark)]


@dataclass(frozen=True, slots=True)
class Whole:
    """A file of our own, which is known by its first line, of whichever workspace and version."""

    text: str

    def present(self, text: str) -> Any:
        return text if text.partition("\n")[0] == self.text.partition("\n")[0] else None

    def made(self, text: str) -> str:
        if text and not self.present(text):
            raise ValueError("another's file stands there")
        return self.text

    def unmade(self, text: str) -> str:
        return "" if self.present(text) else text


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
